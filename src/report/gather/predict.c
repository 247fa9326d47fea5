/* SPDX-License-Identifier: Apache-2.0 */
/* predict.c - load a model and a device, and predict memory and time of a step. */
#include "report/render.h"

static void free_graph(void *graph) { cm__graph_report_free(graph); }
static void free_device(void *device) { cm_device_free(device); }
static void free_prediction(void *prediction) { cm_prediction_free(prediction); }
static void free_fabric(void *fabric) { cm_fabric_free(fabric); }
static void free_step(void *step) { cm_step_free(step); }

cm_step_options cm__step_options_of(const cm__graph_request *graph, const cm_predict_options *o,
                                    const cm_fabric *fabric)
{
    return (cm_step_options){.load = graph->load, .train = graph->train, .runtime = o->runtime, .layout = o->layout,
                             .sparsity = o->sparsity, .loading = o->loading, .steps_per_call = o->steps_per_call,
                             .plan = o->plan, .fabric = fabric};
}

static bool given_batch(const cm_plan *plan) { return plan->micro_batch || plan->global_batch; }

/* A plan on one device needs no interconnect. */
static bool needs_fabric(const cm_plan *p)
{
    return p->devices > 1 || p->tp > 1 || p->cp > 1 || p->pp > 1 || p->dp > 1 || p->ep > 1;
}

static void find_fabric(cm__predict_report *r)
{
    if (!r->asked.cluster && !needs_fabric(&r->asked.options.plan)) return;
    cm__pass_on(r->ctx, cm_fabric_new(r->device, r->asked.cluster, &r->fabric, r->ctx->diag));
    cm__defer(r->ctx, free_fabric, r->fabric);
    r->asked.options.fabric = r->fabric;
}

static void make_step(cm__predict_report *r)
{
    cm__predict_request *a = &r->asked;
    cm_step_options      o = cm__step_options_of(&a->graph, &a->options, r->fabric);
    cm__pass_on(r->ctx, cm_step_new(a->graph.model, r->device, &o, &r->step, r->ctx->diag));
    cm__defer(r->ctx, free_step, r->step);
    o = *cm_step_get_options(r->step);
    a->graph.load = o.load;
    a->graph.train = o.train;
    a->options.runtime = o.runtime;
    a->options.plan = o.plan;
}

static void judge(cm__predict_report *r)
{
    r->peak_bytes = r->use.peak_bytes;
    r->fits = r->use.fits;
    r->chance = cm_memory_chance(&r->use);
    r->unsure = cm__unsure(r->ctx, &r->use);
}

/* The requested batch size, or the default; the smallest one if nothing fits. */
static void find_batch(cm__predict_report *r)
{
    int64_t *batch = &r->asked.options.batch;
    if (!*batch && !given_batch(&r->asked.options.plan))
        cm__pass_on(r->ctx, cm_step_usual_batch(r->step, batch, r->ctx->diag));
    if (!*batch) *batch = cm_plan_least_batch(&r->asked.options.plan);
    r->asked.graph.batch = *batch;
    cm__pass_on(r->ctx, cm_step_memory(r->step, *batch, &r->use, r->ctx->diag));
    judge(r);
}

/* ---- layers that are recomputed because nothing fits otherwise --------------------------------------------------- */

#define MOST_LAYERS 512

static void recompute(cm_train_options *train, int32_t layers)
{
    train->recompute = CM_RECOMPUTE_FULL;
    train->recompute_layers = layers < MOST_LAYERS ? layers : 0;
}

/* True: the step fits with so many recomputed layers. More than the model has fit as all of them do. */
static bool fits_with(const cm_step *like, const cm_device *device, const cm_step_options *asked, int64_t batch,
                      int32_t layers)
{
    cm_step        *step;
    cm_memory_use   use;
    cm_step_options o = *asked;
    recompute(&o.train, layers);
    if (cm_step_new_from(cm_step_forward(like), device, &o, &step, NULL)) return true;
    bool fits = !cm_step_memory(step, batch, &use, NULL) && cm_memory_chance(&use).likely;
    cm_step_free(step);
    return fits;
}

/* Megatron-LM stores all activations unless --recompute-granularity says otherwise, so a job that runs and does not say
   what it recomputes has set it to what its memory requires: the fewest layers that fit (--recompute-num-layers). */
int32_t cm__recompute_as_needed(const cm_step *like, const cm_device *device, cm_step_options *o, int64_t batch)
{
    bool    megatron = o->runtime == CM_RUNTIME_MEGATRON && !o->train.inference;
    int32_t too_few = 0, enough = MOST_LAYERS;
    if (!megatron || !fits_with(like, device, o, batch, enough)) return 0;
    while (enough - too_few > 1) {
        int32_t middle = (too_few + enough) / 2;
        if (fits_with(like, device, o, batch, middle)) enough = middle;
        else too_few = middle;
    }
    recompute(&o->train, enough);
    return enough;
}

static void recompute_open(cm__predict_report *r)
{
    cm_step_options o = *cm_step_get_options(r->step);
    if (!r->asked.recompute_open || r->chance.likely) return;
    int32_t layers = cm__recompute_as_needed(r->step, r->device, &o, r->asked.options.batch);
    if (!layers) return;
    r->asked.graph.train = o.train;
    make_step(r);
    find_batch(r);
    r->doubt = cm__format(r->ctx, "the step does not fit as asked: %d of its layers are recomputed, the fewest with which it "
                          "likely fits; --recompute none stores all of them", layers);
}

static const char *doubt_about(const cm__predict_report *r)
{
    const cm_device_info *device = cm_device_get_info(r->device);
    bool                  able = r->asked.graph.train.inference ? device->inference : device->training;
    if (able) return NULL;
    const char *lacking = "training (try --mode inference)";
    if (r->asked.graph.train.inference) lacking = "inference";
    return cm__format(r->ctx, "%s does not support %s: the prediction shows what its ceilings would allow", device->id,
                      lacking);
}

static void add_loop(cm__predict_report *r)
{
    cm__loop_add(r->ctx, &r->asked, cm_prediction_get_info(r->prediction), r->use.micro_batch, &r->use, &r->loop);
    judge(r);
}

cm_status cm__predict_report_new(const cm__predict_request *asked, cm__predict_report **report, cm_diag *diag)
{
    cm__ctx *ctx = cm__ctx_new(diag);
    if (!ctx) return CM_ERR_MEMORY;
    if (setjmp(ctx->trap)) return cm__ctx_abandon(ctx);
    cm__predict_report *r = cm__alloc(ctx, sizeof *r);
    r->ctx = ctx;
    r->asked = *asked;
    if (asked->loop.kind) r->asked.graph.load.seq = (int64_t)asked->prompt + asked->generate;
    else if (asked->generate) {
        r->asked.graph.load.seq = asked->prompt;
        r->asked.graph.train.inference = true;
    }
    cm__pass_on(ctx, cm_device_load(asked->device, &r->device, diag));
    cm__defer(ctx, free_device, r->device);
    if (asked->host_file) cm__pass_on(ctx, cm_device_use_host(r->device, asked->host_file, diag));
    find_fabric(r);
    make_step(r);
    find_batch(r);
    recompute_open(r);
    cm__pass_on(ctx, cm__graph_report_of(&r->asked.graph, r->step, &r->graph, diag));
    cm__defer(ctx, free_graph, r->graph);
    bool alone = r->asked.options.plan.devices < 2 && !given_batch(&r->asked.options.plan);
    cm__pass_on(ctx, cm_step_predict(r->step, r->asked.options.batch, alone, &r->prediction, diag));
    cm__defer(ctx, free_prediction, r->prediction);
    if (!r->doubt) r->doubt = doubt_about(r);
    if (asked->loop.kind) add_loop(r);
    else if (asked->generate) {
        cm__generation_add(r);
        judge(r);
    }
    cm__predict_gates(r);
    ctx->diag = NULL;
    *report = r;
    return CM_OK;
}

void cm__predict_report_free(cm__predict_report *report)
{
    if (report) cm__ctx_free(report->ctx);
}
