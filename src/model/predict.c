/* SPDX-License-Identifier: Apache-2.0 */
/* predict.c - the time of a step on one device: its calls, how long each takes, and the host beside them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "model/plan.h"
#include "model/step.h"
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
    cm__call_at(&d->calls[call], (double)p->info.micro_batch, &c);
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
    i->interval_s[0] = i->step_time_s * exp(-CM__NINE_OF_TEN * run.error);
    i->interval_s[1] = i->step_time_s * exp(CM__NINE_OF_TEN * run.error);
    cm_poly matrix_flop = cm__matrix_flop(g);
    cm__step_rates(&matrix_flop, cm__precision_peak(&limits, cm_graph_precision(g), false), i);
}

static double doubt_of_communication(const cm__iteration *it)
{
    const double each = 0.15; /* latencies and bandwidths of another machine and library version than measured */
    return each * (it->tensor_s + it->pipeline_s + it->data_s - it->hidden_s);
}

/* Samples of one replica's pass. */
static int64_t at_once(const cm_plan *p, int64_t batch)
{
    if (p->micro_batch) return p->micro_batch;
    int64_t samples = p->global_batch ? p->global_batch / p->dp : batch;
    return samples > p->accumulate ? samples / p->accumulate : 1;
}

static void settle_plan(cm_prediction *p, const cm_predict_options *o)
{
    cm_prediction_info *i = &p->info;
    cm_plan            *plan = &i->plan;
    *plan = o->plan;
    cm__plan_fill(p->ctx, plan);
    plan->micro_batch = at_once(plan, o->batch ? o->batch : 1);
    int64_t whole = plan->micro_batch * plan->accumulate * plan->dp;
    if (plan->global_batch && plan->global_batch != whole)
        cm__fail(p->ctx, CM_ERR_ARGUMENT,
                 "a global batch of %lld is not micro-batches of %lld on %d replicas a whole number of times",
                 (long long)plan->global_batch, (long long)plan->micro_batch, plan->dp);
    if (plan->devices > 1 && !o->fabric) cm__fail(p->ctx, CM_ERR_ARGUMENT, "a plan of several devices needs a fabric");
    if (o->fabric && plan->devices > cm_fabric_node(o->fabric) && !cm_fabric_joins_nodes(o->fabric))
        cm__fail(p->ctx, CM_ERR_ARGUMENT,
                 "%d devices are more than the %d of a node, and what joins nodes is not known: give --cluster ID or "
                 "--cluster node=%d,net=800Gb",
                 plan->devices, cm_fabric_node(o->fabric), cm_fabric_node(o->fabric));
    plan->global_batch = i->batch = whole;
    i->devices = plan->devices;
    i->micro_batch = plan->micro_batch;
}

static void fill_info(cm_prediction_info *i, const cm__step_model *m, const cm__parts *parts, const cm__stages *st,
                      const cm__iteration *it)
{
    const cm_plan *plan = &i->plan;
    double         count = plan->accumulate, launches = 0;
    for (int32_t k = 0; k < parts->count; k++) launches += parts->all[k].launches;
    i->layout = m->calls->nhwc ? CM_LAYOUT_NHWC : CM_LAYOUT_NCHW;
    i->clock = parts->clock;
    i->launches = count * launches / plan->pp;
    i->step_time_s = it->step_s;
    i->device_time_s = count * st->busy_s + it->update_s;
    i->host_time_s = count * st->host_s + parts->update_host_s;
    i->tensor_s = it->tensor_s;
    i->pipeline_s = it->pipeline_s;
    i->data_s = it->data_s;
    i->overlapped_s = it->hidden_s;
    i->bubble_s = it->bubble_s;
    memcpy(i->share, parts->share, sizeof i->share);
    double error = sqrt(pow(parts->error, 2) + pow(doubt_of_communication(it) / it->step_s, 2));
    for (int side = 0; side < 2; side++)
        i->interval_s[side] = it->step_s * exp((side ? 1 : -1) * CM__NINE_OF_TEN * error);
    i->throughput_samples_s = it->step_s > 0 ? (double)i->batch / it->step_s : 0;
    double flop = cm_poly_at(&m->matrix_flop, (double)i->micro_batch) * count * plan->dp;
    i->mfu = m->peak_flop_s > 0 ? flop / it->step_s / m->peak_flop_s / plan->devices : NAN;
}

static void predict_plan(cm_prediction *p, const cm_graph *step, const cm_device *device, const cm_predict_options *o)
{
    const cm_plan *plan = &p->info.plan;
    cm__step_model m = cm__step_model_shard(p->ctx, step, device, o->layout, p->info.runtime, plan);
    cm__timed *timed = cm__alloc_array(p->ctx, (size_t)m.calls->n_calls, sizeof *timed);
    cm__parts     parts = cm__parts_new(p->ctx, &m, o->fabric, (double)plan->micro_batch, plan->cp, timed);
    cm__stages    stages = cm__stages_new(p->ctx, &parts, plan, p->info.runtime == CM_RUNTIME_MEGATRON);
    cm__waits     waits = cm__waits_new(&parts, &stages, plan, o->fabric);
    cm__iteration it = cm__iterate(&stages, &waits, plan, p->info.runtime == CM_RUNTIME_MEGATRON);
    fill_info(&p->info, &m, &parts, &stages, &it);
    list_ops(p, m.calls, timed);
    for (int phase = 0; phase < CM_PHASES; phase++)
        p->info.phase_s[phase] *= (phase == CM_UPDATE ? 1.0 : plan->accumulate) / plan->pp;
}

static bool has_plan(const cm_plan *p)
{
    bool several = p->devices > 1 || p->tp > 1 || p->cp > 1 || p->pp > 1 || p->dp > 1 || p->accumulate > 1;
    return several || p->micro_batch || p->global_batch;
}

/* Copies of what runs as a whole, each on as many devices as it takes, which sum up the gradients of their parts: when
   all is done, or while backward runs where operators run one by one. */
static void predict_replicas(cm_prediction *p, const cm_graph *step, const cm_device *device,
                             const cm_predict_options *o)
{
    cm_prediction_info *i = &p->info;
    double              bytes = 0;
    settle_plan(p, o);
    if (i->plan.tp * i->plan.cp * i->plan.pp > 1)
        cm__fail(p->ctx, CM_ERR_UNSUPPORTED,
                 "%s runs graphs as a whole, on as many devices as they take: of a plan it takes replicas (--dp) alone",
                 cm_device_get_info(device)->name);
    int64_t whole = i->plan.micro_batch * i->plan.accumulate * i->plan.dp;
    i->batch = i->plan.micro_batch * i->plan.accumulate;
    predict_by_style(p, step, device);
    for (int32_t t = 0; t < step->n_tensors; t++) {
        cm_poly of = cm_tensor_bytes(cm__t(step, t));
        if (cm__t(step, t)->role == CM_ROLE_PARAMETER_GRADIENT) bytes += of.c[0];
    }
    int32_t   here = o->fabric ? cm_fabric_node(o->fabric) / i->devices : 1;
    cm__group group = {i->plan.dp, here < 1 ? 1 : here < i->plan.dp ? here : i->plan.dp};
    i->data_s = i->plan.dp > 1 ? cm__comm_time(o->fabric, CM__ALL_REDUCE, group, bytes / i->devices) : 0;
    if (i->style == CM_STYLE_KERNELS)
        i->overlapped_s =
            fmin(i->data_s * (1 - 1.0 / cm__part_count(step)), i->phase_s[CM_BACKWARD] / i->plan.accumulate);
    double waits = i->data_s - i->overlapped_s;
    i->step_time_s += waits;
    for (int side = 0; side < 2; side++) i->interval_s[side] += waits;
    i->mfu *= (i->step_time_s - waits) / i->step_time_s;
    i->batch = whole;
    i->devices *= i->plan.dp;
    i->plan.devices = i->devices;
    i->throughput_samples_s = (double)whole / i->step_time_s;
}

static void predict(cm_prediction *p, const cm_graph *step, const cm_device *device, const cm_predict_options *o)
{
    p->info.batch = o->batch ? o->batch : 1;
    p->info.runtime = o->runtime ? o->runtime : cm_device_runtime(device);
    p->info.style = cm_device_get_info(device)->style;
    p->info.devices = 1;
    p->info.micro_batch = p->info.batch;
    if (cm__style_applies(device, p->info.runtime)) {
        if (has_plan(&o->plan)) predict_replicas(p, step, device, o);
        else predict_by_style(p, step, device);
        return;
    }
    if (has_plan(&o->plan)) {
        settle_plan(p, o);
        predict_plan(p, step, device, o);
        return;
    }
    cm__step_model m = cm__step_model_new(p->ctx, step, device, o->layout, p->info.runtime);
    cm__timed     *timed = cm__alloc_array(p->ctx, (size_t)m.calls->n_calls, sizeof *timed);
    cm__step_time(&m, (double)p->info.batch, timed);
    cm__step_finish(&m, timed, &p->info);
    list_ops(p, m.calls, timed);
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
