/* SPDX-License-Identifier: Apache-2.0 */
/* predict_report.c - reads a model and a device, and predicts. */
#include <math.h>
#include "report/report.h"

static void free_graph(void *graph) { cm__graph_report_free(graph); }
static void free_device(void *device) { cm_device_free(device); }
static void free_prediction(void *prediction) { cm_prediction_free(prediction); }
static void free_fabric(void *fabric) { cm_fabric_free(fabric); }

/* Megatron-LM's mixed precision is 16-bit weights beside fp32 ones, no autocast. */
static void settle_training(cm_train_options *train, cm_runtime runtime)
{
    static const cm_precision without_autocast[CM_PRECISIONS] = {[CM_PRECISION_AMP_BF16] = CM_PRECISION_BF16,
                                                                 [CM_PRECISION_AMP_FP16] = CM_PRECISION_FP16};
    if (runtime != CM_RUNTIME_MEGATRON) return;
    if (without_autocast[train->precision]) train->precision = without_autocast[train->precision];
    train->master = true;
}

void cm__settle_request(cm__graph_request *graph, const cm_device *device, cm_runtime *runtime)
{
    if (!*runtime) *runtime = cm_device_runtime(device);
    if (!graph->train.precision) graph->train.precision = cm_model_precision(graph->model);
    if (!graph->train.precision) graph->train.precision = cm_device_usual_precision(device);
    if (*runtime == CM_RUNTIME_TORCH_EAGER && graph->load.fuse == CM_FUSE_ALL) graph->load.fuse = CM_FUSE_EAGER;
    settle_training(&graph->train, *runtime);
}

static bool given_batch(const cm_plan *plan) { return plan->micro_batch || plan->global_batch; }

static void settle(cm__predict_report *r)
{
    cm__predict_request *a = &r->asked;
    cm__settle_request(&a->graph, r->device, &a->options.runtime);
    a->options.sensitivities = a->options.plan.devices < 2 && !given_batch(&a->options.plan);
    a->graph.batch = a->options.batch;
}

static void free_footprint(void *footprint) { cm_footprint_free(footprint); }

/* The batch that was asked for, or the one that fills the device best; 1 where not even that fits. */
static void find_memory(cm__predict_report *r)
{
    cm_footprint           *footprint;
    cm_memory_use           use;
    cm_batch_choice         choice;
    const cm_memory_options options = {.runtime = r->asked.options.runtime, .plan = r->asked.options.plan};
    cm__pass_on(r->ctx, cm_footprint_new(r->graph->step, r->device, &options, &footprint, r->ctx->diag));
    cm__defer(r->ctx, free_footprint, footprint);
    if (given_batch(&options.plan)) {
        cm_plan plan = cm_footprint_plan(footprint);
        int64_t at_once = plan.micro_batch ? plan.micro_batch : plan.global_batch / plan.dp / plan.accumulate;
        cm_footprint_at(footprint, at_once > 0 ? at_once : 1, &use);
        r->peak_bytes = use.peak_bytes;
        r->fits = use.fits;
        return;
    }
    if (!r->asked.options.batch) {
        cm__pass_on(r->ctx, cm_batch_choose(footprint, &(cm_batch_options){0}, &choice, r->ctx->diag));
        r->asked.options.batch = choice.batch ? choice.batch : 1;
        r->asked.graph.batch = r->asked.options.batch;
    }
    cm__pass_on(r->ctx, cm_footprint_simulate(footprint, r->asked.options.batch, &use, r->ctx->diag));
    r->peak_bytes = use.peak_bytes;
    r->fits = use.fits;
}

/* Sections leave the chip for where the weights are; styles that cut the batch, or spread the model, refuse what does
   not fit. */
static void correct_memory(cm__predict_report *r)
{
    const cm_prediction_info *i = cm_prediction_get_info(r->prediction);
    int32_t                   weights = cm_device_placement(r->device, CM_CATEGORY_WEIGHTS_BIASES).memory;
    const cm_memory          *far = cm_device_memory(r->device, weights);
    double                    most = far && far->capacity_bytes.known ? far->capacity_bytes.value : INFINITY;
    if (i->style == CM_STYLE_SECTIONS) r->fits = r->peak_bytes <= most;
    if (i->style != CM_STYLE_BSP && i->style != CM_STYLE_STREAMING) return;
    const cm_memory_options options = {.runtime = i->runtime, .plan = {.pp = i->devices, .devices = i->devices}};
    cm_footprint           *footprint;
    cm_memory_use           use;
    cm__pass_on(r->ctx, cm_footprint_new(r->graph->step, r->device, &options, &footprint, r->ctx->diag));
    cm_footprint_at(footprint, i->micro_batch, &use);
    cm_footprint_free(footprint);
    r->peak_bytes = use.peak_bytes;
    r->fits = true;
}

static const char *doubt_about(const cm__predict_report *r)
{
    const cm_device_info *device = cm_device_get_info(r->device);
    bool                  able = r->asked.graph.train.inference ? device->inference : device->training;
    if (able) return NULL;
    const char *lacking = "training; --mode inference asks for what it does";
    if (r->asked.graph.train.inference) lacking = "inference";
    return cm__format(r->ctx, "%s does no %s: this is what its ceilings would allow", device->id, lacking);
}

/* One device joins nothing. */
static bool needs_fabric(const cm_plan *p)
{
    return p->devices > 1 || p->tp > 1 || p->cp > 1 || p->pp > 1 || p->dp > 1 || p->ep > 1;
}

cm_status cm__predict_report_new(const cm__predict_request *asked, cm__predict_report **report, cm_diag *diag)
{
    cm__ctx *ctx = cm__ctx_new(diag);
    if (!ctx) return CM_ERR_MEMORY;
    if (setjmp(ctx->trap)) return cm__ctx_abandon(ctx);
    cm__predict_report *r = cm__alloc(ctx, sizeof *r);
    r->ctx = ctx;
    r->asked = *asked;
    cm__pass_on(ctx, cm_device_load(asked->device, &r->device, diag));
    cm__defer(ctx, free_device, r->device);
    settle(r);
    cm__pass_on(ctx, cm__graph_report_new(&r->asked.graph, &r->graph, diag));
    cm__defer(ctx, free_graph, r->graph);
    find_memory(r);
    if (asked->cluster || needs_fabric(&asked->options.plan)) {
        cm__pass_on(ctx, cm_fabric_new(r->device, asked->cluster, &r->fabric, diag));
        cm__defer(ctx, free_fabric, r->fabric);
        r->asked.options.fabric = r->fabric;
    }
    cm__pass_on(ctx, cm_predict(r->graph->step, r->device, &r->asked.options, &r->prediction, diag));
    cm__defer(ctx, free_prediction, r->prediction);
    correct_memory(r);
    r->doubt = doubt_about(r);
    ctx->diag = NULL;
    *report = r;
    return CM_OK;
}

void cm__predict_report_free(cm__predict_report *report)
{
    if (report) cm__ctx_free(report->ctx);
}
