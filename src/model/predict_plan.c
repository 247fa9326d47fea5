/* SPDX-License-Identifier: Apache-2.0 */
/* predict_plan.c - predict a step on several devices, or in several micro-batches. */
#include "model/predict_plan.h"

#include <math.h>
#include <string.h>
#include "device/number.h"
#include "graph/rule.h"
#include "graph/runtimes.h"
#include "model/step/loading.h"
#include "model/step/sparsity.h"
#include "model/time/factors.h"

bool cm__has_plan(const cm_plan *p)
{
    bool several = p->devices > 1 || p->tp > 1 || p->cp > 1 || p->pp > 1 || p->dp > 1 || p->accumulate > 1;
    return several || p->micro_batch || p->global_batch;
}

static double communication_error(const cm__iteration *it)
{
    return cm_fabric_error() * (it->tensor_s + it->pipeline_s + it->data_s - it->hidden_s);
}

/* Error of a step that waits for its host, in seconds. Host times of several processes on one host were not
   measured. */
static double host_error(const cm__stages *st, const cm_plan *plan)
{
    return st->stretch > 1 ? cm__time_factors.unmeasured_host_error * plan->accumulate * st->host_s : 0;
}

int64_t cm_plan_least_batch(const cm_plan *p)
{
    return p->micro_batch || p->global_batch || p->accumulate < 1 ? 1 : p->accumulate;
}

cm_status cm__plan_at_once(const cm_plan *p, int64_t batch, int64_t *at_once, cm_diag *diag)
{
    *at_once = p->micro_batch;
    if (p->micro_batch) return CM_OK;
    if (p->global_batch % p->dp)
        return cm__diag_set(diag, CM_ERR_ARGUMENT, "a global batch of %lld cannot be divided equally among %d replicas",
                            (long long)p->global_batch, p->dp);
    int64_t samples = p->global_batch ? p->global_batch / p->dp : batch;
    if (samples % p->accumulate)
        return cm__diag_set(diag, CM_ERR_ARGUMENT,
                            "%lld samples per replica cannot be divided into %d micro-batches: --batch is the number "
                            "of samples per replica and update, which --accumulate divides; --micro-batch is the "
                            "number in one pass",
                            (long long)samples, p->accumulate);
    *at_once = samples / p->accumulate;
    return CM_OK;
}

/* Fails if the plan needs a link of unknown bandwidth; its time would be infinite. */
static void need_links(cm__ctx *ctx, const cm_plan *plan, const cm_fabric *fabric)
{
    if (plan->devices < 2 || isfinite(cm_fabric_time(fabric, "all-reduce", plan->devices, 1))) return;
    cm__fail(ctx, CM_ERR_UNSUPPORTED,
             "the bandwidth between these devices is unknown: give a profile with 'links', or a cluster of "
             "nodes with one device each (--cluster node=1,net=800Gb)");
}

void cm__plan_settle(cm__ctx *ctx, const cm_predict_options *o, cm_prediction_info *i)
{
    cm_plan *plan = &i->plan;
    *plan = o->plan;
    cm__plan_fill(ctx, plan);
    int64_t batch = o->batch ? o->batch : cm_plan_least_batch(plan);
    cm__pass_on(ctx, cm__plan_at_once(plan, batch, &plan->micro_batch, ctx->diag));
    int64_t whole = plan->micro_batch * plan->accumulate * plan->dp;
    if (plan->global_batch && plan->global_batch != whole)
        cm__fail(ctx, CM_ERR_ARGUMENT,
                 "a global batch of %lld is not a multiple of micro-batches of %lld on %d replicas",
                 (long long)plan->global_batch, (long long)plan->micro_batch, plan->dp);
    if (plan->devices > 1 && !o->fabric) cm__fail(ctx, CM_ERR_ARGUMENT, "a plan of several devices needs a fabric");
    if (o->fabric) cm__plan_needs(ctx, o->fabric, plan->devices);
    need_links(ctx, plan, o->fabric);
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
    i->layout = cm__layout_used(m->graph, m->calls->nhwc);
    i->clock = parts->throttled.clock;
    i->launches = count * launches / plan->pp;
    i->step_time_s = it->step_s;
    i->device_time_s = count * st->busy_s + it->update_s;
    i->host_time_s = count * (st->host_s + parts->batch_host_s) + parts->update_host_s;
    i->tensor_s = it->tensor_s;
    i->pipeline_s = it->pipeline_s;
    i->data_s = it->data_s;
    i->hidden_s = it->hidden_s;
    i->bubble_s = it->bubble_s;
    memcpy(i->share, parts->share, sizeof i->share);
    double host_s = host_error(st, plan), device = host_s > 0 ? 0 : parts->error;
    double error = sqrt(pow(device, 2) + pow((communication_error(it) + host_s) / it->step_s, 2));
    for (int side = 0; side < 2; side++)
        i->interval_s[side] = it->step_s * exp((side ? 1 : -1) * CM__SIGMAS_OF_90_PERCENT * error);
    i->throughput_samples_s = it->step_s > 0 ? (double)i->batch / it->step_s : 0;
    double flop = cm__poly_at(&m->matrix_flop, (double)i->micro_batch) * count * plan->dp;
    i->mfu = m->peak_flop_s > 0 ? flop / it->step_s / m->peak_flop_s / plan->devices : NAN;
    cm__step_power(m, count * parts->throttled.dynamic_j / plan->pp, i);
}

cm__step_model cm__predict_plan(cm__ctx *ctx, const cm_graph *step, const cm_device *device,
                                const cm_predict_options *o, const cm__common *common, cm_prediction_info *i,
                                cm__timed **timed)
{
    cm_predict_options settled = *o;
    bool               late = cm__is_megatron(i->runtime);
    settled.runtime = i->runtime;
    settled.plan = i->plan;
    cm__step_model m = cm__step_model_new(ctx, step, device, &settled, common);
    *timed = cm__alloc_array(ctx, (size_t)m.calls->n_calls, sizeof **timed);
    cm__parts     parts = cm__parts_new(ctx, &m, o->fabric, (double)i->plan.micro_batch, i->plan.cp, *timed);
    cm__stages    stages = cm__stages_new(ctx, &parts, &i->plan, late);
    cm__waits     waits = cm__waits_new(&parts, &stages, &i->plan, o->fabric);
    cm__iteration it = cm__iterate(&stages, &waits, &i->plan, late);
    fill_info(i, &m, &parts, &stages, &it);
    return m;
}

/* Pruned weights have no gradient; `kept` is the part of weights that remains. */
static double gradient_bytes(const cm_graph *step, double kept)
{
    double bytes = 0;
    bool   blocks = cm__has_blocks(step);
    for (int32_t t = 0; t < step->n_tensors; t++) {
        if (cm__t(step, t)->role != CM_ROLE_PARAMETER_GRADIENT) continue;
        int32_t maker = cm__t(step, t)->producer;
        bool    pruned = kept < 1 && maker >= 0 && cm__is_pruned(step, &step->nodes[maker], blocks);
        bytes += cm_tensor_bytes(cm__t(step, t)).c[0] * (pruned ? kept : 1);
    }
    return bytes;
}

/* ZeRO reduce-scatters the gradients, updates each shard on one device, and gathers the weights: after the update, or
   with ZeRO 3 before forward and before backward, overlapped with these. */
static void share_states(const cm_graph *step, const cm_fabric *fabric, cm__group group, double bytes,
                         cm_prediction_info *i)
{
    double scatter_s = cm__comm_time(fabric, CM__REDUCE_SCATTER, group, bytes);
    double gather_s = cm__comm_time(fabric, CM__ALL_GATHER, group, bytes);
    double behind = 1 - 1.0 / cm__part_count(step), passes = i->plan.accumulate;
    double saved_s = i->phase_s[CM_UPDATE] * (1 - 1.0 / i->plan.dp);
    i->data_s = scatter_s + gather_s;
    i->hidden_s = fmin(scatter_s * behind, i->phase_s[CM_BACKWARD] / passes);
    if (i->plan.zero == 3) {
        i->data_s = scatter_s + 2 * passes * gather_s;
        i->hidden_s = fmin(i->data_s * behind, i->phase_s[CM_FORWARD] + i->phase_s[CM_BACKWARD]);
    }
    i->phase_s[CM_UPDATE] -= saved_s;
    i->device_time_s -= saved_s;
    for (int side = 0; side < 2; side++) i->interval_s[side] *= 1 - saved_s / i->step_time_s;
    i->step_time_s -= saved_s;
}

static double gradient_bits(const cm_graph *step)
{
    for (int32_t t = 0; t < step->n_tensors; t++)
        if (cm__t(step, t)->role == CM_ROLE_PARAMETER_GRADIENT)
            return 8.0 * (double)cm_dtype_size(cm__t(step, t)->dtype);
    return 32;
}

/* Gradients fill buckets in the order in which backward computes them. A full bucket is sent; the last one waits for the
   end of backward. */
static double last_bucket_bytes(const cm_graph *step, double full)
{
    double now = 0, last = 0;
    for (int32_t t = 0; t < step->n_tensors; t++) {
        if (cm__t(step, t)->role != CM_ROLE_PARAMETER_GRADIENT) continue;
        last = now += cm_tensor_bytes(cm__t(step, t)).c[0];
        if (now >= full) now = 0;
    }
    return last;
}

/* The part of an all-reduce that may go on behind backward: all but the last bucket, or but the last layer. */
static double part_behind(const cm_graph *step, const cm_device *device)
{
    const cm_number *full = &device->execution.gradient_bucket;
    double           bytes = gradient_bytes(step, 1);
    return full->known && bytes > 0 ? 1 - last_bucket_bytes(step, full->value) / bytes
                                    : 1 - 1.0 / cm__part_count(step);
}

/* The part of an all-reduce that runs behind backward: all of it, the part inside a node, or nothing. */
typedef enum cm__behind { NOTHING_BEHIND, NODE_BEHIND, ALL_BEHIND } cm__behind;

/* Copies in a node sum their gradients first, then each of them sums its share with those of other nodes. Returns the
   time of the former. */
static double sum_by_node(const cm_fabric *fabric, cm__group group, double bytes, double *all_s)
{
    cm__group node = {group.per_node, group.per_node}, nodes = {(group.size + group.per_node - 1) / group.per_node, 1};
    if (nodes.size < 2) return *all_s;
    double early_s = cm__comm_time(fabric, CM__ALL_REDUCE, node, bytes);
    *all_s = early_s + cm__comm_time(fabric, CM__ALL_REDUCE, nodes, bytes / group.per_node);
    return early_s;
}

/* Equation (4) of Xie et al. 2024: an all-reduce of the gradients, or each copy sends them to a server and receives
   weights. Compressed gradients are smaller. Copies that do not wait for each other compute the next step meanwhile
   (section 4.3.4): the longer of both decides. */
static void exchange_gradients(const cm_graph *step, const cm_device *device, const cm_fabric *fabric, cm__group group,
                               double bytes, cm__behind part, cm_prediction_info *i)
{
    const cm_plan  *p = &i->plan;
    double          bits = gradient_bits(step), behind = part_behind(step, device);
    cm__compression c = {.bits = p->gradient_bits, .fraction = p->gradient_part};
    double          sent = cm__compressed_bytes(&c, bytes * 32 / bits, bits);
    cm__group       pair = {2, group.per_node > 1 ? 2 : 1};
    i->data_s = cm__comm_time(fabric, CM__ALL_REDUCE, group, sent);
    if (p->asynchronous) {
        i->data_s = cm__comm_time(fabric, CM__POINT_TO_POINT, pair, sent) +
                    cm__comm_time(fabric, CM__POINT_TO_POINT, pair, bytes);
        i->hidden_s = fmin(i->data_s, i->step_time_s);
    } else if (part != NOTHING_BEHIND) {
        double early_s = part == ALL_BEHIND ? i->data_s : sum_by_node(fabric, group, sent, &i->data_s);
        i->hidden_s = fmin(early_s * behind, i->phase_s[CM_BACKWARD] / p->accumulate);
    }
}

/* Each copy takes as many devices as it needs, and these sum the gradients of their parts: at the end, or during
   backward if operators run one by one. */
void cm__add_replicas(const cm_graph *step, const cm_device *device, const cm_fabric *fabric, cm_prediction_info *i)
{
    const cm_plan *plan = &i->plan;
    double    bytes = gradient_bytes(step, cm__sparsity_kept(device, &i->sparsity)) / i->devices;
    int32_t   here = fabric ? cm_fabric_node(fabric) / i->devices : 1;
    cm__group group = {i->plan.dp, here < 1 ? 1 : here < i->plan.dp ? here : i->plan.dp};
    cm__behind part = i->style == CM_STYLE_KERNELS || plan->overlap             ? ALL_BEHIND
                      : cm__value_or(device->execution.overlap, 0) > 0 ? NODE_BEHIND
                                                                        : NOTHING_BEHIND;
    if (plan->dp > 1) exchange_gradients(step, device, fabric, group, bytes, part, i);
    if (i->plan.zero > 0 && i->plan.dp > 1) share_states(step, fabric, group, bytes, i);
    double waits = i->data_s - i->hidden_s;
    i->step_time_s += waits;
    for (int side = 0; side < 2; side++) i->interval_s[side] += waits;
    i->mfu *= (i->step_time_s - waits) / i->step_time_s;
    cm__power_dilute(i, (i->step_time_s - waits) / i->step_time_s);
    i->power_w *= i->plan.dp;
    i->idle_w *= i->plan.dp;
    i->batch *= i->plan.dp;
    i->devices *= i->plan.dp;
    i->plan.devices = i->devices;
    i->throughput_samples_s = (double)i->batch / i->step_time_s;
}
