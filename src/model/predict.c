/* SPDX-License-Identifier: Apache-2.0 */
/* predict.c - the time of a step on one device: its calls, how long each takes, and the host beside them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "model/predictor.h"
#include "model/style.h"

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

/* Devices that run graphs as a whole, or of which no kernel is known: model/style.h. */
static void predict_by_style(cm_prediction *p, const cm_graph *g, const cm_device *device,
                             const cm_footprint *footprint)
{
    cm_prediction_info *i = &p->info;
    cm__limits          limits = cm__limits_of(device);
    cm__run             run = cm__style_run_in(p->ctx, g, device, i->batch, footprint);
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
    i->interval_s[0] = i->step_time_s * exp(-CM__NINE_OF_TEN * run.error);
    i->interval_s[1] = i->step_time_s * exp(CM__NINE_OF_TEN * run.error);
    cm_poly matrix_flop = cm__matrix_flop(g);
    cm__step_rates(&matrix_flop, cm__precision_peak(&limits, cm_graph_precision(g), false), i);
}

static void predict(cm_prediction *p, const cm_graph *step, const cm_device *device, const cm_predict_options *o,
                    const cm_footprint *footprint)
{
    p->info.batch = o->batch ? o->batch : 1;
    p->info.runtime = o->runtime ? o->runtime : cm_device_runtime(device);
    p->info.style = cm_device_get_info(device)->style;
    p->info.devices = 1;
    p->info.micro_batch = p->info.batch;
    if (cm__style_applies(device, p->info.runtime)) {
        predict_by_style(p, step, device, footprint);
        return;
    }
    cm__step_model m = cm__step_model_new(p->ctx, step, device, o->layout, p->info.runtime, NULL);
    cm__timed     *timed = cm__alloc_array(p->ctx, (size_t)m.calls->n_calls, sizeof *timed);
    cm__step_time(&m, p->info.batch, timed);
    cm__step_finish(&m, timed, &p->info);
    list_ops(p, m.calls, timed);
}

cm_status cm_predict(const cm_graph *step, const cm_device *device, const cm_predict_options *options,
                     cm_prediction **prediction, cm_diag *diag)
{
    return cm__predict_in(step, device, options, NULL, prediction, diag);
}

cm_status cm__predict_in(const cm_graph *step, const cm_device *device, const cm_predict_options *options,
                         const cm_footprint *footprint, cm_prediction **prediction, cm_diag *diag)
{
    static const cm_predict_options defaults = {0};
    if (!step || !device || !prediction) return cm__diag_set(diag, CM_ERR_ARGUMENT, "no graph, device or result given");
    cm__ctx *ctx = cm__ctx_new(diag);
    if (!ctx) return CM_ERR_MEMORY;
    if (setjmp(ctx->trap)) return cm__ctx_abandon(ctx);
    cm_prediction *p = cm__alloc(ctx, sizeof *p);
    p->ctx = ctx;
    predict(p, step, device, options ? options : &defaults, footprint);
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
