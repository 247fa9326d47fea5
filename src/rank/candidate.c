/* SPDX-License-Identifier: Apache-2.0 */
/*
 * candidate.c - one device: its best batch size, and the step at it.
 *
 * Throughput grows with the batch size and then hardly: the best is the smallest power of two (or candidate of the
 * device's own) within CLOSE of the highest throughput. Where a memory holds the whole batch, the largest that fits
 * ends the search; styles that cut a batch into micro-batches end at BATCH_MOST, above which few models train well.
 */
#include <math.h>
#include <string.h>
#include "rank/rank.h"

#define CLOSE 0.98
#define BATCH_MOST 4096

typedef struct search {
    const cm_ranking *r;
    cm__rank_device  *d;
    cm_footprint     *footprint;
    cm_predictor     *predictor;
} search;

/* The predictor is made where something fits. */
static cm_status predict_at(search *s, int64_t batch, cm_prediction_info *info)
{
    cm__rank_device         *d = s->d;
    const cm_predict_options options = {.runtime = d->step->runtime, .layout = s->r->options.layout,
                                        .loading = s->r->options.loading};
    cm_status                status = CM_OK;
    if (!s->predictor)
        status = cm__predictor_new_in(d->step->step, d->device, &options, cm__rank_common(s->r, d->step), s->footprint,
                                      &s->predictor, &d->diag);
    return status ? status : cm_predictor_at(s->predictor, batch, info, &d->diag);
}

static void note_lack(search *s, int64_t batch)
{
    cm_memory_use    use;
    cm__rank_device *d = s->d;
    int32_t          at = cm_device_placement(d->device, CM_CATEGORY_WEIGHTS_BIASES).memory;
    const cm_memory *memory = at >= 0 ? cm_device_memory(d->device, at) : cm_device_main_memory(d->device);
    cm_footprint_at(s->footprint, batch, &use);
    d->capacity_bytes = memory ? memory->capacity_bytes.value * (1 - CM__HEADROOM) - use.context_bytes : NAN;
    d->entry.peak_bytes = use.peak_bytes;
    d->states_bytes = use.categories[CM_CATEGORY_WEIGHTS_BIASES] + use.categories[CM_CATEGORY_GRADIENTS] +
                      use.categories[CM_CATEGORY_ALGORITHM];
    d->working_bytes = use.peak_bytes - d->states_bytes;
    d->entry.state = CM_RANK_NO_FIT;
}

/* ---- where the batch is cut ------------------------------------------------------------------------------------- */

static bool cuts_batches(const cm_device *device)
{
    cm_style style = cm_device_get_info(device)->style;
    return style == CM_STYLE_BSP || style == CM_STYLE_STREAMING || style == CM_STYLE_SECTIONS;
}

/* Sections leave results off the chip, where the weights are too. */
static bool cut_fits(const search *s, int64_t batch)
{
    cm_memory_use    use;
    const cm_device *device = s->d->device;
    const cm_memory *far = cm_device_memory(device, cm_device_placement(device, CM_CATEGORY_WEIGHTS_BIASES).memory);
    if (cm_device_get_info(device)->style != CM_STYLE_SECTIONS || !far || !far->capacity_bytes.known) return true;
    cm_footprint_at(s->footprint, batch, &use);
    return use.peak_bytes <= far->capacity_bytes.value;
}

static cm_status best_cut(search *s)
{
    cm_prediction_info at[64];
    int                n = 0;
    double             most = 0;
    for (int64_t b = 1; b <= BATCH_MOST; b *= 2) {
        cm_status status = predict_at(s, b, &at[n]);
        if (status && !n) return status;
        if (status || (n && !cut_fits(s, b))) break;
        most = fmax(most, at[n].throughput_samples_s / at[n].devices);
        n++;
    }
    for (int i = n - 1; i >= 0; i--)
        if (at[i].throughput_samples_s / at[i].devices >= CLOSE * most) s->d->entry.prediction = at[i];
    return CM_OK;
}

/* What one chip of as many as the step takes holds of a micro-batch. */
static cm_status pipeline_use(const search *s, cm_memory_use *use)
{
    const cm_prediction_info *i = &s->d->entry.prediction;
    const cm_memory_options   options = {.runtime = i->runtime, .plan = {.pp = i->devices, .devices = i->devices}};
    cm_footprint             *pipeline = NULL;
    cm_status                 status = CM_OK;
    if (i->devices > 1) status = cm_footprint_new(s->d->step->step, s->d->device, &options, &pipeline, &s->d->diag);
    if (!status) cm_footprint_at(pipeline ? pipeline : s->footprint, i->micro_batch, use);
    cm_footprint_free(pipeline);
    return status;
}

/* What chips of a pipeline hold, and what sections leave off the chip. */
static cm_status cut_memory(search *s)
{
    cm_rank_entry            *e = &s->d->entry;
    const cm_prediction_info *i = &e->prediction;
    cm_memory_use             use;
    cm_footprint_at(s->footprint, i->batch, &use);
    e->peak_bytes = use.peak_bytes;
    e->fits = cut_fits(s, i->batch);
    if (!e->fits) note_lack(s, i->batch);
    if (i->style == CM_STYLE_SECTIONS) return CM_OK;
    cm_status status = pipeline_use(s, &use);
    e->peak_bytes = use.peak_bytes;
    return status;
}

/* ---- where it is whole ------------------------------------------------------------------------------------------ */

/* Down from the largest that fits, as long as that costs next to nothing. */
static cm_status best_whole(search *s, int64_t largest)
{
    cm_prediction_info smaller, *best = &s->d->entry.prediction;
    cm_status          status = predict_at(s, largest, best);
    double             most = status ? 0 : best->throughput_samples_s;
    for (int64_t b = largest / 2; !status && b >= 1 && cm_device_batches(s->d->device) == 0; b /= 2) {
        status = predict_at(s, b, &smaller);
        if (status || smaller.throughput_samples_s < CLOSE * most) break;
        most = fmax(most, smaller.throughput_samples_s);
        *best = smaller;
    }
    return status;
}

static cm_status whole(search *s)
{
    cm_batch_choice choice;
    cm_memory_use   use;
    cm_status       status = cm_batch_choose(s->footprint, NULL, &choice, &s->d->diag);
    if (status) return status;
    if (!choice.batch) {
        note_lack(s, choice.n_candidates ? choice.candidates[0].batch : 1);
        return CM_OK;
    }
    status = best_whole(s, choice.batch);
    cm_footprint_at(s->footprint, s->d->entry.prediction.batch, &use);
    s->d->entry.peak_bytes = use.peak_bytes;
    s->d->entry.fits = true;
    return status;
}

/* ---- a batch size that was asked for ---------------------------------------------------------------------------- */

static cm_status asked(search *s)
{
    cm_memory_use use;
    int64_t       batch = s->r->options.batch;
    cm_status     status = predict_at(s, batch, &s->d->entry.prediction);
    if (status) return status;
    if (cuts_batches(s->d->device)) return cut_memory(s);
    status = cm_footprint_simulate(s->footprint, batch, &use, &s->d->diag);
    s->d->entry.peak_bytes = use.peak_bytes;
    s->d->entry.fits = use.fits;
    if (!status && !use.fits) note_lack(s, batch);
    return status;
}

static cm_status evaluate(search *s)
{
    cm__rank_device        *d = s->d;
    const cm_memory_options memory = {.runtime = d->step->runtime};
    cm_status               status = cm__footprint_new_like(d->step->like, d->step->step, d->device, &memory,
                                                            &s->footprint, &d->diag);
    if (status) return status;
    if (s->r->options.batch) return asked(s);
    if (!cuts_batches(d->device)) return whole(s);
    status = best_cut(s);
    return status ? status : cut_memory(s);
}

/* A step that a device's style refuses is an answer, not a failure; so is an operator that it lacks. */
void cm__rank_evaluate(const cm_ranking *r, cm__rank_device *d)
{
    search s = {.r = r, .d = d};
    d->status = evaluate(&s);
    d->entry.prediction.loading.dataset = d->entry.prediction.loading.host = NULL; /* the predictor's own */
    cm_predictor_free(s.predictor);
    cm_footprint_free(s.footprint);
    cm_rank_entry *e = &d->entry;
    if (d->status == CM_ERR_LIMIT || d->status == CM_ERR_UNSUPPORTED) {
        e->state = d->status == CM_ERR_LIMIT ? CM_RANK_NO_FIT : CM_RANK_CANNOT;
        snprintf(d->reason, sizeof d->reason, "%s", d->diag.reason);
        e->fits = false;
        d->status = CM_OK;
    } else if (!e->fits) e->state = CM_RANK_NO_FIT;
}
