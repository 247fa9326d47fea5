/* SPDX-License-Identifier: Apache-2.0 */
/*
 * linear_parts.c - find linear layers that a capture recorded in parts.
 *
 * If the input of a linear layer with a bias is not contiguous, PyTorch runs four operators instead of one: a copy of
 * the input in row order, its view as a matrix, the product, and the addition of the bias (linear() in
 * ATen/native/Linear.cpp). Autocast casts the operands of the layer, thus before the copy, and the bias too.
 */
#include "graph/rewrite/linear_parts.h"

#include <string.h>
#include "graph/rule.h"

static const cm_node *producer(const cm_graph *g, const cm_node *n, int32_t op)
{
    int32_t        from = n && cm__has(n, 0) ? cm__in(g, n, 0)->producer : -1;
    const cm_node *found = from < 0 ? NULL : &g->nodes[from];
    return found && found->op == op ? found : NULL;
}

/* In a capture a node is named MODULE.OPERATOR. */
static bool same_module(const cm_node *a, const cm_node *b)
{
    const char *dot_a = strrchr(a->name, '.'), *dot_b = strrchr(b->name, '.');
    if (!dot_a || !dot_b || dot_a - a->name != dot_b - b->name) return false;
    return strncmp(a->name, b->name, (size_t)(dot_a - a->name)) == 0;
}

static bool adds_bias(const cm_graph *g, const cm_node *n)
{
    if (n->op != CM_OP_ADD || !cm__has(n, 1)) return false;
    const cm_tensor *bias = cm__in(g, n, 1);
    return bias->role == CM_ROLE_PARAMETER && bias->rank == 1;
}

void cm__find_linear_parts(const cm_graph *g, bool *part)
{
    for (int32_t i = 0; i < g->n_nodes; i++) {
        const cm_node *sum = &g->nodes[i];
        if (!adds_bias(g, sum)) continue;
        const cm_node *product = producer(g, producer(g, sum, CM_OP_RESHAPE), CM_OP_GEMM);
        const cm_node *copy = producer(g, producer(g, product, CM_OP_RESHAPE), CM_OP_COPY);
        if (!copy || cm__has(product, 2) || !same_module(copy, product) || !same_module(product, sum)) continue;
        part[i] = part[copy - g->nodes] = true;
    }
}
