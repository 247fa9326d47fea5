/* SPDX-License-Identifier: Apache-2.0 */
/* predict.c - the time of a step on one device: its calls, how long each takes, and the host beside them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "model/clock.h"
#include "model/dispatch.h"
#include "model/host.h"
#include "model/style.h"
#include "model/timer.h"

#define NINE_OF_TEN 1.645   /* standard deviations on each side */
#define COMMON_ERROR 0.04   /* that all calls of a step share: clocks, power, another version of a library */
#define SHARED_PART 0.5     /* of the error of calls that were not measured: neighbours are wrong the same way */
#define HOST_ERROR 0.13 /* of steps the host limits; the same step repeats within 10 to 30 % (docs/results/time.md) */
#define TEXT_MAX 192

struct cm_prediction {
    cm__ctx           *ctx;
    cm_prediction_info info;
    cm_op_time        *ops, *missing;
    int32_t            n_ops, n_missing;
};

/* ---- which tables ----------------------------------------------------------------------------------------------- */

cm_runtime cm_device_runtime(const cm_device *device)
{
    const cm_device_info *info = cm_device_get_info(device);
    bool torch = strcmp(info->device_class, "gpu") == 0;
    return torch ? CM_RUNTIME_TORCH_EAGER : CM_RUNTIME_NATIVE;
}

static void free_device(void *device) { cm_device_free(device); }

/* The built-in device whose tables tell most of another one of its kind. */
static const cm_device *relative_of(cm__ctx *ctx, const cm_device *device)
{
    const cm_device_info *info = cm_device_get_info(device);
    cm_device            *relative = NULL;
    for (int32_t i = 0; i < cm__n_embedded_kernels && !relative; i++) {
        const char *id = cm__all_embedded_kernels[i].device;
        if (strcmp(id, info->id) == 0 || strcmp(info->device_class, "gpu")) continue;
        if (cm_device_load(id, &relative, NULL) == CM_OK) cm__defer(ctx, free_device, relative);
    }
    return relative;
}

/* ---- timing ----------------------------------------------------------------------------------------------------- */

typedef struct summing {
    double time_s, variance, unmeasured_s; /* the last: of calls not measured, times their errors */
} summing;

static double scale_of(const cm_number *factor) { return factor->known ? factor->value : 1; }

/* What real steps have taught of this device. */
static void calibrate(const cm__dispatch *d, const cm_device *device, cm__timed *timed)
{
    const double scale[CM_ENGINES] = {[CM_ENGINE_MATRIX] = scale_of(&device->calibration.matrix),
                                      [CM_ENGINE_VECTOR] = scale_of(&device->calibration.vector)};
    for (int32_t i = 0; i < d->n_calls; i++) timed[i].time_s *= scale[cm__call_kinds[d->calls[i].op].engine];
}

static void time_calls(const cm_prediction *p, const cm__dispatch *d, cm__timer *timer, cm__timed *timed)
{
    for (int32_t i = 0; i < d->n_calls; i++) {
        cm__call call;
        cm__call_at(&d->calls[i], (double)p->info.batch, &call);
        timed[i] = cm__timer_time(timer, &call);
    }
}

/* Times at the clock that the power limit leaves. */
static double throttle(const cm_prediction *p, const cm__dispatch *d, const cm_device *device, cm__timed *timed,
                       double host_s)
{
    cm__power power = cm__power_of(device);
    cm__load  load = {.least_s = host_s};
    cm__call  call;
    for (int32_t i = 0; i < d->n_calls; i++) {
        cm__call_at(&d->calls[i], (double)p->info.batch, &call);
        cm__load_add(&load, &power, &call, timed[i].time_s, d->runs[i]);
    }
    double clock = cm__clock_of(&power, &load);
    for (int32_t i = 0; clock < 1 && i < d->n_calls; i++) {
        cm__call_at(&d->calls[i], (double)p->info.batch, &call);
        timed[i].time_s *= 1 + cm__clocked_part(&power, &call, timed[i].time_s) * (1 / clock - 1);
    }
    return clock;
}

static summing sum_calls(cm_prediction *p, const cm__dispatch *d, const cm__timed *timed)
{
    summing sum = {0};
    for (int32_t i = 0; i < d->n_calls; i++) {
        double time = timed[i].time_s * d->runs[i];
        sum.time_s += time;
        sum.variance += pow(time * timed[i].error, 2);
        if (timed[i].how != CM_HOW_MEASURED) sum.unmeasured_s += time * timed[i].error;
        p->info.share[timed[i].how] += time;
    }
    return sum;
}

static double count_launches(const cm__dispatch *d, const cm__timed *timed)
{
    double launches = 0;
    for (int32_t i = 0; i < d->n_calls; i++) launches += timed[i].launches * d->runs[i];
    return launches;
}

static cm_op_time op_of(cm_prediction *p, const cm__dispatch *d, const cm__timed *timed, int32_t call, int32_t node)
{
    cm__call   c;
    char      *text = cm__alloc(p->ctx, TEXT_MAX);
    cm_op_time op = {
        .node = node, .time_s = timed[call].time_s, .launches = timed[call].launches, .how = timed[call].how};
    cm__call_at(&d->calls[call], (double)p->info.batch, &c);
    cm__call_work(&c, &op.flop, &op.bytes);
    op.call = cm__call_text(&c, text, TEXT_MAX);
    return op;
}

static int by_time(const void *a, const void *b)
{
    double x = ((const cm_op_time *)a)->time_s, y = ((const cm_op_time *)b)->time_s;
    return (x < y) - (x > y);
}

static void list_ops(cm_prediction *p, const cm__dispatch *d, const cm__timed *timed)
{
    p->ops = cm__alloc_array(p->ctx, (size_t)d->n_of, sizeof *p->ops);
    p->missing = cm__alloc_array(p->ctx, (size_t)d->n_calls, sizeof *p->missing);
    for (int32_t i = 0; i < d->n_of; i++) {
        p->ops[p->n_ops] = op_of(p, d, timed, d->of[i], d->node[i]);
        p->info.phase_s[d->g->nodes[d->node[i]].phase] += p->ops[p->n_ops++].time_s;
    }
    for (int32_t i = 0; i < d->n_calls; i++) {
        if (timed[i].how == CM_HOW_MEASURED) continue;
        cm_op_time *m = &p->missing[p->n_missing++];
        *m = op_of(p, d, timed, i, -1);
        m->time_s *= d->runs[i];
        m->launches *= d->runs[i];
    }
    if (p->n_missing) qsort(p->missing, (size_t)p->n_missing, sizeof *p->missing, by_time);
}

/* ---- the step --------------------------------------------------------------------------------------------------- */

/* A step ends when the later of two timelines does, each as uncertain as it is. */
static void bracket(cm_prediction_info *i, double device_s, double device_error)
{
    for (int side = 0; side < 2; side++) {
        double z = side ? NINE_OF_TEN : -NINE_OF_TEN;
        i->interval_s[side] = fmax(device_s * exp(z * device_error), i->host_time_s * exp(z * HOST_ERROR));
    }
}

static void measure(cm_prediction *p, const cm_graph *g, double peak)
{
    cm_prediction_info *i = &p->info;
    cm_totals           totals;
    double              matrix = 0;
    i->throughput_samples_s = i->step_time_s > 0 ? (double)i->batch / i->step_time_s : 0;
    cm_graph_totals(g, i->batch, &totals);
    for (cm_phase phase = CM_FORWARD; phase < CM_PHASES; phase++) matrix += cm_totals_matrix_flop(&totals, phase);
    i->mfu = peak > 0 && i->step_time_s > 0 ? matrix / i->step_time_s / peak / i->devices : NAN;
}

static void finish(cm_prediction *p, const cm_graph *g, const summing *sum, double gap_s, double peak)
{
    cm_prediction_info *i = &p->info;
    i->device_time_s = sum->time_s;
    double device_s = sum->time_s + i->launches * gap_s;
    double spread = sum->variance + pow(COMMON_ERROR * sum->time_s, 2) + pow(SHARED_PART * sum->unmeasured_s, 2);
    i->step_time_s = fmax(device_s, i->host_time_s);
    bracket(i, device_s, sqrt(spread) / fmax(sum->time_s, 1e-30));
    measure(p, g, peak);
    for (int h = 0; h < CM_HOWS && sum->time_s > 0; h++) i->share[h] /= sum->time_s;
}

/* Devices that run graphs as a whole, or of which no kernel is known: model/style.h. */
static void predict_by_style(cm_prediction *p, const cm_graph *g, const cm_device *device)
{
    cm_prediction_info *i = &p->info;
    cm__limits          limits = cm__limits_of(device);
    cm__run             run = cm__style_run(p->ctx, g, device, i->batch);
    p->ops = cm__alloc_array(p->ctx, (size_t)g->n_nodes, sizeof *p->ops);
    for (int32_t k = 0; k < g->n_nodes; k++) {
        const cm_node *n = &g->nodes[k];
        if (!(run.node_s[k] > 0)) continue; /* a view, or done elsewhere */
        p->ops[p->n_ops++] = (cm_op_time){
            .node = k,
            .call = cm_node_type(n),
            .time_s = run.node_s[k],
            .launches = 1,
            .how = run.how,
            .flop = cm_poly_at(&n->flop, (double)i->batch),
            .bytes = cm_poly_at(&n->read_bytes, (double)i->batch) + cm_poly_at(&n->write_bytes, (double)i->batch)};
        i->phase_s[n->phase] += run.node_s[k];
    }
    i->layout = cm__channels_last(g) ? CM_LAYOUT_NHWC : CM_LAYOUT_NCHW;
    i->launches = run.pieces;
    i->devices = run.devices;
    i->micro_batch = run.micro_batch;
    i->host_time_s = run.host_s;
    i->device_time_s = run.device_s;
    i->step_time_s = run.device_s + run.host_s;
    i->clock = 1;
    i->share[run.how] = 1;
    i->interval_s[0] = i->step_time_s * exp(-NINE_OF_TEN * run.error);
    i->interval_s[1] = i->step_time_s * exp(NINE_OF_TEN * run.error);
    measure(p, g, cm__precision_peak(&limits, cm_graph_precision(g), false));
}

static void predict(cm_prediction *p, const cm_graph *step, const cm_device *device, const cm_predict_options *o)
{
    p->info.batch = o->batch ? o->batch : 1;
    p->info.runtime = o->runtime ? o->runtime : cm_device_runtime(device);
    p->info.style = cm_device_get_info(device)->style;
    p->info.devices = 1;
    p->info.micro_batch = p->info.batch;
    if (cm__style_applies(device, p->info.runtime)) {
        predict_by_style(p, step, device);
        return;
    }
    const cm_device *relative = relative_of(p->ctx, device);
    cm__dispatch    *d = cm__dispatch_new(p->ctx, step, o->layout, p->info.runtime);
    cm__timer       *timer = cm__timer_new(p->ctx, device, relative, p->info.runtime);
    cm__timed       *timed = cm__alloc_array(p->ctx, (size_t)d->n_calls, sizeof *timed);
    cm__limits       limits = cm__limits_of(device);
    p->info.layout = d->nhwc ? CM_LAYOUT_NHWC : CM_LAYOUT_NCHW;
    time_calls(p, d, timer, timed);
    calibrate(d, device, timed);
    p->info.launches = count_launches(d, timed);
    p->info.host_time_s = cm__host_time(device, relative, p->info.runtime, step) * scale_of(&device->calibration.host);
    p->info.clock = throttle(p, d, device, timed, p->info.host_time_s);
    summing sum = sum_calls(p, d, timed);
    list_ops(p, d, timed);
    finish(p, step, &sum, cm__host_number(device, relative, p->info.runtime, "gap"),
           cm__precision_peak(&limits, cm_graph_precision(step), false));
}

cm_status cm_predict(const cm_graph *step, const cm_device *device, const cm_predict_options *options,
                     cm_prediction **prediction, cm_diag *diag)
{
    static const cm_predict_options defaults = {0};
    if (!step || !device || !prediction) return cm__diag_set(diag, CM_ERR_ARGUMENT, "no graph, device or result given");
    cm__ctx *ctx = cm__ctx_new(diag);
    if (!ctx) return CM_ERR_MEMORY;
    if (setjmp(ctx->trap)) return cm__ctx_abandon(ctx);
    cm_prediction *p = cm__alloc(ctx, sizeof *p);
    p->ctx = ctx;
    predict(p, step, device, options ? options : &defaults);
    ctx->diag = NULL;
    *prediction = p;
    return CM_OK;
}

void cm_prediction_free(cm_prediction *prediction)
{
    if (prediction) cm__ctx_free(prediction->ctx);
}

const cm_prediction_info *cm_prediction_get_info(const cm_prediction *p) { return &p->info; }
int32_t                   cm_prediction_ops(const cm_prediction *p) { return p->n_ops; }
const cm_op_time         *cm_prediction_op(const cm_prediction *p, int32_t i) { return &p->ops[i]; }
int32_t                   cm_prediction_missing(const cm_prediction *p) { return p->n_missing; }
const cm_op_time         *cm_prediction_missing_call(const cm_prediction *p, int32_t i) { return &p->missing[i]; }
