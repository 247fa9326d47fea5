/* SPDX-License-Identifier: Apache-2.0 */
/*
 * expert_bias.c - biases and clamps of experts under Megatron Core (moe/experts.py, fusions/fused_bias_geglu.py).
 *
 * The grouped product of Transformer Engine adds the bias of an expert's first product in its epilogue, and the product
 * of the weights' gradient sums that bias's gradient: neither has a kernel. The bias of the second product is
 * TEGroupedMLP._apply_bias(): for the rows of each expert t + b * p, with the weights p that the router gave, then one
 * concatenation of all experts. p is in fp32 if DeepEP or HybridEP exchanged it; then the sum is in fp32 too, and is
 * cast back. A clamp before a gated activation (weighted_bias_quick_geglu_impl()) splits the halves, clamps each and
 * concatenates them. Autograd runs one kernel for each of these steps in backward.
 *
 * From 2026 on, recipes with products in 8 bits join the grouped product, its biases, the clamp and the activation
 * (Transformer Engine's op fuser with CuTe DSL kernels; Megatron-Bridge's cutedsl_fused_grouped_mlp).
 */
#include "model/dispatch/expert_bias.h"

#include "graph/runtimes.h"
#include "model/dispatch/fusing.h"
#include "model/dispatch/routing.h"

static const cm_node *forward_node(const cm_graph *g, const cm_node *n)
{
    return n->source >= 0 ? &g->nodes[n->source] : n;
}

/* The node that computed a node's first input before any cast; NULL: none. */
static const cm_node *made_by(const cm_graph *g, const cm_node *n)
{
    int32_t from = n->n_inputs > 0 && n->inputs[0] >= 0 ? cm__t(g, n->inputs[0])->producer : -1;
    while (from >= 0 && g->nodes[from].op == CM_OP_CAST) from = cm__t(g, g->nodes[from].inputs[0])->producer;
    return from < 0 ? NULL : &g->nodes[from];
}

/* A product of one matrix per expert. */
static const cm_node *grouped(const cm_graph *g, const cm_node *made)
{
    bool several = made && made->op == CM_OP_MATMUL && made->block >= 0 && cm__in(g, made, 1)->rank == 3;
    return several && cm__in(g, made, 1)->role == CM_ROLE_PARAMETER ? made : NULL;
}

static bool is_bias(const cm_graph *g, const cm_node *forward)
{
    return forward->op == CM_OP_ADD && cm__in(g, forward, 1)->rank == 3 && grouped(g, made_by(g, forward));
}

static bool is_clamp(const cm_graph *g, const cm_node *forward)
{
    if (forward->op != CM_OP_CLAMP && forward->op != CM_OP_CLAMP_ONE) return false;
    const cm_node *made = made_by(g, forward);
    return made && is_bias(g, made);
}

/* The second product of an expert reads what the activation gave. */
static bool is_second(const cm_graph *g, const cm_node *bias)
{
    const cm_node *made = made_by(g, made_by(g, bias));
    return made && cm__class(made) == CM_CLASS_ELEMENTWISE;
}

static bool joins_all(const cm__dispatch *d)
{
    return d->g->precision == CM_PRECISION_FP8 && cm__sends_once(d->runtime, d->g->software);
}

bool cm__expert_plain(const cm__dispatch *d, const cm_node *n)
{
    if (!cm__is_megatron_core(d->runtime, d->g->software) || joins_all(d)) return false;
    const cm_node *forward = forward_node(d->g, n);
    return is_bias(d->g, forward) || is_clamp(d->g, forward);
}

/* One kernel for each number: bytes that it reads and writes per element. */
static void passes(cm__dispatch *d, int32_t node, cm_poly elements, const double *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) cm__call_generated(d, node, "copy", cm__poly_scale(elements, bytes[i]));
}

#define PASSES(...) (const double[]){__VA_ARGS__}, sizeof(double[]){__VA_ARGS__} / sizeof(double)

static void dispatch_bias(cm__dispatch *d, int32_t node, const cm_node *forward)
{
    bool    back = cm__node(d, node)->phase == CM_BACKWARD, wide = cm__sends_once(d->runtime, d->g->software);
    cm_poly rows = cm_tensor_elements(cm__t(d->g, forward->outputs[0]));
    if (!is_second(d->g, forward)) return;
    /* b * p; t + it; concatenate; cast */
    if (!back && wide) passes(d, node, rows, PASSES(4, 2 + 4 + 4, 4 + 4, 4 + 2));
    else if (!back) passes(d, node, rows, PASSES(2, 2 + 2 + 2, 2 + 2));
    /* casts of the gradient and of t's; g * p, its sum over rows, g * b, its sum over columns; concatenate t's */
    else if (wide) passes(d, node, rows, PASSES(2 + 4, 4 + 2, 4 + 4, 4, 4 + 4, 4, 2 + 2));
    else passes(d, node, rows, PASSES(2 + 2, 2, 2 + 2, 2, 2 + 2));
}

void cm__dispatch_expert_plain(cm__dispatch *d, int32_t node)
{
    const cm_node *forward = forward_node(d->g, cm__node(d, node));
    if (is_bias(d->g, forward)) {
        dispatch_bias(d, node, forward);
        return;
    }
    cm__dispatch_one(d, node);
    passes(d, node, cm_tensor_elements(cm__t(d->g, forward->outputs[0])), PASSES(2 + 2)); /* concatenate the halves */
}
