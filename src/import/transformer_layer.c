/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transformer_layer.c - one layer of any transformer: attention, feed-forward network or experts, norms, residuals.
 *
 * B batch, S sequence, H heads, K key/value heads, d head dimension, h hidden, E experts. Sequences are [B, S, h],
 * heads [B, H, S, d].
 */
#include "import/transformer_layer.h"

#include <math.h>
#include <string.h>

int32_t cm__norm(cm__builder *b, const cm__transformer *t, const char *part, int32_t x)
{
    return t->norm == CM__NORM_RMS ? cm__b_rms_norm(b, part, x, t->hidden) : cm__b_layer_norm(b, part, x, t->hidden);
}

/* ---- queries, keys, values -------------------------------------------------------------------------------------- */

typedef struct heads {
    int32_t q, k, v;
} heads;

/* [B, S, heads * d] -> [B, heads, S, d] */
static int32_t into_heads(cm__builder *b, const char *part, int32_t x, int64_t count, int64_t dim)
{
    x = cm__b_reshape(b, part, "heads", x, 4, (int64_t[]){0, 0, count, dim});
    return cm__b_transpose(b, part, "transpose", x, 4, (int64_t[]){0, 2, 1, 3});
}

static heads split3(cm__builder *b, const char *part, int32_t x, int64_t axis, const int64_t widths[3])
{
    cm__attr attrs[] = {CM__INTS(CM_ATTR_AXIS, axis), {.key = CM_ATTR_SPLIT, .count = 3, .ints = widths}};
    const cm_node *n = cm__emit_node(b->g, CM_OP_SPLIT, cm__b_name(b, part, "split"), &x, 1, attrs, 2, 3);
    return (heads){n->outputs[0], n->outputs[1], n->outputs[2]};
}

static heads qkv_fused(cm__builder *b, const cm__stack *s, int32_t x)
{
    const cm__transformer *t = s->t;
    const cm__parts       *p = s->parts;
    int64_t d = t->head_dim, q = t->heads * d, kv = t->kv_heads * d;
    int32_t all = p->linear(b, p->qkv, x, t->hidden, q + 2 * kv, t->qkv_bias);
    if (p->fused == CM__QKV_HEADS_FIRST)
        return split3(b, p->qkv, into_heads(b, p->qkv, all, t->heads, 3 * d), 3, (int64_t[]){d, d, d});
    heads h = split3(b, p->qkv, all, 2, (int64_t[]){q, kv, kv});
    h.q = into_heads(b, p->q, h.q, t->heads, d);
    h.k = into_heads(b, p->k, h.k, t->kv_heads, d);
    h.v = into_heads(b, p->v, h.v, t->kv_heads, d);
    return h;
}

static heads qkv_apart(cm__builder *b, const cm__stack *s, const char *const names[3], int32_t x, int32_t memory)
{
    const cm__transformer *t = s->t;
    int64_t d = t->head_dim;
    int32_t q = s->parts->linear(b, names[0], x, t->hidden, t->heads * d, t->qkv_bias);
    if (s->parts->scales_query)
        q = cm__b_binary(b, CM_OP_MUL, names[0], "scale", q, cm__b_scalar(b, 1 / sqrt((double)d)));
    heads h = {.q = into_heads(b, names[0], q, t->heads, d)};
    int32_t k = s->parts->linear(b, names[1], memory, t->hidden, t->kv_heads * d, t->qkv_bias);
    h.k = into_heads(b, names[1], k, t->kv_heads, d);
    int32_t v = s->parts->linear(b, names[2], memory, t->hidden, t->kv_heads * d, t->qkv_bias);
    h.v = into_heads(b, names[2], v, t->kv_heads, d);
    return h;
}

/* ---- rotary positions ------------------------------------------------------------------------------------------- */

/* x cos + rotate_half(x) sin over the first `width` dimensions of a head; the other dimensions are unchanged. */
static int32_t rotate(cm__builder *b, const cm__stack *s, const char *part, int32_t x)
{
    int64_t d = s->t->head_dim, width = (int64_t)((double)d * s->t->rotary), half = width / 2;
    int32_t rotated = width < d ? cm__b_slice(b, part, "rotated", x, 3, 0, width) : x;
    int32_t passed = width < d ? cm__b_slice(b, part, "passed", x, 3, width, d) : -1;
    int32_t straight = cm__b_binary(b, CM_OP_MUL, part, "cos", rotated, s->cos);
    int32_t low = cm__b_slice(b, part, "low", rotated, 3, 0, half);
    int32_t high = cm__b_slice(b, part, "high", rotated, 3, half, width);
    high = cm__b_unary(b, CM_OP_NEG, part, "neg", high);
    cm__attr last = CM__INTS(CM_ATTR_AXIS, 3);
    int32_t  y = cm__emit(b->g, CM_OP_CONCAT, cm__b_name(b, part, "half"), (int32_t[]){high, low}, 2, &last, 1);
    y = cm__b_binary(b, CM_OP_MUL, part, "sin", y, s->sin);
    y = cm__b_binary(b, CM_OP_ADD, part, "sum", straight, y);
    if (passed < 0) return y;
    return cm__emit(b->g, CM_OP_CONCAT, cm__b_name(b, part, "concat"), (int32_t[]){y, passed}, 2, &last, 1);
}

/* ---- attention -------------------------------------------------------------------------------------------------- */

static int32_t attend_fused(cm__builder *b, const cm__stack *s, const char *part, heads h)
{
    cm__attr attrs[4];
    int32_t  n = 0;
    int64_t  causal = 1;
    if (s->causal) attrs[n++] = (cm__attr){.key = CM_ATTR_CAUSAL, .count = 1, .ints = &causal};
    if (s->parts->scales_query) attrs[n++] = CM__REAL(CM_ATTR_SCALE, 1);
    if (s->t->attention_dropout > 0) attrs[n++] = CM__REAL(CM_ATTR_DROPOUT, s->t->attention_dropout);
    if (s->t->window) attrs[n++] = (cm__attr){.key = CM_ATTR_WINDOW, .count = 1, .ints = &s->t->window};
    return cm__emit(b->g, CM_OP_ATTENTION, cm__b_name(b, part, "sdpa"), (int32_t[]){h.q, h.k, h.v}, 3, attrs, n);
}

static int32_t attend_written(cm__builder *b, const cm__stack *s, const char *part, heads h, int32_t bias)
{
    cm__attr last = CM__INTS(CM_ATTR_AXIS, -1);
    int32_t  k = cm__b_transpose(b, part, "keys", h.k, 4, (int64_t[]){0, 1, 3, 2});
    int32_t  y = cm__b_binary(b, CM_OP_MATMUL, part, "scores", h.q, k);
    y = cm__b_binary(b, CM_OP_ADD, part, "bias", y, bias);
    y = cm__b_attr(b, CM_OP_SOFTMAX, part, "softmax", y, last);
    if (s->t->attention_dropout > 0)
        y = cm__b_attr(b, CM_OP_DROPOUT, part, "dropout", y, CM__REAL(CM_ATTR_RATIO, s->t->attention_dropout));
    return cm__b_binary(b, CM_OP_MATMUL, part, "context", y, h.v);
}

static int32_t out_of_heads(cm__builder *b, const cm__stack *s, const char *part, const char *out, int32_t y)
{
    int64_t inner = s->t->heads * s->t->head_dim;
    y = cm__b_transpose(b, part, "merge", y, 4, (int64_t[]){0, 2, 1, 3});
    y = cm__b_reshape(b, part, "merged", y, 3, (int64_t[]){0, 0, inner});
    return s->parts->linear(b, out, y, inner, s->t->hidden, s->t->out_bias);
}

static int32_t self_attention(cm__builder *b, const cm__stack *s, int32_t x)
{
    const cm__parts *p = s->parts;
    heads h = p->fused ? qkv_fused(b, s, x) : qkv_apart(b, s, (const char *[]){p->q, p->k, p->v}, x, x);
    if (s->cos >= 0) {
        h.q = rotate(b, s, p->q, h.q);
        h.k = rotate(b, s, p->k, h.k);
    }
    int32_t y = p->scores_written ? attend_written(b, s, p->attention, h, s->bias)
                                  : attend_fused(b, s, p->attention, h);
    y = out_of_heads(b, s, p->attention, p->out, y);
    return p->no_out_dropout ? y : cm__b_dropout(b, "attention_dropout", y, s->t->dropout);
}

static int32_t cross_attention(cm__builder *b, const cm__stack *s, int32_t x)
{
    const cm__parts *p = s->parts;
    heads   h = qkv_apart(b, s, (const char *[]){p->cross_q, p->cross_k, p->cross_v}, x, s->memory);
    int32_t y = attend_written(b, s, p->cross, h, s->cross_bias);
    y = out_of_heads(b, s, p->cross, p->cross_out, y);
    return cm__b_dropout(b, "cross_dropout", y, s->t->dropout);
}

/* ---- feed-forward ----------------------------------------------------------------------------------------------- */

static int32_t feed_forward(cm__builder *b, const cm__stack *s, int32_t x)
{
    const cm__transformer *t = s->t;
    const cm__parts       *p = s->parts;
    const char *first = t->gated ? p->gate : p->ungated ? p->ungated : p->up;
    int32_t     y = p->linear(b, first, x, t->hidden, t->ffn, t->mlp_bias);
    y = cm__b_activation(b, p->act, y, t->activation);
    if (t->gated) {
        int32_t up = p->linear(b, p->up, x, t->hidden, t->ffn, t->mlp_bias);
        y = cm__b_binary(b, CM_OP_MUL, p->act, "gate", y, up);
    }
    if (p->inner_dropout) y = cm__b_dropout(b, "inner_dropout", y, t->dropout);
    return p->linear(b, p->down, y, t->ffn, t->hidden, t->mlp_bias);
}

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
    int32_t  y = cm__b_linear(b, "gate", tokens, t->hidden, t->experts, false);
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

static int32_t expert_product(cm__builder *b, const char *part, int32_t x, int64_t experts, int64_t in, int64_t out)
{
    int32_t w = cm__b_parameter(b, part, "weight", 3, (int64_t[]){experts, in, out});
    return cm__b_binary(b, CM_OP_MATMUL, part, NULL, x, w);
}

/* Gather the tokens of each expert, run three batched products, then scatter back, weighted and summed. */
static int32_t mixture(cm__builder *b, const cm__transformer *t, int32_t x)
{
    int32_t tokens = cm__b_reshape(b, "tokens", NULL, x, 2, (int64_t[]){-1, t->hidden});
    routes  r = route(b, t, tokens);
    int32_t in = gather(b, "experts.dispatch", tokens, r.dispatch);
    int32_t y = expert_product(b, "experts.w1", in, t->experts, t->hidden, t->ffn);
    y = cm__b_activation(b, "experts.act", y, t->activation);
    int32_t up = expert_product(b, "experts.w3", in, t->experts, t->hidden, t->ffn);
    y = cm__b_binary(b, CM_OP_MUL, "experts.gate", NULL, y, up);
    y = expert_product(b, "experts.w2", y, t->experts, t->ffn, t->hidden);
    y = cm__b_reshape(b, "experts.flat", NULL, y, 2, (int64_t[]){-1, t->hidden});
    y = gather(b, "experts.combine", y, r.experts);
    y = cm__b_binary(b, CM_OP_MUL, "experts.weigh", NULL, y, r.weights);
    cm__attr sum[] = {CM__INTS(CM_ATTR_AXES, 1), CM__INTS(CM_ATTR_KEEPDIMS, 0)};
    y = cm__emit(b->g, CM_OP_REDUCE_SUM, cm__b_name(b, "experts.sum", NULL), &y, 1, sum, 2);
    return cm__b_reshape(b, "experts.out", NULL, y, 3, (int64_t[]){-1, t->seq, t->hidden});
}

static int32_t mlp(cm__builder *b, const cm__stack *s, int32_t x)
{
    int32_t y;
    if (s->t->experts) {
        char layer[sizeof b->scope];
        memcpy(layer, b->scope, sizeof layer);
        cm__b_scope(b, "%s.%s", layer, s->parts->gate);
        y = mixture(b, s->t, x);
        memcpy(b->scope, layer, sizeof layer);
    } else {
        y = feed_forward(b, s, x);
    }
    return cm__b_dropout(b, "mlp_dropout", y, s->t->dropout);
}

/* ---- the layer -------------------------------------------------------------------------------------------------- */

static int32_t add(cm__builder *b, const char *part, int32_t x, int32_t y)
{
    return cm__b_binary(b, CM_OP_ADD, part, NULL, x, y);
}

static int32_t pre_norm(cm__builder *b, const cm__stack *s, int32_t x)
{
    const cm__parts *p = s->parts;
    int32_t y = self_attention(b, s, cm__norm(b, s->t, p->norm1, x));
    if (s->t->parallel) {
        int32_t m = mlp(b, s, cm__norm(b, s->t, p->norm2, x));
        return add(b, "residual", add(b, "parallel", m, y), x);
    }
    x = add(b, "residual1", x, y);
    if (s->memory >= 0) x = add(b, "residual_cross", x, cross_attention(b, s, cm__norm(b, s->t, p->cross_norm, x)));
    return add(b, "residual2", x, mlp(b, s, cm__norm(b, s->t, p->norm2, x)));
}

static int32_t post_norm(cm__builder *b, const cm__stack *s, int32_t x)
{
    x = cm__norm(b, s->t, s->parts->norm1, add(b, "residual1", self_attention(b, s, x), x));
    return cm__norm(b, s->t, s->parts->norm2, add(b, "residual2", mlp(b, s, x), x));
}

int32_t cm__layer(cm__builder *b, const cm__stack *s, int32_t x)
{
    return s->t->pre_norm ? pre_norm(b, s, x) : post_norm(b, s, x);
}
