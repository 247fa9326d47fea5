/* SPDX-License-Identifier: Apache-2.0 */
/* start_speed.c - PROGRAM: CPU time of whole commands, from the start of the process to its end. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <fcntl.h>

#define RUNS 20 /* the fastest counts, because other load only makes runs slower */

static const struct {
    const char *words[8];
    double      wanted_s;
} commands[] = {
    {{"--version"}, 0.002},
    {{"devices"}, 0.01},
    {{"predict", "resnet50", "--device", "nvidia-h200"}, 0.01},
    {{"predict", "resnet50", "--device", "nvidia-h200", "--batch", "256"}, 0.01},
    {{"predict", "gpt2", "--device", "amd-mi300x"}, 0.01},
    {{"rank", "resnet50"}, 0.2},
};

static double seconds(struct timeval t) { return (double)t.tv_sec + 1e-6 * (double)t.tv_usec; }

static void become(const char *program, const char *const *words)
{
    char *arguments[10] = {(char *)(size_t)program};
    int   nowhere = open("/dev/null", O_WRONLY);
    for (int i = 0; words[i]; i++) arguments[i + 1] = (char *)(size_t)words[i];
    if (nowhere < 0 || dup2(nowhere, 1) < 0) _exit(127);
    execv(program, arguments);
    _exit(127);
}

/* User and system time of one run. */
static double run(const char *program, const char *const *words)
{
    struct rusage used;
    int           status;
    pid_t         child = fork();
    if (!child) become(program, words);
    if (child < 0 || wait4(child, &status, 0, &used) != child || status) {
        fprintf(stderr, "start_speed: cannot run %s %s\n", program, words[0]);
        exit(1);
    }
    return seconds(used.ru_utime) + seconds(used.ru_stime);
}

int main(int count, char **arguments)
{
    int slow = 0;
    if (count != 2) {
        fprintf(stderr, "usage: start_speed PROGRAM\n");
        return 2;
    }
    printf("%8s %8s  command\n", "CPU ms", "wanted");
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        double least = 1e9;
        for (int k = 0; k < RUNS; k++) {
            double took = run(arguments[1], commands[i].words);
            if (took < least) least = took;
        }
        printf("%8.1f %8.1f ", 1e3 * least, 1e3 * commands[i].wanted_s);
        for (int k = 0; commands[i].words[k]; k++) printf(" %s", commands[i].words[k]);
        printf("\n");
        slow += least > commands[i].wanted_s;
    }
    printf("%d commands are slower than wanted\n", slow);
    return slow > 0;
}
