/* SPDX-License-Identifier: Apache-2.0 */
/* graph.c - read a model, build its training step and collect the numbers that the renderers show. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "report/render.h"

cm__node_cost cm__node_cost_at(const cm_node *node, int64_t batch)
{
    cm_poly       flop = cm_node_flop(node), read = cm_node_read_bytes(node), written = cm_node_write_bytes(node);
    cm__node_cost cost = {.flop = cm_poly_at(&flop, (double)batch), .read_bytes = cm_poly_at(&read, (double)batch),
                          .write_bytes = cm_poly_at(&written, (double)batch)};
    double        moved = cost.read_bytes + cost.write_bytes;
    cost.intensity = moved > 0 ? cost.flop / moved : NAN;
    return cost;
}

const char *cm__optimizer_used(const cm__graph_report *r)
{
    return r->totals.nodes[CM_UPDATE] ? cm_optimizer_name(cm_graph_optimizer(r->step)) : NULL;
}

const char *cm__loss_used(const cm__graph_report *r)
{
    return r->asked.train.inference ? NULL : cm_loss_name(cm_graph_loss(r->step));
}

static int by_count(const void *left, const void *right)
{
    const cm__op_count *a = left, *b = right;
    return a->count != b->count ? (a->count < b->count) - (a->count > b->count) : strcmp(a->type, b->type);
}

static void count_op(cm__graph_report *r, int32_t *capacity, const char *type)
{
    for (int32_t i = 0; i < r->n_ops; i++)
        if (r->ops[i].type == type) {
            r->ops[i].count++;
            return;
        }
    r->ops = cm__grow(r->ctx, r->ops, r->n_ops, capacity, sizeof *r->ops);
    r->ops[r->n_ops++] = (cm__op_count){type, 1};
}

static void count_ops(cm__graph_report *r)
{
    int32_t capacity = 0;
    for (int32_t i = 0; i < cm_graph_nodes(r->forward); i++)
        count_op(r, &capacity, cm_node_type(cm_graph_node(r->forward, i)));
    if (r->n_ops) qsort(r->ops, (size_t)r->n_ops, sizeof *r->ops, by_count);
}

/* Insert a node into the list of the largest; of two equal nodes the earlier one stays first. */
static void find_top(cm__graph_report *r)
{
    double flop[CM__TOP_NODES + 1];
    for (int32_t i = 0; i < cm_graph_nodes(r->step); i++) {
        cm_poly poly = cm_node_flop(cm_graph_node(r->step, i));
        double  f = cm_poly_at(&poly, (double)r->asked.batch);
        int32_t at = r->n_top;
        if (f <= 0) continue;
        while (at > 0 && flop[at - 1] < f) at--;
        if (at == CM__TOP_NODES) continue;
        int32_t kept = r->n_top < CM__TOP_NODES ? r->n_top : CM__TOP_NODES - 1;
        memmove(&flop[at + 1], &flop[at], (size_t)(kept - at) * sizeof *flop);
        memmove(&r->top[at + 1], &r->top[at], (size_t)(kept - at) * sizeof *r->top);
        flop[at] = f;
        r->top[at] = i;
        r->n_top = kept + 1;
    }
}

static void mark(bool *used, int32_t tensor)
{
    if (tensor >= 0) used[tensor] = true;
}

/* Folding and pruning leave unused tensors in the graph. */
static void find_used(cm__graph_report *r)
{
    r->used = cm__alloc_array(r->ctx, (size_t)cm_graph_tensors(r->step) + 1, sizeof *r->used);
    for (int32_t i = 0; i < cm_graph_nodes(r->step); i++) {
        const cm_node *n = cm_graph_node(r->step, i);
        for (int32_t k = 0; k < cm_node_inputs(n); k++) mark(r->used, cm_node_input(n, k));
        for (int32_t k = 0; k < cm_node_outputs(n); k++) mark(r->used, cm_node_output(n, k));
    }
}

/* Forward graph and step can have the same warning; keep it once. */
static void gather(cm__graph_report *r, const char ***texts, int32_t *count, int32_t (*number)(const cm_graph *),
                   const char *(*text)(const cm_graph *, int32_t))
{
    const cm_graph *graphs[] = {r->forward, r->step};
    *texts = cm__alloc_array(r->ctx, (size_t)number(r->forward) + (size_t)number(r->step), sizeof **texts);
    for (int g = 0; g < 2; g++)
        for (int32_t i = 0; i < number(graphs[g]); i++) {
            const char *t = text(graphs[g], i);
            int32_t     seen = 0;
            while (seen < *count && strcmp((*texts)[seen], t) != 0) seen++;
            if (seen == *count) (*texts)[(*count)++] = t;
        }
}

static void fill(cm__graph_report *r)
{
    cm_graph_totals(r->step, r->asked.batch, &r->totals);
    r->forward_flop = cm_totals_matrix_flop(&r->totals, CM_FORWARD);
    for (cm_phase p = CM_FORWARD; p < CM_PHASES; p++) r->training_flop += cm_totals_matrix_flop(&r->totals, p);
    int32_t peak = r->totals.peak_node;
    if (peak >= 0 && peak < cm_graph_nodes(r->step)) r->peak_op = cm_node_name(cm_graph_node(r->step, peak));
    count_ops(r);
    find_top(r);
    find_used(r);
    gather(r, &r->warnings, &r->n_warnings, cm_graph_warnings, cm_graph_warning);
    gather(r, &r->unsupported, &r->n_unsupported, cm_graph_unsupported_ops, cm_graph_unsupported_op);
}

static void free_graph(void *graph) { cm_graph_free(graph); }

static void load(cm__graph_report *r)
{
    cm_graph *forward, *step;
    cm__pass_on(r->ctx, cm_graph_load(r->asked.model, &r->asked.load, &forward, r->ctx->diag));
    cm__defer(r->ctx, free_graph, forward);
    cm__pass_on(r->ctx, cm_graph_train(forward, &r->asked.train, &step, r->ctx->diag));
    cm__defer(r->ctx, free_graph, step);
    r->forward = forward;
    r->step = step;
}

/* `step` NULL: load the model. */
static cm_status make_report(const cm__graph_request *asked, const cm_step *step, cm__graph_report **report,
                             cm_diag *diag)
{
    cm__ctx *ctx = cm__ctx_new(diag);
    if (!ctx) return CM_ERR_MEMORY;
    if (setjmp(ctx->trap)) return cm__ctx_abandon(ctx);
    cm__graph_report *r = cm__alloc(ctx, sizeof *r);
    r->ctx = ctx;
    r->asked = *asked;
    if (!r->asked.batch) r->asked.batch = 1;
    if (!step) load(r);
    else {
        r->asked.load = cm_step_get_options(step)->load;
        r->asked.train = cm_step_get_options(step)->train;
        r->forward = cm_step_forward(step);
        r->step = cm_step_graph(step);
    }
    fill(r);
    ctx->diag = NULL;
    *report = r;
    return CM_OK;
}

cm_status cm__graph_report_new(const cm__graph_request *asked, cm__graph_report **report, cm_diag *diag)
{
    return make_report(asked, NULL, report, diag);
}

cm_status cm__graph_report_of(const cm__graph_request *asked, const cm_step *step, cm__graph_report **report,
                              cm_diag *diag)
{
    return make_report(asked, step, report, diag);
}

void cm__graph_report_free(cm__graph_report *report)
{
    if (report) cm__ctx_free(report->ctx);
}
