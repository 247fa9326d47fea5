/* SPDX-License-Identifier: Apache-2.0 */
/*
 * batch.c - which batch size: among candidates that fit, the one that leaves least memory unused, by equation (5) of
 * Xie et al. 2024, or the one with the highest throughput.
 */
#include <math.h>
#include <string.h>
#include "model/footprint.h"

#define BATCH_MOST ((int64_t)1 << 24) /* powers of two above this are not tried */
#define ONCHIP_WEIGHT 10 /* W of equation (5): "usually set to 10", Xie et al. 2024 section 5.1 */

/* W (on-chip capacity - use)^2 + (off-chip capacity - use)^2 */
static double equation5(const cm_footprint *f, const cm_memory_use *use)
{
    cm_number weight = cm_device_number(f->device, CM_ONCHIP_WEIGHT);
    double    sum = 0;
    for (int32_t l = 0; l < use->n_levels; l++) {
        const cm_level_use *level = &use->levels[l];
        bool                on_chip = cm_device_memory(f->device, level->memory)->place == CM_PLACE_ON_CHIP;
        double              w = !on_chip ? 1 : weight.known ? weight.value : ONCHIP_WEIGHT;
        double              left = level->capacity_bytes - level->used_bytes;
        if (left == left) sum += w * left * left;
    }
    return sum;
}

static cm_batch_candidate evaluated(const cm_footprint *f, const cm_batch_options *o, int64_t batch)
{
    cm_memory_use use;
    cm_footprint_at(f, batch, &use);
    cm_batch_candidate c = {batch, use.fits, NAN, NAN, use.peak_bytes};
    if (c.fits && f->caching) { /* the last word is the allocator's */
        cm_diag diag;
        if (cm_footprint_simulate(f, batch, &use, &diag) == CM_OK) c.fits = use.fits;
        c.peak_bytes = use.peak_bytes;
    }
    if (c.fits) c.objective = equation5(f, &use);
    if (c.fits && o->throughput) c.throughput_samples_s = o->throughput(o->user, batch);
    return c;
}

static bool fits(const cm_footprint *f, int64_t batch)
{
    cm_memory_use use;
    cm_diag       diag;
    cm_footprint_at(f, batch, &use);
    return use.fits && cm_footprint_simulate(f, batch, &use, &diag) == CM_OK && use.fits;
}

/* The largest whole number that fits; 0: not even 1. Memory grows with the batch. */
static int64_t largest(const cm_footprint *f)
{
    int64_t low = 0, high = 1;
    while (high <= BATCH_MOST && fits(f, high)) {
        low = high;
        high *= 2;
    }
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (fits(f, middle)) low = middle;
        else high = middle;
    }
    return low;
}

static void add(cm_batch_choice *choice, const cm_footprint *f, const cm_batch_options *o, int64_t batch)
{
    if (choice->n_candidates < CM_CANDIDATES_MAX)
        choice->candidates[choice->n_candidates++] = evaluated(f, o, batch);
}

static void evaluate_candidates(const cm_footprint *f, const cm_batch_options *o, cm_batch_choice *choice)
{
    int32_t own = cm_device_batches(f->device);
    if (o->any) {
        int64_t most = largest(f);
        for (int64_t b = 1; b < most && b <= BATCH_MOST; b *= 2) add(choice, f, o, b);
        if (most) add(choice, f, o, most);
        add(choice, f, o, most + 1);
    } else if (o->candidates) {
        for (int32_t i = 0; i < o->n_candidates; i++) add(choice, f, o, o->candidates[i]);
    } else if (own) {
        for (int32_t i = 0; i < own; i++) add(choice, f, o, cm_device_batch(f->device, i));
    } else {
        for (int64_t b = 1; b <= BATCH_MOST; b *= 2) {
            add(choice, f, o, b);
            if (!choice->candidates[choice->n_candidates - 1].fits) break; /* larger ones do not fit either */
        }
    }
}

static bool better(cm_objective objective, const cm_batch_candidate *a, const cm_batch_candidate *b)
{
    bool known = a->throughput_samples_s > 0 && b->throughput_samples_s > 0;
    if (objective == CM_OBJECTIVE_THROUGHPUT && known) return a->throughput_samples_s > b->throughput_samples_s;
    return a->objective < b->objective;
}

cm_status cm_batch_choose(const cm_footprint *f, const cm_batch_options *options, cm_batch_choice *choice,
                          cm_diag *diag)
{
    static const cm_batch_options defaults = {0};
    const cm_batch_options       *o = options ? options : &defaults;
    if ((unsigned)o->objective >= CM_OBJECTIVES) return cm__diag_set(diag, CM_ERR_ARGUMENT, "no such objective");
    if (o->n_candidates > CM_CANDIDATES_MAX)
        return cm__diag_set(diag, CM_ERR_LIMIT, "%d candidates, more than %d", o->n_candidates, CM_CANDIDATES_MAX);
    memset(choice, 0, sizeof *choice);
    evaluate_candidates(f, o, choice);
    const cm_batch_candidate *best = NULL;
    for (int32_t i = 0; i < choice->n_candidates; i++) {
        const cm_batch_candidate *c = &choice->candidates[i];
        if (c->fits && (!best || better(o->objective, c, best))) best = c;
    }
    choice->batch = best ? best->batch : 0;
    return CM_OK;
}
