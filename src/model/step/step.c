/* SPDX-License-Identifier: Apache-2.0 */
/* step.c - the time of a step from its kernel calls: tables, calibration, clock, host, and the interval. */
#include "model/step/step.h"
#include "graph/runtimes.h"

#include <math.h>
#include <string.h>
#include "model/dispatch/attention.h"
#include "model/step/host.h"
#include "model/step/sparsity.h"
#include "model/time/factors.h"
#include "model/time/transfer.h"


/* ---- independent of the batch size ------------------------------------------------------------------------------ */

const cm_device *cm__reference_of(cm__ctx *ctx, const cm_device *device)
{
    const char *id = device->reference;
    return id && !cm__device_is(device, id) ? cm__device_beside(ctx, device, id) : NULL;
}

static const cm_device *shared_reference(cm__ctx *ctx, const cm_device *device, const cm__common *common)
{
    const cm_device *first = common ? common->reference : NULL;
    const char      *id = first ? cm_device_get_info(first)->id : NULL;
    bool             its = id && device->reference && strcmp(device->reference, id) == 0;
    return its && !cm__device_is(device, id) ? first : cm__reference_of(ctx, device);
}

/* The layout in which the runtime keeps images on the device. */
static cm_layout layout_on(const cm_device *device, cm_layout layout) { return layout ? layout : device->layout; }

cm__common cm__common_of_one(cm__ctx *ctx, const cm_graph *graph, const cm_device *device, cm_layout layout,
                             cm_runtime runtime)
{
    return (cm__common){.calls = cm__dispatch_new(ctx, graph, layout_on(device, layout), runtime),
                        .memo = cm__memo_new(ctx),
                        .reference = cm__reference_of(ctx, device)};
}

cm__common cm__common_new(cm__ctx *ctx, const cm_graph *graph, const cm_device *first, cm_layout layout,
                          cm_runtime runtime, cm__memo *memo)
{
    const char *id = cm__n_embedded_kernels ? cm__all_embedded_kernels[0].device : NULL;
    return (cm__common){.calls = cm__dispatch_new(ctx, graph, layout_on(first, layout), runtime),
                        .memo = memo,
                        .reference = id ? cm__device_beside(ctx, first, id) : NULL,
                        .host = cm__host_count(graph)};
}

cm__common cm__common_divided(cm__ctx *ctx, const cm_graph *graph, const cm_device *first, cm_runtime runtime,
                              const cm_plan *plan, bool math, cm__memo *memo, const cm__common *other,
                              const cm__twins *twins)
{
    const char *id = cm__n_embedded_kernels ? cm__all_embedded_kernels[0].device : NULL;
    return (cm__common){.calls = cm__dispatch_twins(ctx, graph, first->layout, runtime, plan, math, twins,
                                                    other ? other->calls : NULL),
                        .memo = memo,
                        .host = other ? other->host : cm__host_count(graph),
                        .reference = other ? other->reference : id ? cm__device_beside(ctx, first, id) : NULL};
}

cm__common cm__common_like(cm__ctx *ctx, const cm__common *like, const cm_plan *plan)
{
    cm__common common = *like;
    common.calls = cm__dispatch_like(ctx, like->calls, plan);
    return common;
}

static double scale_of(const cm_number *factor) { return factor->known ? factor->value : 1; }

/* A chip of the same design has the same energy per FLOP; the power limit and the memory are the device's own. */
static cm__power power_of(const cm_device *device, const cm_device *reference)
{
    cm__power        own = cm__power_of(device);
    cm_number        limit = cm_device_number(device, CM_TDP_W);
    const cm_memory *memory = cm_device_main_memory(device);
    const char      *make = cm__device_family(device), *its = reference ? cm__device_family(reference) : NULL;
    if (own.limit_w > 0 || !reference || !limit.known || !memory) return own;
    if (!make || !its || strcmp(make, its)) return own;
    cm__power like = cm__power_of(reference);
    if (like.limit_w > 0) {
        like.held_w *= limit.value / like.limit_w;
        like.limit_w = limit.value;
    }
    if (memory->bw_bytes_s.known) like.memory_bytes_s = memory->bw_bytes_s.value;
    like.cache_bytes = own.cache_bytes;
    return like;
}

/* Marks the calls that only forward products with pruned weights make. */
static const bool *sparse_calls(cm__ctx *ctx, const cm_graph *g, const cm__dispatch *d)
{
    bool *sparse = cm__alloc_array(ctx, (size_t)d->n_calls + 1, sizeof *sparse), blocks = cm__has_blocks(g);
    for (int32_t i = 0; i < d->n_calls; i++) sparse[i] = d->calls[i].op == CM__CALL_GEMM;
    for (int32_t i = 0; i < d->n_of; i++) {
        const cm_node *n = &g->nodes[d->node[i]];
        sparse[d->of[i]] &= n->phase == CM_FORWARD && cm__is_pruned(g, n, blocks);
    }
    return sparse;
}

/* Libraries that PyTorch calls, which may launch many kernels in a call: also from compiled code. */
static bool launches_more(cm_runtime runtime)
{
    return cm__is_eager(runtime) || cm__compiles(runtime);
}

/* Idle time of the device between two kernels that wait for it. */
static double gap_of(const cm_device *device, const cm_device *reference, cm_runtime runtime, bool graphs)
{
    double gap = graphs ? cm__host_number(device, reference, CM_RUNTIME_TORCH_COMPILE, "graph-gap")
                        : cm__host_number(device, reference, runtime, "gap");
    return gap > 0 ? gap : cm__host_number(device, reference, CM_RUNTIME_TORCH_EAGER, "gap");
}

static double host_time_of(cm__ctx *ctx, const cm_graph *graph, const cm_device *device, const cm_device *reference,
                           cm_runtime asked, const cm__dispatch *calls, const cm__common *common)
{
    cm_runtime runtime = cm_runtime_base(asked);
    if (cm__replays(asked)) return cm__host_time_graphs(ctx, device, reference, graph, runtime);
    if (cm__compiles(runtime))
        return cm__host_time_compiled(ctx, device, reference, graph, calls->generated);
    return cm__host_time(device, reference, runtime, graph, common ? &common->host : NULL);
}

cm__step_model cm__step_model_new(cm__ctx *ctx, const cm_graph *graph, const cm_device *device,
                                  const cm_predict_options *o, const cm__common *common)
{
    cm_runtime       runtime = cm_runtime_base(o->runtime);
    bool             graphs = cm__replays(o->runtime);
    const cm_device *reference = shared_reference(ctx, device, common);
    cm__limits       limits = cm__limits_of(device);
    bool             math = cm__attention_math(graph, device, runtime), same = common && common->calls->math == math;
    cm__dispatch    *calls =
        same ? common->calls : cm__dispatch_shard(ctx, graph, layout_on(device, o->layout), runtime, &o->plan, math);
    double           gain = cm__sparsity_gain(device, &o->sparsity);
    cm_versions      asked = graph->asked.software.versions;
    const cm_device *host = cm__device_of_release(ctx, device, asked);
    cm__hosting    hosting = cm__hosting_of(ctx, host, reference, runtime, o->loading.host, asked);
    /* not the time of FSDP's modules, which public runs with and without such a thread show alike (data/factors.tsv) */
    double         busy = graph->asked.script.busy_thread ? cm__time_factors.busy_thread_host : 1;
    double         slower = hosting.slower * busy * scale_of(&device->calibration.host);
    cm__step_model m = {
        .graph = graph,
        .device = device,
        .calls = calls,
        .gain = gain,
        .sparse = gain > 1 ? sparse_calls(ctx, graph, calls) : NULL,
        .timer = cm__timer_new(ctx, device, reference, runtime, common ? common->memo : NULL),
        .limits = limits,
        .power = power_of(device, reference),
        .updates = 1.0 / (o->plan.accumulate > 1 ? o->plan.accumulate : 1),
        .runtime = runtime,
        .matrix_flop = cm__facts_of(graph).matrix_flop,
        .host_s = host_time_of(ctx, graph, host, reference, o->runtime, calls, common) * slower,
        .host_launch_s = launches_more(runtime) && !graphs
                             ? cm__host_number(host, reference, CM_RUNTIME_TORCH_EAGER, "launch") * slower
                             : 0,
        .host_error = hosting.error,
        .host_update_s = graphs ? 0 : cm__host_update(host, reference, runtime, graph) * slower,
        .host_exchange_s = cm__host_number(host, reference, runtime, "exchange") * hosting.slower,
        .host_unit_s = cm__exchanges_by_torch(runtime)
                           ? cm__time_factors.fsdp_unit_host * hosting.slower : 0,
        .host_route_s = cm__is_megatron_core(runtime, graph->asked.software) ? cm__time_factors.expert_wait * hosting.slower
                                                                       : 0,
        .host_batch_s = cm__host_number(host, reference, runtime, "batch") * hosting.slower,
        .host_collective_s = cm__host_number(host, reference, runtime, "collective") * hosting.slower,
        .gap_s = gap_of(host, reference, runtime, graphs),
        .peak_flop_s = cm__precision_peak(&limits, cm_graph_precision(graph), false),
        .stretches = cm__alloc_unset(ctx, (size_t)calls->n_calls + 1, sizeof *m.stretches),
        .layering = same ? common->layering : NULL,
    };
    cm__timer_asks(m.timer, asked);
    cm__timer_trains(m.timer, calls->trains);
    return m;
}

cm__step_model cm__step_model_changed(cm__ctx *ctx, const cm__step_model *m, const cm_device *changed,
                                      const cm__common *common)
{
    const cm_device *reference = shared_reference(ctx, changed, common);
    cm__step_model   model = *m;
    model.device = changed;
    model.limits = cm__limits_of(changed);
    model.power = power_of(changed, reference);
    model.peak_flop_s = cm__precision_peak(&model.limits, cm_graph_precision(m->graph), false);
    model.timer = cm__timer_new(ctx, changed, reference, m->runtime, common ? common->memo : NULL);
    cm__timer_asks(model.timer, m->graph->asked.software.versions);
    cm__timer_trains(model.timer, m->calls->trains);
    return model;
}

/* ---- kernel calls ----------------------------------------------------------------------------------------------- */

/* Sparse products were not measured: scales the time of the dense product by the peak of the sparse units. */
static void take_sparse(const cm__step_model *m, const cm__call *call, cm__timed *timed)
{
    cm__limits faster = m->limits;
    for (int r = 0; r < CM_RATES; r++) faster.peak[CM_ENGINE_MATRIX][r] *= m->gain;
    timed->time_s = cm__transferred(&faster, &m->limits, call, timed->time_s, timed->launches);
    if (timed->how < CM_HOW_TRANSFERRED) timed->how = CM_HOW_TRANSFERRED;
    timed->error += cm__time_factors.sparse_error;
}

/* Calibration with real steps gives a factor for each kind of units. */
static double calibrated(const cm__step_model *m, const cm__call *call)
{
    bool matrix = cm__call_kinds[call->op].engine == CM_ENGINE_MATRIX;
    return scale_of(matrix ? &m->device->calibration.matrix : &m->device->calibration.vector);
}

double cm__step_least_call(const cm__step_model *m, double batch, int32_t i)
{
    cm__call call;
    if (m->sparse && m->sparse[i]) return 0;
    cm__call_at(&m->calls->calls[i], batch, &call);
    cm__timed least = cm__timer_least(m->timer, &call);
    return calibrated(m, &call) * least.time_s + least.launches * m->gap_s;
}

static cm__timed finished(const cm__step_model *m, int32_t i, const cm__call *call, cm__timed timed)
{
    timed.time_s *= calibrated(m, call);
    if (m->sparse && m->sparse[i]) take_sparse(m, call, &timed);
    return timed;
}

cm__timed cm__step_time_call(const cm__step_model *m, double batch, int32_t i)
{
    cm__call call;
    cm__call_at(&m->calls->calls[i], batch, &call);
    return finished(m, i, &call, cm__timer_time(m->timer, &call));
}

/* The power of a batch size of 2^power whose calls a timer may keep; -1: none. */
static int power_of_batch(const cm__step_model *m, double batch)
{
    int power;
    return m->calls->numbers && !m->sparse && frexp(batch, &power) == 0.5 && power >= 1 ? power - 1 : -1;
}

/* The timer's entry for call i; NULL: nothing. */
static const cm__kept_call *kept_call(const cm__step_model *m, double batch, int power, int32_t i)
{
    cm__kept_call *kept = power >= 0 ? cm__timer_kept(m->timer, m->calls->numbers[i], power) : NULL;
    if (!kept || kept->known) return kept;
    cm__call call;
    cm__call_at(&m->calls->calls[i], batch, &call);
    kept->timed = finished(m, i, &call, cm__timer_time(m->timer, &call));
    cm__call_work(&call, &kept->flop, &kept->bytes);
    kept->known = true;
    return kept;
}

void cm__step_time(const cm__step_model *m, double batch, cm__timed *timed)
{
    int power = power_of_batch(m, batch);
    for (int32_t i = 0; i < m->calls->n_calls; i++) {
        const cm__kept_call *kept = kept_call(m, batch, power, i);
        timed[i] = kept ? kept->timed : cm__step_time_call(m, batch, i);
    }
}

#define USUAL_BATCH 32

/* Kernels of a call. Recurrent layers launch some per time step, whatever the batch size; the tables have the few batch
   sizes at which cuDNN runs a layer as one kernel, and these must not decide for their neighbours. */
static double launches_of(const cm__step_model *m, int32_t i, const cm__timed *timed)
{
    cm__call call;
    if (m->calls->calls[i].op != CM__CALL_RNN) return timed[i].launches;
    cm__call_at(&m->calls->calls[i], USUAL_BATCH, &call);
    return cm__timer_time(m->timer, &call).launches;
}

double cm__step_host(const cm__step_model *m, const cm__timed *timed)
{
    double more = 0;
    for (int32_t i = 0; m->host_launch_s > 0 && i < m->calls->n_calls; i++)
        if (m->calls->calls[i].op != CM__CALL_OPTIMIZER)
            more += m->calls->runs[i] * fmax(0, launches_of(m, i, timed) - cm__time_factors.operator_launches);
    return m->host_s + more * m->host_launch_s;
}

static cm__workload workload_of(const cm__sized_call *sized, double batch)
{
    cm__call     call;
    cm__workload work;
    cm__call_at(sized, batch, &call);
    cm__call_work(&call, &work.flop, &work.bytes);
    return work;
}

cm__throttled cm__step_throttle(const cm__step_model *m, double batch, cm__exchanges waits, cm__timed *timed)
{
    const cm__dispatch *d = m->calls;
    cm__load            load = {.least_s = cm__step_host(m, timed), .waits_s = waits.time_s,
                                .byte_j = waits.bytes * m->power.byte_j, .calls = m->stretches};
    if (m->power.limit_w <= 0) return (cm__throttled){.clock = 1, .dynamic_j = NAN};
    int power = power_of_batch(m, batch);
    for (int32_t i = 0; i < d->n_calls; i++) {
        const cm__sized_call *c = &d->calls[i];
        const cm__kept_call  *kept = kept_call(m, batch, power, i);
        cm__workload          work = kept ? (cm__workload){kept->flop, kept->bytes} : workload_of(c, batch);
        double                often = c->op == CM__CALL_OPTIMIZER ? m->updates : 1;
        cm__load_add(&load, &m->power, c->op, cm__type_rate(c->types), work, timed[i].time_s, often * d->runs[i]);
    }
    double clock = cm__clock_of(&m->power, &load);
    for (int32_t i = 0; clock < 1 && i < d->n_calls; i++) timed[i].time_s = cm__stretched(&load.calls[i], clock);
    return (cm__throttled){.clock = clock, .dynamic_j = cm__dynamic_energy(&m->power, &load, clock)};
}

void cm__step_power(const cm__step_model *m, double dynamic_j, cm_prediction_info *i)
{
    double each = m->power.idle_w + (i->step_time_s > 0 ? dynamic_j / i->step_time_s : 0);
    i->power_w = isnan(dynamic_j) ? NAN : i->devices * fmin(each, m->power.limit_w);
    i->idle_w = isnan(dynamic_j) ? NAN : i->devices * m->power.idle_w;
}

typedef struct summing {
    double     time_s, launches;
    cm__errors errors;
} summing;

void cm__errors_add(cm__errors *e, double time_s, const cm__timed *t)
{
    double part = t->how == CM_HOW_MEASURED ? 0 : cm__time_factors.neighbours_shared;
    e->variance += pow(time_s * t->error, 2);
    e->shared_s += time_s * (t->shared + part * t->error);
}

static summing sum_calls(const cm__dispatch *d, const cm__timed *timed, double share[CM_HOWS])
{
    summing sum = {0};
    for (int32_t i = 0; i < d->n_calls; i++) {
        double time = timed[i].time_s * d->runs[i];
        sum.time_s += time;
        cm__errors_add(&sum.errors, time, &timed[i]);
        sum.launches += timed[i].launches * d->runs[i];
        share[timed[i].how] += time;
    }
    return sum;
}

/* ---- the step --------------------------------------------------------------------------------------------------- */

/* A step ends with the later of the device's and the host's timeline; each has its own error. */
static void bracket(cm_prediction_info *i, double device_s, double device_error, double host_error)
{
    for (int side = 0; side < 2; side++) {
        double z = side ? CM__SIGMAS_OF_90_PERCENT : -CM__SIGMAS_OF_90_PERCENT;
        i->interval_s[side] = fmax(device_s * exp(z * device_error), i->host_time_s * exp(z * host_error));
    }
}

/* Which kernels a compiler makes of a network is uncertain besides their times. */
double cm__step_error(cm_runtime runtime, double time_s, const cm__errors *e)
{
    bool   compiled = cm__compiles(runtime);
    double common = compiled ? cm__time_factors.compiled_error : cm__time_factors.common_error;
    double spread = e->variance + pow(common * time_s, 2) + pow(e->shared_s, 2);
    return sqrt(spread) / fmax(time_s, 1e-30);
}

void cm__step_rates(const cm_poly *matrix_flop, double peak_flop_s, cm_prediction_info *i)
{
    double flop = cm__poly_at(matrix_flop, (double)i->batch);
    i->throughput_samples_s = i->step_time_s > 0 ? (double)i->batch / i->step_time_s : 0;
    i->mfu = peak_flop_s > 0 && i->step_time_s > 0 ? flop / i->step_time_s / peak_flop_s / i->devices : NAN;
}

void cm__step_finish(const cm__step_model *m, cm__timed *timed, cm_prediction_info *i)
{
    memset(i->share, 0, sizeof i->share);
    i->layout = cm__layout_used(m->graph, m->calls->nhwc);
    i->host_time_s = cm__step_host(m, timed);
    cm__throttled throttled = cm__step_throttle(m, (double)i->batch, (cm__exchanges){0}, timed);
    i->clock = throttled.clock;
    summing sum = sum_calls(m->calls, timed, i->share);
    double  device_s = sum.time_s + sum.launches * m->gap_s;
    i->device_time_s = sum.time_s;
    i->launches = sum.launches;
    i->step_time_s = fmax(device_s, i->host_time_s);
    bracket(i, device_s, cm__step_error(m->runtime, sum.time_s, &sum.errors), m->host_error);
    cm__step_rates(&m->matrix_flop, m->peak_flop_s, i);
    cm__step_power(m, throttled.dynamic_j, i);
    for (int h = 0; h < CM_HOWS && sum.time_s > 0; h++) i->share[h] /= sum.time_s;
}
