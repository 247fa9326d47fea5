/* SPDX-License-Identifier: Apache-2.0 */
/* law_fits.c - one rule of "fits": the verdict is that of the probability, which falls with the batch. */
#include "ask.h"
#include <stdio.h>

static const char *const models[] = {"resnet50", "bert-large", "vit-b16", "gpt2",
                                     "llama:layers=4,hidden=1024,heads=16,ffn=2816,vocab=128256,seq=2048",
                                     "gpt:layers=24,hidden=1024,heads=16,seq=1024,vocab=51200"};
static const char *const  devices[] = {"nvidia-h200", "nvidia-a100-40g", "nvidia-rtx4090", "nvidia-l4", "amd-mi250",
                                       "habana-gaudi2"};
static const cm_precision precisions[] = {CM_PRECISION_AMP_BF16, CM_PRECISION_BF16, CM_PRECISION_FP32};

static bool use_of(const char *model, const cm_device *device, const cm_step_options *o, int64_t batch,
                   cm_memory_use *use)
{
    cm_step *step;
    if (cm_step_new(model, device, o, &step, NULL) != CM_OK) return false;
    bool done = cm_step_memory(step, batch, use, NULL) == CM_OK;
    cm_step_free(step);
    return done;
}

static cm_verdict verdict_of(double p) { return p >= 0.9 ? CM_FITS : p <= 0.1 ? CM_DOES_NOT_FIT : CM_UNSURE; }

/* A kind of script that is open has the answer of the question that names it. */
static void check_alternatives(law_run *run, const char *text, const char *model, const cm_device *device,
                               cm_step_options o, int64_t batch, const cm_memory_use *use)
{
    cm_memory_use  plain, fused;
    cm_loss_kernel kernels[] = {CM_LOSS_KERNEL_PLAIN, CM_LOSS_KERNEL_FUSED};
    if (use->n_alternatives != 2 || use->alternatives[1].open != CM_OPEN_LOSS) return;
    o.train.loss_kernel = kernels[0];
    bool asked = use_of(model, device, &o, batch, &plain);
    o.train.loss_kernel = kernels[1];
    asked = asked && use_of(model, device, &o, batch, &fused);
    bool same = asked && cm_alternative_chance(use, 0).probability == cm_memory_chance(&plain).probability &&
                cm_alternative_chance(use, 1).probability == cm_memory_chance(&fused).probability;
    law_case(run, same, "%s: the probabilities of plain and fused loss are not those of --loss-kernel", text);
}

static void check_batches(law_run *run, const char *model, const cm_device *device, const cm_step_options *o)
{
    cm_step *step;
    char     text[300];
    double   last = 1;
    if (cm_step_new(model, device, o, &step, NULL) != CM_OK) return;
    for (int64_t batch = 1; batch <= 4096 && last > 1e-6; batch *= 2) {
        cm_memory_use use;
        if (cm_step_memory(step, batch, &use, NULL) != CM_OK) break;
        cm_chance chance = cm_memory_chance(&use);
        snprintf(text, sizeof text, "fits %s --device %s --precision %s --batch %lld", model,
                 cm_device_get_info(device)->id, cm_precision_name(o->train.precision), (long long)batch);
        law_case(run, chance.probability <= last, "%s: probability %g after %g", text, chance.probability, last);
        cm_verdict verdict = verdict_of(chance.probability);
        for (int32_t i = 1; i < use.n_alternatives; i++)
            if (verdict_of(cm_alternative_chance(&use, i).probability) != verdict) verdict = CM_UNSURE;
        law_case(run, chance.verdict == verdict, "%s: %s at %g", text, cm_verdict_name(chance.verdict), chance.probability);
        law_case(run, use.n_alternatives || use.fits == (chance.probability >= 0.5), "%s: fits is %d at %g", text,
                 use.fits, chance.probability);
        check_alternatives(run, text, model, device, *o, batch, &use);
        last = chance.probability;
    }
    cm_step_free(step);
}

void law_one_rule_of_fits(law_run *run)
{
    for (size_t d = 0; d < sizeof devices / sizeof *devices; d++)
        for (size_t m = 0; m < sizeof models / sizeof *models; m++) {
            cm_step_options o = {.train = {.precision = LAW_PICK(run, precisions)}};
            o.train.recompute = law_random(run, 2) ? CM_RECOMPUTE_FULL : CM_RECOMPUTE_NONE;
            const cm_device *device = law_device(devices[d]);
            if (device) check_batches(run, models[m], device, &o);
        }
}
