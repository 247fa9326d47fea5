/* SPDX-License-Identifier: Apache-2.0 */
/* memory.c - predict the memory of a model on a device, choose a batch size, and find settings that make a step fit. */
#include <math.h>
#include <string.h>
#include "report/render.h"

static void free_step(void *step) { cm_step_free(step); }
static void free_device(void *device) { cm_device_free(device); }

/* ---- settings that make it fit ---------------------------------------------------------------------------------- */

/* A setting that saves memory. Values from `from` to `to` are tried in order: times `factor`, or plus 1 if it is 0. */
typedef struct knob {
    const char *name, *cost;
    void (*turn)(cm__memory_request *asked, int64_t to);
    int64_t from, to, factor;
} knob;

static void turn_recompute(cm__memory_request *a, int64_t to) { a->graph.train.recompute = (cm_recompute)to; }
static void turn_accumulate(cm__memory_request *a, int64_t to) { a->options.plan.accumulate = (int32_t)to; }
static void turn_zero(cm__memory_request *a, int64_t to)
{
    a->options.plan = (cm_plan){.devices = 8, .dp = 8, .zero = (int32_t)to};
}
static void turn_tensors(cm__memory_request *a, int64_t to)
{
    a->options.plan = (cm_plan){.devices = (int32_t)to, .tp = (int32_t)to};
}
static void turn_loss(cm__memory_request *a, int64_t to) { a->graph.train.loss_kernel = (cm_loss_kernel)to; }
static void turn_optimizer(cm__memory_request *a, int64_t to)
{
    (void)to;
    a->options.plan.offload_optimizer = true;
}
static void turn_lora(cm__memory_request *a, int64_t to)
{
    a->graph.train.tuning.rank = (int32_t)to;
    memcpy(a->graph.train.tuning.targets, "all-linear", sizeof "all-linear");
}
static void turn_quantize(cm__memory_request *a, int64_t to) { a->graph.train.tuning.quantize = (cm_quantize)to; }
static void turn_precision(cm__memory_request *a, int64_t to) { a->graph.train.precision = (cm_precision)to; }

static const knob knobs[] = {
    {"recompute", "activations are recomputed in backward", turn_recompute, CM_RECOMPUTE_SELECTIVE,
     CM_RECOMPUTE_FULL, 0},
    {"loss-kernel", "a script with such a cross-entropy", turn_loss, CM_LOSS_KERNEL_FUSED, CM_LOSS_KERNEL_CHUNKED, 0},
    {"accumulate", "several smaller passes per update, each with its own kernel launches", turn_accumulate, 2,
     1 << 20, 2},
    {"precision", "fewer bits: check that training still converges", turn_precision, CM_PRECISION_AMP_BF16,
     CM_PRECISION_FP16, 0},
    {"offload", "optimizer states go to the host's memory and back in every step", turn_optimizer, 1, 1, 0},
    {"lora", "only adapters are trained", turn_lora, 16, 16, 0},
    {"quantize", "frozen weights lose precision", turn_quantize, CM_QUANTIZE_NF4, CM_QUANTIZE_NF4, 0},
    {"zero", "8 devices that shard states, gradients or weights and exchange them every step", turn_zero, 1, 3, 0},
    {"tp", "that many devices, which exchange activations in every layer", turn_tensors, 2, 16, 0},
};

static const char *value_text(cm__ctx *ctx, const knob *k, int64_t to)
{
    if (k->turn == turn_recompute) return cm_recompute_name((cm_recompute)to);
    if (k->turn == turn_loss) return cm_loss_kernel_name((cm_loss_kernel)to);
    if (k->turn == turn_precision) return cm_precision_name((cm_precision)to);
    if (k->turn == turn_optimizer) return "optimizer";
    if (k->turn == turn_lora) return cm__format(ctx, "r=%lld,targets=all-linear", (long long)to);
    if (k->turn == turn_quantize) return cm_quantize_name((cm_quantize)to);
    return cm__format(ctx, "%lld", (long long)to);
}

static bool applies(const cm__memory_report *r, const knob *k, int64_t to)
{
    const cm__memory_request *a = &r->asked;
    if (k->turn == turn_recompute) return to > (int64_t)a->graph.train.recompute && !a->graph.train.inference;
    if (k->turn == turn_loss)
        return to > (int64_t)a->graph.train.loss_kernel && cm_graph_loss(r->step) == CM_LOSS_CROSS_ENTROPY &&
               cm_graph_seq(r->step) > 0;
    if (k->turn == turn_accumulate)
        return r->batch % to == 0 && !a->options.plan.micro_batch && a->options.plan.accumulate <= 1;
    const cm_train_options *t = &a->graph.train;
    bool kernels = cm_device_get_info(r->device)->style == CM_STYLE_KERNELS;
    if (k->turn == turn_optimizer)
        return kernels && !a->options.plan.offload_optimizer && !t->inference && !t->tuning.rank;
    if (k->turn == turn_lora) return kernels && !t->tuning.rank && !t->inference && cm_graph_seq(r->step) > 0;
    if (k->turn == turn_quantize) return kernels && !t->tuning.quantize && (t->tuning.rank || t->inference);
    bool alone = r->plan.devices == 1 && cm_device_get_info(r->device)->style == CM_STYLE_KERNELS;
    if (k->turn == turn_zero || k->turn == turn_tensors) return alone;
    bool half = a->graph.train.precision >= CM_PRECISION_BF16;
    bool mixed = a->graph.train.precision >= CM_PRECISION_AMP_BF16 && to <= CM_PRECISION_AMP_FP16;
    return !half && !mixed && cm_device_supports(r->device, (cm_precision)to);
}

static double matrix_work(const cm_graph *step, int64_t batch)
{
    cm_totals t;
    double    sum = 0;
    cm_graph_totals(step, batch, &t);
    for (cm_phase p = CM_FORWARD; p < CM_PHASES; p++) sum += cm_totals_matrix_flop(&t, p);
    return sum;
}

static cm_step_options options_of(const cm__memory_request *a)
{
    return (cm_step_options){.load = a->graph.load, .train = a->graph.train, .runtime = a->options.runtime,
                             .layout = a->options.layout, .plan = a->options.plan, .loading.host = a->host};
}

/* A step with other options. Samples of several lengths need the model itself. */
static cm_status variant_of(const cm__memory_report *r, const cm_step_options *o, cm_step **variant)
{
    return o->load.tokens > 0 ? cm_step_new(r->asked.graph.model, r->device, o, variant, NULL)
                              : cm_step_new_from(r->forward, r->device, o, variant, NULL);
}

/* How likely a training step fits beside the other models of a loop. */
static cm_chance chance_beside(const cm__memory_report *r, cm_memory_use use)
{
    cm_memory_add(&use, r->loop.beside_bytes);
    return cm_memory_chance(&use);
}

static bool fits_beside(const cm__memory_report *r, cm_memory_use use)
{
    return chance_beside(r, use).verdict == CM_FITS;
}

static bool try_knob(cm__memory_report *r, const knob *k, int64_t to, cm_verdict least)
{
    cm__memory_request asked = r->asked;
    cm_memory_use      use;
    cm_step           *variant;
    k->turn(&asked, to);
    cm_step_options o = options_of(&asked);
    if (variant_of(r, &o, &variant)) return false; /* e.g. heads not divisible by tp */
    cm__defer(r->ctx, free_step, variant);
    cm__pass_on(r->ctx, cm_step_memory(variant, r->batch, &use, r->ctx->diag));
    cm_chance chance = chance_beside(r, use);
    if (chance.verdict < least || chance.probability < 0.5) return false;
    double more = matrix_work(cm_step_graph(variant), r->batch) / matrix_work(r->step, r->batch) - 1;
    const char *cost = k->cost;
    if (k->turn == turn_recompute) cost = cm__format(r->ctx, "%s: %.0f %% more FLOP", k->cost, 100 * more);
    if (least < CM_FITS) cost = cm__format(r->ctx, "%s; unsure: probability %.0f %%", cost, 100 * chance.probability);
    cm_prediction_info info;
    double time_s = cm_step_time(variant, r->batch, &info, NULL) == CM_OK ? info.step_time_s : NAN;
    r->remedies[r->n_remedies++] = (cm__remedy){k->name, value_text(r->ctx, k, to), use.peak_bytes, time_s, cost};
    return true;
}

static bool turn(cm__memory_report *r, const knob *k, cm_verdict least)
{
    for (int64_t to = k->from; to <= k->to; to = k->factor ? to * k->factor : to + 1)
        if (applies(r, k, to) && try_knob(r, k, to, least)) return true;
    return false;
}

/* For each knob, the first value with which the step surely fits; otherwise the first with which it probably does. */
static void find_remedies(cm__memory_report *r)
{
    for (size_t i = 0; i < sizeof knobs / sizeof *knobs && r->n_remedies < CM__REMEDIES; i++)
        if (!turn(r, &knobs[i], CM_FITS)) turn(r, &knobs[i], CM_UNSURE);
}

/* ---- the report ------------------------------------------------------------------------------------------------- */

static void begin(cm__memory_report *r)
{
    cm_diag           *diag = r->ctx->diag;
    cm__graph_request *g = &r->asked.graph;
    cm_step_options    o = options_of(&r->asked);
    if (r->asked.loop.kind) g->load.seq = o.load.seq = (int64_t)r->asked.prompt + r->asked.generate;
    if (!r->asked.device) cm__fail(r->ctx, CM_ERR_ARGUMENT, "no device given: --device ID");
    cm__pass_on(r->ctx, cm_device_load(r->asked.device, &r->device, diag));
    cm__defer(r->ctx, free_device, r->device);
    if (r->asked.host_file) cm__pass_on(r->ctx, cm_device_use_host(r->device, r->asked.host_file, diag));
    cm__pass_on(r->ctx, cm_step_new(g->model, r->device, &o, &r->on_device, diag));
    cm__defer(r->ctx, free_step, r->on_device);
    o = *cm_step_get_options(r->on_device);
    g->load = o.load;
    g->train = o.train;
    r->asked.options.runtime = o.runtime;
    r->forward = cm_step_forward(r->on_device);
    r->step = cm_step_graph(r->on_device);
    r->footprint = cm_step_footprint(r->on_device);
    r->plan = cm_footprint_plan(r->footprint);
}

/* The smallest batch that the plan divides into equal micro-batches. */
static int64_t least_batch(const cm__memory_report *r) { return cm_plan_least_batch(&r->asked.options.plan); }

/* Peak memory of 1, 2, 4 ... times the smallest batch, up to the first that does not fit or that the device divides
   into micro-batches; larger ones use no more memory. */
static void curve(cm__memory_report *r)
{
    cm_memory_use use;
    for (int64_t b = least_batch(r); r->n_curve < CM__CURVE_POINTS; b *= 2) {
        cm__pass_on(r->ctx, cm_step_memory(r->on_device, b, &use, r->ctx->diag));
        r->curve[r->n_curve++] = (cm__curve_point){b, use.peak_bytes, cm_memory_chance(&use)};
        bool divided = cm_device_get_info(r->device)->style != CM_STYLE_KERNELS && use.micro_batch < b;
        if (!use.fits || divided) break;
    }
}

/* Adds the other phases of a loop. Their times are left out: a plan's interconnect is not known here. */
static void add_loop(cm__memory_report *r)
{
    const cm__memory_request *a = &r->asked;
    const cm_prediction_info  untimed = {.step_time_s = 0};
    cm__predict_request       asked = {.graph = a->graph, .device = a->device, .prompt = a->prompt,
                                       .generate = a->generate, .loop = a->loop,
                                       .options = {.runtime = a->options.runtime, .layout = a->options.layout,
                                                   .plan = r->plan}};
    cm__loop_add(r->ctx, &asked, &untimed, r->at_once, &r->use, &r->loop);
}

static void memory_at(cm__memory_report *r)
{
    cm__pass_on(r->ctx, cm_step_memory(r->on_device, r->batch, &r->use, r->ctx->diag));
    cm__pass_on(r->ctx, cm_step_alternatives(r->on_device, &r->use, r->ctx->diag));
    cm__pass_on(r->ctx, cm_step_reserved(r->on_device, r->batch, &r->use, r->ctx->diag));
    r->at_once = r->use.micro_batch;
    if (r->asked.loop.kind) add_loop(r);
    r->unsure = cm__unsure(r->ctx, &r->use);
    r->chance = cm_memory_chance(&r->use);
    if (r->use.peak_node >= 0)
        r->n_alive = cm_footprint_alive(r->footprint, r->at_once, r->use.peak_node, r->alive, CM__ALIVE_SHOWN);
    if (r->chance.verdict != CM_FITS) find_remedies(r);
    cm_prediction_info info;
    r->timed = cm_step_time(r->on_device, r->batch, &info, NULL) == CM_OK;
    r->step_time_s = r->timed ? info.step_time_s : NAN;
    for (int side = 0; r->timed && side < 2; side++) r->interval_s[side] = info.interval_s[side];
}

static cm_status begin_report(const cm__memory_request *asked, cm__memory_report **report, cm_diag *diag)
{
    cm__ctx *ctx = cm__ctx_new(diag);
    if (!ctx) return CM_ERR_MEMORY;
    cm__memory_report *r;
    if (setjmp(ctx->trap)) return cm__ctx_abandon(ctx);
    r = cm__alloc(ctx, sizeof *r);
    r->ctx = ctx;
    r->asked = *asked;
    begin(r);
    *report = r;
    return CM_OK;
}

cm_status cm__memory_report_new(const cm__memory_request *asked, cm__memory_report **report, cm_diag *diag)
{
    cm__memory_report *r;
    cm_status          status = begin_report(asked, &r, diag);
    if (status) return status;
    if (setjmp(r->ctx->trap)) return cm__ctx_abandon(r->ctx);
    r->batch = asked->graph.batch ? asked->graph.batch : least_batch(r);
    memory_at(r);
    curve(r);
    r->ctx->diag = NULL;
    *report = r;
    return CM_OK;
}

cm_status cm__batch_report_new(const cm__memory_request *asked, cm__memory_report **report, cm_diag *diag)
{
    cm__memory_report *r;
    cm_status          status = begin_report(asked, &r, diag);
    if (status) return status;
    if (setjmp(r->ctx->trap)) return cm__ctx_abandon(r->ctx);
    cm_batch_options o = {.objective = asked->objective, .any = asked->any, .n_candidates = asked->n_candidates,
                          .candidates = asked->n_candidates ? asked->candidates : NULL};
    cm__pass_on(r->ctx, cm_step_choose_batch(r->on_device, &o, &r->choice, diag));
    int32_t n = r->choice.n_candidates;
    r->batch = r->choice.batch ? r->choice.batch : n ? r->choice.candidates[0].batch : least_batch(r);
    memory_at(r);
    r->ctx->diag = NULL;
    *report = r;
    return CM_OK;
}

/* ---- fits ------------------------------------------------------------------------------------------------------- */

/* The largest micro-batch that fits: doubled until one does not, then halved into. */
static int64_t largest_micro_batch(cm__memory_report *r)
{
    cm__memory_request asked = r->asked;
    cm_step           *free_batch;
    cm_memory_use      use = {0};
    asked.options.plan.micro_batch = asked.options.plan.global_batch = 0;
    asked.options.plan.accumulate = 1;
    cm_step_options o = options_of(&asked);
    o.load.tokens = 0; /* memory follows the longest sample */
    if (cm_step_new_from(r->forward, r->device, &o, &free_batch, NULL)) return r->chance.verdict == CM_FITS ? r->at_once : 0;
    cm__defer(r->ctx, free_step, free_batch);
    int64_t low = 0, high = 1;
    while (high <= CM__BATCH_TRIED && cm_step_memory(free_batch, high, &use, NULL) == CM_OK && fits_beside(r, use)) {
        low = high;
        high *= 2;
    }
    while (high - low > 1 && high <= CM__BATCH_TRIED) {
        int64_t middle = low + (high - low) / 2;
        bool    fits = cm_step_memory(free_batch, middle, &use, NULL) == CM_OK && fits_beside(r, use);
        *(fits ? &low : &high) = middle;
    }
    return low;
}

/* By the time of a step; remedies whose time is unknown come last. */
static void order_remedies(cm__memory_report *r)
{
    for (int32_t i = 1; i < r->n_remedies; i++)
        for (int32_t k = i; k > 0; k--) {
            cm__remedy *a = &r->remedies[k - 1], *b = &r->remedies[k], last = *a;
            if (!(b->step_time_s < a->step_time_s || (isnan(a->step_time_s) && !isnan(b->step_time_s)))) break;
            *a = *b;
            *b = last;
        }
}

cm_status cm__fits_report_new(const cm__memory_request *asked, cm__memory_report **report, cm_diag *diag)
{
    cm__memory_report *r;
    cm_status          status = begin_report(asked, &r, diag);
    if (status) return status;
    if (setjmp(r->ctx->trap)) return cm__ctx_abandon(r->ctx);
    r->batch = asked->graph.batch ? asked->graph.batch : least_batch(r);
    memory_at(r);
    r->largest = largest_micro_batch(r);
    order_remedies(r);
    r->ctx->diag = NULL;
    *report = r;
    return CM_OK;
}

void cm__memory_report_free(cm__memory_report *report)
{
    if (report) cm__ctx_free(report->ctx);
}
