/* SPDX-License-Identifier: Apache-2.0 */
/* candidate.c - one device: its usual or the requested batch size, and the step at that size. */
#include <math.h>
#include <string.h>
#include "model/unused.h"
#include "rank/rank.h"

/* Stores how much memory is missing for one sample, or for the requested batch. */
static void note_lack(cm__rank_device *d, const cm_step *step, const cm_memory_use *use)
{
    int32_t          at = cm_device_placement(d->device, CM_CATEGORY_WEIGHTS_BIASES).memory;
    const cm_memory *memory = at >= 0 ? cm_device_memory(d->device, at) : cm_device_main_memory(d->device);
    d->capacity_bytes = memory ? cm__step_allocatable(step, memory->capacity_bytes.value) : NAN;
    d->entry.peak_bytes = use->peak_bytes;
    d->states_bytes = use->categories[CM_CATEGORY_WEIGHTS_BIASES] + use->categories[CM_CATEGORY_GRADIENTS] +
                      use->categories[CM_CATEGORY_ALGORITHM];
    d->working_bytes = use->peak_bytes - d->states_bytes;
}

/* The batch size, or the smallest possible one if none fits. */
static cm_status find_batch(const cm_ranking *r, cm__rank_device *d, cm_step *step, int64_t *batch)
{
    *batch = r->options.batch ? r->options.batch : d->as.batch;
    cm_status status = *batch ? CM_OK : cm_step_usual_batch(step, batch, &d->diag);
    if (!*batch) *batch = cm_device_batches(d->device) ? cm_device_batch(d->device, 0) : 1;
    return status;
}

cm_status cm__rank_evaluate_step(const cm_ranking *r, cm__rank_device *d, cm_step *step)
{
    cm_memory_use use;
    int64_t       batch;
    cm_status     status = find_batch(r, d, step, &batch);
    if (!status) status = cm_step_memory(step, batch, &use, &d->diag);
    if (status) return status;
    d->entry.fits = use.fits;
    d->entry.peak_bytes = use.peak_bytes;
    d->entry.chance = cm_memory_chance(&use);
    if (!use.fits) note_lack(d, step, &use);
    bool explains = cm_device_get_info(d->device)->style != CM_STYLE_KERNELS; /* the device explains why nothing fits */
    return use.fits || r->options.batch || d->as.batch || explains ? cm_step_time(step, batch, &d->entry.prediction, &d->diag) : CM_OK;
}

/* If an execution model refuses the plan or lacks an operator, that is the device's result, not a failure. */
static void note_refusal(cm__rank_device *d)
{
    d->entry.state = d->status == CM_ERR_FIT ? CM_RANK_NO_FIT : CM_RANK_CANNOT;
    snprintf(d->reason, sizeof d->reason, "%s", d->diag.reason);
    d->entry.fits = false;
    d->entry.chance = (cm_chance){0, {0, 0}, CM_DOES_NOT_FIT};
    d->status = CM_OK;
}

typedef struct wanting {
    const cm_ranking *r;
    cm__rank_step    *step;
} wanting;

static const cm__common *find_common(void *user)
{
    const wanting *w = user;
    return cm__rank_common(w->r, w->step);
}

void cm__rank_evaluate(const cm_ranking *r, cm__rank_device *d)
{
    cm_step *step = NULL;
    wanting  wanted = {r, d->step};
    cm_step_options asked = cm__rank_asked(r); /* the host is of those devices whose kernels it launches */
    if (!d->status)
        d->status = cm__refuse_for_device(d->step->forward, d->device, d->step->options.runtime, &asked, &d->diag);
    if (!d->status) {
        cm__rank_step  *owner = cm__rank_owner(d->step);
        cm__shared_step shared = {.forward = d->step->forward, .graph = d->step->step, .like = d->step->like,
                                  .find_common = find_common, .user = &wanted, .model = r->info.model,
                                  .open_script = owner->has_open_script ? &owner->open_script : NULL};
        d->status = cm__step_new_in(&shared, d->device, &d->step->options, &step, &d->diag);
    }
    if (!d->status) d->status = cm__rank_evaluate_step(r, d, step);
    if (step) cm__rank_try_again(r, d, step);
    d->entry.prediction.loading.dataset = d->entry.prediction.loading.host = NULL; /* owned by the step */
    cm_step_free(step);
    if (d->status == CM_ERR_FIT || d->status == CM_ERR_UNSUPPORTED) note_refusal(d);
    else if (!d->entry.fits) d->entry.state = d->entry.chance.likely ? CM_RANK_RECOMPUTED : CM_RANK_NO_FIT;
}
