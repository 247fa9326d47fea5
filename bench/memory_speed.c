/* SPDX-License-Identifier: Apache-2.0 */
/* memory_speed.c - memory predictions per second on one core, for imported models; one per (model, device, batch). */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "centimani.h"

#define SECONDS 0.3 /* per model */
#define BATCHES 512

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void fail(const char *what, const cm_diag *diag)
{
    char text[1100];
    fprintf(stderr, "memory_speed: %s: %s\n", what, cm_diag_text(diag, text, sizeof text));
    exit(1);
}

/* Calls per second of one of the two evaluation functions. */
static double rate(const cm_footprint *f, bool exact)
{
    cm_memory_use use;
    cm_diag       diag;
    double        begin = now_s(), checked = 0;
    long          n = 0;
    while (now_s() - begin < SECONDS) {
        if (exact) cm_footprint_simulate(f, n % BATCHES + 1, &use, &diag);
        else cm_footprint_at(f, n % BATCHES + 1, &use);
        checked += use.peak_bytes;
        n++;
    }
    return checked > 0 ? (double)n / (now_s() - begin) : 0;
}

int main(void)
{
    static const char *const models[] = {"resnet18", "resnet50", "vgg16",      "unet",
                                             "uno",      "braggnn",  "bert-large", "gpt2-xl"};
    cm_device               *device;
    cm_diag                  diag = {0};
    double                   least = 1e300;
    if (cm_device_load("nvidia-h200", &device, &diag)) fail("nvidia-h200", &diag);
    printf("%-12s %8s %14s %16s %16s\n", "model", "nodes", "footprint s", "polynomials 1/s", "simulation 1/s");
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        cm_graph       *forward, *step;
        cm_footprint   *f;
        cm_load_options load = {.fuse = CM_FUSE_EAGER};
        if (cm_graph_load(models[i], &load, &forward, &diag)) fail(models[i], &diag);
        if (cm_graph_train(forward, NULL, &step, &diag)) fail(models[i], &diag);
        double begin = now_s();
        if (cm_footprint_new(step, device, NULL, &f, &diag)) fail(models[i], &diag);
        double made = now_s() - begin, fast = rate(f, false);
        printf("%-12s %8d %14.2e %16.0f %16.0f\n", models[i], cm_graph_nodes(step), made, fast, rate(f, true));
        if (fast < least) least = fast;
        cm_footprint_free(f);
        cm_graph_free(step);
        cm_graph_free(forward);
    }
    cm_device_free(device);
    printf("at least %.0f evaluations per second and core (wanted: 10,000)\n", least);
    return least >= 10000 ? 0 : 1;
}
