/* SPDX-License-Identifier: Apache-2.0 */
/*
 * again.c - the same device with activations recomputed (`--recompute auto`).
 *
 * It is tried where memory limits the batch: nothing fits, or twice the chosen batch does not. It is kept where it is
 * faster per sample than the step that stores its activations, or where that does not fit.
 */
#include "rank/rank.h"

/* Options that leave nothing to try: inference, or a user who chose the kind of recomputation. */
static bool may_try(const cm_ranking *r, const cm__rank_device *d)
{
    return r->options.try_recompute && !r->options.train.inference && d->step && !d->status &&
           d->entry.state != CM_RANK_CANNOT;
}

static cm_status limited_by_memory(const cm__rank_device *d, cm_step *step, bool asked, bool *limited)
{
    cm_memory_use use;
    *limited = !d->entry.fits;
    if (*limited || asked) return CM_OK;
    cm_status status = cm_step_memory(step, 2 * d->entry.prediction.batch, &use, NULL);
    *limited = !status && !use.fits;
    return status;
}

static double samples_s(const cm__rank_device *d)
{
    return d->entry.fits ? d->entry.prediction.throughput_samples_s / d->entry.prediction.devices : 0;
}

void cm__rank_try_again(const cm_ranking *r, cm__rank_device *d, cm_step *stored)
{
    bool limited;
    if (!may_try(r, d) || limited_by_memory(d, stored, r->options.batch > 0, &limited) || !limited) return;
    cm__rank_step *owner = cm__rank_owner(d->step);
    cm_step       *step;
    if (!cm__rank_make_again(owner)) return;
    cm_step_options options = d->step->options;
    options.train.recompute = CM_RECOMPUTE_FULL;
    cm__shared_step shared = {.forward = d->step->forward, .graph = owner->again, .like = owner->again_like,
                              .model = r->info.model};
    cm__rank_device other = *d;
    if (cm__step_new_in(&shared, d->device, &options, &step, &other.diag) != CM_OK) return;
    other.entry.state = CM_RANK_PLACED;
    other.status = cm__rank_evaluate_step(r, &other, step);
    other.entry.prediction.loading.dataset = other.entry.prediction.loading.host = NULL; /* owned by the step */
    cm_step_free(step);
    if (other.status || !other.entry.fits || samples_s(&other) <= samples_s(d)) return;
    d->entry = other.entry;
    d->entry.recompute = CM_RECOMPUTE_FULL;
}
