/* SPDX-License-Identifier: Apache-2.0 */
/* child.c - what strangers' files say is read by a process that can do no harm: little memory, time and output. */
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
#define NOT_BEGUN 127 /* as shells say it */

/* A sanitizer reserves terabytes of addresses, and ThreadSanitizer writes a temporary file when it starts. */
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

/* Between fork() and exec() of a process with threads: system calls alone. */
static void become(const char *program, const char *folder, char *const *words, int out, int err)
{
    int null = open("/dev/null", O_RDONLY); /* before files are counted: the server may have many open */
    if (chdir(folder) || null < 0 || dup2(null, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0) _exit(NOT_BEGUN);
    limit(RLIMIT_CPU, CPU_S);
    if (!SANITIZED) limit(RLIMIT_AS, MEMORY_BYTES);
    if (!SANITIZED) limit(RLIMIT_FSIZE, 0);
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_NOFILE, FILES);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    execv(program, words);
    _exit(NOT_BEGUN);
}

/* ---- what it says ----------------------------------------------------------------------------------------------- */

typedef struct taken {
    char  *text;
    size_t size, room;
    int    from; /* -1: at its end */
} taken;

static bool take(taken *t)
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

/* NULL: it ended by itself; otherwise why it is to be ended. */
static const char *listen_to(taken said[2])
{
    int64_t end = now_ms() + WALL_MS;
    while (said[0].from >= 0 || said[1].from >= 0) {
        struct pollfd ready[2] = {{said[0].from, POLLIN, 0}, {said[1].from, POLLIN, 0}};
        int64_t       left = end - now_ms();
        if (left <= 0) return "it took too long";
        int n = poll(ready, 2, (int)left);
        if (n < 0 && errno != EINTR) return "it could not be listened to";
        for (int i = 0; n > 0 && i < 2; i++)
            if (said[i].from >= 0 && (ready[i].revents & (POLLIN | POLLHUP | POLLERR)) && !take(&said[i]))
                return "it said too much";
    }
    return NULL;
}

/* ---- the child -------------------------------------------------------------------------------------------------- */

static void close_all(int pipes[2][2])
{
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 2; k++)
            if (pipes[i][k] >= 0) close(pipes[i][k]);
}

static int finish(pid_t child, taken said[2], const char *why, char **result, char **notes)
{
    int status = 0;
    if (why) kill(child, SIGKILL);
    for (int i = 0; i < 2; i++)
        if (said[i].from >= 0) close(said[i].from);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    *result = said[0].text;
    *notes = said[1].text;
    bool ended = !why && WIFEXITED(status), began = !ended || WEXITSTATUS(status) != NOT_BEGUN;
    if (ended && began) return WEXITSTATUS(status);
    free(*notes);
    *notes = strdup(why      ? why
                    : !began ? "what reads files cannot be started on this machine: it needs /proc and /dev/null"
                             : "it needed more memory or time than it is given");
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
    if (child == 0) become(program, folder, (char *const *)(uintptr_t)words, pipes[0][1], pipes[1][1]);
    if (child < 0) {
        close_all(pipes);
        return -1;
    }
    close(pipes[0][1]);
    close(pipes[1][1]);
    taken said[2] = {{.from = pipes[0][0]}, {.from = pipes[1][0]}};
    return finish(child, said, listen_to(said), result, notes);
}
