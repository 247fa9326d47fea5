/* SPDX-License-Identifier: Apache-2.0 */
/*
 * copies.c - copies of inputs of linear layers.
 *
 * A linear layer of an input that is not one matrix in memory copies it. Backward reads the copy, so that the input
 * itself is stored no longer than its other readers need it.
 */
#include "graph/rule.h"
#include "model/memory/footprint.h"

/* Per node: the first node that computes the gradient of its weight; 0: none. */
static const int32_t *weight_gradients(cm__ctx *ctx, const cm_graph *g)
{
    int32_t *gradient = cm__alloc_array(ctx, (size_t)g->n_nodes + 1, sizeof *gradient);
    for (int32_t i = g->n_nodes - 1; i > 0; i--) {
        const cm_node *n = &g->nodes[i];
        if (n->op == CM_OP_GEMM_GRAD_WEIGHT && n->source >= 0) gradient[n->source] = i;
    }
    return gradient;
}

/* Lists of the nodes that read a storage, the last one first. */
typedef struct readers {
    int32_t *last; /* per storage: an entry, plus 1; 0: none */
    struct {
        int32_t node, before; /* before: the entry of the previous reader, plus 1 */
    } *entries;
} readers;

static readers readers_of(cm__ctx *ctx, const cm_graph *g)
{
    size_t  reads = 1;
    int32_t count = 0;
    for (int32_t i = 0; i < g->n_nodes; i++) reads += (size_t)g->nodes[i].n_inputs;
    readers r = {.last = cm__alloc_array(ctx, (size_t)g->n_tensors + 1, sizeof *r.last),
                 .entries = cm__alloc_array(ctx, reads, sizeof *r.entries)};
    for (int32_t i = 0; i < g->n_nodes; i++)
        for (int32_t k = 0; k < g->nodes[i].n_inputs; k++) {
            int32_t tensor = g->nodes[i].inputs[k], storage = tensor >= 0 ? cm__t(g, tensor)->storage : -1;
            if (storage < 0) continue;
            r.entries[count].node = i;
            r.entries[count].before = r.last[storage];
            r.last[storage] = ++count;
        }
    return r;
}

/* The last node before `before` that reads the storage, and at least `first`. */
static int32_t last_reader(const readers *r, int32_t storage, int32_t first, int32_t before)
{
    int32_t entry = r->last[storage];
    while (entry && r->entries[entry - 1].node >= before) entry = r->entries[entry - 1].before;
    return entry && r->entries[entry - 1].node > first ? r->entries[entry - 1].node : first;
}

bool cm__copies_input(const cm_footprint *f, const cm_node *n)
{
    bool linear = n->op == CM_OP_GEMM && n->phase == CM_FORWARD && f->strides;
    return linear && cm__in(f->step, n, 0)->rank >= 3 && !cm__strides_joined(f->strides, n->inputs[0], 1);
}

void cm__copied_inputs(cm_footprint *f, const int32_t *piece_of, cm__ctx *scratch)
{
    const cm_graph *g = f->step;
    const int32_t  *gradient = f->strides ? weight_gradients(scratch, g) : NULL;
    readers         r = {.last = NULL};
    for (int32_t i = 0; i < g->n_nodes && f->strides; i++) {
        const cm_node *n = &g->nodes[i];
        int32_t        reader = gradient[i];
        if (!reader || !cm__copies_input(f, n)) continue;
        int32_t storage = cm__t(g, n->inputs[0])->storage, own = piece_of[storage];
        f->pieces[f->n_pieces++] = (cm__piece){cm_tensor_bytes(cm__in(g, n, 0)), n->inputs[0], i, reader,
                                               CM_CATEGORY_INPUT_OUTPUT};
        if (own < 0 || f->pieces[own].dies != reader) continue;
        if (!r.last) r = readers_of(scratch, g);
        f->pieces[own].dies = last_reader(&r, storage, i, reader);
    }
}
