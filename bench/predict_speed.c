/* SPDX-License-Identifier: Apache-2.0 */
/* predict_speed.c - time to predict 1,000 batch sizes of a model together, compared with 1,000 single predictions. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "centimani.h"

#define BATCHES 1000
#define SINGLE 20 /* single predictions that are timed, and scaled up to BATCHES */
#define WANTED_S 0.1

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void need(cm_status status, const char *what, const cm_diag *diag)
{
    char text[1100];
    if (!status) return;
    fprintf(stderr, "predict_speed: %s: %s\n", what, cm_diag_text(diag, text, sizeof text));
    exit(1);
}

static double many(const cm_graph *step, const cm_device *device, cm_diag *diag)
{
    cm_predictor      *p;
    cm_prediction_info info;
    double             begin = now_s();
    need(cm_predictor_new(step, device, NULL, &p, diag), "predictor", diag);
    for (int64_t b = 1; b <= BATCHES; b++) need(cm_predictor_at(p, b, &info, diag), "predictor", diag);
    cm_predictor_free(p);
    return now_s() - begin;
}

static double single(const cm_graph *step, const cm_device *device, cm_diag *diag)
{
    cm_prediction *p;
    double         begin = now_s();
    for (int64_t k = 1; k <= SINGLE; k++) {
        cm_predict_options options = {.batch = k * BATCHES / SINGLE - 1};
        need(cm_predict(step, device, &options, &p, diag), "predict", diag);
        cm_prediction_free(p);
    }
    return (now_s() - begin) * BATCHES / SINGLE;
}

int main(void)
{
    static const char *const models[] = {"resnet50", "vgg16", "unet", "bert-large", "gpt2", "gpt2-xl"};
    cm_diag    diag = {0};
    cm_device *device;
    bool       fast = true;
    need(cm_device_load("nvidia-h200", &device, &diag), "nvidia-h200", &diag);
    printf("%-12s %14s %14s %8s\n", "model", "1000 batches", "one by one", "ratio");
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        cm_graph *forward, *step;
        need(cm_graph_load(models[i], &(cm_load_options){.fuse = CM_FUSE_EAGER}, &forward, &diag), models[i], &diag);
        need(cm_graph_train(forward, NULL, &step, &diag), models[i], &diag);
        double together = many(step, device, &diag), apart = single(step, device, &diag);
        printf("%-12s %11.1f ms %11.1f ms %8.3f\n", models[i], 1e3 * together, 1e3 * apart, together / apart);
        fast = fast && together <= WANTED_S;
        cm_graph_free(step);
        cm_graph_free(forward);
    }
    cm_device_free(device);
    printf("wanted: at most %.0f ms\n", 1e3 * WANTED_S);
    return !fast;
}
