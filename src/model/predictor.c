/* SPDX-License-Identifier: Apache-2.0 */
/* predictor.c - one step at many batch sizes: calls are timed at powers of two and interpolated in between. */
#include <math.h>
#include <string.h>
#include "base/sized.h"
#include "model/step/loading.h"
#include "model/predictor.h"

#define POWERS 62
#define BATCH_MOST ((int64_t)1 << (POWERS - 2))

struct cm_predictor {
    cm__ctx           *ctx;
    const cm_graph    *graph;
    const cm_device   *device;
    cm_predict_options options;
    cm__prepared       prepared;     /* for devices with an execution model */
    bool               by_execution; /* no calls: each batch size is predicted separately */
    cm__step_model     model;
    cm__loading        loading;
    cm__timed         *at_power[POWERS]; /* NULL: not timed yet */
    cm__timed         *timed; /* of the last batch size */
    int64_t            batch; /* 0: none was timed yet */
    const int32_t     *order; /* of the calls as last sorted; NULL: not sorted since they were timed */
    struct {
        cm__timed     *timed;   /* NULL: none */
        bool          *done;    /* for each call */
        const double  *least_s; /* of all runs of each call: a lower bound */
        const int32_t *order;   /* in which calls are timed */
    } begun[POWERS]; /* powers of two of which only some calls are timed */
};

static cm__timed *at_power(cm_predictor *p, int power)
{
    if (!p->at_power[power]) {
        const bool *done = p->begun[power].done;
        double      batch = (double)((int64_t)1 << power);
        cm__timed  *timed =
            done ? p->begun[power].timed : cm__alloc_unset(p->ctx, (size_t)p->model.calls->n_calls, sizeof *timed);
        for (int32_t i = 0; i < p->model.calls->n_calls; i++)
            if (!done || !done[i]) timed[i] = cm__step_time_call(&p->model, batch, i);
        p->at_power[power] = timed; /* set only when complete */
    }
    return p->at_power[power];
}

/* Between two measured powers a call counts as interpolated. */
static cm__timed between(const cm__timed *low, const cm__timed *high, double part)
{
    cm__timed t = part < 0.5 ? *low : *high;
    t.time_s = low->time_s > 0 && high->time_s > 0 ? low->time_s * pow(high->time_s / low->time_s, part)
                                                   : low->time_s + part * (high->time_s - low->time_s);
    t.error = fmax(low->error, high->error);
    t.shared = fmax(low->shared, high->shared);
    t.how = low->how > high->how ? low->how : high->how;
    if (t.how == CM_HOW_MEASURED) t.how = CM_HOW_INTERPOLATED;
    return t;
}

static void time_calls(cm_predictor *p, int64_t batch)
{
    int              power = 63 - __builtin_clzll((unsigned long long)batch);
    size_t           count = (size_t)p->model.calls->n_calls;
    double           part = log2((double)batch) - power;
    const cm__timed *low = at_power(p, power);
    if (batch == (int64_t)1 << power) {
        memcpy(p->timed, low, count * sizeof *low);
        return;
    }
    const cm__timed *high = at_power(p, power + 1);
    for (size_t i = 0; i < count; i++) p->timed[i] = between(&low[i], &high[i], part);
}

static cm_status by_execution(const cm_predictor *p, int64_t batch, cm_prediction_info *info, cm_diag *diag)
{
    cm_predict_options o = p->options;
    cm_prediction     *prediction;
    o.batch = batch;
    cm_status status = cm__predict_in(p->graph, p->device, &o, &p->prepared, NULL, &prediction, diag);
    if (status) return status;
    *info = *cm_prediction_get_info(prediction);
    cm_prediction_free(prediction);
    return CM_OK;
}

cm_status cm_predictor_new(const cm_graph *step, const cm_device *device, const cm_predict_options *options,
                           cm_predictor **predictor, cm_diag *diag)
{
    cm_predict_options own;
    cm__take_options(&own, sizeof own, options);
    return cm__predictor_new_in(step, device, &own, NULL, NULL, predictor, diag);
}

cm_status cm__predictor_new_in(const cm_graph *step, const cm_device *device, const cm_predict_options *options,
                               const cm__common *common, const cm__prepared *prepared, cm_predictor **predictor,
                               cm_diag *diag)
{
    if (!step || !device || !predictor) return cm__diag_set(diag, CM_ERR_ARGUMENT, "no graph, device or result given");
    cm__ctx *ctx = cm__ctx_new(diag);
    if (!ctx) return CM_ERR_MEMORY;
    if (setjmp(ctx->trap)) return cm__ctx_abandon(ctx);
    cm__need_speed(ctx, device);
    cm_predictor *p = cm__alloc(ctx, sizeof *p);
    *p = (cm_predictor){.ctx = ctx, .graph = step, .device = device};
    if (options) p->options = *options;
    p->options.runtime = cm__runtime_on(device, p->options.runtime);
    p->by_execution = cm__execution_applies(device, p->options.runtime);
    p->loading = cm__loading_of(ctx, step, device, &p->options.loading);
    if (p->by_execution) {
        const cm_footprint *footprint = prepared ? prepared->footprint : NULL;
        bool                ready = prepared && prepared->recomputed;
        p->prepared = ready ? *prepared : cm__execution_prepare(ctx, step, device, footprint);
        p->prepared.no_operators = true;
    } else {
        p->model = cm__step_model_new(ctx, step, device, &p->options, common);
        p->timed = cm__alloc_array(ctx, (size_t)p->model.calls->n_calls, sizeof *p->timed);
    }
    ctx->diag = NULL;
    *predictor = p;
    return CM_OK;
}

void cm_predictor_free(cm_predictor *predictor)
{
    if (predictor) cm__ctx_free(predictor->ctx);
}

/* A power of two is timed once and stored. */
static void time_exactly(cm_predictor *p, int64_t batch)
{
    if ((batch & (batch - 1)) == 0) time_calls(p, batch);
    else cm__step_time(&p->model, (double)batch, p->timed);
}

/* A failure while timing leaves the predictor unchanged; the next call times what is missing. */
static cm_status predict_at(cm_predictor *p, int64_t batch, void (*time)(cm_predictor *p, int64_t batch),
                            cm_prediction_info *info, cm_diag *diag)
{
    if (!p || !info || batch < 1 || batch > BATCH_MOST)
        return cm__diag_set(diag, CM_ERR_ARGUMENT, "no predictor or result given, or a batch of %lld",
                            (long long)batch);
    if (p->by_execution) return by_execution(p, batch, info, diag);
    p->ctx->diag = diag;
    if (setjmp(p->ctx->trap)) {
        p->ctx->diag = NULL;
        return p->ctx->status;
    }
    *info = cm__prediction_begin(p->device, &p->options, batch);
    p->order = NULL;
    time(p, batch);
    p->batch = batch;
    cm__step_finish(&p->model, p->timed, info);
    cm__loading_add(&p->loading, info);
    p->ctx->diag = NULL;
    return CM_OK;
}

cm_status cm_predictor_at(cm_predictor *p, int64_t batch, cm_prediction_info *info, cm_diag *diag)
{
    return predict_at(p, batch, time_calls, info, diag);
}

cm_status cm__predictor_exactly(cm_predictor *p, int64_t batch, cm_prediction_info *info, cm_diag *diag)
{
    return predict_at(p, batch, time_exactly, info, diag);
}

/* ---- whether a batch size is slower than another ----------------------------------------------------------------- */

#define ROUNDING 1e-6 /* relative: times are added in another order than in a prediction */

/* Times whose exponents and first two bits behind them are equal are in one bucket, the shortest times in the first. The
   order inside a bucket does not matter. */
#define BUCKETS 256
#define FIRST_BUCKET ((1023 - 40) << 2) /* of 2^-40 s; shorter times are there as well */

static int bucket_of(double time_s)
{
    uint64_t bits;
    memcpy(&bits, &time_s, sizeof bits);
    int64_t above = (int64_t)(bits >> 50) - FIRST_BUCKET;
    return above < 0 ? 0 : above < BUCKETS ? (int)above : BUCKETS - 1;
}

/* The time of a call's runs, in proportion to that at the last batch size, above a lower bound. */
static int bucket_of_gain(const cm_predictor *p, const double *least_s, double scale, int32_t i)
{
    return bucket_of(fmax(0, scale * p->timed[i].time_s * p->model.calls->runs[i] - least_s[i]));
}

/* The calls with most to gain first. */
static const int32_t *by_gain(const cm_predictor *p, const double *least_s, double scale)
{
    int32_t  count = p->model.calls->n_calls;
    int32_t  next[BUCKETS] = {0}; /* first the number of calls, then the place of the next one */
    int32_t *order = cm__alloc_unset(p->ctx, (size_t)count + 1, sizeof *order);
    for (int32_t i = 0; i < count; i++) next[bucket_of_gain(p, least_s, scale, i)]++;
    for (int32_t b = BUCKETS - 1, before = 0, calls; b >= 0; b--, before += calls) calls = next[b], next[b] = before;
    for (int32_t i = 0; i < count; i++) order[next[bucket_of_gain(p, least_s, scale, i)]++] = i;
    return order;
}

/* Finds lower bounds of the times of all calls, and the order in which they are timed. Without bounds, the order is the
   same for all powers. */
static void begin(cm_predictor *p, int power)
{
    const cm__dispatch *d = p->model.calls;
    size_t              count = (size_t)d->n_calls;
    bool                bounds = cm__timer_bounds(p->model.timer);
    double              batch = (double)((int64_t)1 << power);
    double             *least_s = cm__alloc_array(p->ctx, count + 1, sizeof *least_s);
    for (int32_t i = 0; bounds && i < d->n_calls; i++)
        least_s[i] = d->runs[i] * cm__step_least_call(&p->model, batch, i);
    if (!p->order || bounds) p->order = by_gain(p, least_s, p->batch ? batch / (double)p->batch : 0);
    p->begun[power].timed = cm__alloc_unset(p->ctx, count, sizeof *p->begun[power].timed);
    p->begun[power].least_s = least_s;
    p->begun[power].order = p->order;
    p->begun[power].done = cm__alloc_array(p->ctx, count, sizeof *p->begun[power].done);
}

/* Times calls until all surely take longer than `most_s`; false: they do not. Calls that are not timed yet count with
   their lower bounds. A lower clock only makes them longer. */
static bool takes_longer(cm_predictor *p, int power, double most_s)
{
    const cm__dispatch *d = p->model.calls;
    size_t              count = (size_t)d->n_calls;
    double              sum_s = 0;
    if (!p->begun[power].done) begin(p, power);
    const double *least_s = p->begun[power].least_s;
    for (size_t i = 0; i < count; i++) sum_s += least_s[i];
    for (size_t i = 0; i < count && !(sum_s > most_s); i++) {
        int32_t    call = p->begun[power].order[i];
        cm__timed *t = &p->begun[power].timed[call];
        if (!p->begun[power].done[call]) *t = cm__step_time_call(&p->model, (double)((int64_t)1 << power), call);
        p->begun[power].done[call] = true;
        sum_s += d->runs[call] * (t->time_s + t->launches * p->model.gap_s) - least_s[call];
    }
    return sum_s > most_s;
}

bool cm__predictor_below(cm_predictor *p, int64_t batch, double samples_s)
{
    int    power = batch > 0 ? 63 - __builtin_clzll((unsigned long long)batch) : -1;
    bool   plain = power >= 0 && batch == (int64_t)1 << power && batch <= BATCH_MOST && samples_s > 0;
    double most_s = (double)batch / samples_s * (1 + ROUNDING);
    if (!plain || p->by_execution || p->at_power[power] || setjmp(p->ctx->trap)) return false;
    return p->model.host_s > most_s || takes_longer(p, power, most_s);
}
