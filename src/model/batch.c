/* SPDX-License-Identifier: Apache-2.0 */
/*
 * batch.c - which batch size: among candidates that fit, the one that leaves least memory unused, by equation (5) of
 * Xie et al. 2024, or the one with the highest throughput.
 */
#include <math.h>
#include <string.h>
#include "model/footprint.h"

#define NEARLY_FULL 0.6 /* below, fragments do not matter: the allocator gives back what it caches before it fails */
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

typedef struct choosing {
    const cm_footprint     *f;
    const cm_batch_options *o;
    cm_batch_choice        *choice;
    cm_diag                *diag;
    cm_status               status; /* of the first simulation that failed */
} choosing;

static bool nearly_full(const cm_memory_use *use)
{
    for (int32_t i = 0; i < use->n_levels; i++)
        if (use->levels[i].used_bytes > NEARLY_FULL * use->levels[i].capacity_bytes) return true;
    return false;
}

/* By polynomials; where a memory is nearly full the last word is the allocator's. */
static cm_memory_use use_at(choosing *c, int64_t batch)
{
    cm_memory_use use;
    cm_footprint_at(c->f, batch, &use);
    if (use.fits && nearly_full(&use) && !c->status) c->status = cm_footprint_simulate(c->f, batch, &use, c->diag);
    return use;
}

/* The largest whole number that fits; 0: not even 1. Memory grows with the batch. */
static int64_t largest(choosing *c)
{
    int64_t low = 0, high = 1;
    while (high <= BATCH_MOST && use_at(c, high).fits) {
        low = high;
        high *= 2;
    }
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (use_at(c, middle).fits) low = middle;
        else high = middle;
    }
    return low;
}

/* Returns whether it fits. */
static bool add(choosing *c, int64_t batch)
{
    cm_memory_use      use = use_at(c, batch);
    cm_batch_candidate new = {batch, use.fits, NAN, NAN, use.peak_bytes};
    if (use.fits) new.objective = equation5(c->f, &use);
    if (use.fits && c->o->throughput) new.throughput_samples_s = c->o->throughput(c->o->user, batch);
    if (c->choice->n_candidates < CM_CANDIDATES_MAX) c->choice->candidates[c->choice->n_candidates++] = new;
    return use.fits;
}

static void evaluate_candidates(choosing *c)
{
    int32_t own = cm_device_batches(c->f->device);
    if (c->o->any) {
        int64_t most = largest(c);
        for (int64_t b = 1; b < most && b <= BATCH_MOST; b *= 2) add(c, b);
        if (most) add(c, most);
        add(c, most + 1);
    } else if (c->o->candidates) {
        for (int32_t i = 0; i < c->o->n_candidates; i++) add(c, c->o->candidates[i]);
    } else if (own) {
        for (int32_t i = 0; i < own; i++) add(c, cm_device_batch(c->f->device, i));
    } else {
        int64_t b = 1;
        while (b <= BATCH_MOST && add(c, b)) b *= 2; /* larger ones do not fit either */
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
    choosing c = {.f = f, .o = o, .choice = choice, .diag = diag};
    evaluate_candidates(&c);
    if (c.status) return c.status;
    const cm_batch_candidate *best = NULL;
    for (int32_t i = 0; i < choice->n_candidates; i++) {
        const cm_batch_candidate *one = &choice->candidates[i];
        if (one->fits && (!best || better(o->objective, one, best))) best = one;
    }
    choice->batch = best ? best->batch : 0;
    return CM_OK;
}
