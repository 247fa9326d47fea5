/* SPDX-License-Identifier: Apache-2.0 */
/* predict_report.c - reads a model and a device, and predicts. */
#include <math.h>
#include "report/report.h"

static void free_graph(void *graph) { cm__graph_report_free(graph); }
static void free_device(void *device) { cm_device_free(device); }
static void free_prediction(void *prediction) { cm_prediction_free(prediction); }

/* What the model's own users would use on this device. */
cm_precision cm__usual_precision(const cm_device *device)
{
    static const cm_precision mixed[CM_PRECISIONS] = {
        [CM_PRECISION_DEFAULT] = CM_PRECISION_FP32, [CM_PRECISION_BF16] = CM_PRECISION_AMP_BF16,
        [CM_PRECISION_FP16] = CM_PRECISION_AMP_FP16};
    cm_precision best = cm_device_best_16bit(device);
    return cm_device_supports(device, mixed[best]) ? mixed[best] : best ? best : CM_PRECISION_FP32;
}

static void settle(cm__predict_report *r)
{
    cm__predict_request *a = &r->asked;
    cm_runtime runtime = a->options.runtime ? a->options.runtime : cm_device_runtime(r->device);
    if (!a->graph.train.precision) a->graph.train.precision = cm__usual_precision(r->device);
    if (runtime == CM_RUNTIME_TORCH_EAGER && a->graph.load.fuse == CM_FUSE_ALL) a->graph.load.fuse = CM_FUSE_EAGER;
    if (!a->options.batch) a->options.batch = 1;
    a->options.runtime = runtime;
    a->graph.batch = a->options.batch;
}

static void check(cm__ctx *ctx, cm_status status)
{
    if (!status) return;
    ctx->status = status;
    longjmp(ctx->trap, 1);
}

static double peak_bytes(cm__predict_report *r)
{
    cm_footprint           *footprint;
    cm_memory_use           use;
    const cm_memory_options options = {.runtime = r->asked.options.runtime};
    check(r->ctx, cm_footprint_new(r->graph->step, r->device, &options, &footprint, r->ctx->diag));
    cm_status status = cm_footprint_simulate(footprint, r->asked.options.batch, &use, r->ctx->diag);
    cm_footprint_free(footprint);
    check(r->ctx, status);
    return use.peak_bytes;
}

cm_status cm__predict_report_new(const cm__predict_request *asked, cm__predict_report **report, cm_diag *diag)
{
    cm__ctx *ctx = cm__ctx_new(diag);
    if (!ctx) return CM_ERR_MEMORY;
    if (setjmp(ctx->trap)) return cm__ctx_abandon(ctx);
    cm__predict_report *r = cm__alloc(ctx, sizeof *r);
    r->ctx = ctx;
    r->asked = *asked;
    check(ctx, cm_device_load(asked->device, &r->device, diag));
    cm__defer(ctx, free_device, r->device);
    settle(r);
    check(ctx, cm__graph_report_new(&r->asked.graph, &r->graph, diag));
    cm__defer(ctx, free_graph, r->graph);
    check(ctx, cm_predict(r->graph->step, r->device, &r->asked.options, &r->prediction, diag));
    cm__defer(ctx, free_prediction, r->prediction);
    r->peak_bytes = peak_bytes(r);
    ctx->diag = NULL;
    *report = r;
    return CM_OK;
}

void cm__predict_report_free(cm__predict_report *report)
{
    if (report) cm__ctx_free(report->ctx);
}
