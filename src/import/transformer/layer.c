/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layer.c - one layer of any transformer: attention, feed-forward network or experts, norms, residuals.
 *
 * B batch, S sequence, H heads, K key/value heads, d head dimension, h hidden, E experts. Sequences are [B, S, h],
 * heads [B, H, S, d].
 */
#include "import/transformer/layer.h"

#include <math.h>
#include <string.h>
#include "import/transformer/parts.h"

int32_t cm__norm(cm__builder *b, const cm__transformer *t, const char *part, int32_t x)
{
    return t->norm == CM__NORM_RMS ? cm__b_rms_norm(b, part, x, t->hidden) : cm__b_layer_norm(b, part, x, t->hidden);
}

/* ---- queries, keys, values -------------------------------------------------------------------------------------- */

typedef cm__heads heads;

int32_t cm__into_heads(cm__builder *b, const char *part, int32_t x, int64_t count, int64_t dim)
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
        return split3(b, p->qkv, cm__into_heads(b, p->qkv, all, t->heads, 3 * d), 3, (int64_t[]){d, d, d});
    heads h = split3(b, p->qkv, all, 2, (int64_t[]){q, kv, kv});
    h.q = cm__into_heads(b, p->q, h.q, t->heads, d);
    h.k = cm__into_heads(b, p->k, h.k, t->kv_heads, d);
    h.v = cm__into_heads(b, p->v, h.v, t->kv_heads, d);
    return h;
}

static heads qkv_apart(cm__builder *b, const cm__stack *s, const char *const names[3], int32_t x, int32_t memory)
{
    const cm__transformer *t = s->t;
    int64_t d = t->head_dim;
    int32_t q = s->parts->linear(b, names[0], x, t->hidden, t->heads * d, t->qkv_bias);
    if (s->parts->scales_query)
        q = cm__b_binary(b, CM_OP_MUL, names[0], "scale", q, cm__b_scalar(b, 1 / sqrt((double)d)));
    heads h = {.q = cm__into_heads(b, names[0], q, t->heads, d)};
    bool    key_bias = t->qkv_bias && !s->parts->no_key_bias;
    int32_t k = s->parts->linear(b, names[1], memory, t->hidden, t->kv_heads * d, key_bias);
    h.k = cm__into_heads(b, names[1], k, t->kv_heads, d);
    int32_t v = s->parts->linear(b, names[2], memory, t->hidden, t->kv_heads * d, t->qkv_bias);
    h.v = cm__into_heads(b, names[2], v, t->kv_heads, d);
    return h;
}

/* ---- rotary positions ------------------------------------------------------------------------------------------- */

int32_t cm__rotate(cm__builder *b, const cm__stack *s, const char *part, int32_t x)
{
    int64_t d = cm__t(b->g, x)->dims[3].fixed, width = cm__rotated_width(s->t), half = width / 2;
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

static int32_t attend_over(cm__builder *b, const cm__stack *s, const char *part, heads h, bool causal_mask)
{
    cm__attr attrs[4];
    int32_t  n = 0;
    int64_t  causal = 1;
    if (causal_mask) attrs[n++] = (cm__attr){.key = CM_ATTR_CAUSAL, .count = 1, .ints = &causal};
    if (s->parts->scales_query) attrs[n++] = CM__REAL(CM_ATTR_SCALE, 1);
    if (s->t->attention_dropout > 0) attrs[n++] = CM__REAL(CM_ATTR_DROPOUT, s->t->attention_dropout);
    bool full = s->t->full_every && (s->index + 1) % s->t->full_every == 0;
    if (s->t->window && !full) attrs[n++] = (cm__attr){.key = CM_ATTR_WINDOW, .count = 1, .ints = &s->t->window};
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

/* gate: of the same shape as the merged heads, or -1. */
static int32_t out_of_heads(cm__builder *b, const cm__stack *s, const char *part, const char *out, int32_t y,
                            int32_t gate)
{
    int64_t inner = s->t->heads * s->t->v_dim;
    y = cm__b_transpose(b, part, "merge", y, 4, (int64_t[]){0, 2, 1, 3});
    y = cm__b_reshape(b, part, "merged", y, 3, (int64_t[]){0, 0, inner});
    if (gate >= 0)
        y = cm__b_binary(b, CM_OP_MUL, part, "gated", y, cm__b_unary(b, CM_OP_SIGMOID, part, "sigmoid", gate));
    return s->parts->linear(b, out, y, inner, s->t->hidden, s->t->out_bias);
}

/* A step of generation appends to the stored keys or values. */
static int32_t after_past(cm__builder *b, const cm__stack *s, const char *part, int32_t x)
{
    const cm_tensor *t = cm__t(b->g, x);
    cm_dim           dims[] = {t->dims[0], t->dims[1], cm__fixed(s->t->past), t->dims[3]};
    int32_t          past = cm__leaf(b->g, cm__b_name(b, part, NULL), CM_ROLE_BUFFER, CM_FP32, 4, dims);
    cm__attr         tokens = CM__INTS(CM_ATTR_AXIS, 2);
    return cm__emit(b->g, CM_OP_CONCAT, cm__b_name(b, part, "append"), (int32_t[]){past, x}, 2, &tokens, 1);
}

static int32_t self_attention(cm__builder *b, const cm__stack *s, int32_t x)
{
    const cm__parts *p = s->parts;
    heads h = s->t->kv_rank ? cm__latent(b, s, x)
              : p->fused    ? qkv_fused(b, s, x)
                            : qkv_apart(b, s, (const char *[]){p->q, p->k, p->v}, x, x);
    if (s->t->qk_norm) {
        h.q = cm__b_rms_norm(b, "self_attn.q_norm", h.q, s->t->head_dim);
        h.k = cm__b_rms_norm(b, "self_attn.k_norm", h.k, s->t->head_dim);
    }
    if (s->cos >= 0 && !s->t->kv_rank) {
        h.q = cm__rotate(b, s, p->q, h.q);
        h.k = cm__rotate(b, s, p->k, h.k);
    }
    if (s->t->past) {
        h.k = after_past(b, s, "past_keys", h.k);
        h.v = after_past(b, s, "past_values", h.v);
    }
    int32_t y = p->scores_written ? attend_written(b, s, p->attention, h, s->bias)
                                  : attend_over(b, s, p->attention, h, s->causal && !s->t->past);
    int32_t gate = -1; /* Qwen 3 Next computes it with the queries, in one product */
    if (s->t->query_gate)
        gate = p->linear(b, "self_attn.q_gate", x, s->t->hidden, s->t->heads * s->t->head_dim, s->t->qkv_bias);
    y = out_of_heads(b, s, p->attention, p->out, y, gate);
    return p->no_out_dropout ? y : cm__b_dropout(b, "attention_dropout", y, s->t->dropout);
}

static int32_t cross_attention(cm__builder *b, const cm__stack *s, int32_t x)
{
    const cm__parts *p = s->parts;
    heads   h = qkv_apart(b, s, (const char *[]){p->cross_q, p->cross_k, p->cross_v}, x, s->memory);
    int32_t y = p->scores_written ? attend_written(b, s, p->cross, h, s->cross_bias)
                                  : attend_over(b, s, p->cross, h, false);
    y = out_of_heads(b, s, p->cross, p->cross_out, y, -1);
    return cm__b_dropout(b, "cross_dropout", y, s->t->dropout);
}

/* ---- feed-forward ----------------------------------------------------------------------------------------------- */

/* Gate and up as one product, whose halves are views: Phi-3. */
static int32_t gate_and_up(cm__builder *b, const cm__stack *s, int32_t x)
{
    const cm__transformer *t = s->t;
    int32_t both = cm__b_linear(b, s->parts->up, x, t->hidden, 2 * t->ffn, t->mlp_bias);
    int32_t gate = cm__b_slice(b, s->parts->up, "gate", both, 2, 0, t->ffn);
    int32_t up = cm__b_slice(b, s->parts->up, "up", both, 2, t->ffn, 2 * t->ffn);
    gate = cm__b_activation(b, s->parts->act, gate, t->activation);
    return cm__b_binary(b, CM_OP_MUL, s->parts->act, "gate", up, gate);
}

static int32_t feed_forward(cm__builder *b, const cm__stack *s, int32_t x)
{
    const cm__transformer *t = s->t;
    const cm__parts       *p = s->parts;
    if (p->gate_in_up && t->gated)
        return cm__b_linear(b, p->down, gate_and_up(b, s, x), t->ffn, t->hidden, t->mlp_bias);
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

static bool has_experts(const cm__stack *s)
{
    int64_t every = s->t->expert_every > 0 ? s->t->expert_every : 1;
    if (cm__layer_kind_of(s->t, s->index).dense) return false;
    return s->t->experts && s->index >= s->t->dense_layers && (s->index + 1) % every == 0;
}

static int32_t mlp(cm__builder *b, const cm__stack *s, int32_t x)
{
    int32_t y;
    if (has_experts(s)) {
        char layer[sizeof b->scope];
        memcpy(layer, b->scope, sizeof layer);
        cm__b_scope(b, "%s.%s", layer, s->parts->experts);
        y = cm__mixture(b, s->t, x);
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

/* Operators on a branch before it is added: a norm (Gemma 2), or a learned scale of each channel (DINOv2). */
static int32_t after(cm__builder *b, const cm__stack *s, const char *norm, const char *scale, int32_t y)
{
    if (s->t->sandwich && norm) y = cm__norm(b, s->t, norm, y);
    if (!scale) return y;
    int32_t weight = cm__b_parameter(b, scale, "lambda1", 1, &s->t->hidden);
    return cm__b_binary(b, CM_OP_MUL, scale, NULL, y, weight);
}

static int32_t pre_norm(cm__builder *b, const cm__stack *s, int32_t x)
{
    const cm__parts *p = s->parts;
    int32_t in = cm__norm(b, s->t, p->norm1, x), y = self_attention(b, s, in);
    if (s->t->parallel) {
        int32_t m = mlp(b, s, p->norm2 ? cm__norm(b, s->t, p->norm2, x) : in);
        return add(b, "residual", add(b, "parallel", m, y), x);
    }
    x = add(b, "residual1", x, after(b, s, p->after1, p->scale1, y));
    if (s->memory >= 0) x = add(b, "residual_cross", x, cross_attention(b, s, cm__norm(b, s->t, p->cross_norm, x)));
    const char *norm2 = s->t->sandwich && p->before2 ? p->before2 : p->norm2;
    y = mlp(b, s, cm__norm(b, s->t, norm2, x));
    return add(b, "residual2", x, after(b, s, p->after2, p->scale2, y));
}

static int32_t post_norm(cm__builder *b, const cm__stack *s, int32_t x)
{
    x = cm__norm(b, s->t, s->parts->norm1, add(b, "residual1", self_attention(b, s, x), x));
    return cm__norm(b, s->t, s->parts->norm2, add(b, "residual2", mlp(b, s, x), x));
}

/* Attention and a state space read the same norm and are added. A network is a residual branch of its own. */
static int32_t hybrid(cm__builder *b, const cm__stack *s, int32_t x)
{
    const cm__parts *p = s->parts;
    cm__layer_kind   kind = cm__layer_kind_of(s->t, s->index);
    bool             mixes = kind.attention || kind.state;
    int32_t          in = cm__norm(b, s->t, p->norm1, x);
    int32_t          y = kind.attention ? self_attention(b, s, in) : -1;
    if (kind.state) {
        int32_t z = cm__state_space(b, s->t, in);
        y = y < 0 ? z : add(b, "mixed", y, z);
    }
    if (mixes) x = add(b, "residual1", x, y);
    if (!kind.network) return x;
    return add(b, "residual2", x, mlp(b, s, mixes ? cm__norm(b, s->t, p->norm2, x) : in));
}

int32_t cm__layer(cm__builder *b, const cm__stack *s, int32_t x)
{
    if (s->t->family == CM__HYBRID) return hybrid(b, s, x);
    return s->t->pre_norm ? pre_norm(b, s, x) : post_norm(b, s, x);
}
