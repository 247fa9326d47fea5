/* SPDX-License-Identifier: Apache-2.0 */
/*
 * split.c - which tensors and products of a graph are divided among tensor-parallel devices.
 *
 * As in Megatron-LM, a product with a parameter divides the columns of its output if its input is not divided; if its
 * input is divided, its output is not. The outputs of attention and elementwise operators are divided if their inputs
 * are.
 *
 * An adapter of low rank is two products in a row. Beside a product that divides columns, every device computes the
 * whole first one and its columns of the second. Beside a product that divides rows, the first one does so too, and its
 * narrow sum is multiplied by the whole second one. Neither exchanges hidden states.
 */
#include "graph/plan/split.h"

#include "graph/rule.h"

static bool any_input_split(const cm_graph *g, const cm_node *n, const bool *split)
{
    for (int32_t k = 0; k < n->n_inputs; k++)
        if (cm__has(n, k) && cm__t(g, n->inputs[k])->role != CM_ROLE_PARAMETER && split[n->inputs[k]]) return true;
    return false;
}

static bool has_parameter(const cm_graph *g, const cm_node *n)
{
    for (int32_t k = 1; k < n->n_inputs; k++)
        if (cm__has(n, k) &&
            (cm__in(g, n, k)->role == CM_ROLE_PARAMETER || cm__in(g, n, k)->role == CM_ROLE_CAST))
            return true;
    return false;
}

static bool same_shape(const cm_tensor *a, const cm_tensor *b)
{
    bool same = a->rank == b->rank;
    for (int32_t i = 0; same && i < a->rank; i++) same = cm__dim_same(a->dims[i], b->dims[i]);
    return same;
}

#define CHAIN_MAX 4 /* casts and a softmax or sigmoid between a router's product and its top-k */

/* A router's product is not divided: every device must choose the same experts. */
static bool is_router(const cm_graph *g, const cm_node *product)
{
    int32_t at = (int32_t)(product - g->nodes), tensor = product->outputs[0];
    for (int32_t i = at + 1; i < g->n_nodes && i <= at + CHAIN_MAX; i++) {
        const cm_node *n = &g->nodes[i];
        if (n->n_inputs < 1 || n->inputs[0] != tensor) return false;
        if (cm__ops[n->op].shard == CM__SHARD_choice) return true;
        tensor = n->outputs[0];
    }
    return false;
}

/* The narrow products of latent attention: a norm over the whole result follows. Megatron-LM computes them on every
   device, since a norm over a divided dimension would need a sum over devices. Norms of heads come after a reshape. */
static bool feeds_norm(const cm_graph *g, const cm_node *product)
{
    int32_t at = (int32_t)(product - g->nodes), tensor = product->outputs[0];
    for (int32_t i = at + 1; i < g->n_nodes && i <= at + CHAIN_MAX; i++) {
        const cm_node *n = &g->nodes[i];
        if (n->n_inputs < 1 || n->inputs[0] != tensor) return false;
        if (n->op == CM_OP_POW || cm__ops[n->op].op_class == CM_CLASS_NORM) return true;
        if (n->op != CM_OP_CAST && n->op != CM_OP_SPLIT) return false;
        tensor = n->outputs[0];
    }
    return false;
}

static bool is_product(const cm_node *n) { return cm__ops[n->op].shard >= CM__SHARD_product; }

static bool is_divided_product(const cm_graph *g, const cm_node *n)
{
    return is_product(n) && has_parameter(g, n) && !is_router(g, n);
}

/* True: the first product of an adapter, whose narrow result only another product with a parameter reads. */
static bool is_first_factor(const cm_graph *g, const cm_node *product)
{
    int32_t at = (int32_t)(product - g->nodes), tensor = product->outputs[0];
    for (int32_t i = at + 1; g->tuned && i < g->n_nodes && i <= at + CHAIN_MAX; i++) {
        const cm_node *n = &g->nodes[i];
        /* a weight */
        if (n->n_inputs > 0 && n->outputs[0] >= 0 && cm__t(g, n->outputs[0])->role == CM_ROLE_CAST) continue;
        if (n->n_inputs < 1 || n->inputs[0] != tensor) return false;
        if (is_product(n)) return has_parameter(g, n);
        if (n->op != CM_OP_CAST && !n->view) return false;
        tensor = n->outputs[0];
    }
    return false;
}

/* True: the second product of an adapter whose first one sums over divided rows. */
static bool follows_rows(const cm_graph *g, const cm_node *product, const bool *split)
{
    int32_t from = g->tuned && cm__has(product, 0) ? cm__in(g, product, 0)->producer : -1;
    for (int i = 0; i < CHAIN_MAX && from >= 0; i++) {
        const cm_node *n = &g->nodes[from];
        if (is_product(n)) return has_parameter(g, n) && any_input_split(g, n, split);
        if ((n->op != CM_OP_CAST && !n->view) || !cm__has(n, 0)) return false;
        from = cm__in(g, n, 0)->producer;
    }
    return false;
}

/* Every device computes the whole product of inputs that it has. */
static bool stays_whole(const cm_graph *g, const cm_node *product, const bool *split)
{
    return feeds_norm(g, product) || is_first_factor(g, product) || follows_rows(g, product, split);
}

cm__division cm__division_of(const cm_graph *g, const cm_node *forward, const bool *split)
{
    if (!is_divided_product(g, forward)) return CM__WHOLE;
    if (any_input_split(g, forward, split)) return CM__ROWS;
    return stays_whole(g, forward, split) ? CM__WHOLE : CM__COLUMNS;
}

/* A weight that several nodes read, such as a table of words that also makes the logits, gets one gradient from each of
   them, which are added up. Each device has those of its own part. */
static bool is_weight_part(const cm_graph *g, const cm_node *forward, int32_t input, const cm_tensor *y)
{
    return y->role == CM_ROLE_GRADIENT && y->rank > 1 && cm__parameter_read(g, forward, input) >= 0;
}

/* A gradient is divided if the forward tensor of its shape is. */
static bool gradient_split(const cm_graph *g, const cm_node *n, const cm_tensor *y, const bool *split)
{
    const cm_node *forward = n->source >= 0 ? &g->nodes[n->source] : NULL;
    for (int32_t k = 0; forward && k < forward->n_inputs; k++) {
        if (!cm__has(forward, k) || !same_shape(cm__in(g, forward, k), y)) continue;
        if (!is_weight_part(g, forward, k, y)) return split[forward->inputs[k]];
        return cm__division_of(g, forward, split) != CM__WHOLE || cm__is_table(forward);
    }
    return any_input_split(g, n, split);
}

void cm__find_split(const cm_graph *g, bool *split)
{
    for (int32_t i = 0; i < g->n_nodes; i++) {
        const cm_node *n = &g->nodes[i];
        bool           inputs = any_input_split(g, n, split);
        bool           product = is_divided_product(g, n);
        for (int32_t o = 0; o < n->n_outputs; o++) {
            if (n->outputs[o] < 0) continue;
            const cm_tensor *y = cm__t(g, n->outputs[o]);
            bool forward = product ? !inputs && !stays_whole(g, n, split) : inputs;
            split[n->outputs[o]] = n->phase == CM_BACKWARD ? gradient_split(g, n, y, split) : forward;
        }
    }
}

/* The parameter that a node reads, directly or as a copy in a narrower type; -1: none. */
int32_t cm__parameter_read(const cm_graph *g, const cm_node *n, int32_t input)
{
    const cm_tensor *t = cm__has(n, input) ? cm__in(g, n, input) : NULL;
    bool copied = n->op == CM_OP_CAST && n->outputs[0] >= 0 && cm__t(g, n->outputs[0])->role == CM_ROLE_CAST;
    if (!t || copied) return -1;
    int32_t id = n->inputs[input];
    while (cm__t(g, id)->role == CM_ROLE_CAST && cm__t(g, id)->producer >= 0) /* fp8: cast from a 16-bit copy */
        id = g->nodes[cm__t(g, id)->producer].inputs[0];
    return cm__t(g, id)->role == CM_ROLE_PARAMETER ? id : -1;
}

bool cm__is_input_gradient(const cm_node *n, const cm_node *forward)
{
    cm__shard_rule rule = cm__ops[n->op].shard;
    return rule == CM__SHARD_input_gradient ||
           (rule == CM__SHARD_either_gradient && n->inputs[1] == forward->inputs[1]);
}

bool cm__is_expert(const cm_graph *g, const cm_node *forward)
{
    const cm_tensor *w = is_product(forward) && cm__has(forward, 1) ? cm__in(g, forward, 1) : NULL;
    return w && w->rank == 3 && (w->role == CM_ROLE_PARAMETER || w->role == CM_ROLE_CAST);
}
