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

#include <stdio.h>
#include "graph/runtimes.h"
#include "model/dispatch/compiler.h"
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
    return d->g->precision == CM_PRECISION_FP8 && cm__sends_once(d->runtime, d->g->asked.software);
}

bool cm__expert_plain(const cm__dispatch *d, const cm_node *n)
{
    if (!cm__is_megatron_core(d->runtime, d->g->asked.software) || joins_all(d)) return false;
    const cm_node *forward = forward_node(d->g, n);
    return is_bias(d->g, forward) || is_clamp(d->g, forward);
}

/* A kernel over the rows of all experts: an elementwise one, over rows of a width or over one run of elements, or a sum
   over all rows (down) or over each row (along). 16 bits are called bf16: fp16 takes the same time. */
typedef struct plain_kernel {
    cm__variant variant;
    cm__types   types;
    enum { RUN, ROWS, SUM_DOWN, SUM_ALONG } shape;
} plain_kernel;

static void emit(cm__dispatch *d, int32_t node, const cm_tensor *y, const plain_kernel *k)
{
    cm_poly  all = cm_tensor_elements(y), width = cm__poly_dim(y->dims[y->rank - 1]), one = cm__poly_const(1);
    cm_poly  rows = cm__poly_scale(all, 1 / width.c[0]);
    cm_dtype type = (cm_dtype)cm__type_of(k->types, 0);
    if (k->shape == RUN) cm__call_pass(d, node, k->variant, k->types, all);
    else if (k->shape == ROWS) cm__call_typed(d, node, k->variant, k->types, rows, width);
    else if (k->shape == SUM_DOWN) cm__call_reduce(d, node, k->variant, type, one, rows, width);
    else cm__call_reduce(d, node, k->variant, type, rows, width, one);
}

#define HALF CM__ALL(CM_BF16)
#define FULL CM__ALL(CM_FP32)
#define TO_HALF CM__TYPES(CM_FP32, CM_FP32, CM_BF16)
#define TO_FULL CM__TYPES(CM_BF16, CM_BF16, CM_FP32)
#define MIXED CM__TYPES(CM_BF16, CM_FP32, CM_FP32)
/* t + b * p, concatenated. Backward: g * p and its sum over an expert's rows, g * b and its sum over each row, and the
   concatenation of t's gradients. [1]: p and what it is a factor of in fp32, with casts before and after. */
static const plain_kernel forward_bias[2][5] = {
    {{CM__V(MUL, COL), HALF, ROWS}, {CM__V_ADD, HALF, RUN}, {CM__V_CAT, HALF, RUN}},
    {{CM__V(MUL, COL), MIXED, ROWS}, {CM__V_ADD, MIXED, RUN}, {CM__V_CAT, FULL, RUN}, {CM__V_COPY, TO_HALF, RUN}},
};
static const plain_kernel backward_bias[2][8] = {
    {{CM__V(MUL, COL), HALF, ROWS}, {CM__V_SUM, HALF, SUM_DOWN}, {CM__V(MUL, ROW), HALF, ROWS},
     {CM__V_SUM, HALF, SUM_ALONG},
     {CM__V_CAT, HALF, RUN}},
    {{CM__V_COPY, TO_FULL, RUN}, {CM__V_COPY, TO_HALF, RUN}, {CM__V(MUL, COL), FULL, ROWS},
     {CM__V_SUM, FULL, SUM_DOWN},
     {CM__V(MUL, ROW), MIXED, ROWS}, {CM__V_SUM, FULL, SUM_ALONG}, {CM__V_CAT, HALF, RUN}},
};
/* A clamp reads half of each row, and half of a concatenation follows. The gradient compares that half with one limit
   or two. The tables have no comparisons of parts of rows; like a clamp of them, they find each element's place. */
static const plain_kernel forward_clamp[] = {{CM__V(CLIP, PART), HALF, ROWS}, {CM__V_CAT, HALF, ROWS}, {CM__V_NONE}};
static const plain_kernel backward_clamp[2][6] = {
    {{CM__V(CLIP, PART), HALF, ROWS}, {CM__V_WHERE, FULL, RUN}, {CM__V_CAT, HALF, ROWS}},
    {{CM__V(CLIP, PART), HALF, ROWS}, {CM__V(CLIP, PART), HALF, ROWS}, {CM__V_AND, CM__ALL(CM_BOOL), RUN},
     {CM__V_WHERE, FULL, RUN},
     {CM__V_CAT, HALF, ROWS}},
};

static const plain_kernel *kernels_of(const cm__dispatch *d, const cm_node *forward, bool back)
{
    bool wide = cm__sends_once(d->runtime, d->g->asked.software);
    if (is_bias(d->g, forward)) return back ? backward_bias[wide] : forward_bias[wide];
    return back ? backward_clamp[forward->op == CM_OP_CLAMP] : forward_clamp;
}

void cm__dispatch_expert_plain(cm__dispatch *d, int32_t node)
{
    const cm_node *forward = forward_node(d->g, cm__node(d, node));
    if (is_bias(d->g, forward) && !is_second(d->g, forward)) return;
    const plain_kernel *k = kernels_of(d, forward, cm__node(d, node)->phase == CM_BACKWARD);
    for (; k->variant; k++) emit(d, node, cm__t(d->g, forward->outputs[0]), k);
}
