/* SPDX-License-Identifier: Apache-2.0 */
/* scale.c - predict one model on several numbers of devices, and where efficiency is lost. */
#include <math.h>
#include "report/report.h"

static void free_graph(void *graph) { cm__graph_report_free(graph); }
static void free_device(void *device) { cm_device_free(device); }
static void free_fabric(void *fabric) { cm_fabric_free(fabric); }
static void free_step(void *step) { cm_step_free(step); }

static cm_step_options options_at(const cm_step *like, const cm_fabric *fabric, int64_t batch, int32_t n)
{
    cm_step_options o = *cm_step_get_options(like);
    o.fabric = fabric;
    o.plan.devices = n;
    o.plan.dp = 0;
    if (o.plan.global_batch) o.plan.accumulate = 0;
    else if (!o.plan.micro_batch) o.plan.micro_batch = batch;
    return o;
}

/* Fractions of the step in which devices do not compute: communication, bubble, waiting for the host. */
static void find_losses(cm__scale_point *p)
{
    const cm_prediction_info *i = &p->info;
    double                    exposed = i->tensor_s + i->pipeline_s + i->data_s - i->hidden_s;
    double                    idle = i->step_time_s - exposed - i->bubble_s - i->device_time_s;
    p->lost[0] = exposed / i->step_time_s;
    p->lost[1] = i->bubble_s / i->step_time_s;
    p->lost[2] = idle > 0 ? idle / i->step_time_s : 0;
}

static cm_status measure(const char *model, const cm_step *like, const cm_device *device, const cm_step_options *o,
                         int64_t batch, cm__scale_point *p, cm_diag *diag)
{
    cm_memory_use use;
    cm_step      *step;
    bool          varied = o->load.tokens > 0; /* samples of several lengths need the model itself */
    cm_status     status = varied ? cm_step_new(model, device, o, &step, diag)
                                  : cm_step_new_from(cm_step_forward(like), device, o, &step, diag);
    if (status) return status;
    status = cm_step_time(step, batch, &p->info, diag);
    if (!status) status = cm_step_memory(step, batch, &use, diag);
    cm_step_free(step);
    if (status) return status;
    p->peak_bytes = use.peak_bytes;
    p->sure = use.sure;
    p->chance = cm_memory_chance(&use);
    return CM_OK;
}

cm_status cm__scale_point_at(const char *model, const cm_step *like, const cm_device *device, const cm_fabric *fabric,
                             int64_t batch, int32_t n, bool open, const cm__scale_point *first, cm__scale_point *p,
                             cm_diag *diag)
{
    cm_step_options o = options_at(like, fabric, batch, n);
    *p = (cm__scale_point){.n = n};
    cm_status status = measure(model, like, device, &o, batch, p, diag);
    if (!status && open && !p->chance.likely && cm__recompute_as_needed(like, device, &o, batch))
        status = measure(model, like, device, &o, batch, p, diag);
    if (status) return status;
    find_losses(p);
    if (!first) first = p;
    p->efficiency = p->info.throughput_samples_s / n / (first->info.throughput_samples_s / first->n);
    return CM_OK;
}

static void add_point(cm__scale_report *r, int32_t at)
{
    cm__pass_on(r->ctx, cm__scale_point_at(r->asked.graph.model, r->step, r->device, r->fabric,
                                           r->asked.options.batch, (int32_t)r->asked.counts[at], r->asked.recompute_open,
                                           at ? r->points : NULL, &r->points[at], r->ctx->diag));
}

static void make_step(cm__scale_report *r)
{
    cm__scale_request    *a = &r->asked;
    const cm_step_options o = cm__step_options_of(&a->graph, &a->options, r->fabric);
    cm__pass_on(r->ctx, cm_step_new(a->graph.model, r->device, &o, &r->step, r->ctx->diag));
    cm__defer(r->ctx, free_step, r->step);
    a->options.runtime = cm_step_get_options(r->step)->runtime;
    cm__pass_on(r->ctx, cm__graph_report_of(&a->graph, r->step, &r->graph, r->ctx->diag));
    cm__defer(r->ctx, free_graph, r->graph);
    a->graph.train = r->graph->asked.train;
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
    if (asked->host_file) cm__pass_on(ctx, cm_device_use_host(r->device, asked->host_file, diag));
    cm__pass_on(ctx, cm_fabric_new(r->device, asked->cluster, &r->fabric, diag));
    cm__defer(ctx, free_fabric, r->fabric);
    make_step(r);
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
