/* SPDX-License-Identifier: Apache-2.0 */
/* law_better.c - a better device is never slower, and gains as much as the sensitivity of the old one predicts. */
#include <string.h>
#include "devices.h"

static const struct cases {
    const char  *model;
    cm_precision precision;
    int64_t      batch;
} cases[] = {
    {"resnet18", CM_PRECISION_AMP_FP16, 64},
    {"resnet50", CM_PRECISION_AMP_BF16, 256},
    {"mobilenet-v3-small", CM_PRECISION_FP32, 128},
    {"lstm", CM_PRECISION_FP32, 32},
    {"gpt:layers=2,hidden=512,heads=8,seq=256,vocab=1000", CM_PRECISION_AMP_BF16, 16},
    {"gpt:layers=4,hidden=2048,heads=16,seq=1024,vocab=8000", CM_PRECISION_BF16, 8},
    {"gemm:m=8192,n=8192,k=1024", CM_PRECISION_BF16, 1},
    {"bert:layers=2,hidden=768,heads=12,seq=128,vocab=1000", CM_PRECISION_FP32, 1},
};
#define ASKED 8
#define ROUNDING 1e-6

static void check_better(law_run *run, const cm_graph *step, const cm_device *device, const char *id,
                         const struct cases *q)
{
    double now = law_step_time(step, device, q->batch);
    if (isnan(now)) return;
    for (int part = 0; part < LAW_PARTS; part++) {
        double     factor = part % 2 ? 2 : 1.1;
        cm_device *better = law_device_changed(id, (law_part)part, factor);
        if (!better) continue;
        double time = law_step_time(step, better, q->batch);
        law_case(run, time <= now * (1 + ROUNDING), "%s of %lld on %s in %s, %s x %g: %.9g ms, before %.9g ms",
                 q->model, (long long)q->batch, id, cm_precision_name(q->precision), law_part_name((law_part)part), factor,
                 1e3 * time, 1e3 * now);
        cm_device_free(better);
    }
}

void law_better_is_no_slower(law_run *run)
{
    for (size_t q = 0; q < ASKED; q++) {
        cm_graph *step = law_training_step(cases[q].model, cases[q].precision);
        for (int32_t d = 0; cm_device_id(d); d++) {
            cm_device *device;
            if ((size_t)d % ASKED != q && (d % 2 || (size_t)(d + 3) % ASKED != q)) continue;
            if (cm_device_load(cm_device_id(d), &device, NULL)) continue;
            if (cm_device_supports(device, cases[q].precision))
                check_better(run, step, device, cm_device_id(d), &cases[q]);
            cm_device_free(device);
        }
        cm_graph_free(step);
    }
}

/* ---- sensitivities ----------------------------------------------------------------------------------------------- */

static const struct {
    const char *what;
    law_part    part;
} sensitivities[] = {{"memory bandwidth", LAW_MAIN_BANDWIDTH}, {"cache size", LAW_CACHE}, {"power limit", LAW_POWER},
            {"bandwidth to activations", LAW_MAIN_BANDWIDTH}};

static double sensitivity_time(const cm_prediction *p, const char *what)
{
    for (int32_t i = 0; i < cm_prediction_sensitivities(p); i++) {
        const cm_sensitivity *s = cm_prediction_sensitivity(p, i);
        if (strcmp(s->what, what) == 0) return s->step_time_s;
    }
    return NAN;
}

static void check_sensitivities(law_run *run, const cm_prediction *p, const cm_graph *step, const char *id,
                       const struct cases *q)
{
    double now = cm_prediction_get_info(p)->step_time_s;
    for (size_t t = 0; t < sizeof sensitivities / sizeof *sensitivities; t++) {
        double     predicted = sensitivity_time(p, sensitivities[t].what);
        cm_device *better = isnan(predicted) ? NULL : law_device_changed(id, sensitivities[t].part, 1.1);
        if (!better) continue;
        double time = law_step_time(step, better, q->batch);
        law_case(run, fabs(time - predicted) <= ROUNDING * now,
                 "%s of %lld on %s: %s x 1.1 predicted %.6g ms, but the changed profile gives %.6g of %.6g",
                 q->model, (long long)q->batch, id, sensitivities[t].what, 1e3 * predicted, 1e3 * time, 1e3 * now);
        cm_device_free(better);
    }
}

void law_sensitivity_is_a_changed_profile(law_run *run)
{
    static const char *const ids[] = {"nvidia-h200", "nvidia-h100", "nvidia-a100-80g", "nvidia-v100-16g", "amd-mi250",
                                      "google-tpu-v4", "habana-gaudi2"};
    for (size_t q = 0; q < ASKED; q++)
        for (size_t d = 0; d < sizeof ids / sizeof *ids; d++) {
            cm_predict_options o = {.batch = cases[q].batch, .sensitivities = true};
            cm_graph          *step = law_training_step(cases[q].model, cases[q].precision);
            cm_prediction     *p = NULL;
            cm_device         *device = NULL;
            if (!cm_device_load(ids[d], &device, NULL) && !cm_predict(step, device, &o, &p, NULL))
                check_sensitivities(run, p, step, ids[d], &cases[q]);
            cm_prediction_free(p);
            cm_device_free(device);
            cm_graph_free(step);
        }
}
