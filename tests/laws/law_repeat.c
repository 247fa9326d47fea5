/* SPDX-License-Identifier: Apache-2.0 */
/* law_repeat.c - the same question asked twice gives the same numbers. */
#include <string.h>
#include "laws.h"

/* The second run loads the device again. */
static bool step_times(const char *model, const char *id, double *times)
{
    cm_device       *device;
    cm_graph        *forward, *step;
    cm_prediction   *prediction;
    cm_load_options  load = {.fuse = CM_FUSE_EAGER};
    cm_train_options train = {.precision = CM_PRECISION_AMP_BF16};
    if (cm_device_load(id, &device, NULL)) return false;
    bool ok = cm_graph_load(model, &load, &forward, NULL) == CM_OK;
    if (ok) ok = cm_graph_train(forward, &train, &step, NULL) == CM_OK;
    for (int i = 0; ok && i < 4; i++) {
        cm_predict_options options = {.batch = 1 << (2 * i)};
        ok = cm_predict(step, device, &options, &prediction, NULL) == CM_OK;
        times[i] = ok ? cm_prediction_get_info(prediction)->step_time_s : NAN;
        if (ok) cm_prediction_free(prediction);
    }
    cm_graph_free(step);
    cm_graph_free(forward);
    cm_device_free(device);
    return ok;
}

void law_same_answer_twice(law_run *run)
{
    static const char *const models[] = {"resnet18", "mobilenet-v3-small", "lstm", "gpt:layers=2,hidden=256,heads=4,seq=128,vocab=1000"};
    static const char *const devices[] = {"nvidia-h200", "nvidia-a100-40g", "nvidia-t4", "amd-mi250"};
    for (size_t m = 0; m < 4; m++)
        for (size_t d = 0; d < 4; d++) {
            double first[4], second[4];
            bool   ok = step_times(models[m], devices[d], first) && step_times(models[m], devices[d], second);
            law_case(run, ok && memcmp(first, second, sizeof first) == 0, "%s on %s", models[m], devices[d]);
        }
}
