/* SPDX-License-Identifier: Apache-2.0 */
/*
 * routing.c - kernels that bring tokens to their experts and back under Megatron Core (token_dispatcher.py, and
 * Transformer Engine's permutation.py).
 *
 * One kernel writes each token's row once for each of its experts; one adds a token's rows up again. Each is the
 * other's gradient, so that no gradient is scattered. The router's weights are multiplied by the kernel of the
 * activation between an expert's products and need no pass of their own. Devices that share experts also sort the rows
 * that they receive by expert, and back, unless the exchange itself writes them in order.
 */
#include "model/dispatch/routing.h"

#include "graph/runtimes.h"
#include "model/dispatch/compiler.h"

typedef enum { NOWHERE, TO_EXPERTS, FROM_EXPERTS, WEIGHED, ADDED } stage;

static stage stage_of(const cm_graph *g, const cm_node *forward);

static stage producer_stage(const cm_graph *g, const cm_node *n)
{
    int32_t from = n->n_inputs > 0 && n->inputs[0] >= 0 ? cm__t(g, n->inputs[0])->producer : -1;
    return from < 0 || g->nodes[from].phase != CM_FORWARD ? NOWHERE : stage_of(g, &g->nodes[from]);
}

/* An index that a router chose, perhaps padded to the same number for every expert. */
static bool is_chosen(const cm_graph *g, const cm_tensor *index)
{
    int32_t from = cm__t(g, index->storage)->producer;
    return from >= 0 && (g->nodes[from].op == CM_OP_TOP_K || g->nodes[from].op == CM_OP_PAD);
}

/* Rows of a table that the step itself has made: an index that repeats them spreads tokens over experts, and one that
   does not takes the results back. */
static stage rows_looked_up(const cm_graph *g, const cm_node *n)
{
    if (n->block < 0 || n->n_inputs < 2 || n->inputs[0] < 0 || n->inputs[1] < 0) return NOWHERE;
    const cm_tensor *table = cm__in(g, n, 0), *index = cm__in(g, n, 1);
    if (table->rank != 2 || index->rank != 2 || table->producer < 0 || !is_chosen(g, index)) return NOWHERE;
    cm_poly rows = cm_tensor_elements(table), out = cm_tensor_elements(cm__t(g, n->outputs[0]));
    if (cm__poly_at(&rows, 1) < cm__poly_at(&out, 1)) return TO_EXPERTS;
    return index->dims[1].fixed > 0 ? FROM_EXPERTS : NOWHERE; /* its experts per token must be known */
}

static stage stage_of(const cm_graph *g, const cm_node *forward)
{
    if (forward->op == CM_OP_GATHER) return rows_looked_up(g, forward);
    if (forward->op == CM_OP_MUL) return producer_stage(g, forward) == FROM_EXPERTS ? WEIGHED : NOWHERE;
    if (forward->op == CM_OP_REDUCE_SUM) return producer_stage(g, forward) == WEIGHED ? ADDED : NOWHERE;
    return NOWHERE;
}

static const cm_node *forward_node(const cm_graph *g, const cm_node *n)
{
    return n->source >= 0 ? &g->nodes[n->source] : n;
}

bool cm__routes(const cm_graph *g, const cm_node *n) { return stage_of(g, forward_node(g, n)) != NOWHERE; }

bool cm__weighs_results(const cm_graph *g, const cm_node *n) { return stage_of(g, forward_node(g, n)) == WEIGHED; }

bool cm__weighs_inside(cm_runtime runtime, cm_software software)
{
    return cm__is_megatron_core(runtime, software) && cm__provides(software, CM__FEATURE_WEIGHED_ACTIVATION);
}

bool cm__sends_once(cm_runtime runtime, cm_software software)
{
    return cm__is_megatron_core(runtime, software) && cm__provides(software, CM__FEATURE_SENDS_ONCE);
}

double cm__experts_per_token(const cm_graph *g, const cm_node *product)
{
    int32_t        x = product->inputs[0];
    const cm_node *made = x >= 0 && cm__t(g, x)->producer >= 0 ? &g->nodes[cm__t(g, x)->producer] : NULL;
    if (made && made->op == CM_OP_CAST) return cm__experts_per_token(g, made);
    if (!made || stage_of(g, made) != TO_EXPERTS) return 1;
    cm_poly rows = cm_tensor_elements(cm__t(g, made->outputs[0])), tokens = cm_tensor_elements(cm__in(g, made, 0));
    return cm__poly_at(&rows, 1) / cm__poly_at(&tokens, 1);
}

/* One kernel that reads or writes the rows of all experts, and the tokens. */
static void spread(cm__dispatch *d, int32_t node, int32_t tokens, int32_t rows)
{
    cm__call_moved(d, node, CM__V_COPY,
                   cm__poly_add(cm_tensor_bytes(cm__t(d->g, tokens)), cm_tensor_bytes(cm__t(d->g, rows))));
}

void cm__dispatch_route(cm__dispatch *d, int32_t node)
{
    const cm_node *n = cm__node(d, node), *forward = forward_node(d->g, n);
    stage          at = stage_of(d->g, forward);
    bool           back = n->phase == CM_BACKWARD;
    int32_t        rows = forward->outputs[0];
    if (at == TO_EXPERTS) spread(d, node, forward->inputs[0], rows);
    else if (at == ADDED && !back) spread(d, node, forward->outputs[0], forward->inputs[0]);
    else if (at == FROM_EXPERTS && back) { /* the gradient of the sum as well */
        cm_poly tokens = cm__poly_scale(cm_tensor_bytes(cm__t(d->g, rows)),
                                        1.0 / (double)cm__in(d->g, forward, 1)->dims[1].fixed);
        cm__call_moved(d, node, CM__V_COPY, cm__poly_add(tokens, cm_tensor_bytes(cm__t(d->g, rows))));
    }
    bool sorts = d->shards.ep > 1 && !cm__sends_once(d->runtime, d->g->asked.software);
    if (sorts && (at == TO_EXPERTS || at == FROM_EXPERTS)) spread(d, node, rows, rows);
}
