/* SPDX-License-Identifier: Apache-2.0 */
/*
 * batch.c - choose a batch size among the candidates that fit: by equation (5) of Xie et al. 2024, the one that leaves
 * least memory unused; the smallest one whose throughput is close to the highest; or the smallest one that reaches half
 * of it (the knee).
 */
#include "model/memory/batch.h"

#include <math.h>
#include <string.h>
#include "base/sized.h"
#include "model/memory/footprint.h"

#define NEARLY_FULL 0.6 /* below this, fragmentation does not matter: the allocator frees its cache before it fails */
#define CLOSE 0.98 /* fraction of the highest throughput: a smaller batch trains better and costs at most 2 % */
#define HALF 0.5   /* fraction of the highest throughput at the knee: twice the batch brings less than twice as much */
#define DIP 0.95   /* smaller batches can be faster again by other kernels: ResNet-50 on an RTX 4090 by 4 % */
#define ONCHIP_WEIGHT 10 /* W of equation (5): "usually set to 10", Xie et al. 2024 section 5.1 */

/* W (on-chip capacity - use)^2 + (off-chip capacity - use)^2 */
static double equation5(const cm_device *device, const cm_memory_use *use)
{
    cm_number weight = cm_device_number(device, CM_ONCHIP_WEIGHT);
    double    sum = 0;
    for (int32_t l = 0; l < use->n_levels; l++) {
        const cm_level_use *level = &use->levels[l];
        bool                on_chip = cm_device_memory(device, level->memory)->place == CM_PLACE_ON_CHIP;
        double              w = !on_chip ? 1 : weight.known ? weight.value : ONCHIP_WEIGHT;
        double              left = level->capacity_bytes - level->used_bytes;
        if (left == left) sum += w * left * left;
    }
    return sum;
}

static bool nearly_full(const cm_memory_use *use)
{
    for (int32_t i = 0; i < use->n_levels; i++)
        if (use->levels[i].used_bytes > NEARLY_FULL * use->levels[i].capacity_bytes) return true;
    return false;
}

cm_status cm__footprint_use(const cm_footprint *f, int64_t batch, cm_memory_use *use, cm_diag *diag)
{
    cm_footprint_at(f, batch, use);
    bool simulates = use->fits ? nearly_full(use) : cm__may_refuse(f, batch, use->shortfall_bytes);
    return simulates ? cm_footprint_simulate(f, batch, use, diag) : CM_OK;
}

/* ---- candidates -------------------------------------------------------------------------------------------------- */

typedef struct choosing {
    const cm__batch_rule   *rule;
    const cm_batch_options *o;
    cm_batch_choice        *choice;
    cm_diag                *diag;
    cm_batch_candidate     *unsure; /* fits, unless the allocator's blocks need more; NULL: none */
    cm_status               status; /* of the first evaluation that failed */
} choosing;

static cm_memory_use use_at(choosing *c, int64_t batch)
{
    cm_memory_use use = {.fits = false};
    if (!c->status) c->status = c->rule->use(c->rule->user, batch, &use, c->diag);
    return use;
}

static bool fits_at(choosing *c, int64_t batch, bool surely)
{
    cm_memory_use use = use_at(c, batch);
    return use.fits && (use.sure || !surely);
}

/* The largest batch that fits, as a multiple of the smallest one; 0: not even that. Memory grows with the batch. */
static int64_t largest(choosing *c, bool surely)
{
    int64_t low = 0, high = 1, least = c->rule->least;
    while (high <= c->rule->most && fits_at(c, high * least, surely)) {
        low = high;
        high *= 2;
    }
    while (high - low > 1 && high <= c->rule->most) {
        int64_t middle = low + (high - low) / 2;
        if (fits_at(c, middle * least, surely)) low = middle;
        else high = middle;
    }
    return low;
}

static cm_batch_candidate candidate_of(const choosing *c, int64_t batch, const cm_memory_use *use)
{
    double objective = use->fits ? equation5(c->rule->device, use) : NAN;
    return (cm_batch_candidate){batch, use->fits, use->sure, cm_memory_chance(use), objective, NAN, use->peak_bytes};
}

/* Returns the new candidate; NULL: there are too many. */
static cm_batch_candidate *append(choosing *c, int64_t batch, const cm_memory_use *use)
{
    if (c->choice->n_candidates == CM_CANDIDATES_MAX) return NULL;
    cm_batch_candidate *new = &c->choice->candidates[c->choice->n_candidates++];
    *new = candidate_of(c, batch, use);
    return new;
}

/* Adds a candidate and returns whether it fits. */
static bool add(choosing *c, int64_t batch)
{
    cm_memory_use use = use_at(c, batch);
    append(c, batch, &use);
    return use.fits;
}

/* Makes sure whether the unsure candidate fits. */
static bool settle(choosing *c)
{
    cm_batch_candidate *one = c->unsure;
    if (!one) return true;
    cm_memory_use use = use_at(c, one->batch);
    *one = candidate_of(c, one->batch, &use);
    c->unsure = NULL;
    return use.fits;
}

/* As add() for ascending batch sizes, but leaves the last one that fits unsure if it nearly fills a memory. Returns
   false if this one or the one before does not fit. */
static bool add_roughly(choosing *c, int64_t batch)
{
    cm_memory_use use = {.fits = false};
    if (!c->rule->roughly) return add(c, batch);
    if (!c->status) c->status = c->rule->roughly(c->rule->user, batch, &use, c->diag);
    bool unsure = use.fits && nearly_full(&use);
    if (!use.fits) use = use_at(c, batch);
    if (use.fits && !settle(c)) return false;
    cm_batch_candidate *new = append(c, batch, &use);
    if (unsure) c->unsure = new;
    return use.fits;
}

static void evaluate_candidates(choosing *c)
{
    int32_t own = cm_device_batches(c->rule->device);
    int64_t least = c->rule->least;
    if (c->o->any) {
        int64_t surely = largest(c, true), most = fits_at(c, (surely + 1) * least, false) ? largest(c, false) : surely;
        for (int64_t b = 1; b < surely && b <= c->rule->most; b *= 2) add(c, b * least);
        if (surely) add(c, surely * least);
        if (most > surely) add(c, most * least);
        if (most < c->rule->most) add(c, (most + 1) * least);
    } else if (c->o->candidates) {
        for (int32_t i = 0; i < c->o->n_candidates; i++) add(c, c->o->candidates[i]);
    } else if (own && c->rule->most > 1) {
        for (int32_t i = 0; i < own; i++) add(c, cm_device_batch(c->rule->device, i) * least);
    } else {
        int64_t b = 1;
        while (b <= c->rule->most && add_roughly(c, b * least)) b *= 2; /* larger ones do not fit either */
    }
}

/* ---- the choice -------------------------------------------------------------------------------------------------- */

/* A candidate that fits only with a fused loss is chosen if no other one fits. */
static bool can_choose(const cm_batch_choice *choice, const cm_batch_candidate *one)
{
    bool any = false;
    for (int32_t i = 0; i < choice->n_candidates; i++) any |= choice->candidates[i].fits && choice->candidates[i].sure;
    return one->fits && (one->sure || !any);
}

static const cm_batch_candidate *by_memory(const cm_batch_choice *choice)
{
    const cm_batch_candidate *best = NULL;
    for (int32_t i = 0; i < choice->n_candidates; i++) {
        const cm_batch_candidate *one = &choice->candidates[i];
        if (can_choose(choice, one) && (!best || one->objective < best->objective)) best = one;
    }
    return best;
}

/* The largest candidate that can be chosen and is smaller than `below`; NULL: none. */
static cm_batch_candidate *largest_below(cm_batch_choice *choice, int64_t below)
{
    cm_batch_candidate *found = NULL;
    for (int32_t i = 0; i < choice->n_candidates; i++) {
        cm_batch_candidate *one = &choice->candidates[i];
        if (can_choose(choice, one) && one->batch < below && (!found || one->batch > found->batch)) found = one;
    }
    return found;
}

/* The throughput of a candidate, computed once. */
static double throughput_of(choosing *c, cm_batch_candidate *one)
{
    if (isnan(one->throughput_samples_s)) one->throughput_samples_s = c->o->throughput(c->o->user, one->batch);
    return one->throughput_samples_s;
}

/* Whether the second largest candidate is the choice, without the throughput of the largest. It is if the largest one
   surely is not faster by more than the fraction allows, and the third one surely is too slow for it and all smaller
   ones. Both are found before all calls are timed. */
static bool second_is_best(choosing *c, const cm_batch_candidate *first, cm_batch_candidate *second, double fraction)
{
    const cm_batch_candidate *third = second ? largest_below(c->choice, second->batch) : NULL;
    if (!c->rule->below || !third || !(throughput_of(c, second) > 0)) return false;
    double most = second->throughput_samples_s;
    return c->rule->below(c->rule->user, first->batch, most / fraction) &&
           c->rule->below(c->rule->user, third->batch, DIP * most * fraction);
}

/* Whether the largest candidate surely is slower than the second one, whose throughput is known. Then its own does not
   matter: neither is it the choice nor the highest one. */
static bool is_slower(choosing *c, const cm_batch_candidate *first, const cm_batch_candidate *second)
{
    if (!c->rule->below || !second || !(second->throughput_samples_s > 0)) return false;
    return isnan(first->throughput_samples_s) &&
           c->rule->below(c->rule->user, first->batch, second->throughput_samples_s);
}

static bool surely_below(const choosing *c, const cm_batch_candidate *one, double samples_s)
{
    return isnan(one->throughput_samples_s) && c->rule->below && samples_s > 0 &&
           c->rule->below(c->rule->user, one->batch, samples_s);
}

/* The smallest candidate whose throughput is a fraction of the highest. Walks down from the largest one until
   throughput is so far below that no smaller one comes back. Candidates without one are skipped: on devices that divide
   batches, only the time tells whether a batch fits. NULL: throughput is unknown. */
static const cm_batch_candidate *by_throughput(choosing *c, double fraction)
{
    cm_batch_candidate *first = largest_below(c->choice, INT64_MAX);
    cm_batch_candidate *second = first ? largest_below(c->choice, first->batch) : NULL;
    double              most = 0;
    if (second_is_best(c, first, second, fraction)) return second;
    if (is_slower(c, first, second) || !settle(c)) first = second;
    for (cm_batch_candidate *one = first; one; one = largest_below(c->choice, one->batch)) {
        if (surely_below(c, one, DIP * fraction * most)) break;
        if (surely_below(c, one, fraction * most) || !(throughput_of(c, one) > 0)) continue;
        if (one->throughput_samples_s < DIP * fraction * most) break;
        most = fmax(most, one->throughput_samples_s);
    }
    const cm_batch_candidate *best = NULL;
    for (cm_batch_candidate *one = first; one; one = largest_below(c->choice, one->batch))
        if (one->throughput_samples_s > 0 && one->throughput_samples_s >= fraction * most) best = one;
    return best;
}

cm_status cm__batch_choose(const cm__batch_rule *rule, const cm_batch_options *o, cm_batch_choice *choice,
                           cm_diag *diag)
{
    if (!cm_objective_applies(o->objective, CM_CHOICE_BATCH))
        return cm__diag_set(diag, CM_ERR_ARGUMENT, "batch sizes are not chosen by this objective");
    if (o->n_candidates > CM_CANDIDATES_MAX)
        return cm__diag_set(diag, CM_ERR_LIMIT, "%d candidates, more than %d", o->n_candidates, CM_CANDIDATES_MAX);
    memset(choice, 0, sizeof *choice);
    choosing c = {.rule = rule, .o = o, .choice = choice, .diag = diag};
    evaluate_candidates(&c);
    if (c.status) return c.status;
    const cm_batch_candidate *best = NULL;
    if (o->objective == CM_OBJECTIVE_THROUGHPUT && o->throughput) best = by_throughput(&c, CLOSE);
    if (o->objective == CM_OBJECTIVE_KNEE && o->throughput) best = by_throughput(&c, HALF);
    if (!best) {
        settle(&c);
        best = by_memory(choice);
    }
    choice->batch = best ? best->batch : 0;
    return c.status;
}

void cm__batch_throughputs(const cm_batch_options *o, cm_batch_choice *choice)
{
    for (int32_t i = 0; o->throughput && i < choice->n_candidates; i++) {
        cm_batch_candidate *one = &choice->candidates[i];
        if (one->fits && isnan(one->throughput_samples_s))
            one->throughput_samples_s = o->throughput(o->user, one->batch);
    }
}

static cm_status footprint_use(void *user, int64_t batch, cm_memory_use *use, cm_diag *diag)
{
    return cm__footprint_use(user, batch, use, diag);
}

cm_status cm_batch_choose(const cm_footprint *f, const cm_batch_options *options, cm_batch_choice *choice,
                          cm_diag *diag)
{
    cm_batch_options own, *o = &own;
    cm__take_options(&own, sizeof own, options);
    const cm__batch_rule rule = {.device = f->device, .most = CM__BATCH_MOST, .least = 1, .use = footprint_use,
                                 .user = (void *)f};
    cm_status            status = cm__batch_choose(&rule, o, choice, diag);
    if (!status) cm__batch_throughputs(o, choice);
    return status;
}
