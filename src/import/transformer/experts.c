/* SPDX-License-Identifier: Apache-2.0 */
/*
 * experts.c - a layer's router, its routed experts as batched products or one by one, and experts that see
 * every token.
 *
 * B batch, S sequence, h hidden, E experts, k experts per token.
 */
#include "import/transformer/parts.h"

#include <stdio.h>
#include <string.h>

typedef struct routes {
    int32_t weights;  /* [BS, k, 1] */
    int32_t experts;  /* [BS, k], index of the expert */
    int32_t dispatch; /* [E, tokens per expert], index of the token */
} routes;

/* Assumes a balanced load: every expert gets the same number of tokens, B S k / E rounded up. The router's auxiliary
   loss trains towards this load, and no other load is known before a run. */
static routes route(cm__builder *b, const cm__transformer *t, int32_t tokens)
{
    cm__attr last = CM__INTS(CM_ATTR_AXIS, -1);
    cm__attr top[] = {CM__INTS(CM_ATTR_AXIS, -1), CM__INTS(CM_ATTR_K, t->top_k)};
    cm__attr sum[] = {CM__INTS(CM_ATTR_AXES, -1), CM__INTS(CM_ATTR_KEEPDIMS, 1)};
    int32_t  y = cm__b_linear(b, "gate", tokens, t->hidden, t->experts, t->mlp_bias);
    y = cm__b_attr(b, CM_OP_SOFTMAX, "gate", "softmax", y, last);
    const cm_node *n = cm__emit_node(b->g, CM_OP_TOP_K, cm__b_name(b, "gate", "topk"), &y, 1, top, 2, 2);
    int32_t weights = n->outputs[0], experts = n->outputs[1];
    int32_t total = cm__emit(b->g, CM_OP_REDUCE_SUM, cm__b_name(b, "gate", "sum"), &weights, 1, sum, 2);
    weights = cm__b_binary(b, CM_OP_DIV, "gate", "normalise", weights, total);
    weights = cm__b_reshape(b, "gate", "weights", weights, 3, (int64_t[]){-1, t->top_k, 1});
    int64_t slots = t->seq * t->top_k, room = (slots + t->experts - 1) / t->experts * t->experts;
    int32_t dispatch = cm__b_reshape(b, "gate", "slots", experts, 2, (int64_t[]){-1, slots});
    if (room > slots)
        dispatch = cm__b_attr(b, CM_OP_PAD, "gate", "pad", dispatch, CM__INTS(CM_ATTR_PADS, 0, 0, 0, room - slots));
    dispatch = cm__b_reshape(b, "gate", "dispatch", dispatch, 2, (int64_t[]){t->experts, -1});
    return (routes){weights, experts, dispatch};
}

static int32_t gather(cm__builder *b, const char *part, int32_t table, int32_t indices)
{
    cm__attr first = CM__INTS(CM_ATTR_AXIS, 0);
    return cm__emit(b->g, CM_OP_GATHER, cm__b_name(b, part, NULL), (int32_t[]){table, indices}, 2, &first, 1);
}

static int32_t expert_product(cm__builder *b, const char *part, int32_t x, const cm__transformer *t, int64_t in,
                              int64_t out)
{
    int32_t w = cm__b_parameter(b, part, "weight", 3, (int64_t[]){t->experts, in, out});
    int32_t y = cm__b_binary(b, CM_OP_MATMUL, part, NULL, x, w);
    if (!t->mlp_bias) return y;
    int32_t bias = cm__b_parameter(b, part, "bias", 3, (int64_t[]){t->experts, 1, out});
    return cm__b_binary(b, CM_OP_ADD, part, "add", y, bias);
}

/* Hugging Face's GraniteMoeParallelExperts up to transformers 4: one call for each expert, with weight[i] of the stacked
   weights. The gradient of weight[i] has the size of the whole stack, and autograd adds one for each expert. */
static int32_t looped_product(cm__builder *b, const char *part, int32_t x, const cm__transformer *t, int64_t in,
                              int64_t out)
{
    int32_t  count = (int32_t)t->experts, *parts = cm__alloc(b->g->ctx, (size_t)count * sizeof *parts);
    int64_t *ones = cm__alloc(b->g->ctx, (size_t)count * sizeof *ones);
    for (int32_t i = 0; i < count; i++) ones[i] = 1;
    cm__attr first = CM__INTS(CM_ATTR_AXIS, 0), apart[] = {first, {.key = CM_ATTR_SPLIT, .count = count, .ints = ones}};
    int32_t  w = cm__b_parameter(b, part, "weight", 3, (int64_t[]){t->experts, out, in});
    const cm_node *n = cm__emit_node(b->g, CM_OP_SPLIT, cm__b_name(b, part, "split"), &x, 1, apart, 2, count);
    memcpy(parts, n->outputs, (size_t)count * sizeof *parts);
    for (int32_t i = 0; i < count; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s.%d", part, i);
        int32_t at = cm__constant_scalar(b->g, cm__b_name(b, name, "index"), CM_INT64, i);
        int32_t own = cm__emit(b->g, CM_OP_GATHER, cm__b_name(b, name, "select"), (int32_t[]){w, at}, 2, &first, 1);
        parts[i] = cm__b_project(b, name, parts[i], own, -1);
    }
    return cm__emit(b->g, CM_OP_CONCAT, cm__b_name(b, part, "cat"), parts, count, &first, 1);
}

/* Gate and upper product of such experts are one, and its halves are multiplied. */
static int32_t looped_experts(cm__builder *b, const cm__transformer *t, int32_t x)
{
    int64_t wide = t->expert_ffn;
    int32_t y = looped_product(b, "experts.input_linear", x, t, t->hidden, 2 * wide);
    int32_t gate = cm__b_slice(b, "experts.input_linear", "gate", y, 2, 0, wide);
    int32_t up = cm__b_slice(b, "experts.input_linear", "up", y, 2, wide, 2 * wide);
    y = cm__b_binary(b, CM_OP_MUL, "experts.gate", NULL, cm__b_activation(b, "experts.act", gate, t->activation), up);
    return looped_product(b, "experts.output_linear", y, t, wide, t->hidden);
}

/* A feed-forward network over every token beside the routed ones (DeepSeek, Qwen 2 MoE); with a gate of one number per
   token if the family has it. */
static int32_t shared(cm__builder *b, const cm__transformer *t, int32_t x)
{
    int32_t y = cm__b_linear(b, "shared_experts.gate_proj", x, t->hidden, t->shared_ffn, false);
    y = cm__b_activation(b, "shared_experts.act_fn", y, t->activation);
    if (t->gated) {
        int32_t up = cm__b_linear(b, "shared_experts.up_proj", x, t->hidden, t->shared_ffn, false);
        y = cm__b_binary(b, CM_OP_MUL, "shared_experts.act_fn", "gate", y, up);
    }
    y = cm__b_linear(b, "shared_experts.down_proj", y, t->shared_ffn, t->hidden, false);
    if (!t->shared_gate) return y;
    int32_t gate = cm__b_linear(b, "shared_expert_gate", x, t->hidden, 1, false);
    gate = cm__b_unary(b, CM_OP_SIGMOID, "shared_expert_gate", "sigmoid", gate);
    return cm__b_binary(b, CM_OP_MUL, "shared_expert_gate", "weigh", gate, y);
}

/* Three batched products over the tokens of all experts. */
static int32_t batched_experts(cm__builder *b, const cm__transformer *t, int32_t in)
{
    int32_t y = expert_product(b, "experts.w1", in, t, t->hidden, t->expert_ffn);
    if (t->clamped) y = cm__b_unary(b, CM_OP_CLAMP_ONE, "experts.w1", "clamp", y);
    y = cm__b_activation(b, "experts.act", y, t->activation);
    if (t->gated) {
        int32_t up = expert_product(b, "experts.w3", in, t, t->hidden, t->expert_ffn);
        if (t->clamped) up = cm__b_unary(b, CM_OP_CLAMP, "experts.w3", "clamp", up);
        y = cm__b_binary(b, CM_OP_MUL, "experts.gate", NULL, y, up);
    }
    return expert_product(b, "experts.w2", y, t, t->expert_ffn, t->hidden);
}

/* Gather the tokens of each expert, run the experts, then scatter back, weighted and summed. */
int32_t cm__mixture(cm__builder *b, const cm__transformer *t, int32_t x)
{
    int32_t tokens = cm__b_reshape(b, "tokens", NULL, x, 2, (int64_t[]){-1, t->hidden});
    routes  r = route(b, t, tokens);
    int32_t in = gather(b, "experts.dispatch", tokens, r.dispatch);
    int32_t y = (t->expert_loop ? looped_experts : batched_experts)(b, t, in);
    y = cm__b_reshape(b, "experts.flat", NULL, y, 2, (int64_t[]){-1, t->hidden});
    y = gather(b, "experts.combine", y, r.experts);
    y = cm__b_binary(b, CM_OP_MUL, "experts.weigh", NULL, y, r.weights);
    cm__attr sum[] = {CM__INTS(CM_ATTR_AXES, 1), CM__INTS(CM_ATTR_KEEPDIMS, 0)};
    y = cm__emit(b->g, CM_OP_REDUCE_SUM, cm__b_name(b, "experts.sum", NULL), &y, 1, sum, 2);
    y = cm__b_reshape(b, "experts.out", NULL, y, 3, (int64_t[]){-1, t->seq, t->hidden});
    return t->shared_ffn ? cm__b_binary(b, CM_OP_ADD, "shared_experts", "sum", y, shared(b, t, x)) : y;
}
