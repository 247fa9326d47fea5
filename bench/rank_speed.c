/* SPDX-License-Identifier: Apache-2.0 */
/* rank_speed.c - wall time and CPU time to rank all devices, for all built-in models or those named as arguments. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "centimani.h"

#define WANTED_S 0.1
#define RUNS 5 /* the fastest counts, because other load only makes runs slower */

static double seconds(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool asked(const char *id, char **names)
{
    bool all = !*names;
    for (; *names && !all; names++) all = strcmp(id, *names) == 0;
    return all;
}

int main(int count, char **arguments)
{
    int slow = 0;
    (void)count;
    printf("%-20s %8s %8s %8s\n", "model", "wall ms", "CPU ms", "placed");
    for (int32_t m = 0; m < cm_models(); m++) {
        if (!asked(cm_model(m)->id, arguments + 1)) continue;
        double  wall = 1e9, cpu = 1e9;
        int32_t placed = 0;
        for (int run = 0; run < RUNS; run++) {
            cm_ranking *ranking;
            cm_diag     diag = {0};
            double      from = seconds(CLOCK_MONOTONIC), work = seconds(CLOCK_PROCESS_CPUTIME_ID);
            if (cm_rank(cm_model(m)->id, NULL, &ranking, &diag)) {
                fprintf(stderr, "rank_speed: %s: %s\n", cm_model(m)->id, diag.reason);
                return 1;
            }
            double took = seconds(CLOCK_MONOTONIC) - from, worked = seconds(CLOCK_PROCESS_CPUTIME_ID) - work;
            if (took < wall) wall = took;
            if (worked < cpu) cpu = worked;
            placed = cm_ranking_placed(ranking);
            cm_ranking_free(ranking);
        }
        printf("%-20s %8.1f %8.1f %8d\n", cm_model(m)->id, 1e3 * wall, 1e3 * cpu, placed);
        slow += wall > WANTED_S;
    }
    printf("%d models over %.0f ms\n", slow, 1e3 * WANTED_S);
    return slow > 0;
}
