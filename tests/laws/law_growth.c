/* SPDX-License-Identifier: Apache-2.0 */
/* law_growth.c - time grows with the work, and does not grow with narrower types. */
#include <stdio.h>
#include <string.h>
#include "ask.h"

struct times {
    double step_s, device_s;
};

static struct times times_of(const law_question *q)
{
    cm_prediction *p = law_predict(q);
    struct times   t = {NAN, NAN};
    if (p) t = (struct times){cm_prediction_get_info(p)->step_time_s, cm_prediction_get_info(p)->device_time_s};
    cm_prediction_free(p);
    return t;
}

/* Returns the time in which device and links work on a step, and stores the time of its casts. If launching kernels takes
   longer than running them, the launches of casts are not counted. */
static double busy_s(const law_question *q, double *casts_s)
{
    cm_prediction            *p = law_predict(q);
    const cm_prediction_info *i = p ? cm_prediction_get_info(p) : NULL;
    double time = i ? i->device_time_s + i->tensor_s + i->pipeline_s + i->data_s - i->hidden_s + i->bubble_s : NAN;
    if (i && i->host_time_s < i->device_time_s) time = i->step_time_s;
    *casts_s = 0;
    for (int32_t k = 0; p && k < cm_prediction_ops(p); k++)
        if (strstr(cm_prediction_op(p, k)->call, "forward copy")) *casts_s += cm_prediction_op(p, k)->time_s;
    cm_prediction_free(p);
    return time;
}

/* f. A narrower type is not slower, except for the casts that it adds, and 5 % in small steps. In a pipeline whose stages
   are bound by the host the two types may have different slowest stages: then the steps are compared. */
static void check_types(law_run *run, law_question q, cm_precision narrow, cm_precision wide)
{
    q.precision = wide;
    double casts[2], before = busy_s(&q, &casts[0]), step = times_of(&q).step_s;
    q.precision = narrow;
    double after = busy_s(&q, &casts[1]);
    bool   faster = q.plan.pp > 1 && times_of(&q).step_s <= step;
    law_case(run, faster || after <= before * 1.05 + fmax(0, casts[1] - casts[0]), "%s: %.4g s, %.4g s in %s", law_text(&q), after, before,
             cm_precision_name(wide));
}

void law_smaller_types(law_run *run)
{
    static const char *const models[] = {
        "llama:layers=2,hidden=4096,heads=32,kv_heads=8,ffn=14336,vocab=32000,seq=4096",
        "gpt:layers=2,hidden=2048,heads=16,seq=2048,vocab=51200",
        "bert:layers=2,hidden=1024,heads=16,seq=512,vocab=30528"};
    static const char *const  devices[] = {"nvidia-h100",    "nvidia-h200", "nvidia-b200", "nvidia-l40s",
                                           "nvidia-rtx4090", "amd-mi300x",  "amd-mi325x",  "nvidia-gb200"};
    static const cm_precision order[][2] = {{CM_PRECISION_FP8, CM_PRECISION_AMP_BF16},
                                            {CM_PRECISION_FP8, CM_PRECISION_BF16},
                                            {CM_PRECISION_AMP_BF16, CM_PRECISION_FP32},
                                            {CM_PRECISION_BF16, CM_PRECISION_AMP_BF16},
                                            {CM_PRECISION_TF32, CM_PRECISION_FP32}};
    static const cm_plan      plans[] = {{.tp = 1}, {.tp = 4}, {.tp = 2, .sequence_parallel = true, .dp = 2},
                                         {.pp = 2, .accumulate = 4}, {.dp = 8, .zero = 3}};
    for (size_t m = 0; m < 3; m++)
        for (size_t o = 0; o < 5; o++)
            for (int i = 0; i < 24; i++) {
                law_question q = {.model = models[m], .device = devices[i % 8], .batch = 8,
                                  .plan = LAW_PICK(run, plans),
                                  .runtime = law_random(run, 3) ? CM_RUNTIME_TORCH_EAGER : CM_RUNTIME_TORCH_COMPILE};
                if (q.plan.tp != 1) q.plan.micro_batch = 8;
                if (order[o][1] == CM_PRECISION_BF16) q.runtime = CM_RUNTIME_MEGATRON; /* fp8 with bf16 weights */
                check_types(run, q, order[o][0], order[o][1]);
            }
}

/* g. More samples, more tokens and more layers take longer. */
void law_time_grows(law_run *run)
{
    static const char *const devices[] = {"nvidia-h200", "nvidia-a100-80g", "nvidia-v100-16g",
                                          "amd-mi250",   "nvidia-b200",     "nvidia-t4"};
    static const cm_runtime  runtimes[] = {CM_RUNTIME_TORCH_EAGER, CM_RUNTIME_TORCH_COMPILE, CM_RUNTIME_MEGATRON};
    for (int i = 0; i < 60; i++) {
        const char  *device = LAW_PICK(run, devices);
        int          layers = 2 + (int)law_random(run, 4), heads = 4 << law_random(run, 3);
        char         model[128], deeper[128];
        cm_runtime   runtime = LAW_PICK(run, runtimes);
        const char  *family = LAW_PICK(run, ((const char *[]){"gpt", "llama", "bert"}));
        snprintf(model, sizeof model, "%s:layers=%d,hidden=%d,heads=%d,vocab=8192", family, layers, heads * 64, heads);
        snprintf(deeper, sizeof deeper, "%s:layers=%d,hidden=%d,heads=%d,vocab=8192", family, layers + 2, heads * 64,
                 heads);
        law_question q = {.model = model, .device = device, .runtime = runtime, .precision = CM_PRECISION_FP16,
                          .seq = 256 << law_random(run, 4), .batch = 1 << law_random(run, 6)};
        law_question batch = q, seq = q, deep = q;
        batch.batch *= 2;
        seq.seq *= 2;
        deep.model = deeper;
        struct times once = times_of(&q), twice = times_of(&batch), longer = times_of(&seq), more = times_of(&deep);
        law_case(run, twice.device_s >= once.device_s * 0.99, "%s: twice the batch takes %.4g s of device, once %.4g",
                 law_text(&q), twice.device_s, once.device_s);
        law_case(run, longer.device_s >= once.device_s * 0.99, "%s: twice the tokens take %.4g s of device, once %.4g",
                 law_text(&q), longer.device_s, once.device_s);
        law_case(run, more.device_s >= once.device_s, "%s: two more layers take %.4g s of device, without %.4g",
                 law_text(&q), more.device_s, once.device_s);
        law_case(run, more.step_s >= once.step_s, "%s: two more layers take %.4g s, without %.4g", law_text(&q),
                 more.step_s, once.step_s);
    }
}
