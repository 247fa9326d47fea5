/* SPDX-License-Identifier: Apache-2.0 */
/*
 * copies.c - copies of inputs of linear layers.
 *
 * A linear layer of an input that is not one matrix in memory copies it. Backward reads the copy, so that the input
 * itself is stored no longer than its other readers need it.
 */
#include "graph/rule.h"
#include "model/memory/footprint.h"

/* The node that computes the gradient of a layer's weight; -1: none. */
static int32_t weight_gradient(const cm_graph *g, int32_t layer)
{
    for (int32_t i = layer + 1; i < g->n_nodes; i++)
        if (g->nodes[i].op == CM_OP_GEMM_GRAD_WEIGHT && g->nodes[i].source == layer) return i;
    return -1;
}

static bool reads(const cm_graph *g, const cm_node *n, int32_t storage)
{
    for (int32_t k = 0; k < n->n_inputs; k++)
        if (n->inputs[k] >= 0 && cm__t(g, n->inputs[k])->storage == storage) return true;
    return false;
}

/* The last node before `before` that reads the storage, and at least `first`. */
static int32_t last_reader(const cm_graph *g, int32_t storage, int32_t first, int32_t before)
{
    for (int32_t i = before - 1; i > first; i--)
        if (reads(g, &g->nodes[i], storage)) return i;
    return first;
}

void cm__copied_inputs(cm_footprint *f, const int32_t *piece_of)
{
    const cm_graph *g = f->step;
    for (int32_t i = 0; i < g->n_nodes && f->strides; i++) {
        const cm_node *n = &g->nodes[i];
        int32_t        reader = n->op == CM_OP_GEMM && n->phase == CM_FORWARD ? weight_gradient(g, i) : -1;
        if (reader < 0 || cm__in(g, n, 0)->rank < 3 || cm__strides_joined(f->strides, n->inputs[0], 1)) continue;
        int32_t storage = cm__t(g, n->inputs[0])->storage, own = piece_of[storage];
        f->pieces[f->n_pieces++] = (cm__piece){cm_tensor_bytes(cm__in(g, n, 0)), n->inputs[0], i, reader,
                                               CM_CATEGORY_INPUT_OUTPUT};
        if (own >= 0 && f->pieces[own].dies == reader) f->pieces[own].dies = last_reader(g, storage, i, reader);
    }
}
