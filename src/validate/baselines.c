/* SPDX-License-Identifier: Apache-2.0 */
/*
 * baselines.c - the three baseline estimators of Xie et al. 2024 (section 6.1).
 *
 *     roofline     of the whole step: all its FLOP at the peak of its precision, or all its bytes at the bandwidth of
 *                  the device's main memory, whichever takes longer.
 *     utilisation  the fraction of peak that an A100 reaches on the model, applied to the device's peak. Measured if
 *                  any set has the model on an A100, otherwise predicted.
 *     similarity   FLOP/s that the most similar model reaches on the device in published results. Results of the
 *                  row's own model do not count, as in the fits.
 *
 * The paper does not define the second and third in more detail. Here, models are similar if they are close in
 * parameters, in FLOP per sample and in the fraction of FLOP in convolutions.
 */
#include <math.h>
#include <string.h>
#include "validate/validate.h"

#define A100 "nvidia-a100-40g"
/* distance between a pure convolution network and one without, as large as a factor of e^5 in size */
#define KIND_WEIGHT 5.0

/* ---- roofline --------------------------------------------------------------------------------------------------- */

/* Assumes linear scaling over several devices. */
static bool scaled(cm__case *c, double step_s, cm__estimate *e)
{
    double devices = c->per_device ? 1 : c->devices, share_s = step_s / devices;
    *e = (cm__estimate){.step_s = share_s, .device_s = share_s, .samples = (double)c->batch, .devices = devices,
                        .interval_s = {NAN, NAN}, .latency_s = NAN};
    cm__case_add_host(c, e);
    return step_s > 0 && isfinite(step_s);
}

static bool answers(const cm__case *c) { return !c->reason && c->step && !cm__text_of(c->run, "phase"); }
static bool one_device(const cm__case *c) { return answers(c) && (c->per_device || c->devices == 1); }

bool cm__estimate_roofline(cm__case *c, cm__estimate *e)
{
    if (!answers(c)) return false;
    const cm_totals *totals = cm__case_totals(c);
    const cm_memory *memory = cm_device_main_memory(c->device);
    double           bytes = 0, bw = memory && memory->bw_bytes_s.known ? memory->bw_bytes_s.value : INFINITY;
    for (int phase = 0; phase < CM_PHASES; phase++)
        for (int class = 0; class < CM_CLASSES; class++)
            bytes += totals->read_bytes[phase][class] + totals->write_bytes[phase][class];
    return scaled(c, fmax(cm__case_flop(c) / cm__case_peak(c), bytes / bw), e);
}

/* ---- results of all sets ----------------------------------------------------------------------------------------- */

typedef struct cm__benchmark {
    const char *device, *family, *group;
    double      batch, utilisation;  /* utilisation: of the peak in the step's precision */
    double      size[3];             /* ln parameters, ln FLOP per sample, fraction of FLOP in convolutions */
} cm__benchmark;

static void measure(const cm__case *c, double size[3])
{
    const cm_totals *totals = cm__case_totals(c);
    double           flop = cm__case_flop(c), conv = 0;
    for (int phase = 0; phase < CM_PHASES; phase++) conv += totals->flop[phase][CM_CLASS_CONV];
    size[0] = log(fmax(1, (double)totals->parameters));
    size[1] = log(fmax(1, flop / (double)c->batch));
    size[2] = flop > 0 ? KIND_WEIGHT * conv / flop : 0;
}

/* The measured step time of one device; NAN: the row measures something else. */
static double step_of(const json_t *row, const cm__metric *m, double batch)
{
    double value = cm__measured_of(m, row);
    if (strcmp(m->name, "step_time_s") == 0 || strcmp(m->name, "device_time_s") == 0) return value;
    if (strcmp(m->name, "throughput_samples_s") == 0) return batch / value;
    return NAN;
}

static bool read_benchmark(cm__store *store, const json_t *set, const json_t *row, cm__benchmark *b)
{
    const cm__metric *m = cm__metric_of(set, row);
    if (!m || m->kind != CM__METRIC_TIME || json_object_get(row, "mode")) return false;
    bool utilisation = strcmp(m->name, "utilisation") == 0;
    if (!utilisation && isnan(step_of(row, m, 1))) return false;
    cm__case *c = cm__case_new(store, set, row, NULL);
    if (!one_device(c) || !(cm__case_flop(c) > 0)) return false;
    double step_s = step_of(row, m, (double)c->batch);
    *b = (cm__benchmark){.device = cm__text_of(row, "device"), .group = cm__group_of(row), .batch = (double)c->batch};
    b->family = cm__family_of(store, b->device);
    b->utilisation = utilisation ? cm__measured_of(m, row) : cm__case_flop(c) / step_s / cm__case_peak(c);
    measure(c, b->size);
    return b->utilisation > 0;
}

static void read_benchmarks(cm__store *store)
{
    cm__benchmark *list = NULL;
    int32_t        n = 0, capacity = 0;
    if (store->benchmarks_read) return;
    store->benchmarks_read = true;
    for (int32_t s = 0; s < cm__n_embedded_sets; s++) {
        const json_t *set = cm__store_set(store, s), *rows = json_object_get(set, "rows");
        for (size_t i = 0; i < json_array_size(rows); i++) {
            list = cm__grow(store->ctx, list, n, &capacity, sizeof *list);
            n += read_benchmark(store, set, json_array_get(rows, i), &list[n]);
        }
    }
    store->benchmarks = list;
    store->n_benchmarks = n;
}

static bool same(const char *a, const char *b) { return strcmp(a, b) == 0; }

/* ---- utilisation ------------------------------------------------------------------------------------------------ */

static double predicted_utilisation(cm__case *c)
{
    const json_t *over = cm__store_json(
        c->store, json_pack("{s:s, s:s, s:s, s:i, s:i, s:i, s:i}", "device", A100, "precision", "amp-bf16", "runtime",
                            "torch-eager", "devices", 1, "replicas", 1, "micro_batch", 0, "accumulate", 1));
    cm__estimate e;
    cm__case    *on_a100 = cm__case_new(c->store, c->set, c->run, over);
    on_a100->batch = (int64_t)fmax(1, (double)c->batch / c->devices);
    if (!cm__estimate_step(on_a100, &e)) return NAN;
    on_a100->batch = (int64_t)e.samples;
    return cm__case_flop(on_a100) / e.step_s / cm__case_peak(on_a100);
}

static double utilisation_on_a100(cm__case *c)
{
    const cm__benchmark *best = NULL;
    double               nearest = INFINITY;
    for (int32_t i = 0; i < c->store->n_benchmarks; i++) {
        const cm__benchmark *b = &c->store->benchmarks[i];
        double               d = fabs(log(b->batch / (double)c->batch));
        if (strncmp(b->device, A100, 11) || !same(b->group, cm__group_of(c->run)) || d >= nearest) continue;
        nearest = d;
        best = b;
    }
    return best ? best->utilisation : predicted_utilisation(c);
}

/* There is no estimate for the A100 itself. */
bool cm__estimate_utilisation(cm__case *c, cm__estimate *e)
{
    if (!answers(c) || strncmp(cm__text_of(c->run, "device"), A100, 11) == 0) return false;
    read_benchmarks(c->store);
    return scaled(c, cm__case_flop(c) / (utilisation_on_a100(c) * cm__case_peak(c)), e);
}

/* ---- similarity ------------------------------------------------------------------------------------------------- */

/* Distance between models; results on the device itself come before those of its family. */
static double distance(const cm__case *c, const char *family, const cm__benchmark *b, const double size[3])
{
    const char *device = cm__text_of(c->run, "device");
    bool        here = same(b->device, device);
    double      sum = 0;
    if (!here && !same(b->family, family)) return INFINITY;
    if (same(b->group, cm__group_of(c->run))) return INFINITY;
    for (int i = 0; i < 3; i++) sum += pow(b->size[i] - size[i], 2);
    return sqrt(sum) + (here ? 0 : 1e6);
}

bool cm__estimate_similarity(cm__case *c, cm__estimate *e)
{
    if (!answers(c)) return false;
    double size[3], nearest = INFINITY, utilisation = NAN;
    read_benchmarks(c->store);
    measure(c, size);
    const char *family = cm__family_of(c->store, cm__text_of(c->run, "device"));
    for (int32_t i = 0; i < c->store->n_benchmarks; i++) {
        double d = distance(c, family, &c->store->benchmarks[i], size);
        if (d >= nearest) continue;
        nearest = d;
        utilisation = c->store->benchmarks[i].utilisation;
    }
    return scaled(c, cm__case_flop(c) / (utilisation * cm__case_peak(c)), e);
}
