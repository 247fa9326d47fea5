/* SPDX-License-Identifier: Apache-2.0 */
/* estimate.c - predict the time of a case as a user of the program would: cm_predict(), and whether it fits the
   memory. */
#include <math.h>
#include <string.h>
#include "model/time/roofline.h"
#include "graph/runtimes.h"
#include "validate/validate.h"

static const cm_prediction_info *predicted(cm__case *c, const cm_predict_options *o)
{
    cm__ctx       *ctx = c->store->ctx;
    const cm_plan *p = &o->plan;
    const char    *fed = cm__format(ctx, "%s %s %lld %d", o->loading.dataset ? o->loading.dataset : "",
                                    o->loading.host ? o->loading.host : "", (long long)o->loading.workers,
                                    o->steps_per_call);
    const char    *how = cm__format(ctx, "%lld %d %d %g fed %s plan %d %d %d %d %d %d %d %lld %s", (long long)o->batch,
                                    (int)c->runtime, (int)c->layout, o->sparsity.pruned, fed, p->dp, p->tp, p->pp,
                                    p->zero,
                                    p->interleave, p->sequence_parallel, p->accumulate, (long long)p->micro_batch,
                                    o->fabric ? cm__cluster_of(c) : "");
    const char    *key = cm__format(ctx, "time %s %s %s", c->device_key, c->graph_key, how);
    cm_prediction_info *info = cm__store_find(c->store, key);
    if (info) return info;
    cm_prediction *prediction;
    cm_diag        diag = {0};
    cm_status      status = cm_predict(c->step, c->device, o, &prediction, &diag);
    cm__case_give_up(c, status, &diag);
    if (status) return NULL;
    info = cm__alloc(ctx, sizeof *info);
    *info = *cm_prediction_get_info(prediction);
    cm_prediction_free(prediction);
    cm__store_keep(c->store, key, info);
    return info;
}

/* One process feeds all replicas in turn: it takes `turn_s` per replica and step, and supplies at most `samples_s`.
   The set says which row these were fitted to. */
static const char *fed_by(const cm__case *c)
{
    const json_t *feeding = json_object_get(c->run, "feeding");
    double        turn_s = cm__number_of(feeding, "turn_s", 0), rate = cm__number_of(feeding, "samples_s", 0);
    return feeding ? cm__format(c->store->ctx, "turn=%.9g,rate=%.9g", turn_s, rate) : NULL;
}

/* The equivalent of --dataset, --host and --workers; here 0 workers means none. */
static cm_loading_options loading_of(const cm__case *c)
{
    const json_t *workers = json_object_get(c->run, "workers");
    int64_t       stated = workers ? (int64_t)json_integer_value(workers) : 0;
    const char   *fed = fed_by(c);
    return (cm_loading_options){.dataset = fed ? fed : cm__text_of(c->run, "dataset"),
                                .host = cm__text_of(c->run, "host"),
                                .workers = workers && stated == 0 ? -1 : stated};
}

static cm_predict_options options_of(const cm__case *c)
{
    return (cm_predict_options){.runtime = c->runtime,
                                .layout = c->layout,
                                .sparsity = {.pruned = cm__number_of(c->run, "pruned", 0)},
                                .loading = loading_of(c),
                                .steps_per_call = (int32_t)cm__number_of(c->run, "steps_per_call", 0)};
}

/* One copy of the model: on one device, on as many as it needs, or on a pipeline of the row's length. `times`: its
   micro-batches of `batch` samples. */
static const cm_prediction_info *on_one(cm__case *c, int64_t batch, double times)
{
    cm_predict_options o = options_of(c);
    o.batch = batch;
    if (times > 1) {
        o.plan.micro_batch = batch;
        o.plan.accumulate = (int32_t)(times + 0.5);
    }
    o.plan.pp = c->per_device ? (int32_t)cm__number_of(c->run, "pp", 0) : 0;
    if (o.plan.pp > 1) o.fabric = cm__case_fabric(c);
    return predicted(c, &o);
}

/* Several micro-batches share one update. Graphs that run as a whole are also started only once. */
static void accumulate(const cm__case *c, cm__estimate *e, const cm_prediction_info *i, double times)
{
    bool   whole = i->style != CM_STYLE_KERNELS || cm__is_vendors(c->runtime);
    double start_s = whole ? i->host_time_s : 0;
    double once = i->phase_s[CM_UPDATE] + start_s, factor = (times * (i->step_time_s - once) + once) / i->step_time_s;
    e->step_s *= factor;
    e->device_s *= factor;
    for (int side = 0; side < 2; side++) e->interval_s[side] *= factor;
    e->samples *= times;
}

/* The row ran on one device, but the prediction needs several: scales the time to one device with the same total
   work. */
static void share(cm__estimate *e)
{
    e->step_s *= e->devices;
    e->device_s *= e->devices;
    for (int side = 0; side < 2; side++) e->interval_s[side] *= e->devices;
    e->devices = 1;
}

/* Replaces the step's time by that of one pass. */
static void one_pass(cm__estimate *e, const cm_prediction_info *i, const char *name)
{
    for (int phase = 0; phase < CM_PHASES; phase++)
        if (strcmp(cm_phase_name(phase), name) == 0)
            *e = (cm__estimate){i->phase_s[phase], i->phase_s[phase], e->samples, e->devices, {NAN, NAN}};
}

static double micro_batches(const cm__case *c)
{
    double micro = cm__number_of(c->run, "micro_batch", 0);
    return micro > 0 ? (double)c->batch / micro : c->accumulate;
}

/* A step has at least one micro-batch, each of at least one sample. */
static bool is_divisible(cm__case *c)
{
    double times = micro_batches(c);
    if (times >= 1 && times <= (double)c->batch) return true;
    c->reason = cm__format(c->store->ctx, "a batch of %lld is not %g micro-batches", (long long)c->batch, times);
    return false;
}

/* IPUs take the row's micro-batch unchanged; without one they may choose another. */
static bool takes_micro_batch(const cm__case *c)
{
    return cm_device_get_info(c->device)->style == CM_STYLE_BSP && json_object_get(c->run, "micro_batch");
}

static bool answer(cm__estimate *e, const cm_prediction_info *i, double samples)
{
    if (!i) return false;
    *e = (cm__estimate){.step_s = i->step_time_s,
                        .device_s = i->device_time_s,
                        .latency_s = i->latency_s,
                        .samples = samples,
                        .devices = i->devices,
                        .interval_s = {i->interval_s[0], i->interval_s[1]}};
    return true;
}

/* A baseline's step, fed as the row's. */
static void feed(const cm__case *c, cm__estimate *e, double replicas)
{
    const json_t *feeding = json_object_get(c->run, "feeding");
    double        turn_s = cm__number_of(feeding, "turn_s", 0), rate = cm__number_of(feeding, "samples_s", INFINITY);
    if (feeding) e->step_s = fmax(e->step_s, e->samples / rate) + replicas * turn_s;
}

/* ---- several devices -------------------------------------------------------------------------------------------- */

/* Copies of the model on the row's devices. The row gives the devices per copy; otherwise the prediction decides. */
static int32_t copies_of(cm__case *c)
{
    double stated = cm__number_of(c->run, "replicas", 0);
    double split = cm__number_of(c->run, "tp", 1) * cm__number_of(c->run, "pp", 1);
    if (split > c->devices || fmod(c->devices, split) != 0) {
        c->reason = cm__format(c->store->ctx, "tp x pp takes %.0f devices, and the row has %d", split, c->devices);
        return 0;
    }
    if (split > 1) return (int32_t)(c->devices / split);
    if (stated > 0) return (int32_t)stated;
    const cm_prediction_info *one = cm_device_get_info(c->device)->style == CM_STYLE_BSP ? on_one(c, 1, 1) : NULL;
    if (c->reason) return 0;
    if (one && one->devices > c->devices) {
        c->reason = cm__format(c->store->ctx, "a copy of the model is expected to take %d devices", one->devices);
        return 0;
    }
    return one ? c->devices / one->devices : c->devices;
}

/* Devices in the pipeline of one copy. IPUs use all devices that the row gives to a copy. */
static int32_t pipeline_of(const cm__case *c, int32_t copies)
{
    bool   ipus = cm_device_get_info(c->device)->style == CM_STYLE_BSP;
    double stated = cm__number_of(c->run, "pp", 0);
    if (stated > 0) return (int32_t)stated;
    return ipus && copies > 0 && json_object_get(c->run, "replicas") ? c->devices / copies : 1;
}

static bool is_spread(const cm__case *c)
{
    return !c->per_device && (c->devices > 1 || cm__number_of(c->run, "replicas", 1) > 1);
}

/* The parallel plan of the row. */
static cm_plan plan_of(cm__case *c)
{
    cm_style style = cm_device_get_info(c->device)->style;
    bool     takes = style == CM_STYLE_KERNELS || style == CM_STYLE_BSP; /* others choose their own micro-batches */
    int32_t  copies = copies_of(c);
    if (c->reason) return (cm_plan){0};
    double times = takes ? micro_batches(c) : 1;
    return (cm_plan){.dp = copies,
                     .tp = (int32_t)cm__number_of(c->run, "tp", 1),
                     .pp = pipeline_of(c, copies),
                     .zero = (int32_t)cm__number_of(c->run, "zero", 0),
                     .interleave = (int32_t)cm__number_of(c->run, "interleave", 1),
                     .norm_replicas = (int32_t)cm__number_of(c->run, "sync_batchnorm", 0),
                     .sequence_parallel = json_is_true(json_object_get(c->run, "sequence_parallel")),
                     .accumulate = (int32_t)(times + 0.5),
                     .micro_batch = (int64_t)fmax(1, (double)c->batch / times / copies + 0.5)};
}

static bool estimate_plan(cm__case *c, cm__estimate *e)
{
    cm_predict_options o = options_of(c);
    o.plan = plan_of(c);
    o.fabric = c->reason ? NULL : cm__case_fabric(c);
    if (!o.fabric) return false;
    const cm_prediction_info *i = predicted(c, &o);
    return answer(e, i, i ? (double)i->batch : 0);
}

/* A row may measure the first epoch of so many samples: the compilation of the graph is part of it. */
static void compile(const cm__case *c, cm__estimate *e)
{
    double samples = cm__number_of(c->run, "first_epoch", 0);
    double compile_s = samples > 0 ? cm_graph_nodes_read(c->step) * cm_device_number(c->device, CM_COMPILE_S).value : 0;
    double each_s = samples > 0 ? compile_s * e->samples / samples : 0;
    e->step_s += each_s;
    for (int side = 0; side < 2; side++) e->interval_s[side] += each_s;
}

static bool estimate(cm__case *c, cm__estimate *e)
{
    if (c->reason || !is_divisible(c)) return false;
    if (is_spread(c)) return estimate_plan(c, e);
    double                    times = micro_batches(c);
    int64_t                   batch = (int64_t)((double)c->batch / times + 0.5);
    double                    stated = takes_micro_batch(c) ? times : 1;
    const cm_prediction_info *i = on_one(c, batch, stated);
    if (i && c->per_device && i->devices > 1) {
        bool divides = stated > 1; /* a pipeline takes the row's micro-batches, as many for each of its devices */
        stated = divides ? stated * i->devices : 1;
        batch *= divides ? 1 : i->devices;
        i = on_one(c, batch, stated);
    }
    if (!answer(e, i, (double)batch * stated)) return false;
    if (times > stated) accumulate(c, e, i, times);
    if (!c->per_device) share(e);
    if (cm__text_of(c->run, "phase")) one_pass(e, i, cm__text_of(c->run, "phase"));
    return true;
}

bool cm__estimate_step(cm__case *c, cm__estimate *e)
{
    if (!estimate(c, e)) return false;
    compile(c, e);
    return true;
}

/* Baselines know the step on the device. The host is the same for all: its feeding, and the loading of the row's data
   set. */
void cm__case_add_host(cm__case *c, cm__estimate *e)
{
    double replicas = cm__number_of(c->run, "replicas", c->per_device ? 1 : c->devices);
    feed(c, e, replicas);
    compile(c, e);
    if (!cm__text_of(c->run, "dataset") || is_spread(c)) return;
    const char               *before = c->reason;
    const cm_prediction_info *i = on_one(c, c->batch, 1);
    c->reason = before;
    if (i) e->step_s = fmax(e->step_s, i->load_s);
}

/* Tests one device's part of the row's plan, at the samples it runs at once. */
bool cm__case_fits(cm__case *c)
{
    cm_step      *step;
    cm_memory_use use = {.fits = true};
    cm_plan       plan = {0};
    int64_t       at_once = (int64_t)((double)c->batch / micro_batches(c) + 0.5);
    if (!c->reason && is_spread(c)) plan = plan_of(c);
    if (c->reason || cm__case_step(c, &plan, &step, NULL)) return true;
    if (cm_step_memory(step, at_once, &use, NULL)) use.fits = true;
    cm_step_free(step);
    return use.fits;
}

/* ---- FLOP and peak ---------------------------------------------------------------------------------------------- */

const cm_totals *cm__case_totals(const cm__case *c)
{
    if (c->counted->batch != c->batch) cm_graph_totals(c->step, c->batch, &c->counted->totals);
    c->counted->batch = c->batch;
    return &c->counted->totals;
}

double cm__case_flop(const cm__case *c)
{
    double flop = 0;
    for (int phase = 0; phase < CM_PHASES; phase++) flop += cm_totals_matrix_flop(cm__case_totals(c), phase);
    return flop;
}

double cm__case_peak(const cm__case *c)
{
    cm__limits limits = cm__limits_of(c->device);
    double     peak = cm__precision_peak(&limits, cm_graph_precision(c->step), true);
    return peak > 0 ? peak : NAN;
}
