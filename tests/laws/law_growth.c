/* SPDX-License-Identifier: Apache-2.0 */
/* law_growth.c - time grows with the work, and does not grow when numbers get smaller. */
#include <stdio.h>
#include <string.h>
#include "ask.h"

static double step_s(const law_question *q)
{
    cm_prediction *p = law_predict(q);
    double         time = p ? cm_prediction_get_info(p)->step_time_s : NAN;
    cm_prediction_free(p);
    return time;
}

/* Of a step that waits for its host to launch casts, what the device and its links do. */
static double busy_s(const law_question *q)
{
    cm_prediction            *p = law_predict(q);
    const cm_prediction_info *i = p ? cm_prediction_get_info(p) : NULL;
    double                    time = i ? i->device_time_s + i->tensor_s + i->pipeline_s + i->data_s - i->hidden_s + i->bubble_s : NAN;
    if (i && i->host_time_s < 0.9 * i->step_time_s) time = i->step_time_s;
    cm_prediction_free(p);
    return time;
}

static double device_s(const law_question *q)
{
    cm_prediction *p = law_predict(q);
    double         time = p ? cm_prediction_get_info(p)->device_time_s : NAN;
    cm_prediction_free(p);
    return time;
}

/* f. A smaller type is not slower, but for its casts: 5 %, of small steps whose products are as short as the casts. */
void law_smaller_types(law_run *run)
{
    static const char *const models[] = {"llama:layers=4,hidden=4096,heads=32,kv_heads=8,ffn=14336,vocab=32000,seq=4096",
                                         "gpt:layers=4,hidden=2048,heads=16,seq=2048,vocab=51200",
                                         "bert:layers=4,hidden=1024,heads=16,seq=512,vocab=30528"};
    static const char *const devices[] = {"nvidia-h100", "nvidia-h200", "nvidia-b200", "nvidia-l40s", "nvidia-rtx4090",
                                          "amd-mi300x", "amd-mi325x", "nvidia-gb200"};
    static const cm_precision order[][2] = {{CM_PRECISION_FP8, CM_PRECISION_AMP_BF16}, {CM_PRECISION_FP8, CM_PRECISION_BF16},
                                            {CM_PRECISION_AMP_BF16, CM_PRECISION_FP32},
                                            {CM_PRECISION_BF16, CM_PRECISION_AMP_BF16}, {CM_PRECISION_TF32, CM_PRECISION_FP32}};
    static const cm_plan plans[] = {{.tp = 1}, {.tp = 4}, {.tp = 2, .sequence_parallel = true, .dp = 2}, {.pp = 2, .accumulate = 4}, {.dp = 8, .zero = 3}};
    for (size_t m = 0; m < sizeof models / sizeof *models; m++)
        for (size_t d = 0; d < sizeof devices / sizeof *devices; d++)
            for (size_t o = 0; o < sizeof order / sizeof *order; o++)
                for (size_t k = 0; k < sizeof plans / sizeof *plans; k++) {
                    law_question q = {.model = models[m], .device = devices[d], .batch = 8, .plan = plans[k],
                                      .runtime = law_random(run, 3) ? CM_RUNTIME_TORCH_EAGER : CM_RUNTIME_TORCH_COMPILE};
                    if (order[o][1] == CM_PRECISION_BF16) q.runtime = CM_RUNTIME_MEGATRON; /* whose fp8 is of bf16 weights */
                    if (k) q.plan.micro_batch = 8;
                    q.precision = order[o][1];
                    double wide = busy_s(&q);
                    q.precision = order[o][0];
                    double narrow = busy_s(&q);
                    law_case(run, narrow <= wide * 1.05, "%s: %.4g s, %.4g s in %s", law_text(&q), narrow, wide,
                             cm_precision_name(order[o][1]));
                }
}

/* g. More samples, more tokens, more layers take longer. */
void law_time_grows(law_run *run)
{
    static const char *const devices[] = {"nvidia-h200", "nvidia-a100-80g", "nvidia-v100-16g", "amd-mi250", "nvidia-b200", "nvidia-t4"};
    for (int i = 0; i < 60; i++) {
        const char  *device = LAW_PICK(run, devices);
        int          layers = 2 + (int)law_random(run, 4), heads = 4 << law_random(run, 3);
        char         model[128], deeper[128];
        cm_runtime   runtime = LAW_PICK(run, ((cm_runtime[]){CM_RUNTIME_TORCH_EAGER, CM_RUNTIME_TORCH_COMPILE, CM_RUNTIME_MEGATRON}));
        const char  *family = LAW_PICK(run, ((const char *[]){"gpt", "llama", "bert"}));
        snprintf(model, sizeof model, "%s:layers=%d,hidden=%d,heads=%d,vocab=8192", family, layers, heads * 64, heads);
        snprintf(deeper, sizeof deeper, "%s:layers=%d,hidden=%d,heads=%d,vocab=8192", family, layers + 2, heads * 64, heads);
        law_question q = {.model = model, .device = device, .runtime = runtime, .precision = CM_PRECISION_FP16, .seq = 256 << law_random(run, 4),
                          .batch = 1 << law_random(run, 6)};
        law_question batch = q, seq = q, deep = q;
        batch.batch *= 2;
        seq.seq *= 2;
        deep.model = deeper;
        double t = device_s(&q);
        law_case(run, device_s(&batch) >= t * 0.99, "%s: twice the batch takes %.4g s of device, once %.4g", law_text(&q), device_s(&batch), t);
        law_case(run, device_s(&seq) >= t * 0.99, "%s: twice the tokens take %.4g s of device, once %.4g", law_text(&q), device_s(&seq), t);
        law_case(run, device_s(&deep) >= t, "%s: two more layers take %.4g s of device, without %.4g", law_text(&q), device_s(&deep), t);
        law_case(run, step_s(&deep) >= step_s(&q), "%s: two more layers take less: %.4g s, without %.4g", law_text(&q), step_s(&deep), step_s(&q));
    }
}
