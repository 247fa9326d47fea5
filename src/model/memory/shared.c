/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shared.c - tensors that torch.compile computes once although the model computes them in several layers.
 *
 * The partitioner first makes one of equal nodes (fx_graph_cse() in torch/_functorch/compile_utils.py). Layers that turn
 * the same mask around, or take the same view of it, share the result. Here only what follows from integers and truth
 * values is compared: numbers that an operator has beside its tensors are not all known.
 */
#include "model/memory/partition.h"

#include <string.h>
#include "graph/rule.h"

#define SLOTS_PER_NODE 2

static void mix(uint64_t *hash, uint64_t word)
{
    *hash = (*hash ^ word) * 0xff51afd7ed558ccdu;
    *hash ^= *hash >> 32;
}

static void mix_attributes(uint64_t *hash, const cm_node *n)
{
    for (const cm__attr *a = n->attrs; a && a->key != CM_ATTRS; a++) {
        uint64_t real;
        memcpy(&real, &a->real, sizeof real);
        mix(hash, (uint64_t)a->key);
        mix(hash, real);
        for (int32_t i = 0; i < a->count; i++) mix(hash, (uint64_t)a->ints[i]);
    }
}

/* The computation of a node: its operator, its attributes, its operands and the shape of its result. */
static uint64_t hash_of(const cm_graph *g, const cm_node *n, const int32_t *same)
{
    const cm_tensor *y = cm__t(g, n->outputs[0]);
    uint64_t         hash = 1 + (uint64_t)n->op;
    mix_attributes(&hash, n);
    for (int32_t k = 0; k < n->n_inputs; k++) mix(&hash, n->inputs[k] < 0 ? 0 : 1 + (uint64_t)same[n->inputs[k]]);
    mix(&hash, (uint64_t)y->dtype);
    for (int32_t k = 0; k < y->rank; k++) mix(&hash, (uint64_t)y->dims[k].fixed), mix(&hash, (uint64_t)y->dims[k].per_batch);
    return hash ? hash : 1;
}

static bool is_compared(const cm_graph *g, const cm_node *n)
{
    bool one = n->phase == CM_FORWARD && !n->outside && n->n_outputs == 1 && n->outputs[0] >= 0 && n->n_inputs > 0;
    for (int32_t k = 0; one && k < n->n_inputs; k++)
        if (n->inputs[k] >= 0 && cm__is_float(cm__t(g, n->inputs[k])->dtype)) one = false;
    return one;
}

const int32_t *cm__shared_tensors(cm__ctx *ctx, const cm_graph *g)
{
    size_t    slots = SLOTS_PER_NODE * (size_t)g->n_nodes + 1;
    uint64_t *hash = cm__alloc_array(ctx, slots, sizeof *hash);
    int32_t  *made = cm__alloc_array(ctx, slots, sizeof *made);
    int32_t  *same = cm__alloc_array(ctx, (size_t)g->n_tensors + 1, sizeof *same);
    for (int32_t t = 0; t < g->n_tensors; t++) same[t] = t;
    for (int32_t i = 0; i < g->n_nodes; i++) {
        if (!is_compared(g, &g->nodes[i])) continue;
        uint64_t own = hash_of(g, &g->nodes[i], same);
        size_t   at = own % slots;
        while (hash[at] && hash[at] != own) at = (at + 1) % slots;
        if (hash[at]) same[g->nodes[i].outputs[0]] = made[at];
        else hash[at] = own, made[at] = g->nodes[i].outputs[0];
    }
    return same;
}
