/* SPDX-License-Identifier: Apache-2.0 */
/* law_accumulation.c - memory, time and the choice of a batch size divide a batch into equal micro-batches, or all of
   them refuse it in the same words. */
#include <stdio.h>
#include <string.h>
#include "laws.h"

static const char *const devices[] = {"nvidia-h200", "nvidia-v100-16g", "graphcore-gc200", "cerebras-cs2",
                                      "sambanova-sn10", "google-tpu-v4"};
static const char *const models[] = {"resnet18", "mlp-7x4096", "gpt2"};

static void check_batch(law_run *run, cm_step *step, const cm_device *device, const char *about, int32_t times,
                        int64_t batch)
{
    cm_memory_use      use;
    cm_prediction_info info;
    cm_diag            of_memory = {0}, of_time = {0};
    cm_status          memory = cm_step_memory(step, batch, &use, &of_memory);
    cm_status          time = cm_step_time(step, batch, &info, &of_time);
    bool               divisible = batch % times == 0;
    law_case(run, divisible || (memory && time && strcmp(of_memory.reason, of_time.reason) == 0),
             "%s: %lld samples in %d micro-batches: memory '%s', time '%s'", about, (long long)batch, times,
             of_memory.reason, of_time.reason);
    if (!divisible || memory) return;
    bool whole = cm_device_get_info(device)->style != CM_STYLE_KERNELS; /* may divide them further */
    law_case(run, whole || use.micro_batch * times == batch, "%s: %lld samples in %d micro-batches of %lld", about,
             (long long)batch, times, (long long)use.micro_batch);
}

static void check_choice(law_run *run, cm_step *step, const char *about, int32_t times, bool any)
{
    cm_batch_options o = {.any = any};
    cm_batch_choice  choice;
    int64_t          usual = 0;
    cm_diag          diag = {0};
    cm_status        status = cm_step_choose_batch(step, &o, &choice, &diag);
    law_case(run, !status, "%s: %s", about, diag.reason);
    for (int32_t i = 0; !status && i < choice.n_candidates; i++)
        law_case(run, choice.candidates[i].batch % times == 0, "%s: %d micro-batches of %lld samples are a candidate",
                 about, times, (long long)choice.candidates[i].batch);
    status = cm_step_usual_batch(step, &usual, &diag);
    law_case(run, !status && usual % times == 0, "%s: usually %lld samples in %d micro-batches %s", about,
             (long long)usual, times, diag.reason);
}

void law_batches_are_divided(law_run *run)
{
    for (int i = 0; i < 24; i++) {
        const char     *model = LAW_PICK(run, models), *id = devices[i % 6];
        int32_t         times = (int32_t)(2 + law_random(run, 7));
        cm_step_options o = {.plan = {.accumulate = times}};
        cm_device      *device;
        cm_step        *step;
        char            about[96];
        if (cm_device_load(id, &device, NULL)) continue;
        snprintf(about, sizeof about, "%s on %s", model, id);
        if (cm_step_new(model, device, &o, &step, NULL) == CM_OK) {
            for (int64_t batch = 1; batch <= 32; batch += 1 + law_random(run, 4))
                check_batch(run, step, device, about, times, batch);
            check_choice(run, step, about, times, i % 2);
            cm_step_free(step);
        }
        cm_device_free(device);
    }
}
