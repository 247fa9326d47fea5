/* SPDX-License-Identifier: Apache-2.0 */
/* child.c - read untrusted files in a child process with limited memory, time and output. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "serve/serve.h"

#define CPU_S 20
#define WALL_MS 20000
#define MEMORY_BYTES ((rlim_t)4 << 30)
#define FILES 64
#define OUTPUT_MOST (64u << 20)
#define WORDS_MOST 128
#define NOT_STARTED 127 /* exit status, as in shells */

/* Sanitizers reserve terabytes of address space, and ThreadSanitizer writes a temporary file at start-up. Such builds
   do not limit memory and file size. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED true
#endif
#endif
#ifndef SANITIZED
#define SANITIZED false
#endif

static void limit(int what, rlim_t most)
{
    struct rlimit r = {most, most};
    setrlimit(what, &r);
}

/* Between fork() and exec() of a multi-threaded process, only system calls are safe. */
static void exec_limited(const char *program, const char *folder, char *const *words, int out, int err)
{
    int null = open("/dev/null", O_RDONLY); /* before the limit on open files is set: the server may have many open */
    if (chdir(folder) || null < 0 || dup2(null, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0) _exit(NOT_STARTED);
    limit(RLIMIT_CPU, CPU_S);
    if (!SANITIZED) limit(RLIMIT_AS, MEMORY_BYTES);
    if (!SANITIZED) limit(RLIMIT_FSIZE, 0);
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_NOFILE, FILES);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    execv(program, words);
    _exit(NOT_STARTED);
}

/* ---- output of the child ---------------------------------------------------------------------------------------- */

typedef struct stream {
    char  *text;
    size_t size, room;
    int    from; /* -1: end of file */
} stream;

static bool take(stream *t)
{
    char    buf[65536];
    ssize_t n = read(t->from, buf, sizeof buf);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) return true;
    if (n <= 0) {
        close(t->from);
        t->from = -1;
        return true;
    }
    if (t->size + (size_t)n > OUTPUT_MOST) return false;
    if (t->size + (size_t)n + 1 > t->room) {
        size_t room = 2 * (t->size + (size_t)n + 1);
        char  *text = realloc(t->text, room);
        if (!text) return false;
        t->text = text;
        t->room = room;
    }
    memcpy(t->text + t->size, buf, (size_t)n);
    t->size += (size_t)n;
    t->text[t->size] = '\0';
    return true;
}

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Returns NULL if the child closed its output, otherwise the reason to kill it. */
static const char *read_output(stream output[2])
{
    int64_t end = now_ms() + WALL_MS;
    while (output[0].from >= 0 || output[1].from >= 0) {
        struct pollfd ready[2] = {{output[0].from, POLLIN, 0}, {output[1].from, POLLIN, 0}};
        int64_t       left = end - now_ms();
        if (left <= 0) return "it took too long";
        int n = poll(ready, 2, (int)left);
        if (n < 0 && errno != EINTR) return "its output could not be read";
        for (int i = 0; n > 0 && i < 2; i++)
            if (output[i].from >= 0 && (ready[i].revents & (POLLIN | POLLHUP | POLLERR)) && !take(&output[i]))
                return "its output was too long";
    }
    return NULL;
}

/* ---- child process ---------------------------------------------------------------------------------------------- */

static void close_all(int pipes[2][2])
{
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 2; k++)
            if (pipes[i][k] >= 0) close(pipes[i][k]);
}

static int finish(pid_t child, stream output[2], const char *why, char **result, char **notes)
{
    int status = 0;
    if (why) kill(child, SIGKILL);
    for (int i = 0; i < 2; i++)
        if (output[i].from >= 0) close(output[i].from);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    *result = output[0].text;
    *notes = output[1].text;
    bool ended = !why && WIFEXITED(status), began = !ended || WEXITSTATUS(status) != NOT_STARTED;
    if (ended && began) return WEXITSTATUS(status);
    free(*notes);
    *notes = strdup(why      ? why
                    : !began ? "the process that reads files cannot be started: it needs /proc and /dev/null"
                             : "it needed more memory or time than the server allows");
    return -1;
}

int cm__child_run(const char *program, const char *folder, int argc, const char *const *argv, char **result,
                  char **notes)
{
    int         pipes[2][2] = {{-1, -1}, {-1, -1}};
    const char *words[WORDS_MOST + 2] = {program};
    *result = *notes = NULL;
    if (argc > WORDS_MOST) return -1;
    for (int i = 0; i < argc; i++) words[i + 1] = argv[i];
    for (int i = 0; i < 2; i++)
        if (pipe2(pipes[i], O_CLOEXEC)) {
            close_all(pipes);
            return -1;
        }
    pid_t child = fork();
    if (child == 0) exec_limited(program, folder, (char *const *)(uintptr_t)words, pipes[0][1], pipes[1][1]);
    if (child < 0) {
        close_all(pipes);
        return -1;
    }
    close(pipes[0][1]);
    close(pipes[1][1]);
    stream output[2] = {{.from = pipes[0][0]}, {.from = pipes[1][0]}};
    return finish(child, output, read_output(output), result, notes);
}
