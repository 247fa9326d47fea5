/* SPDX-License-Identifier: Apache-2.0 */
/* facts.c - facts about a whole graph, found in one pass when it is finished: every device asks for them. */
#include "graph/rule.h"

static void add_attention(const cm_graph *g, const cm_node *n, cm__facts *f)
{
    const cm_tensor *k = cm__in(g, n, 1);
    if (k->rank >= 2 && k->dims[k->rank - 2].fixed > f->most_keys) f->most_keys = k->dims[k->rank - 2].fixed;
}

/* Convolutions and recurrent layers are replicated, not divided, by tensor parallelism. */
static void add_product(const cm_node *n, cm__facts *f)
{
    cm_class c = cm__class(n);
    double   flop = cm__poly_at(&n->flop, 1);
    if (c == CM_CLASS_CONV || c == CM_CLASS_RNN) f->replicated_flop += flop;
    f->product_flop += flop;
}

static void add_update(const cm_graph *g, const cm_node *n, cm__facts *f)
{
    for (int32_t i = 0; i < n->n_inputs; i++)
        if (n->inputs[i] >= 0) f->updated += cm__in(g, n, i)->role == CM_ROLE_PARAMETER;
}

/* Images have four dimensions or more. Tokens are integers in a matrix, with one row per sample. */
static void add_tensor(const cm_tensor *t, cm__facts *f)
{
    if (t->role == CM_ROLE_INPUT && t->rank >= 4) f->images = true;
    bool ids = t->role == CM_ROLE_INPUT && (t->dtype == CM_INT64 || t->dtype == CM_INT32);
    if (ids && t->rank == 2 && t->dims[0].per_batch == 1 && t->dims[1].fixed > f->seq) f->seq = t->dims[1].fixed;
}

/* Attention and recurrent layers count as products, whether or not a fused kernel runs them. */
static bool is_product(const cm_node *n)
{
    static const bool products[CM_CLASSES] = {[CM_CLASS_GEMM] = true, [CM_CLASS_ATTENTION] = true,
                                              [CM_CLASS_RNN] = true};
    static const bool contain[CM_OPS] = {[CM_OP_DEFORMED_CONV] = true, [CM_OP_CHOLESKY] = true,
                                         [CM_OP_TRIANGULAR_SOLVE] = true, [CM_OP_CHOLESKY_SOLVE] = true,
                                         [CM_OP_LINEAR_SOLVE] = true, [CM_OP_DETERMINANT] = true,
                                         [CM_OP_INVERSE] = true};
    return products[cm__class(n)] || contain[n->op];
}

cm__facts cm__facts_of(const cm_graph *g)
{
    static const bool matrix[CM_CLASSES] = {[CM_CLASS_GEMM] = true, [CM_CLASS_CONV] = true, [CM_CLASS_ATTENTION] = true,
                                            [CM_CLASS_RNN] = true};
    cm__facts         f = {.known = true};
    if (g->facts.known) return g->facts;
    for (int32_t i = 0; i < g->n_tensors; i++) add_tensor(&g->tensors[i], &f);
    for (int32_t i = 0; i < g->n_nodes; i++) {
        const cm_node *n = &g->nodes[i];
        if (n->block >= f.blocks) f.blocks = n->block + 1;
        if (cm__class(n) == CM_CLASS_CONV) f.convolves = f.images = true;
        if (is_product(n)) f.multiplies = true;
        if (n->phase == CM_UPDATE) add_update(g, n, &f);
        if (n->op == CM_OP_ATTENTION) add_attention(g, n, &f);
        if (n->op == CM_OP_ATTENTION && n->phase == CM_FORWARD) f.attention_end = i + 1;
        if (!matrix[cm__class(n)]) continue;
        if (n->phase != CM_RECOMPUTE) f.matrix_flop = cm__poly_add(f.matrix_flop, n->flop);
        add_product(n, &f);
    }
    return f;
}

int64_t cm_graph_seq(const cm_graph *g) { return cm__facts_of(g).seq; }
