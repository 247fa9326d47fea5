/* SPDX-License-Identifier: Apache-2.0 */
/*
 * start_speed.c - PROGRAM [PEER...]: CPU time and page faults of whole commands, from the start of the process to its end.
 *
 * A PEER is the command line of another predictor, with blanks between its words. Python's own start is printed as well:
 * other predictors (Calculon, SimuMax, dlcalc) are Python programs, so that none of them answers earlier.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <fcntl.h>

#define RUNS 20 /* the fastest counts, because other load only makes runs slower */
#define WORDS 16

static const struct {
    const char *words[8];
    double      wanted_s;
} commands[] = {
    {{"--version"}, 0.002},
    {{"devices"}, 0.01},
    {{"predict", "resnet50", "--device", "nvidia-h200"}, 0.005},
    {{"predict", "resnet50", "--device", "nvidia-h200", "--batch", "256"}, 0.01},
    {{"predict", "gpt2", "--device", "amd-mi300x"}, 0.01},
    {{"rank", "resnet50"}, 0.03},
};

static const char *const python[] = {"-c", "import json", NULL};

typedef struct used {
    double time_s; /* user and system */
    long   faults;
} used;

static double seconds(struct timeval t) { return (double)t.tv_sec + 1e-6 * (double)t.tv_usec; }

static void become(const char *program, const char *const *words)
{
    char *arguments[WORDS + 1] = {(char *)(size_t)program};
    int   nowhere = open("/dev/null", O_WRONLY);
    for (int i = 0; i < WORDS - 1 && words[i]; i++) arguments[i + 1] = (char *)(size_t)words[i];
    if (nowhere < 0 || dup2(nowhere, 1) < 0) _exit(127);
    execvp(program, arguments);
    _exit(127);
}

/* Returns false if the command fails. */
static bool run(const char *program, const char *const *words, used *took)
{
    struct rusage all;
    int           status;
    pid_t         child = fork();
    if (!child) become(program, words);
    if (child < 0 || wait4(child, &status, 0, &all) != child || status) return false;
    *took = (used){seconds(all.ru_utime) + seconds(all.ru_stime), all.ru_minflt};
    return true;
}

static bool run_often(const char *program, const char *const *words, used *least)
{
    used took;
    *least = (used){.time_s = 1e9};
    for (int i = 0; i < RUNS; i++) {
        if (!run(program, words, &took)) return false;
        if (took.time_s < least->time_s) *least = took;
    }
    return true;
}

static void print_row(used least, const char *wanted, const char *program, const char *const *words)
{
    printf("%8.1f %8s %8ld  %s", 1e3 * least.time_s, wanted, least.faults, program);
    for (int i = 0; words[i]; i++) printf(" %s", words[i]);
    printf("\n");
}

/* Divides a peer's command line into words and times it. Returns false if it fails. */
static bool time_peer(char *line)
{
    const char *words[WORDS] = {NULL};
    used        least;
    int         count = 0;
    for (char *word = strtok(line, " "); word && count < WORDS - 1; word = strtok(NULL, " ")) words[count++] = word;
    if (!count || !run_often(words[0], words + 1, &least)) return false;
    print_row(least, "", words[0], words + 1);
    return true;
}

int main(int count, char **arguments)
{
    int  slow = 0;
    used least;
    char wanted[16];
    if (count < 2) {
        fprintf(stderr, "usage: start_speed PROGRAM [PEER...]\n");
        return 2;
    }
    printf("%8s %8s %8s  command\n", "CPU ms", "wanted", "faults");
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        if (!run_often(arguments[1], commands[i].words, &least)) {
            fprintf(stderr, "start_speed: cannot run %s %s\n", arguments[1], commands[i].words[0]);
            return 1;
        }
        snprintf(wanted, sizeof wanted, "%.1f", 1e3 * commands[i].wanted_s);
        print_row(least, wanted, "centimani", commands[i].words);
        slow += least.time_s > commands[i].wanted_s;
    }
    if (run_often("/usr/bin/python3", python, &least)) print_row(least, "", "python3", python);
    for (int i = 2; i < count; i++)
        if (!time_peer(arguments[i])) {
            fprintf(stderr, "start_speed: a peer failed\n");
            return 1;
        }
    printf("%d commands are slower than wanted\n", slow);
    return slow > 0;
}
