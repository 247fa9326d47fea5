/* SPDX-License-Identifier: Apache-2.0 */
/* plan_speed.c - parallel plans evaluated per second for GPT-3 175B on 64 A100; on one core and on all cores. */
#include <stdio.h>
#include <stdlib.h>
#include "centimani.h"

#define MODEL "gpt:layers=96,hidden=12288,heads=96,seq=2048,vocab=51200"
#define LEAST 1e6 /* plans per second on one core */

static void fail(const char *what, const cm_diag *diag)
{
    char text[1100];
    fprintf(stderr, "plan_speed: %s: %s\n", what, cm_diag_text(diag, text, sizeof text));
    exit(1);
}

static double search(const cm_graph *forward, const cm_device *device, const cm_fabric *fabric, int32_t threads)
{
    cm_search_options o = {.devices = 64,
                           .global_batch = 13824,
                           .runtime = CM_RUNTIME_MEGATRON,
                           .fabric = fabric,
                           .threads = threads,
                           .train = {.precision = CM_PRECISION_FP16, .master = true}};
    cm_search        *s;
    cm_diag           diag = {0};
    if (cm_search_run(forward, device, &o, &s, &diag)) fail("search", &diag);
    const cm_search_info *i = cm_search_get_info(s);
    double                rate = (double)i->evaluated / i->search_time_s;
    printf("%7d %12llu %12llu %10.3f %10.3f %14.0f %14.0f\n", i->threads, (unsigned long long)i->evaluated,
           (unsigned long long)i->feasible, i->setup_s, i->search_time_s, rate,
           (double)i->evaluated / (i->search_time_s + i->setup_s));
    cm_search_free(s);
    return rate;
}

int main(void)
{
    cm_device *device;
    cm_fabric *fabric;
    cm_graph  *forward;
    cm_diag    diag = {0};
    if (cm_device_load("nvidia-a100-80g", &device, &diag)) fail("device", &diag);
    if (cm_fabric_new(device, "node=8,net=800Gb", &fabric, &diag)) fail("fabric", &diag);
    if (cm_graph_load(MODEL, NULL, &forward, &diag)) fail("model", &diag);
    printf("%7s %12s %12s %10s %10s %14s %14s\n", "threads", "evaluated", "feasible", "setup s", "search s",
           "plans/s", "with setup");
    double one = search(forward, device, fabric, 1);
    search(forward, device, fabric, 0);
    cm_graph_free(forward);
    cm_fabric_free(fabric);
    cm_device_free(device);
    if (one < LEAST) printf("below %.0f plans/s on one core\n", LEAST);
    return one < LEAST;
}
