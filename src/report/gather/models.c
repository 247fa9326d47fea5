/* SPDX-License-Identifier: Apache-2.0 */
/* models.c - collect the named models; each one is built once to count its parameters. */
#include <math.h>
#include "base/text.h"
#include "report/report.h"

static double parameters_of(const cm_model_info *info)
{
    cm_graph *graph;
    cm_totals totals;
    if (cm_graph_load(info->id, NULL, &graph, NULL) != CM_OK) return NAN;
    cm_graph_totals(graph, 1, &totals);
    cm_graph_free(graph);
    return (double)totals.parameters;
}

static void add(cm__models_report *r, const cm_model_info *info)
{
    r->models[r->n_models++] = (cm__known_model){info, parameters_of(info)};
}

static const cm_model_info *find(cm__ctx *ctx, const char *id)
{
    const cm_model_info *info = cm_model_find(id);
    if (info) return info;
    size_t       count = (size_t)cm_models();
    const char **ids = cm__alloc_array(ctx, count + 1, sizeof *ids);
    for (size_t i = 0; i < count; i++) ids[i] = cm_model((int32_t)i)->id;
    const char *meant = cm__nearest(id, ids, count);
    if (meant) cm__fail(ctx, CM_ERR_UNKNOWN, "no model '%s'; did you mean '%s'?", id, meant);
    cm__fail(ctx, CM_ERR_UNKNOWN, "no model '%s'; 'centimani models' lists them", id);
}

cm_status cm__models_report_new(const char *id, cm__models_report **report, cm_diag *diag)
{
    cm__ctx *ctx = cm__ctx_new(diag);
    if (!ctx) return CM_ERR_MEMORY;
    if (setjmp(ctx->trap)) return cm__ctx_abandon(ctx);
    cm__models_report *r = cm__alloc(ctx, sizeof *r);
    r->ctx = ctx;
    r->in_full = id != NULL;
    r->models = cm__alloc_array(ctx, (size_t)cm_models() + 1, sizeof *r->models);
    if (id) add(r, find(ctx, id));
    for (int32_t i = 0; !id && i < cm_models(); i++) add(r, cm_model(i));
    ctx->diag = NULL;
    *report = r;
    return CM_OK;
}

void cm__models_report_free(cm__models_report *report)
{
    if (report) cm__ctx_free(report->ctx);
}
