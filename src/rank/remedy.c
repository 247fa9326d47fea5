/* SPDX-License-Identifier: Apache-2.0 */
/*
 * remedy.c - suggest how to make a step fit that does not.
 *
 * If weights, gradients and optimizer states are too large, enough devices share them (ZeRO 3, without its gather
 * buffers: `centimani memory --zero 3` includes those). If they fit but the activations do not, recomputation is
 * suggested.
 */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include "base/text.h"
#include "rank/rank.h"

#define DEVICES_MOST 64

/* Any thread may come first, so the result must not depend on its device. */
static void make_again(cm__rank_step *s)
{
    cm_train_options  train = s->options.train;
    cm_memory_options memory = {.runtime = s->options.runtime, .layout = s->options.layout};
    train.recompute = CM_RECOMPUTE_FULL;
    if (s->again || cm_graph_train(s->forward, &train, &s->again, NULL) != CM_OK) return;
    if (cm_footprint_new(s->again, s->first, &memory, &s->again_like, NULL) != CM_OK) s->again_like = NULL;
}

bool cm__rank_make_again(cm__rank_step *owner)
{
    pthread_mutex_lock(&owner->again_lock);
    make_again(owner);
    pthread_mutex_unlock(&owner->again_lock);
    return owner->again_like != NULL;
}

static bool recomputed_fits(const cm_ranking *r, const cm__rank_device *d, double *peak_bytes)
{
    cm__rank_step    *s = cm__rank_owner(d->step);
    cm_memory_options memory = {.runtime = s->options.runtime, .layout = s->options.layout};
    cm_footprint     *footprint;
    cm_memory_use     use;
    if (!cm__rank_make_again(s)) return false;
    if (cm__footprint_new_like(s->again_like, s->again, d->device, &memory, &footprint, NULL) != CM_OK) return false;
    cm_status status = cm_footprint_simulate(footprint, r->options.batch ? r->options.batch : 1, &use, NULL);
    cm_footprint_free(footprint);
    *peak_bytes = use.peak_bytes;
    return !status && use.fits;
}

/* The fewest devices that can share weights, gradients and states so that the step fits; 0: none. */
static int32_t sharing(const cm__rank_device *d)
{
    for (int32_t n = 2; n <= DEVICES_MOST; n *= 2)
        if (d->states_bytes / n + d->working_bytes <= d->capacity_bytes) return n;
    return 0;
}

static void explain(const cm_ranking *r, cm__rank_device *d)
{
    char    needs[32], has[32], again[32], *out = d->reason;
    double  peak;
    size_t  size = sizeof d->reason, used;
    int64_t batch = r->options.batch ? r->options.batch : 1;
    bool blocks = d->entry.peak_bytes < d->capacity_bytes; /* the bytes fit, but the allocator's blocks do not */
    used = (size_t)snprintf(out, size, "batch %lld needs %sB%s, the device has %sB", (long long)batch,
                            cm__binary(needs, sizeof needs, d->entry.peak_bytes),
                            blocks ? " plus fragmentation" : "",
                            cm__binary(has, sizeof has, d->capacity_bytes));
    bool trains = !r->options.train.inference && r->options.train.recompute != CM_RECOMPUTE_FULL;
    if (batch > 1) used += (size_t)snprintf(out + used, size - used, "; a smaller --batch");
    if (trains && !blocks && d->states_bytes < d->capacity_bytes && recomputed_fits(r, d, &peak))
        used += (size_t)snprintf(out + used, size - used, "; --recompute full needs %sB",
                                 cm__binary(again, sizeof again, peak));
    int32_t n = sharing(d);
    if (n) used += (size_t)snprintf(out + used, size - used, "; %d devices would share it (--zero 3)", n);
    else snprintf(out + used, size - used, "; its layers must be split over devices (--tp, --pp)");
}

void cm__rank_find_remedy(const cm_ranking *r, cm__rank_device *d)
{
    if (d->step && !d->status && (d->entry.state == CM_RANK_NO_FIT || d->entry.state == CM_RANK_RECOMPUTED) && !d->reason[0]) explain(r, d);
}
