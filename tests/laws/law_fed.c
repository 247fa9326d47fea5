/* SPDX-License-Identifier: Apache-2.0 */
/* law_fed.c - precisions of devices whose units are fed from memory: the gain of a smaller type is below the ratio of the
   peaks, and close to published pairs of results. */
#include <math.h>
#include "ask.h"

static double step_time(const char *model, int64_t seq, const char *device, cm_precision precision, int64_t batch,
                        int64_t accumulate, cm_attention attention)
{
    law_question   q = {.model = model, .seq = seq, .device = device, .precision = precision, .batch = batch,
                        .plan = {.accumulate = accumulate}, .runtime = CM_RUNTIME_NATIVE, .attention = attention};
    cm_prediction *p = law_predict(&q);
    double         time = p ? cm_prediction_get_info(p)->step_time_s : NAN;
    cm_prediction_free(p);
    return time;
}

/* Both results of a pair are of one source and one plan, so that only the precision differs. */
static void check_published(law_run *run)
{
    static const struct {
        const char  *model, *device;
        int64_t      seq, batch, accumulate;
        cm_precision fast, slow;
        double       ratio;
        cm_attention attention;
    } pairs[] = {
        /* AWS Neuron documentation, BERT-large on 256 chips, 1,048,576 samples a step: 57,408 and 32,363; an older release:
           53,069 and 28,432 */
        {"bert:layers=24,hidden=1024,heads=16,masked=20", "aws-trainium1", 128, 4096, 128, CM_PRECISION_BF16, CM_PRECISION_FP32, 1.77,
         CM_ATTENTION_AUTO},
        {"bert:layers=24,hidden=1024,heads=16,masked=20", "aws-trainium1", 128, 4096, 128, CM_PRECISION_BF16, CM_PRECISION_FP32, 1.87,
         CM_ATTENTION_AUTO},
        /* Intel, Gaudi model performance page: Llama 2 13B on 16 and 70B on 64 devices, 4,096 tokens; one kernel */
        {"llama2-13b", "habana-gaudi2", 4096, 1, 1, CM_PRECISION_FP8, CM_PRECISION_BF16, 1.42, CM_ATTENTION_FLASH},
        {"llama2-70b", "habana-gaudi2", 4096, 1, 1, CM_PRECISION_FP8, CM_PRECISION_BF16, 1.45, CM_ATTENTION_FLASH},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        double slow_s = step_time(pairs[i].model, pairs[i].seq, pairs[i].device, pairs[i].slow, pairs[i].batch, pairs[i].accumulate,
                                  pairs[i].attention);
        double fast_s = step_time(pairs[i].model, pairs[i].seq, pairs[i].device, pairs[i].fast, pairs[i].batch, pairs[i].accumulate,
                                  pairs[i].attention);
        double ratio = slow_s / fast_s;
        law_case(run, fabs(log(ratio / pairs[i].ratio)) < log(1.15), "%s on %s, %s over %s: %.3g, published %.3g",
                 pairs[i].model, pairs[i].device, cm_precision_name(pairs[i].fast), cm_precision_name(pairs[i].slow), ratio,
                 pairs[i].ratio);
    }
}

void law_fed_units(law_run *run)
{
    static const char *const models[] = {"resnet50", "vit:layers=2,hidden=768,heads=12",
                                         "gpt:layers=2,hidden=2048,heads=16,seq=1024,vocab=51200",
                                         "bert:layers=2,hidden=1024,heads=16,seq=128,vocab=30528"};
    static const struct {
        const char  *device;
        cm_precision fast, slow;
        double       peaks;
    } types[] = {{"aws-trainium1", CM_PRECISION_BF16, CM_PRECISION_FP32, 4},
                 {"habana-gaudi2", CM_PRECISION_FP8, CM_PRECISION_BF16, 865.0 / 432}};
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        for (size_t m = 0; m < sizeof models / sizeof *models; m++)
            for (int64_t batch = 8; batch <= 512; batch *= 4) {
                double ratio = step_time(models[m], 0, types[t].device, types[t].slow, batch, 1, CM_ATTENTION_AUTO) /
                               step_time(models[m], 0, types[t].device, types[t].fast, batch, 1, CM_ATTENTION_AUTO);
                law_case(run, ratio < 0.9 * types[t].peaks, "%s of %lld on %s, %s over %s: %.3g", models[m],
                         (long long)batch, types[t].device, cm_precision_name(types[t].fast),
                         cm_precision_name(types[t].slow), ratio);
            }
    check_published(run);
}
