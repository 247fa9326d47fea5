/* SPDX-License-Identifier: Apache-2.0 */
/* law_power.c - the average power of a step stays within the limit, and follows the limit and the device's load. */
#include "devices.h"

static const struct asked {
    const char  *model;
    cm_precision precision;
    int64_t      batch;
} questions[] = {
    {"resnet50", CM_PRECISION_FP32, 64},
    {"gpt:layers=4,hidden=2048,heads=16,seq=1024,vocab=8000", CM_PRECISION_AMP_FP16, 8},
    {"bert:layers=2,hidden=128,heads=2,seq=16,vocab=1000", CM_PRECISION_FP32, 1}, /* waits for the host */
};
#define ASKED 3
#define ROUNDING 1e-6
#define HOST_BOUND 5 /* times as much host time as device time */

/* False: refused, or the device's energies are unknown. */
static bool answer(const cm_graph *step, const cm_device *device, int64_t batch, cm_prediction_info *info)
{
    cm_prediction     *prediction;
    cm_predict_options options = {.batch = batch};
    if (cm_predict(step, device, &options, &prediction, NULL)) return false;
    *info = *cm_prediction_get_info(prediction);
    cm_prediction_free(prediction);
    return !isnan(info->power_w);
}

static void check_bounds(law_run *run, const cm_prediction_info *i, double limit, const char *id, const char *model)
{
    law_case(run, i->power_w >= i->idle_w && i->power_w <= limit * (1 + ROUNDING),
             "%s on %s: %.4g W, idle %.4g W, limit %.4g W", model, id, i->power_w, i->idle_w, limit);
    if (i->host_time_s < HOST_BOUND * i->device_time_s) return;
    law_case(run, i->power_w - i->idle_w <= (limit - i->idle_w) / 2 && i->clock == 1,
             "%s on %s waits for the host, but draws %.4g W of %.4g W at %.3g of its clock", model, id, i->power_w, limit,
             i->clock);
}

static void check_limits(law_run *run, const cm_graph *step, const struct asked *q, const char *id)
{
    static const double factors[] = {0.5, 0.75, 1.0000001, 1.5};
    cm_prediction_info  before = {.step_time_s = INFINITY}, now;
    for (int k = 0; k < 4; k++) {
        cm_device *device = law_device_changed(id, LAW_POWER, factors[k]);
        if (!device) continue;
        if (answer(step, device, q->batch, &now)) {
            check_bounds(run, &now, cm_device_number(device, CM_TDP_W).value, id, q->model);
            law_case(run, now.step_time_s <= before.step_time_s * (1 + ROUNDING) &&
                              now.power_w >= before.power_w * (1 - ROUNDING),
                     "%s on %s at %g of its limit: %.6g s at %.4g W, before %.6g s at %.4g W", q->model, id, factors[k],
                     now.step_time_s, now.power_w, before.step_time_s, before.power_w);
            before = now;
        }
        cm_device_free(device);
    }
}

/* Every GPU has energies, so that its power is that of the step. */
static void check_known(law_run *run, const cm_graph *step, const cm_device *device, const struct asked *q)
{
    cm_prediction_info       info;
    const cm_device_info    *of = cm_device_get_info(device);
    if (of->style != CM_STYLE_KERNELS || !cm_device_number(device, CM_TDP_W).known) return;
    if (answer(step, device, q->batch, &info)) law_case(run, info.power_w > 0, "%s", of->id);
    else law_case(run, of->device_class[0] != 'g', "%s: the power of a GPU is unknown", of->id);
}

void law_power_of_a_step(law_run *run)
{
    for (int q = 0; q < ASKED; q++) {
        cm_graph *step = law_training_step(questions[q].model, questions[q].precision);
        for (int32_t d = 0; cm_device_id(d); d++) {
            cm_device *device;
            if (cm_device_load(cm_device_id(d), &device, NULL)) continue;
            if (cm_device_supports(device, questions[q].precision)) {
                check_known(run, step, device, &questions[q]);
                check_limits(run, step, &questions[q], cm_device_id(d));
            }
            cm_device_free(device);
        }
        cm_graph_free(step);
    }
}
