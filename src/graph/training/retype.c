/* SPDX-License-Identifier: Apache-2.0 */
/* retype.c - exchange the 16-bit type of a step. */
#include "graph/training/retype.h"

#include <string.h>
#include "graph/rule.h"

static bool has_16_bits(cm_dtype dtype) { return dtype == CM_BF16 || dtype == CM_FP16; }

/* The other 16-bit type, under the same rules; 0: none. */
static const cm_precision other_of[CM_PRECISIONS] = {
    [CM_PRECISION_AMP_BF16] = CM_PRECISION_AMP_FP16, [CM_PRECISION_AMP_FP16] = CM_PRECISION_AMP_BF16,
    [CM_PRECISION_BF16] = CM_PRECISION_FP16, [CM_PRECISION_FP16] = CM_PRECISION_BF16,
};

/* Nodes that autocast treats by type: recurrent layers run in fp16, and a softmax widens fp16 without a cast. */
static bool depends_on_type(const cm_node *n, cm_precision precision)
{
    return cm__class(n) == CM_CLASS_RNN || (cm__autocasts(precision) && (n->op == CM_OP_SOFTMAX || n->op == CM_OP_LOG_SOFTMAX));
}

/* Types that the model itself has do not change. */
bool cm__can_retype(const cm_graph *forward, cm_precision from, cm_precision to)
{
    if (!from || other_of[from] != to || forward->typed || forward->expert_graphs) return false;
    for (int32_t t = 0; t < forward->n_tensors; t++) {
        const cm_tensor *x = cm__t(forward, t);
        if (has_16_bits(x->dtype) || x->dtype == CM_FP8 || x->converted) return false;
    }
    for (int32_t i = 0; i < forward->n_nodes; i++)
        if (depends_on_type(&forward->nodes[i], from)) return false;
    return true;
}

static cm_dtype exchanged(cm_dtype dtype, cm_dtype low) { return has_16_bits(dtype) ? low : dtype; }

/* A cast names its type in an attribute. */
static void retype_cast(cm__ctx *ctx, cm_node *n, cm_dtype low)
{
    int32_t count = 0, found = -1;
    for (; n->attrs[count].key < CM_ATTRS; count++)
        if (n->attrs[count].key == CM_ATTR_TO && has_16_bits((cm_dtype)n->attrs[count].ints[0])) found = count;
    if (found < 0) return;
    cm__attr *attrs = cm__alloc_array(ctx, (size_t)count + 1, sizeof *attrs);
    int64_t  *type = cm__alloc(ctx, sizeof *type);
    memcpy(attrs, n->attrs, ((size_t)count + 1) * sizeof *attrs);
    *type = low;
    attrs[found].ints = type;
    n->attrs = attrs;
}

static cm_graph *copy_of(cm__ctx *ctx, const cm_graph *step)
{
    cm_graph *g = cm__alloc(ctx, sizeof *g);
    *g = *step;
    g->ctx = ctx;
    g->nodes = cm__alloc_array(ctx, (size_t)step->n_nodes, sizeof *g->nodes);
    g->tensors = cm__alloc_array(ctx, (size_t)step->n_tensors, sizeof *g->tensors);
    g->cap_nodes = step->n_nodes;
    g->cap_tensors = step->n_tensors;
    if (step->n_nodes) memcpy(g->nodes, step->nodes, (size_t)step->n_nodes * sizeof *g->nodes);
    if (step->n_tensors) memcpy(g->tensors, step->tensors, (size_t)step->n_tensors * sizeof *g->tensors);
    return g;
}

cm_status cm__graph_retype(const cm_graph *step, cm_precision to, cm_graph **retyped, cm_diag *diag)
{
    cm_dtype low = to == CM_PRECISION_AMP_BF16 || to == CM_PRECISION_BF16 ? CM_BF16 : CM_FP16;
    cm__ctx *ctx = cm__ctx_new(diag);
    if (!ctx) return CM_ERR_MEMORY;
    if (setjmp(ctx->trap)) return cm__ctx_abandon(ctx);
    cm_graph *g = copy_of(ctx, step);
    g->precision = to;
    g->retyped_of = step;
    for (int32_t t = 0; t < g->n_tensors; t++) cm__t(g, t)->dtype = exchanged(cm__t(g, t)->dtype, low);
    for (int32_t i = 0; i < g->n_nodes; i++)
        if (g->nodes[i].op == CM_OP_CAST) retype_cast(ctx, &g->nodes[i], low);
    ctx->diag = NULL;
    *retyped = g;
    return CM_OK;
}
