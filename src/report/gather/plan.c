/* SPDX-License-Identifier: Apache-2.0 */
/* plan.c - load a model, a device and its interconnect, and search parallel plans. */
#include "report/report.h"

static void free_graph(void *graph) { cm_graph_free(graph); }
static void free_offers(void *offers) { cm_offers_free(offers); }
static void free_device(void *device) { cm_device_free(device); }
static void free_fabric(void *fabric) { cm_fabric_free(fabric); }
static void free_search(void *search) { cm_search_free(search); }

cm_status cm__plan_report_new(const cm__plan_request *asked, cm__plan_report **report, cm_diag *diag)
{
    cm__ctx *ctx = cm__ctx_new(diag);
    if (!ctx) return CM_ERR_MEMORY;
    if (setjmp(ctx->trap)) return cm__ctx_abandon(ctx);
    cm__plan_report *r = cm__alloc(ctx, sizeof *r);
    r->ctx = ctx;
    r->asked = *asked;
    cm__plan_request *a = &r->asked;
    cm__pass_on(ctx, cm_device_load(asked->device, &r->device, diag));
    cm__defer(ctx, free_device, r->device);
    if (asked->host_file) cm__pass_on(ctx, cm_device_use_host(r->device, asked->host_file, diag));
    if (asked->offers) {
        cm__pass_on(ctx, cm_offers_load(asked->offers, &r->offers, diag));
        cm__defer(ctx, free_offers, r->offers);
        cm_device_use_offers(r->device, r->offers);
    }
    cm__pass_on(ctx, cm_fabric_new(r->device, asked->cluster, &r->fabric, diag));
    cm__defer(ctx, free_fabric, r->fabric);
    cm_step_options o = {.load = a->graph.load, .train = a->graph.train, .runtime = a->options.runtime, .layout = a->options.layout};
    cm__pass_on(ctx, cm_step_settle(a->graph.model, r->device, &o, diag));
    a->graph.load = o.load;
    a->graph.train = o.train;
    a->options.runtime = o.runtime;
    cm__pass_on(ctx, cm_graph_load(a->graph.model, &a->graph.load, &r->forward, diag));
    cm__defer(ctx, free_graph, r->forward);
    a->options.fabric = r->fabric;
    a->options.train = a->graph.train;
    a->options.model = a->graph.model;
    a->options.load = a->graph.load;
    cm__pass_on(ctx, cm_search_run(r->forward, r->device, &a->options, &r->search, diag));
    cm__defer(ctx, free_search, r->search);
    ctx->diag = NULL;
    *report = r;
    return CM_OK;
}

void cm__plan_report_free(cm__plan_report *report)
{
    if (report) cm__ctx_free(report->ctx);
}
