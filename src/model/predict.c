/* SPDX-License-Identifier: Apache-2.0 */
/* predict.c - the time of a step on one device: its kernel calls, the time of each, and the host's time. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/sized.h"
#include "device/number.h"
#include "graph/runtimes.h"
#include "model/missing.h"
#include "model/execution_plan.h"
#include "model/predict_plan.h"
#include "model/predictor.h"
#include "model/sensitivity.h"
#include "model/parallel/shared_norms.h"
#include "model/dispatch/tensor_parallel.h"
#include "model/step/sparsity.h"
#include "model/execution/execution.h"

#define TEXT_MAX 192

struct cm_prediction {
    cm__ctx           *ctx;
    cm_prediction_info info;
    cm_op_time        *ops, *missing;
    int32_t            n_ops, n_missing;
    cm__sensitivities  sensitivities;
    char              *cases; /* written on first request */
};

/* ---- operators: op_of() describes one run of a call -------------------------------------------------------------- */

static cm_op_time op_of(cm_prediction *p, const cm__dispatch *d, const cm__timed *timed, int32_t call)
{
    cm__call   c;
    char       text[TEXT_MAX];
    cm_op_time op = {.node = -1, .time_s = timed[call].time_s, .launches = timed[call].launches, .how = timed[call].how,
                     .error = hypot(timed[call].error, timed[call].shared)};
    cm__call_at(&d->calls[call], (double)p->info.micro_batch, &c);
    cm__call_work(&c, &op.flop, &op.bytes);
    op.call = cm__text_copy(p->ctx, cm__call_text(&c, text, sizeof text));
    return op;
}

static int by_doubt(const void *a, const void *b)
{
    const cm_op_time *x = a, *y = b;
    return (x->time_s * x->error < y->time_s * y->error) - (x->time_s * x->error > y->time_s * y->error);
}

static void sum_phases(cm_prediction_info *info, const cm__dispatch *d, const cm__timed *timed)
{
    for (int32_t i = 0; i < d->n_of; i++)
        info->phase_s[d->g->nodes[d->node[i]].phase] += timed[d->of[i]].time_s;
}

static void list_ops(cm_prediction *p, const cm__dispatch *d, const cm__timed *timed)
{
    sum_phases(&p->info, d, timed);
    p->ops = cm__alloc_unset(p->ctx, (size_t)d->n_of, sizeof *p->ops);
    p->missing = cm__alloc_unset(p->ctx, (size_t)d->n_calls, sizeof *p->missing);
    cm_op_time *once = cm__alloc_unset(p->ctx, (size_t)d->n_calls, sizeof *once);
    for (int32_t i = 0; i < d->n_calls; i++) once[i] = op_of(p, d, timed, i);
    for (int32_t i = 0; i < d->n_of; i++) {
        const cm__timed *t = &timed[d->of[i]];
        if (t->launches == 0 && t->time_s == 0) continue; /* not needed at this batch size */
        p->ops[p->n_ops] = once[d->of[i]];
        p->ops[p->n_ops++].node = d->node[i];
    }
    for (int32_t i = 0; i < d->n_calls; i++) {
        if (timed[i].how == CM_HOW_MEASURED) continue;
        cm_op_time *m = &p->missing[p->n_missing++];
        *m = once[i];
        m->time_s *= d->runs[i];
        m->launches *= d->runs[i];
    }
    if (p->n_missing) qsort(p->missing, (size_t)p->n_missing, sizeof *p->missing, by_doubt);
}

/* ---- the step on a device with an execution model --------------------------------------------------------------- */

static bool trains(const cm_graph *g) { return g->n_nodes && g->nodes[g->n_nodes - 1].phase != CM_FORWARD; }

/* Operators are listed as calls are: those of one micro-batch on one device, and those of the update. */
typedef struct share_of_run {
    double micro;   /* samples of a micro-batch */
    double passes;  /* micro-batches in the times of the run */
    double devices; /* that divide each operator */
} share_of_run;

static void list_nodes(cm_prediction *p, const cm_graph *g, const cm__run *run, const share_of_run *s)
{
    p->ops = cm__alloc_array(p->ctx, (size_t)g->n_nodes, sizeof *p->ops);
    for (int32_t k = 0; k < g->n_nodes; k++) {
        const cm_node *n = &g->nodes[k];
        if (!(run->node_s[k] > 0)) continue; /* a view, or fused into another node */
        double passes = n->phase == CM_UPDATE ? 1 : s->passes;
        double bytes = cm__poly_at(&n->read_bytes, s->micro) + cm__poly_at(&n->write_bytes, s->micro);
        p->ops[p->n_ops++] = (cm_op_time){.node = k,
                                          .call = cm_node_type(n),
                                          .time_s = run->node_s[k] / s->devices / passes,
                                          .launches = 1,
                                          .how = (cm_how)run->how[k],
                                          .flop = cm__poly_at(&n->flop, s->micro) / s->devices,
                                          .bytes = bytes / s->devices};
    }
}

/* Forward and backward wait for transfers of a checkpoint policy that take longer than they do. */
static void add_transfers(cm_prediction *p, const cm_graph *g, const cm_device *device)
{
    cm_prediction_info *i = &p->info;
    double moved_s = cm__policy_seconds(p->ctx, g, device, (double)i->batch, 1), busy_s = i->step_time_s - i->phase_s[CM_UPDATE];
    double waits = fmax(0, moved_s - fmax(0, busy_s));
    i->mfu *= i->step_time_s / (i->step_time_s + waits);
    i->step_time_s += waits;
    i->throughput_samples_s = (double)i->batch / i->step_time_s;
    for (int side = 0; side < 2; side++) i->interval_s[side] += waits;
}

/* For devices that run graphs as a whole, and devices without kernel times: model/execution/execution.h. */
static void predict_by_execution(cm_prediction *p, const cm_graph *g, const cm_device *device, double steps_per_call,
                                 const cm__prepared *prepared)
{
    cm_prediction_info *i = &p->info;
    cm__limits          limits = cm__limits_of(device);
    cm__run_request     request = {.batch = i->batch, .sparsity = i->sparsity,
                                   .chips = i->plan.pp > 1 ? i->plan.pp : 0,
                                   .micro_batch = i->plan.accumulate > 1 ? i->plan.micro_batch : 0};
    cm__run             run = cm__execution_run(p->ctx, g, device, &request, prepared);
    double              passes = i->plan.accumulate > 1 ? i->plan.accumulate : 1;
    if (!prepared->no_operators || !trains(g))
        list_nodes(p, g, &run, &(share_of_run){(double)i->batch / passes, passes, 1});
    for (int32_t k = 0; k < g->n_nodes; k++)
        if (run.node_s[k] > 0) i->phase_s[g->nodes[k].phase] += run.node_s[k];
    i->layout = cm__channels_last(g) ? CM_LAYOUT_NHWC : CM_LAYOUT_NCHW;
    i->launches = run.pieces;
    i->devices = run.devices;
    i->micro_batch = run.micro_batch;
    i->recomputes = run.recomputes;
    i->host_time_s = run.host_s / steps_per_call;
    i->device_time_s = run.device_s;
    i->step_time_s = run.device_s + i->host_time_s;
    i->clock = 1;
    memcpy(i->share, run.share, sizeof i->share);
    i->interval_s[0] = i->step_time_s * exp(-CM__SIGMAS_OF_90_PERCENT * run.error);
    i->interval_s[1] = i->step_time_s * exp(CM__SIGMAS_OF_90_PERCENT * run.error);
    cm_poly matrix_flop = cm__facts_of(g).matrix_flop;
    cm__step_rates(&matrix_flop, cm__precision_peak(&limits, cm_graph_precision(g), false), i);
    if (g->asked.recompute_moved) add_transfers(p, g, device);
}

/* ---- latency ---------------------------------------------------------------------------------------------------- */

static double link_s(const cm_device *device, double bytes)
{
    const cm_link *link = device->host_link;
    if (!link) return 0;
    return cm__value_or(link->latency_s, 0) + (link->bw_bytes_s.known ? bytes / link->bw_bytes_s.value : 0);
}

static double output_bytes(const cm_graph *g, double batch)
{
    double bytes = 0;
    for (int32_t i = 0; i < g->n_outputs; i++) bytes += cm__tensor_bytes_at(g, g->outputs[i], batch);
    return bytes;
}

/* Latency of a single batch, with no launches queued ahead. The last kernel starts when the host has launched it;
   the first one waits for its own launch only. */
static double latency_of(const cm_prediction *p, const cm_graph *g, const cm_device *device)
{
    const cm_prediction_info *i = &p->info;
    double                    last = p->n_ops ? p->ops[p->n_ops - 1].time_s : 0;
    double                    first = i->launches > 0 ? i->host_time_s / i->launches : 0;
    double                    batch = (double)i->batch;
    double copies = link_s(device, cm__sample_bytes(g) * batch) + link_s(device, output_bytes(g, batch));
    return copies + fmax(i->host_time_s + last, first + i->device_time_s);
}

/* ---- prediction ------------------------------------------------------------------------------------------------- */

static void predict_by_calls(cm_prediction *p, const cm_graph *step, const cm_device *device,
                             const cm_predict_options *o, const cm__loading *loading, const cm__common *given)
{
    cm_predict_options settled = *o;
    settled.runtime = p->info.runtime;
    cm__common common = given ? *given : cm__common_of_one(p->ctx, step, device, o->layout, settled.runtime);
    cm__step_model m = cm__step_model_new(p->ctx, step, device, &settled, &common);
    size_t         count = (size_t)m.calls->n_calls;
    cm__timed     *timed = cm__alloc_array(p->ctx, count, sizeof *timed);
    cm__timed     *full = cm__alloc_array(p->ctx, count, sizeof *full);
    cm__step_time(&m, (double)p->info.batch, full);
    if (count) memcpy(timed, full, count * sizeof *full);
    cm__step_finish(&m, timed, &p->info);
    list_ops(p, m.calls, timed);
    p->info.latency_s = trains(step) ? NAN : latency_of(p, step, device);
    cm__loading_add(loading, &p->info);
    if (o->sensitivities) p->sensitivities = cm__call_sensitivities(p->ctx, &m, full, &common, loading, &p->info);
}

/* Each replica has its own host, which loads its samples, unless one process feeds all of them. */
static void load_replica(cm_prediction *p, const cm__loading *loading)
{
    int64_t     whole = p->info.batch;
    cm__loading own = *loading;
    own.samples /= p->info.plan.dp;
    own.copies = p->info.plan.dp;
    p->info.batch = whole / p->info.plan.dp;
    cm__loading_add(&own, &p->info);
    p->info.batch = whole;
    p->info.loading.epoch_samples = loading->on ? loading->samples : NAN;
}

/* Layers or operators of one copy are divided over devices: the time of the undivided micro-batch comes first. */
static void predict_divided(cm_prediction *p, const cm_graph *g, const cm_device *device, const cm_predict_options *o,
                            double steps_per_call, const cm__prepared *prepared)
{
    cm_prediction_info   *i = &p->info;
    const cm_plan        *plan = &i->plan;
    const cm__run_request request = {.batch = plan->micro_batch, .sparsity = i->sparsity};
    cm__run               run = cm__execution_run(p->ctx, g, device, &request, &(cm__prepared){0});
    cm__iteration         it = cm__execution_iterate(p->ctx, g, device, &run, plan, o->fabric);
    cm__limits            limits = cm__limits_of(device);
    double                count = plan->accumulate, divided = count / ((double)plan->tp * plan->pp);
    if (!prepared->no_operators) list_nodes(p, g, &run, &(share_of_run){(double)plan->micro_batch, 1, plan->tp});
    for (int32_t k = 0; k < g->n_nodes; k++)
        if (run.node_s[k] > 0) i->phase_s[g->nodes[k].phase] += run.node_s[k] * divided;
    i->phase_s[CM_UPDATE] = it.update_s;
    i->launches = run.pieces * count / plan->pp;
    i->host_time_s = run.host_s / steps_per_call;
    i->device_time_s = it.compute_s + it.update_s;
    i->step_time_s = it.step_s + i->host_time_s;
    i->tensor_s = it.tensor_s;
    i->pipeline_s = it.pipeline_s;
    i->data_s = it.data_s;
    i->hidden_s = it.hidden_s;
    i->bubble_s = it.bubble_s;
    i->clock = 1;
    memcpy(i->share, run.share, sizeof i->share);
    for (int side = 0; side < 2; side++)
        i->interval_s[side] = i->step_time_s * exp((side ? 1 : -1) * CM__SIGMAS_OF_90_PERCENT * run.error);
    cm_poly matrix_flop = cm__facts_of(g).matrix_flop;
    double  flop = cm__poly_at(&matrix_flop, (double)plan->micro_batch) * count * plan->dp;
    double  peak = cm__precision_peak(&limits, cm_graph_precision(g), false);
    i->mfu = peak > 0 ? flop / i->step_time_s / peak / plan->devices : NAN;
    i->throughput_samples_s = (double)i->batch / i->step_time_s;
}

/* A device updates the states that it stores: the listed operators of the update are its share of them. */
static void share_updates(cm_prediction *p, const cm_graph *g)
{
    double sum_s = 0;
    for (int32_t k = 0; k < p->n_ops; k++) sum_s += g->nodes[p->ops[k].node].phase == CM_UPDATE ? p->ops[k].time_s : 0;
    double share = sum_s > 0 ? p->info.phase_s[CM_UPDATE] / sum_s : 1;
    for (int32_t k = 0; k < p->n_ops; k++) {
        cm_op_time *op = &p->ops[k];
        if (g->nodes[op->node].phase == CM_UPDATE) op->time_s *= share, op->flop *= share, op->bytes *= share;
    }
}

/* Replicas whose batch norms share statistics exchange them in every pass, and wait. */
static void share_norms(cm_prediction_info *i, const cm_graph *step, const cm_fabric *fabric)
{
    const cm_plan *plan = &i->plan;
    if (plan->norm_replicas < 2) return;
    int32_t here = cm_fabric_node(fabric) / (plan->devices / plan->dp);
    double  passes = ceil((double)i->batch / plan->dp / (double)i->micro_batch), before_s = i->step_time_s;
    double  waits = passes * cm__shared_norms_s(step, fabric, plan->norm_replicas, here < 1 ? 1 : here);
    i->data_s += waits;
    i->step_time_s += waits;
    for (int side = 0; side < 2; side++) i->interval_s[side] += waits;
    i->mfu *= before_s / i->step_time_s;
    i->throughput_samples_s = (double)i->batch / i->step_time_s;
    cm__power_dilute(i, before_s / i->step_time_s);
}

static void predict_by_plan(cm_prediction *p, const cm_graph *step, const cm_device *device,
                            const cm_predict_options *o, const cm__loading *loading, const cm__prepared *prepared,
                            const cm__common *common)
{
    const cm_plan *plan = &p->info.plan;
    cm__timed     *timed;
    cm__plan_settle(p->ctx, o, &p->info);
    cm__plan_check(p->ctx, step, plan);
    bool whole = cm__execution_applies(device, p->info.runtime);
    if (whole && p->info.style == CM_STYLE_KERNELS && (plan->tp > 1 || plan->pp > 1)) {
        predict_divided(p, step, device, o, loading->per_call, prepared);
    } else if (whole) {
        p->info.batch = plan->micro_batch * plan->accumulate;
        predict_by_execution(p, step, device, loading->per_call, prepared);
        cm__add_replicas(step, device, o->fabric, &p->info);
    } else {
        cm__step_model m = cm__predict_plan(p->ctx, step, device, o, common, &p->info, &timed);
        if (prepared->no_operators) sum_phases(&p->info, m.calls, timed);
        else list_ops(p, m.calls, timed);
        for (int phase = 0; phase < CM_PHASES; phase++)
            if (phase != CM_UPDATE) p->info.phase_s[phase] *= (double)plan->accumulate / plan->pp;
    }
    if (whole) share_updates(p, step);
    share_norms(&p->info, step, o->fabric);
    p->info.latency_s = NAN;
    load_replica(p, loading);
}

cm_prediction_info cm__prediction_begin(const cm_device *device, const cm_predict_options *o, int64_t batch)
{
    bool used = cm__sparsity_kept(device, &o->sparsity) < 1 || cm__sparsity_gain(device, &o->sparsity) > 1;
    return (cm_prediction_info){.batch = batch,
                                .runtime = cm__runtime_on(device, o->runtime),
                                .style = cm_device_get_info(device)->style,
                                .devices = 1,
                                .micro_batch = batch,
                                .sparsity = o->sparsity,
                                .sparsity_used = used,
                                .latency_s = NAN,
                                .power_w = NAN,
                                .idle_w = NAN,
                                .compile_s = NAN,
                                .plan = {.cp = 1}};
}

static void predict(cm_prediction *p, const cm_graph *step, const cm_device *device, const cm_predict_options *o,
                    const cm__prepared *prepared, const cm__common *common);

/* A plan of one device and one micro-batch is the step without a plan. */
static bool is_one_step(const cm_predict_options *o, const cm_plan *filled)
{
    bool offloads = filled->offload_optimizer || filled->offload_activations || filled->offload_weights;
    return filled->devices == 1 && filled->accumulate == 1 && !offloads && cm__has_plan(&o->plan);
}

/* Predicts such a plan as the step of its batch; false: it is another plan. */
static bool predict_one_step(cm_prediction *p, const cm_graph *step, const cm_device *device,
                             const cm_predict_options *o, const cm__prepared *prepared, const cm__common *common)
{
    cm_plan            filled = o->plan;
    cm_predict_options alone = *o;
    cm__plan_fill(p->ctx, &filled);
    if (!is_one_step(o, &filled) || cm__execution_applies(device, cm__runtime_on(device, o->runtime))) return false;
    cm__pass_on(p->ctx, cm__plan_at_once(&filled, o->batch ? o->batch : 1, &alone.batch, p->ctx->diag));
    if (filled.global_batch && filled.global_batch != alone.batch) return false; /* refused as a plan */
    alone.plan = (cm_plan){0};
    predict(p, step, device, &alone, prepared, common);
    filled.micro_batch = filled.global_batch = alone.batch;
    p->info.plan = filled;
    return true;
}

/* Steps that share the host's time for a call: those stated, or the usual loop of training on the device. */
static double steps_per_call(const cm_graph *step, const cm_device *device, int32_t stated)
{
    return stated > 0 ? stated : trains(step) ? fmax(1, cm__value_or(device->execution.steps_per_call, 1)) : 1;
}

static void predict(cm_prediction *p, const cm_graph *step, const cm_device *device, const cm_predict_options *o,
                    const cm__prepared *prepared, const cm__common *common)
{
    if (predict_one_step(p, step, device, o, prepared, common)) return;
    cm__need_speed(p->ctx, device);
    cm__loading loading = cm__loading_of(p->ctx, step, device, &o->loading);
    p->info = cm__prediction_begin(device, o, o->batch ? o->batch : 1);
    p->info.compile_s = step->nodes_read * cm__value_or(device->numbers[CM_COMPILE_S], NAN);
    bool whole = cm__execution_applies(device, p->info.runtime);
    loading.together = whole && o->steps_per_call > 1 ? o->steps_per_call : 1;
    loading.per_call = steps_per_call(step, device, o->steps_per_call);
    if (whole) cm__plan_check_execution(p->ctx, device, &o->plan);
    if (cm__has_plan(&o->plan)) {
        predict_by_plan(p, step, device, o, &loading, prepared, common);
        return;
    }
    if (!whole) {
        predict_by_calls(p, step, device, o, &loading, common);
        return;
    }
    predict_by_execution(p, step, device, loading.per_call, prepared);
    p->info.latency_s = trains(step) ? NAN : latency_of(p, step, device);
    cm__loading_add(&loading, &p->info);
    if (o->sensitivities) p->sensitivities = cm__execution_sensitivities(p->ctx, step, device, &loading, &p->info);
}

cm_status cm_predict(const cm_graph *step, const cm_device *device, const cm_predict_options *options,
                     cm_prediction **prediction, cm_diag *diag)
{
    cm_predict_options own;
    cm__take_options(&own, sizeof own, options);
    return cm__predict_in(step, device, &own, &(cm__prepared){0}, NULL, prediction, diag);
}

cm_status cm__predict_in(const cm_graph *step, const cm_device *device, const cm_predict_options *options,
                         const cm__prepared *prepared, const cm__common *common, cm_prediction **prediction,
                         cm_diag *diag)
{
    static const cm_predict_options defaults = {0};
    if (!step || !device || !prediction) return cm__diag_set(diag, CM_ERR_ARGUMENT, "no graph, device or result given");
    if (options && !(options->sparsity.pruned >= 0 && options->sparsity.pruned < 1))
        return cm__diag_set(diag, CM_ERR_ARGUMENT, "sparsity is %g; it must be at least 0 and below 1",
                            options->sparsity.pruned);
    cm__ctx *ctx = cm__ctx_new(diag);
    if (!ctx) return CM_ERR_MEMORY;
    if (setjmp(ctx->trap)) return cm__ctx_abandon(ctx);
    cm_prediction *p = cm__alloc(ctx, sizeof *p);
    p->ctx = ctx;
    predict(p, step, device, options ? options : &defaults, prepared, common);
    ctx->diag = NULL;
    *prediction = p;
    return CM_OK;
}

void cm_prediction_free(cm_prediction *prediction)
{
    if (!prediction) return;
    free(prediction->cases);
    cm__ctx_free(prediction->ctx);
}

const char *cm_prediction_cases(cm_prediction *p)
{
    cm__call *calls = p->cases ? NULL : calloc((size_t)p->n_missing + 1, sizeof *calls);
    int32_t   count = 0;
    for (int32_t i = 0; calls && i < p->n_missing; i++) count += cm__call_parse(p->missing[i].call, &calls[count]);
    if (calls) p->cases = cm__cases_text(calls, count);
    free(calls);
    return p->cases;
}

const cm_prediction_info *cm_prediction_get_info(const cm_prediction *p) { return &p->info; }
cm_prediction_info       *cm__prediction_info(cm_prediction *p) { return &p->info; }
int32_t                   cm_prediction_ops(const cm_prediction *p) { return p->n_ops; }
const cm_op_time         *cm_prediction_op(const cm_prediction *p, int32_t i) { return &p->ops[i]; }
int32_t                   cm_prediction_missing_calls(const cm_prediction *p) { return p->n_missing; }
const cm_op_time         *cm_prediction_missing_call(const cm_prediction *p, int32_t i) { return &p->missing[i]; }
int32_t                   cm_prediction_sensitivities(const cm_prediction *p) { return p->sensitivities.count; }
const cm_sensitivity     *cm_prediction_sensitivity(const cm_prediction *p, int32_t i)
{
    return &p->sensitivities.items[i];
}
