/* SPDX-License-Identifier: Apache-2.0 */
/* law_devices.c - a device's predictions do not depend on where its profile comes from; times are physically
   possible. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "devices.h"

static const char *const models[] = {"resnet18", "lstm", "gpt:layers=2,hidden=512,heads=8,seq=256,vocab=1000",
                                     "mobilenet-v3-small", "relu_k1"};
#define MODELS 5

/* ---- copies ------------------------------------------------------------------------------------------------------ */

static bool same(double a, double b) { return a == b || (isnan(a) && isnan(b)); }

static bool same_prediction(const cm_prediction_info *a, const cm_prediction_info *b)
{
    bool shares = true;
    for (int h = 0; h < CM_HOWS; h++) shares = shares && same(a->share[h], b->share[h]);
    return shares && same(a->step_time_s, b->step_time_s) && same(a->interval_s[0], b->interval_s[0]) &&
           same(a->interval_s[1], b->interval_s[1]) && same(a->device_time_s, b->device_time_s) &&
           same(a->host_time_s, b->host_time_s) && same(a->mfu, b->mfu) && same(a->clock, b->clock) &&
           same(a->load_s, b->load_s) && same(a->launches, b->launches) && a->devices == b->devices &&
           a->micro_batch == b->micro_batch;
}

static bool ask(const cm_graph *step, const cm_device *device, const cm_predict_options *o, cm_prediction_info *info)
{
    cm_prediction *prediction;
    if (cm_predict(step, device, o, &prediction, NULL)) return false;
    *info = *cm_prediction_get_info(prediction);
    cm_prediction_free(prediction);
    return true;
}

static double peak_memory(const cm_graph *step, const cm_device *device, int64_t batch)
{
    cm_footprint *footprint;
    cm_memory_use use;
    if (cm_footprint_new(step, device, NULL, &footprint, NULL)) return NAN;
    cm_footprint_at(footprint, batch, &use);
    cm_footprint_free(footprint);
    return use.peak_bytes + 1e3 * use.shortfall_bytes;
}

static void compare_copy(law_run *run, const char *id, const cm_device *device, const cm_device *copy)
{
    static const cm_runtime runtimes[] = {CM_RUNTIME_DEFAULT, CM_RUNTIME_MEGATRON};
    static const struct { int model; cm_precision precision; } cases[] = {
        {0, CM_PRECISION_AMP_FP16}, {1, CM_PRECISION_FP32}, {2, CM_PRECISION_AMP_BF16}, {2, CM_PRECISION_FP32}};
    for (size_t i = 0; i < 4; i++)
        for (int r = 0; r < 2; r++) {
            cm_graph          *step = law_training_step(models[cases[i].model], cases[i].precision);
            cm_predict_options o = {.batch = 64, .runtime = runtimes[r], .loading = {.on = true}};
            cm_prediction_info a = {0}, b = {0};
            bool ok = ask(step, device, &o, &a) == ask(step, copy, &o, &b);
            law_case(run, ok && same_prediction(&a, &b), "%s of %s in %s, %s: %g ms, its copy %g ms",
                     models[cases[i].model], id, cm_precision_name(cases[i].precision), cm_runtime_name(runtimes[r]), 1e3 * a.step_time_s,
                     1e3 * b.step_time_s);
            if (!r)
                law_case(run, same(peak_memory(step, device, 64), peak_memory(step, copy, 64)), "memory of %s on %s",
                         models[cases[i].model], id);
            cm_graph_free(step);
        }
}

static void compare_fabric(law_run *run, const char *id, const cm_device *device, const cm_device *copy)
{
    const cm_device *pair[] = {device, copy};
    double           time[2] = {NAN, NAN};
    for (int i = 0; i < 2; i++) {
        cm_fabric *fabric;
        if (cm_fabric_new(pair[i], NULL, &fabric, NULL)) continue;
        time[i] = cm_fabric_time(fabric, "all-reduce", 2 * cm_fabric_node(fabric), 1e8);
        cm_fabric_free(fabric);
    }
    law_case(run, same(time[0], time[1]), "all-reduce of %s: %g s, its copy %g s", id, time[0], time[1]);
}

void law_copy_is_its_base(law_run *run)
{
    for (int32_t d = 0; cm_device_id(d); d++) {
        const char *id = cm_device_id(d);
        cm_device  *device = NULL, *copy = law_device_changed(id, LAW_PARTS, 1);
        if (cm_device_load(id, &device, NULL) || !copy) law_case(run, false, "no copy of %s", id);
        else {
            compare_copy(run, id, device, copy);
            compare_fabric(run, id, device, copy);
        }
        cm_device_free(copy);
        cm_device_free(device);
    }
}

/* ---- possible times ---------------------------------------------------------------------------------------------- */

static bool positive(double x) { return isfinite(x) && x > 0; }

/* MFU counts all scores of attention, as papers do, and kernels skip those that a causal mask removes: of the GPT here 4.3 %
   of the FLOP. A chip that is predicted at its ceilings alone (GroqChip) reaches 1.03. */
#define MASKED 1.045

static void check_numbers(law_run *run, const cm_prediction_info *i, const char *model, const char *id, cm_precision p)
{
    bool numbers = positive(i->step_time_s) && positive(i->interval_s[0]) && positive(i->interval_s[1]) &&
                   positive(i->throughput_samples_s) && isfinite(i->device_time_s) && i->device_time_s >= 0 &&
                   i->interval_s[0] <= i->step_time_s && i->step_time_s <= i->interval_s[1];
    law_case(run, numbers, "%s of %lld on %s in %s: %g s, %g to %g", model, (long long)i->batch, id,
             cm_precision_name(p), i->step_time_s, i->interval_s[0], i->interval_s[1]);
    double most = strncmp(model, "gpt:", 4) == 0 ? MASKED : 1;
    law_case(run, isnan(i->mfu) || (i->mfu >= 0 && i->mfu <= most), "%s of %lld on %s in %s: MFU %g", model,
             (long long)i->batch, id, cm_precision_name(p), i->mfu);
}

/* Calls between measured rows are interpolated: an LSTM of one sample is predicted up to 3.7 % slower than one of
   eight, which is measured. */
#define SHORTER 0.95

static void check_growth(law_run *run, const cm_graph *step, const cm_device *device, const char *model, const char *id,
                         cm_precision p)
{
    double last = 0;
    for (int64_t batch = 1; batch <= 512; batch *= 8) {
        cm_predict_options o = {.batch = batch};
        cm_prediction_info info;
        if (!ask(step, device, &o, &info)) return;
        check_numbers(run, &info, model, id, p);
        law_case(run, info.step_time_s >= SHORTER * last,
                 "%s on %s in %s: batch %lld takes %g ms, an eighth of it %g ms",
                 model, id, cm_precision_name(p), (long long)batch, 1e3 * info.step_time_s, 1e3 * last);
        last = info.step_time_s;
    }
}

void law_times_are_possible(law_run *run)
{
    for (int m = 0; m < MODELS; m++)
        for (int p = CM_PRECISION_FP32; p < CM_PRECISIONS; p++) {
            cm_graph *step = law_training_step(models[m], (cm_precision)p);
            for (int32_t d = (m + p) % 4; cm_device_id(d); d += 4) {
                cm_device *device;
                if (cm_device_load(cm_device_id(d), &device, NULL)) continue;
                if (cm_device_supports(device, (cm_precision)p))
                    check_growth(run, step, device, models[m], cm_device_id(d), (cm_precision)p);
                cm_device_free(device);
            }
            cm_graph_free(step);
        }
}

/* ---- copies in a ranking ----------------------------------------------------------------------------------------- */

static const cm_rank_entry *entry_of(const cm_ranking *ranking, const char *id)
{
    for (int32_t i = 0; i < cm_ranking_entries(ranking); i++)
        if (strcmp(cm_device_get_info(cm_ranking_entry(ranking, i)->device)->id, id) == 0)
            return cm_ranking_entry(ranking, i);
    return NULL;
}

void law_copy_ranks_as_its_base(law_run *run)
{
    static const char *const ids[] = {"nvidia-h200", "nvidia-h100", "nvidia-a100-40g-pcie", "nvidia-v100-16g", "amd-mi210",
                                      "graphcore-gc200", "sambanova-sn30", "cerebras-cs2", "google-tpu-v4"};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        char            devices[128], path[64];
        cm_ranking     *ranking;
        cm_rank_options o = {.devices = devices, .samples = 1e6};
        snprintf(path, sizeof path, "/tmp/law-copy-%ld.json", (long)getpid());
        snprintf(devices, sizeof devices, "%s,%s", i % 2 ? ids[i] : path, i % 2 ? path : ids[i]);
        if (!law_profile_write(ids[i], LAW_PARTS, 1, path) || cm_rank(models[2], &o, &ranking, NULL)) {
            law_case(run, false, "no ranking of %s and its copy", ids[i]);
            continue;
        }
        const cm_rank_entry *a = entry_of(ranking, ids[i]), *b = entry_of(ranking, "x");
        law_case(run, a && b && same_prediction(&a->prediction, &b->prediction) && same(a->value, b->value) &&
                      same(a->peak_bytes, b->peak_bytes) && same(a->usd, b->usd) && same(a->kwh, b->kwh),
                 "%s and its copy in a ranking: %g s and %g s", ids[i], a ? a->prediction.step_time_s : NAN,
                 b ? b->prediction.step_time_s : NAN);
        remove(path);
        cm_ranking_free(ranking);
    }
}

/* ---- ranking ----------------------------------------------------------------------------------------------------- */

void law_ranking_has_numbers(law_run *run)
{
    for (int m = 0; m < MODELS; m++) {
        cm_ranking     *ranking;
        cm_rank_options o = {.samples = 1e6, .threads = 1};
        if (cm_rank(models[m], &o, &ranking, NULL)) continue;
        for (int32_t i = 0; i < cm_ranking_entries(ranking); i++) {
            const cm_rank_entry *e = cm_ranking_entry(ranking, i);
            if (e->state > CM_RANK_NOT_OFFERED) continue;
            check_numbers(run, &e->prediction, models[m], cm_device_get_info(e->device)->id, e->precision);
            const double values[] = {e->value, e->interval[0], e->interval[1], e->hours, e->samples_per_usd, e->usd,
                                     e->energy_j_per_sample, e->kwh};
            for (size_t k = 0; k < sizeof values / sizeof *values; k++)
                law_case(run, isnan(values[k]) || positive(values[k]), "rank %s: %s: value %zu is %g", models[m],
                         cm_device_get_info(e->device)->id, k, values[k]);
        }
        cm_ranking_free(ranking);
    }
}
