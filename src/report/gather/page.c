/* SPDX-License-Identifier: Apache-2.0 */
/* page.c - collect the contents of the page that `report` writes: a ranking, and details of its first devices. */
#include <string.h>
#include "report/report.h"

#define DETAILS 5

static void free_ranking(void *ranking) { cm_ranking_free(ranking); }
static void free_mix(void *mix) { cm_mix_free(mix); }
static void free_job(void *job) { cm_job_free(job); }
static void free_detail(void *detail) { cm__detail_free(detail); }

/* ---- the ranking ------------------------------------------------------------------------------------------------ */

int32_t cm__page_entries(const cm__page_report *p)
{
    return p->job ? cm_job_entries(p->job) : p->mix ? cm_mix_entries(p->mix) : cm_ranking_entries(p->ranking);
}

int32_t cm__page_placed(const cm__page_report *p)
{
    return p->job ? cm_job_placed(p->job) : p->mix ? cm_mix_placed(p->mix) : cm_ranking_placed(p->ranking);
}

const cm_job_entry *cm__page_job_entry(const cm__page_report *p, int32_t index)
{
    return p->job ? cm_job_get_entry(p->job, index) : NULL;
}

const cm_rank_entry *cm__page_entry(const cm__page_report *p, int32_t index)
{
    if (p->mix) return &cm_mix_get_entry(p->mix, index)->total;
    return p->job ? &cm_job_get_entry(p->job, index)->at : cm_ranking_entry(p->ranking, index);
}

const cm_rank_entry *cm__page_part(const cm__page_report *p, int32_t index, int32_t network)
{
    return p->mix ? cm_mix_get_entry(p->mix, index)->parts[network] : &cm_job_part(p->job, index, network)->at;
}

int32_t cm__page_graphs(const cm__page_report *p) { return p->n_networks ? p->n_networks : 1; }

const cm_graph *cm__page_graph(const cm__page_report *p, int32_t i)
{
    if (p->mix) return cm_ranking_graph(cm_mix_ranking(p->mix, i), 0);
    if (p->n_networks) return cm_job_graph(cm_job_of_network(p->job, i));
    return p->job ? cm_job_graph(p->job) : cm_ranking_graph(p->ranking, 0);
}

/* ---- details ---------------------------------------------------------------------------------------------------- */

static void make_request(const char *model, const cm_rank_options *o, const cm_rank_entry *e,
                         cm__predict_request *request)
{
    *request = (cm__predict_request){.device = cm_device_get_info(e->device)->id,
                                     .graph = {.model = model, .load = o->load, .train = o->train},
                                     .options = {.batch = e->prediction.batch, .runtime = o->runtime,
                                                 .layout = o->layout, .loading = o->loading}};
    request->graph.train.precision = e->precision;
}

static void add_detail(cm__page_report *p, const char *model, const cm_rank_options *asked, const cm_rank_entry *e,
                       const cm_job_entry *job)
{
    cm__predict_request request;
    cm__detail         *detail;
    make_request(model, asked, e, &request);
    if (job) { /* the plan has the batch sizes */
        request.options.plan = e->prediction.plan;
        request.options.batch = 0;
        request.graph.train.recompute = e->prediction.plan.recompute;
        request.graph.train.recompute_layers = e->prediction.plan.recompute_layers;
        request.cluster = job->n > 1 ? job->cluster : NULL;
    }
    for (int32_t i = 0; i < p->n_profiles; i++) /* devices that are not built in are loaded from their file */
        if (strcmp(p->profiles[i].id, request.device) == 0) request.device = p->profiles[i].path;
    cm__pass_on(p->ctx, cm__detail_new(&request, &detail, p->ctx->diag));
    cm__defer(p->ctx, free_detail, detail);
    p->details[p->n_details++] = detail;
}

/* Find the profile files among the requested devices, and the ids in them. */
static void find_profiles(cm__page_report *p)
{
    for (const char *at = p->asked->devices ? p->asked->devices : ""; *at && p->n_profiles < CM__PAGE_PROFILES;) {
        size_t      length = strcspn(at, ",");
        const char *name = cm__text_copy_n(p->ctx, at, length);
        cm_device  *device;
        if (strchr(name, '.') && cm_device_load(name, &device, NULL) == CM_OK) {
            const char *id = cm__text_copy(p->ctx, cm_device_get_info(device)->id);
            p->profiles[p->n_profiles].id = id;
            p->profiles[p->n_profiles++].path = name;
            cm_device_free(device);
        }
        at += length + (at[length] == ',');
    }
}

static bool has_detail(const cm__page_report *p, const cm_rank_entry *e)
{
    const char *id = cm_device_get_info(e->device)->id;
    for (int32_t i = 0; i < p->n_details; i++)
        if (strcmp(cm_device_get_info(p->details[i]->explain->sides[0]->device)->id, id) == 0) return true;
    return false;
}

/* Each network on the best device. */
static void add_networks(cm__page_report *p)
{
    for (int32_t i = 0; i < p->n_networks && i < CM__PAGE_DETAILS && cm__page_placed(p); i++) {
        const cm_job_entry *job = p->job ? cm_job_part(p->job, 0, i) : NULL;
        add_detail(p, p->networks[i].model, &p->networks[i].options, cm__page_part(p, 0, i), job);
    }
}

/* The first devices: of a job, each device once, with its best number and place. */
static void add_details(cm__page_report *p)
{
    for (int32_t i = 0; i < cm__page_placed(p) && p->n_details < DETAILS; i++) {
        const cm_rank_entry *e = cm__page_entry(p, i);
        if (!p->job || !has_detail(p, e)) add_detail(p, p->model, p->asked, e, cm__page_job_entry(p, i));
    }
    const cm_rank_entry *base = p->ranking ? cm_ranking_get_info(p->ranking)->baseline : NULL;
    if (base && !has_detail(p, base)) add_detail(p, p->model, p->asked, base, NULL);
}

static void run(cm__page_report *p, cm_diag *diag)
{
    const cm_job_options *job = p->job_asked;
    cm_status status = p->n_networks && job ? cm_job_run_all(p->networks, p->n_networks, job, &p->job, diag)
                       : p->n_networks      ? cm_mix_run(p->networks, p->n_networks, p->asked, &p->mix, diag)
                       : job                ? cm_job_run(p->model, job, &p->job, diag)
                                            : cm_rank(p->model, p->asked, &p->ranking, diag);
    cm__pass_on(p->ctx, status);
    if (p->job) cm__defer(p->ctx, free_job, p->job);
    else if (p->mix) cm__defer(p->ctx, free_mix, p->mix);
    else cm__defer(p->ctx, free_ranking, p->ranking);
}

cm_status cm__page_report_new(const char *model, const cm_rank_options *asked, const cm_job_options *job,
                              const cm_network *networks, int32_t n_networks, cm__page_report **report, cm_diag *diag)
{
    cm__ctx *ctx = cm__ctx_new(diag);
    if (!ctx) return CM_ERR_MEMORY;
    if (setjmp(ctx->trap)) return cm__ctx_abandon(ctx);
    cm__page_report *p = cm__alloc(ctx, sizeof *p);
    p->ctx = ctx;
    p->model = model;
    p->asked = asked;
    p->job_asked = job;
    p->networks = networks;
    p->n_networks = n_networks;
    run(p, diag);
    find_profiles(p);
    if (n_networks) add_networks(p);
    else add_details(p);
    ctx->diag = NULL;
    *report = p;
    return CM_OK;
}

void cm__page_report_free(cm__page_report *report)
{
    if (report) cm__ctx_free(report->ctx);
}
