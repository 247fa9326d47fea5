/* SPDX-License-Identifier: Apache-2.0 */
/*
 * question.c - one model on one device: its graph, whether it fits, its batch size, and its step time.
 *
 * Devices that run kernel by kernel store a whole micro-batch; it fits if its allocations do. IPUs and wafers divide a
 * batch into micro-batches themselves and recompute activations in backward if the step does not fit otherwise. Their
 * execution model (src/model/execution) decides that, and the memory is that of the resulting step.
 */
#include "model/question.h"

#include <math.h>
#include <string.h>
#include "base/sized.h"
#include "model/by_length.h"
#include "model/masters.h"
#include "model/memory/batch.h"
#include "model/parallel/iteration.h"
#include "model/predict_plan.h"
#include "model/unused.h"

/* samples; few models train well with more, and a device that divides batches can run any number */
#define DIVIDED_MOST 4096
#define TIMES_KEPT 4

struct cm_step {
    cm__ctx         *ctx;
    const cm_device *device;
    cm_step_options  options;   /* with all defaults filled in */
    cm_plan          plan;      /* with all counts filled in */
    cm_graph        *loaded[2]; /* forward and step graphs, if this step owns them */
    cm__shared_step  shared;
    cm__common       common;    /* what shared.common points to, if this step owns it */
    cm_footprint    *footprint;
    cm__prepared     prepared;  /* for devices that divide batches */
    bool             divides;   /* the device divides batches itself */
    cm_predictor    *predictor; /* created on first use */
    cm__open_script  open_script;
    cm__masters      masters;
    /* the last times that were found: the batch that is chosen is asked for again */
    struct {
        int64_t            batch;
        cm_prediction_info info;
    } times[TIMES_KEPT];
    int32_t          n_times;
    cm_memory_use    one;       /* the smallest batch on a device that divides batches; devices 0: not computed yet */
    cm__by_length    lengths;   /* samples of several lengths */
};

/* ---- construction ------------------------------------------------------------------------------------------------ */

bool cm__divides_batches(const cm_device *device, cm_runtime runtime)
{
    cm_style style = cm_device_get_info(device)->style;
    return (style == CM_STYLE_BSP || style == CM_STYLE_STREAMING) && cm__execution_applies(device, runtime);
}

/* Frees graphs after the objects that refer to them. */
static void free_parts(void *step)
{
    cm_step *s = step;
    cm_predictor_free(s->predictor);
    cm__open_script_free(&s->open_script);
    cm__masters_free(&s->masters);
    cm_footprint_free(s->footprint);
    for (int i = 0; i < 2; i++) cm_graph_free(s->loaded[i]);
}

static void make_footprint(cm_step *s)
{
    cm_memory_options memory = {.runtime = s->options.runtime, .plan = s->options.plan,
                                .layout = s->options.layout};
    if (s->divides) memory.plan = (cm_plan){0};
    cm__pass_on(s->ctx, cm__footprint_new_like(s->shared.like, s->shared.graph, s->device, &memory, &s->footprint,
                                               s->ctx->diag));
    if (!s->shared.like) cm__footprint_keep_order(s->footprint);
    if (s->divides) s->prepared = cm__execution_prepare(s->ctx, s->shared.graph, s->device, s->footprint);
}

/* Fails if the plan uses options that the device's execution model lacks, or more devices than a named cluster has. */
static void check_plan(cm_step *s)
{
    s->plan = s->options.plan;
    if (cm__execution_applies(s->device, s->options.runtime)) cm__plan_check_execution(s->ctx, s->device, &s->plan);
    cm__plan_fill(s->ctx, &s->plan);
    if (s->options.fabric) cm__plan_within(s->ctx, s->options.fabric, s->plan.devices);
}

static void check_operators(cm_step *s)
{
    for (int32_t i = 0; s->device->n_unsupported && i < s->shared.graph->n_nodes; i++) {
        const cm_node *n = &s->shared.graph->nodes[i];
        if (!cm_device_runs(s->device, cm_node_type(n)))
            cm__fail(s->ctx, CM_ERR_UNSUPPORTED, "%s does not run %s (node '%s'): choose another device or model",
                     cm_device_get_info(s->device)->id, cm_node_type(n), n->name);
    }
}

/* Samples of several lengths need graphs of several lengths. */
static void set_lengths(cm_step *s, const char *model)
{
    int64_t longest = cm_graph_seq(s->shared.graph);
    double  mean = s->options.load.tokens;
    if (!(mean > 0)) return;
    cm__lengths_check(s->ctx, mean, longest);
    if (!model) cm__fail(s->ctx, CM_ERR_ARGUMENT, "samples of several lengths need a model that can be loaded again");
    s->lengths = (cm__by_length){.ctx = s->ctx, .model = cm__text_copy(s->ctx, model), .device = s->device,
                                 .options = &s->options, .longest = longest};
}

/* Fails if an option that the user gave would do nothing. asked NULL: this is checked already. */
static void check_options(cm_step *s, const cm_step_options *asked)
{
    const cm_graph *forward = s->shared.forward;
    if (!asked || !forward) return;
    cm__pass_on(s->ctx, cm__refuse_for_model(forward, asked, s->ctx->diag));
    cm__pass_on(s->ctx, cm__refuse_for_device(forward, s->device, s->options.runtime, asked, s->ctx->diag));
}

/* Warns of an option that is accepted and does nothing, in the graph that belongs to this step alone. */
static void warn_of_options(cm_step *s, const char *model, const cm_step_options *asked)
{
    if (!asked || !s->shared.forward || !s->loaded[1]) return;
    cm_step_options usual = *asked;
    cm_graph       *other = NULL;
    usual.load.fuse = CM_FUSE_ALL;
    if (asked->load.fuse != CM_FUSE_ALL && model && cm_step_settle(model, s->device, &usual, NULL) == CM_OK &&
        usual.load.fuse != s->options.load.fuse)
        cm__pass_on(s->ctx, cm_graph_load(model, &usual.load, &other, s->ctx->diag));
    const char *text = cm__without_effect(s->shared.forward, other, s->device, s->options.runtime, asked);
    cm_graph_free(other);
    if (text) cm__warn(s->loaded[1], "%s", text);
}

/* Warns of kernel times of another release than the one that the user names, or than that of the device's newest tables. */
static void warn_of_release(cm_step *s, const cm_step_options *asked)
{
    if (!asked || !s->loaded[1] || cm__execution_applies(s->device, s->options.runtime)) return;
    if (!asked->train.software.given && !s->device->kernels.count) return;
    cm__timer *timer = cm__timer_new(s->ctx, s->device, cm__reference_of(s->ctx, s->device), s->options.runtime, NULL);
    cm__timer_asks(timer, asked->train.software.versions);
    const char *of = cm__timer_other_release(timer);
    if (of)
        cm__warn(s->loaded[1], "not all kernel times are of the release that is asked for: some are of %s, and the interval "
                 "is wider where these were measured on the device", of);
}

/* Builds the graphs that are not in `shared`. asked: the options before they were settled; NULL: they are checked. */
static cm_status make_step(const char *model, const cm__shared_step *shared, const cm_device *device,
                           const cm_step_options *options, const cm_step_options *asked, cm_step **step, cm_diag *diag)
{
    cm__ctx *ctx = cm__ctx_new(diag);
    if (!ctx) return CM_ERR_MEMORY;
    if (setjmp(ctx->trap)) return cm__ctx_abandon(ctx);
    cm_step *s = cm__alloc(ctx, sizeof *s);
    *s = (cm_step){.ctx = ctx, .device = device, .options = *options, .shared = *shared,
                   .open_script.shared = shared->open_script};
    cm__defer(ctx, free_parts, s);
    if (!s->shared.forward && !s->shared.graph) {
        cm__pass_on(ctx, cm_graph_load(model, &options->load, &s->loaded[0], diag));
        s->shared.forward = s->loaded[0];
    }
    check_options(s, asked);
    if (!s->shared.graph) {
        cm__pass_on(ctx, cm_graph_train(s->shared.forward, &options->train, &s->loaded[1], diag));
        s->shared.graph = s->loaded[1];
    }
    warn_of_options(s, model, asked);
    warn_of_release(s, asked);
    s->divides = cm__divides_batches(device, options->runtime);
    check_operators(s);
    check_plan(s);
    make_footprint(s);
    set_lengths(s, model);
    ctx->diag = NULL;
    *step = s;
    return CM_OK;
}

cm_status cm__step_new_in(const cm__shared_step *shared, const cm_device *device, const cm_step_options *options,
                          cm_step **step, cm_diag *diag)
{
    return make_step(shared->model, shared, device, options, NULL, step, diag);
}

cm_status cm_step_new(const char *model, const cm_device *device, const cm_step_options *options, cm_step **step,
                      cm_diag *diag)
{
    cm_step_options asked, settled;
    if (!model || !device || !step) return cm__diag_set(diag, CM_ERR_ARGUMENT, "no model, device or result given");
    cm__take_options(&asked, sizeof asked, options);
    settled = asked;
    cm_status status = cm_step_settle(model, device, &settled, diag);
    return status ? status : make_step(model, &(cm__shared_step){0}, device, &settled, options ? &asked : NULL, step, diag);
}

cm_status cm_step_new_from(const cm_graph *forward, const cm_device *device, const cm_step_options *options,
                           cm_step **step, cm_diag *diag)
{
    cm_step_options asked, settled;
    if (!forward || !device || !step) return cm__diag_set(diag, CM_ERR_ARGUMENT, "no graph, device or result given");
    cm__take_options(&asked, sizeof asked, options);
    settled = asked;
    cm_status status = cm_step_settle(NULL, device, &settled, diag);
    if (status) return status;
    return make_step(NULL, &(cm__shared_step){.forward = forward}, device, &settled, options ? &asked : NULL, step, diag);
}

void cm_step_free(cm_step *step)
{
    if (step) cm__ctx_free(step->ctx);
}

const cm_step_options *cm_step_get_options(const cm_step *s) { return &s->options; }
const cm_graph        *cm_step_forward(const cm_step *s) { return s->shared.forward; }
const cm_graph        *cm_step_graph(const cm_step *s) { return s->shared.graph; }
const cm_footprint    *cm_step_footprint(const cm_step *s) { return s->footprint; }

/* ---- memory ------------------------------------------------------------------------------------------------------ */

/* How the device divides a batch. CM_ERR_FIT: not even one sample fits. */
static cm_status divide(const cm_step *s, int64_t batch, cm__run *run, cm_diag *diag)
{
    cm__ctx *ctx = cm__ctx_new(diag);
    if (!ctx) return CM_ERR_MEMORY;
    if (setjmp(ctx->trap)) return cm__ctx_abandon(ctx);
    const cm_plan        *plan = &s->options.plan;
    const cm__run_request request = {.batch = batch, .sparsity = s->options.sparsity,
                                     .chips = plan->pp > 1 ? plan->pp : 0,
                                     .micro_batch = plan->accumulate > 1 ? batch / plan->accumulate : 0};
    *run = cm__execution_run(ctx, s->shared.graph, s->device, &request, &s->prepared);
    ctx->diag = NULL;
    cm__ctx_free(ctx);
    return CM_OK;
}

static cm_status divided_use(const cm_step *s, int64_t batch, cm_memory_use *use, cm_diag *diag)
{
    cm__run   run = {.micro_batch = 1, .devices = 1};
    cm_diag   refusal = {0};
    cm_status status = divide(s, batch, &run, &refusal);
    if (status && status != CM_ERR_FIT) {
        if (diag) *diag = refusal;
        return status;
    }
    bool    streams = cm_device_get_info(s->device)->style == CM_STYLE_STREAMING;
    int32_t chips = streams ? 0 : run.devices;
    if (run.recomputes || run.devices > 1)
        cm__recomputed_use(s->prepared.recomputed, s->footprint, chips, run.micro_batch, use);
    else cm_footprint_at(s->footprint, run.micro_batch, use);
    if (status) use->fits = false;
    use->micro_batch = run.micro_batch;
    use->devices = run.devices;
    use->recomputes = run.recomputes;
    use->plan_devices = s->plan.devices;
    return CM_OK;
}

typedef enum asking {
    ROUGHLY, /* by the sum of what lives at once; the allocator is not simulated */
    SURELY,  /* with the loss that most scripts have; the allocator is simulated if the memory is nearly full */
    QUICKLY, /* as SURELY, and with a fused loss if the step does not fit otherwise */
    EXACTLY, /* as QUICKLY, but the allocator is always simulated */
    EXACTLY_AND_SURELY /* as SURELY, but the allocator is always simulated */
} asking;

static cm_status memory_at(cm_step *s, int64_t batch, asking how, cm_memory_use *use, cm_diag *diag)
{
    const cm_plan *plan = &s->plan;
    int64_t        at_once;
    cm_status      status = cm__plan_at_once(plan, batch, &at_once, diag);
    if (status) return status;
    if (s->divides) return divided_use(s, at_once * plan->accumulate, use, diag);
    if (how == ROUGHLY) cm_footprint_at(s->footprint, at_once, use);
    else
        status = how >= EXACTLY ? cm_footprint_simulate(s->footprint, at_once, use, diag)
                                : cm__footprint_use(s->footprint, at_once, use, diag);
    if (!status && !use->fits && !use->compiled && (how == QUICKLY || how == EXACTLY))
        status = cm__open_script_use(&s->open_script, s->shared.forward, s->footprint, &s->options, at_once, use, diag);
    else if (!status && use->fits && !use->compiled && how == EXACTLY)
        status = cm__masters_use(&s->masters, s->shared.forward, s->footprint, &s->options, at_once, use, diag);
    use->micro_batch = at_once;
    use->devices = plan->tp * plan->cp * plan->pp;
    return status;
}

cm_status cm_step_memory(cm_step *s, int64_t batch, cm_memory_use *use, cm_diag *diag)
{
    if (!s || !use || batch < 0) return cm__diag_set(diag, CM_ERR_ARGUMENT, "no step or result given");
    return memory_at(s, batch ? batch : cm_plan_least_batch(&s->options.plan), EXACTLY, use, diag);
}

/* A step that fits with the usual loss fits with the others, so only a list needs them. */
cm_status cm_step_alternatives(cm_step *s, cm_memory_use *use, cm_diag *diag)
{
    if (!s || !use) return cm__diag_set(diag, CM_ERR_ARGUMENT, "no step or memory given");
    if (s->divides || !use->fits || cm_memory_chance(use).verdict == CM_FITS) return CM_OK;
    for (int32_t i = 1; i < use->n_alternatives; i++)
        if (use->alternatives[i].open != CM_OPEN_SHARDS) return CM_OK;
    return cm__open_script_use(&s->open_script, s->shared.forward, s->footprint, &s->options, use->micro_batch, use, diag);
}

double cm__step_allocatable(const cm_step *s, double capacity_bytes)
{
    const cm_footprint *f = s->footprint;
    return f ? cm__allocatable_bytes(f->device, f->options.runtime, f->step, capacity_bytes) : capacity_bytes;
}

cm_status cm_step_reserved(cm_step *s, int64_t batch, cm_memory_use *use, cm_diag *diag)
{
    int64_t at_once;
    if (!s || !use || batch < 1) return cm__diag_set(diag, CM_ERR_ARGUMENT, "no step or result given, or no batch");
    if (!s->lengths.model || s->options.load.samples == CM_SAMPLES_PACKED) return CM_OK;
    cm_status status = cm__plan_at_once(&s->plan, batch, &at_once, diag);
    return status ? status : cm__reserve_varied(&s->lengths, s->footprint, at_once, use, diag);
}

cm_status cm__step_sure_memory(cm_step *s, int64_t batch, cm_memory_use *use, cm_diag *diag)
{
    return memory_at(s, batch, EXACTLY_AND_SURELY, use, diag);
}

/* ---- time -------------------------------------------------------------------------------------------------------- */

static cm_predict_options predict_options(const cm_step *s, int64_t batch)
{
    const cm_step_options *o = &s->options;
    return (cm_predict_options){.batch = batch, .runtime = o->runtime, .layout = o->layout, .sparsity = o->sparsity,
                                .loading = o->loading, .steps_per_call = o->steps_per_call, .plan = o->plan,
                                .fabric = o->fabric};
}

/* The calls of the step and the times found so far, made on first use; NULL: there are none with an execution model.
   If there is no memory for them, each prediction makes its own and reports the failure. */
static const cm__common *common_of(cm_step *s)
{
    bool by_calls = !cm__execution_applies(s->device, s->options.runtime) && !cm__has_plan(&s->options.plan);
    if (!s->shared.common && s->shared.find_common) s->shared.common = s->shared.find_common(s->shared.user);
    if (s->shared.common || !by_calls || setjmp(s->ctx->trap)) return s->shared.common;
    s->common = cm__common_of_one(s->ctx, s->shared.graph, s->device, s->options.layout, s->options.runtime);
    return s->shared.common = &s->common;
}

int64_t cm_step_row_tokens(const cm_step *s, int64_t batch)
{
    int64_t at_once;
    if (!s->lengths.model || s->options.load.samples == CM_SAMPLES_PACKED) return cm_graph_seq(s->shared.graph);
    if (cm__plan_at_once(&s->plan, batch, &at_once, NULL)) at_once = 1;
    return cm__row_tokens(&s->lengths, &s->plan, at_once);
}

/* The step of the length that decides the time; s itself if all samples have one length. */
static cm_status find_timed(cm_step *s, int64_t batch, cm_step **timed, cm_diag *diag)
{
    int64_t   at_once;
    *timed = s;
    if (!s->lengths.model) return CM_OK;
    cm_status status = cm__plan_at_once(&s->plan, batch, &at_once, diag);
    if (status) return status;
    return cm__step_of_length(&s->lengths, cm__row_tokens(&s->lengths, &s->plan, at_once), timed, diag);
}

/* Count rows instead of the samples in them. */
static void count_rows(cm_prediction_info *i, int64_t samples)
{
    i->batch /= samples;
    i->micro_batch /= samples;
    i->plan.micro_batch /= samples;
    i->plan.global_batch /= samples;
    i->throughput_samples_s /= (double)samples;
}

static cm_status predict_lengths(cm_step *s, int64_t batch, bool sensitivities, cm_prediction **prediction,
                                 cm_diag *diag)
{
    cm_step  *timed;
    int64_t   samples = cm__samples_per_row(&s->lengths);
    cm_status status = find_timed(s, batch, &timed, diag);
    if (!status) status = cm_step_predict(timed, batch * samples, sensitivities, prediction, diag);
    if (!status) count_rows(cm__prediction_info(*prediction), samples);
    return status;
}

cm_status cm_step_predict(cm_step *s, int64_t batch, bool sensitivities, cm_prediction **prediction, cm_diag *diag)
{
    if (!s || !prediction) return cm__diag_set(diag, CM_ERR_ARGUMENT, "no step or result given");
    if (!batch) batch = cm_plan_least_batch(&s->options.plan);
    if (s->lengths.model) return predict_lengths(s, batch, sensitivities, prediction, diag);
    cm_predict_options o = predict_options(s, batch);
    o.sensitivities = sensitivities;
    return cm__predict_in(s->shared.graph, s->device, &o, &s->prepared, common_of(s), prediction, diag);
}

static cm_status time_of_plan(cm_step *s, int64_t batch, cm_prediction_info *info, cm_diag *diag)
{
    cm_prediction     *prediction;
    cm_predict_options o = predict_options(s, batch);
    cm__prepared       prepared = s->prepared;
    prepared.no_operators = true;
    cm_status status = cm__predict_in(s->shared.graph, s->device, &o, &prepared, common_of(s), &prediction, diag);
    if (status) return status;
    *info = *cm_prediction_get_info(prediction);
    info->loading.dataset = info->loading.host = NULL; /* owned by the prediction */
    cm_prediction_free(prediction);
    return CM_OK;
}

static bool known_time(const cm_step *s, int64_t batch, cm_prediction_info *info)
{
    for (int32_t i = 0; i < s->n_times && i < TIMES_KEPT; i++)
        if (s->times[i].batch == batch) {
            *info = s->times[i].info;
            return true;
        }
    return false;
}

static void keep_time(cm_step *s, int64_t batch, const cm_prediction_info *info)
{
    int32_t at = s->n_times++ % TIMES_KEPT;
    s->times[at].batch = batch;
    s->times[at].info = *info;
}

static cm_status predict_time(cm_step *s, int64_t batch, cm_prediction_info *info, cm_diag *diag)
{
    cm_predict_options o = predict_options(s, batch);
    cm__prepared       prepared = {.footprint = s->footprint, .recomputed = s->prepared.recomputed};
    cm_status          status = CM_OK;
    if (!s->predictor)
        status = cm__predictor_new_in(s->shared.graph, s->device, &o, common_of(s), &prepared, &s->predictor, diag);
    if (!status) status = cm__predictor_exactly(s->predictor, batch, info, diag);
    if (!status) keep_time(s, batch, info);
    return status;
}

static cm_status time_lengths(cm_step *s, int64_t batch, cm_prediction_info *info, cm_diag *diag)
{
    cm_step  *timed;
    int64_t   samples = cm__samples_per_row(&s->lengths);
    cm_status status = find_timed(s, batch, &timed, diag);
    if (!status) status = cm_step_time(timed, batch * samples, info, diag);
    if (!status) count_rows(info, samples);
    return status;
}

cm_status cm_step_time(cm_step *s, int64_t batch, cm_prediction_info *info, cm_diag *diag)
{
    if (!s || !info || batch < 1) return cm__diag_set(diag, CM_ERR_ARGUMENT, "no step or result given, or no batch");
    if (s->lengths.model) return time_lengths(s, batch, info, diag);
    if (cm__has_plan(&s->options.plan)) return time_of_plan(s, batch, info, diag);
    return known_time(s, batch, info) ? CM_OK : predict_time(s, batch, info, diag);
}

/* ---- batch size -------------------------------------------------------------------------------------------------- */

/* Samples per second; NAN: the step time is unknown. */
static double throughput(void *user, int64_t batch)
{
    cm_prediction_info info;
    if (cm_step_time(user, batch, &info, NULL) != CM_OK || !(info.step_time_s > 0)) return NAN;
    return info.throughput_samples_s;
}

static bool below(void *user, int64_t batch, double samples_s)
{
    cm_step *s = user;
    return s->predictor && !cm__has_plan(&s->options.plan) && cm__predictor_below(s->predictor, batch, samples_s);
}

/* On a device that divides batches, any batch fits if the smallest one does. */
static cm_status use_at(cm_step *s, int64_t batch, asking how, cm_memory_use *use, cm_diag *diag)
{
    if (!s->divides) return memory_at(s, batch, how, use, diag);
    int64_t   least = cm_plan_least_batch(&s->options.plan);
    cm_status status = s->one.devices ? CM_OK : memory_at(s, least, how, &s->one, diag);
    *use = s->one;
    return status;
}

static cm_status rough_use(void *user, int64_t batch, cm_memory_use *use, cm_diag *diag)
{
    return use_at(user, batch, ROUGHLY, use, diag);
}

static cm_status sure_use(void *user, int64_t batch, cm_memory_use *use, cm_diag *diag)
{
    return use_at(user, batch, SURELY, use, diag);
}

static cm_status quick_use(void *user, int64_t batch, cm_memory_use *use, cm_diag *diag)
{
    return use_at(user, batch, QUICKLY, use, diag);
}

static cm_status exact_use(void *user, int64_t batch, cm_memory_use *use, cm_diag *diag)
{
    return memory_at(user, batch, EXACTLY, use, diag);
}

/* A single operator of fixed sizes does the same work at every batch size. */
static bool depends_on_batch(const cm_graph *g)
{
    for (int32_t i = 0; i < g->n_tensors; i++)
        for (int32_t d = 0; d < g->tensors[i].rank; d++)
            if (g->tensors[i].dims[d].per_batch) return true;
    return false;
}

/* A device that runs whole graphs takes any batch; so does one that stores results off the chip. */
static cm__batch_rule rule_of(cm_step *s)
{
    bool    whole = cm_device_get_info(s->device)->style != CM_STYLE_KERNELS;
    int64_t most = whole ? DIVIDED_MOST : CM__BATCH_MOST;
    if (!depends_on_batch(s->shared.graph)) most = 1;
    return (cm__batch_rule){.device = s->device, .most = most, .least = cm_plan_least_batch(&s->options.plan),
                            .below = below, .user = s};
}

cm_status cm_step_choose_batch(cm_step *s, const cm_batch_options *options, cm_batch_choice *choice, cm_diag *diag)
{
    if (!s || !choice) return cm__diag_set(diag, CM_ERR_ARGUMENT, "no step or result given");
    cm_batch_options o;
    if (options) cm__take_options(&o, sizeof o, options);
    else o = (cm_batch_options){.objective = CM_OBJECTIVE_THROUGHPUT};
    cm__batch_rule rule = rule_of(s);
    rule.use = exact_use;
    o.throughput = throughput;
    o.user = s;
    cm_status status = cm__batch_choose(&rule, &o, choice, diag);
    if (!status) cm__batch_throughputs(&o, choice);
    return status;
}

/* A plan uses the whole memory: its purpose is to make a large step fit. Batches that fit with a fused loss only matter
   if no other one fits. */
cm_status cm_step_usual_batch(cm_step *s, int64_t *batch, cm_diag *diag)
{
    if (!s || !batch) return cm__diag_set(diag, CM_ERR_ARGUMENT, "no step or result given");
    bool             planned = cm__has_plan(&s->options.plan);
    cm_batch_options o = {.objective = planned ? CM_OBJECTIVE_MEMORY : CM_OBJECTIVE_THROUGHPUT,
                          .throughput = planned ? NULL : throughput, .user = s};
    cm_batch_choice  choice;
    cm__batch_rule   rule = rule_of(s);
    rule.roughly = rough_use;
    rule.use = sure_use;
    cm_status status = cm__batch_choose(&rule, &o, &choice, diag);
    rule.roughly = NULL;
    rule.use = quick_use;
    if (!status && !choice.batch) status = cm__batch_choose(&rule, &o, &choice, diag);
    if (!status) *batch = choice.batch;
    return status;
}
