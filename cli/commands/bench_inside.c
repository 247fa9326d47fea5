/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_inside.c - `centimani bench` of the statically linked program, which cannot load shared libraries. It embeds a
 * dynamically linked copy of the program and replaces itself by it. The copy needs the system's dynamic loader and a C
 * library at least as new as that of the build.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "cli.h"

extern const char cm__program[], cm__program_end[]; /* made by tools/embed.py program */

/* The command line of this process. */
static char **own_arguments(void)
{
    static char  text[65536];
    static char *words[1024];
    FILE        *file = fopen("/proc/self/cmdline", "r");
    size_t       size = file ? fread(text, 1, sizeof text - 1, file) : 0;
    int          n = 0;
    if (file) fclose(file);
    for (size_t at = 0; at < size && n < 1023; at += strlen(text + at) + 1) words[n++] = text + at;
    return n ? words : NULL;
}

int run_bench(settings *s)
{
    int         file = memfd_create("centimani", MFD_CLOEXEC);
    const char *at = cm__program;
    char      **words = own_arguments();
    (void)s;
    while (file >= 0 && at < cm__program_end) {
        ssize_t n = write(file, at, (size_t)(cm__program_end - at));
        if (n <= 0) break;
        at += n;
    }
    if (words && at == cm__program_end) fexecve(file, words, environ);
    say("bench: the embedded program that loads libraries cannot run here: %s; build centimani on this system instead",
        strerror(errno));
    return EXIT_FAILED;
}
