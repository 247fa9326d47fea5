/* SPDX-License-Identifier: Apache-2.0 */
/* scale_report.c - one model on more and more devices, and where efficiency goes. */
#include <math.h>
#include "report/report.h"

static void free_graph(void *graph) { cm__graph_report_free(graph); }
static void free_device(void *device) { cm_device_free(device); }
static void free_fabric(void *fabric) { cm_fabric_free(fabric); }

cm_status cm__scale_point_at(const cm_graph *step, const cm_device *device, const cm_predict_options *asked,
                             int32_t n, const cm__scale_point *first, cm__scale_point *p, cm_diag *diag)
{
    cm_predict_options options = *asked;
    cm_prediction     *prediction;
    options.plan.devices = n;
    options.plan.dp = 0;
    if (options.plan.global_batch) options.plan.accumulate = 0;
    else if (!options.plan.micro_batch) options.plan.micro_batch = options.batch;
    cm_status status = cm_predict(step, device, &options, &prediction, diag);
    if (status) return status;
    *p = (cm__scale_point){.n = n, .info = *cm_prediction_get_info(prediction)};
    cm_prediction_free(prediction);
    double waits = p->info.tensor_s + p->info.pipeline_s + p->info.data_s - p->info.hidden_s;
    double idle = p->info.step_time_s - waits - p->info.bubble_s - p->info.device_time_s;
    p->lost[0] = waits / p->info.step_time_s;
    p->lost[1] = p->info.bubble_s / p->info.step_time_s;
    p->lost[2] = idle > 0 ? idle / p->info.step_time_s : 0;
    if (!first) first = p;
    p->efficiency = p->info.throughput_samples_s / n / (first->info.throughput_samples_s / first->n);
    return CM_OK;
}

/* Of a device that runs graphs as a whole, on as many as they take, the prediction would have been refused. */
static void add_memory(cm__scale_report *r, cm__scale_point *p)
{
    cm_memory_options options = {.runtime = p->info.runtime, .plan = p->info.plan};
    cm_footprint     *footprint;
    cm_memory_use     use;
    p->peak_bytes = NAN;
    p->fits = true;
    if (p->info.style != CM_STYLE_KERNELS) return;
    cm__pass_on(r->ctx, cm_footprint_new(r->graph->step, r->device, &options, &footprint, r->ctx->diag));
    cm_footprint_at(footprint, p->info.micro_batch, &use);
    cm_footprint_free(footprint);
    p->peak_bytes = use.peak_bytes;
    p->fits = use.fits;
}

static void add_point(cm__scale_report *r, int32_t at)
{
    cm_predict_options options = r->asked.options;
    options.fabric = r->fabric;
    cm__pass_on(r->ctx, cm__scale_point_at(r->graph->step, r->device, &options, (int32_t)r->asked.counts[at],
                                           at ? r->points : NULL, &r->points[at], r->ctx->diag));
    add_memory(r, &r->points[at]);
}

cm_status cm__scale_report_new(const cm__scale_request *asked, cm__scale_report **report, cm_diag *diag)
{
    cm__ctx *ctx = cm__ctx_new(diag);
    if (!ctx) return CM_ERR_MEMORY;
    if (setjmp(ctx->trap)) return cm__ctx_abandon(ctx);
    cm__scale_report *r = cm__alloc(ctx, sizeof *r);
    r->ctx = ctx;
    r->asked = *asked;
    r->strong = asked->options.plan.global_batch > 0;
    cm__pass_on(ctx, cm_device_load(asked->device, &r->device, diag));
    cm__defer(ctx, free_device, r->device);
    cm__pass_on(ctx, cm_fabric_new(r->device, asked->cluster, &r->fabric, diag));
    cm__defer(ctx, free_fabric, r->fabric);
    cm_step_options o = cm__step_options_of(&asked->graph, &asked->options, r->fabric);
    cm__pass_on(ctx, cm_step_settle(asked->graph.model, r->device, &o, diag));
    r->asked.graph.load = o.load;
    r->asked.graph.train = o.train;
    r->asked.options.runtime = o.runtime;
    r->asked.options.plan = o.plan;
    cm__pass_on(ctx, cm__graph_report_new(&r->asked.graph, &r->graph, diag));
    cm__defer(ctx, free_graph, r->graph);
    r->points = cm__alloc_array(ctx, (size_t)asked->n_counts, sizeof *r->points);
    for (int32_t i = 0; i < asked->n_counts; i++) add_point(r, i);
    ctx->diag = NULL;
    *report = r;
    return CM_OK;
}

void cm__scale_report_free(cm__scale_report *report)
{
    if (report) cm__ctx_free(report->ctx);
}
