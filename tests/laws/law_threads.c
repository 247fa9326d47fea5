/* SPDX-License-Identifier: Apache-2.0 */
/* law_threads.c - the result does not depend on the number of threads or their order. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "devices.h"

#define REPETITIONS 20
#define ENTRIES 16

typedef struct answer {
    char   ids[ENTRIES][64];
    double time_s[ENTRIES], value[ENTRIES], low_s[ENTRIES], peak_bytes[ENTRIES];
    int    count;
} answer;

static bool rank_once(const char *model, const char *devices, int32_t threads, answer *a)
{
    cm_ranking     *ranking;
    cm_rank_options o = {.devices = devices, .threads = threads};
    memset(a, 0, sizeof *a);
    if (cm_rank(model, &o, &ranking, NULL)) return false;
    for (int32_t i = 0; i < cm_ranking_entries(ranking) && i < ENTRIES; i++, a->count++) {
        const cm_rank_entry *e = cm_ranking_entry(ranking, i);
        snprintf(a->ids[i], sizeof a->ids[i], "%s", cm_device_get_info(e->device)->name);
        a->time_s[i] = e->prediction.step_time_s;
        a->low_s[i] = e->prediction.interval_s[0];
        a->value[i] = e->value;
        a->peak_bytes[i] = e->peak_bytes;
    }
    cm_ranking_free(ranking);
    return true;
}

static void repeat(law_run *run, const char *model, const char *devices)
{
    answer first, again;
    bool   ok = rank_once(model, devices, 1, &first);
    for (int i = 0; ok && i < REPETITIONS; i++) {
        ok = rank_once(model, devices, 2 + i % 3, &again);
        double worst = 0;
        for (int k = 0; k < first.count; k++) worst = fmax(worst, fabs(again.time_s[k] / first.time_s[k] - 1));
        law_case(run, memcmp(&first, &again, sizeof first) == 0,
                 "rank %s on %s, repetition %d: times up to %g off", model,
                 devices, i, worst);
    }
    law_case(run, ok, "rank %s on %s is refused", model, devices);
}

void law_threads_do_not_matter(law_run *run)
{
    static const struct {
        const char *id;
        law_part    part;
        double      factor;
    } made[] = {{"nvidia-h200", LAW_MAIN_BANDWIDTH, 2}, {"nvidia-h200", LAW_MATRIX_PEAK, 2},
                {"nvidia-h200", LAW_PARTS, 1}, {"nvidia-h100", LAW_CACHE, 2}, {"nvidia-a100-40g", LAW_CLOCK, 1.1}};
    char folder[] = "/tmp/laws-XXXXXX", paths[5][64];
    char devices[512] = "nvidia-h200,nvidia-h100,nvidia-v100-16g,nvidia-a100-40g";
    if (!mkdtemp(folder)) return;
    for (int i = 0; i < 5; i++) {
        snprintf(paths[i], sizeof paths[i], "%s/p%d.json", folder, i);
        if (!law_profile_write(made[i].id, made[i].part, made[i].factor, paths[i])) continue;
        strcat(strcat(devices, ","), paths[i]);
    }
    repeat(run, "lstm", devices);
    repeat(run, "gpt:layers=2,hidden=256,heads=4,seq=128,vocab=1000", devices);
    for (int i = 0; i < 5; i++) remove(paths[i]);
    rmdir(folder);
}
