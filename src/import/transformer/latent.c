/* SPDX-License-Identifier: Apache-2.0 */
/*
 * latent.c - multi-head latent attention (DeepSeek-V2, arXiv:2405.04434): keys and values come from one
 * narrow vector per token.
 *
 * B batch, S sequence, H heads; a head has `nope_dim` dimensions without and `rope_dim` with positions. The part of the
 * keys with positions is shared by all heads.
 */
#include "import/transformer/parts.h"

typedef struct halves {
    int32_t first, second;
} halves;

static halves split2(cm__builder *b, const char *part, int32_t x, int64_t axis, int64_t first, int64_t second)
{
    int64_t  widths[] = {first, second};
    cm__attr attrs[] = {CM__INTS(CM_ATTR_AXIS, axis), {.key = CM_ATTR_SPLIT, .count = 2, .ints = widths}};
    const cm_node *n = cm__emit_node(b->g, CM_OP_SPLIT, cm__b_name(b, part, "split"), &x, 1, attrs, 2, 2);
    return (halves){n->outputs[0], n->outputs[1]};
}

static int32_t joined(cm__builder *b, const char *part, int32_t x, int32_t y)
{
    cm__attr last = CM__INTS(CM_ATTR_AXIS, 3);
    return cm__emit(b->g, CM_OP_CONCAT, cm__b_name(b, part, "concat"), (int32_t[]){x, y}, 2, &last, 1);
}

static int32_t queries(cm__builder *b, const cm__stack *s, int32_t x)
{
    const cm__transformer *t = s->t;
    int64_t width = t->heads * t->head_dim;
    int32_t y;
    if (t->q_rank) {
        y = cm__b_linear(b, "self_attn.q_a_proj", x, t->hidden, t->q_rank, t->qkv_bias);
        y = cm__b_rms_norm(b, "self_attn.q_a_layernorm", y, t->q_rank);
        y = cm__b_linear(b, "self_attn.q_b_proj", y, t->q_rank, width, false);
    } else {
        y = cm__b_linear(b, "self_attn.q_proj", x, t->hidden, width, false);
    }
    y = cm__into_heads(b, "self_attn.q", y, t->heads, t->head_dim);
    halves q = split2(b, "self_attn.q", y, 3, t->nope_dim, t->rope_dim);
    return joined(b, "self_attn.q", q.first, cm__rotate(b, s, "self_attn.q_rope", q.second));
}

/* [B, 1, S, rope] for all heads. */
static int32_t for_all_heads(cm__builder *b, const cm__transformer *t, int32_t x)
{
    cm_graph *g = b->g;
    int32_t   shape = cm__leaf(g, cm__b_name(b, "self_attn.k_rope", "shape"), CM_ROLE_CONSTANT, CM_INT64, 1,
                               (cm_dim[]){{0, 4}});
    cm__num  *value = cm__alloc_array(g->ctx, 4, sizeof *value);
    value[0].i = (cm_dim){1, 0};
    value[1].i = cm__fixed(t->heads);
    value[2].i = cm__fixed(t->seq);
    value[3].i = cm__fixed(t->rope_dim);
    cm__t(g, shape)->value = value;
    return cm__b_binary(b, CM_OP_EXPAND, "self_attn.k_rope", "expand", x, shape);
}

cm__heads cm__latent(cm__builder *b, const cm__stack *s, int32_t x)
{
    const cm__transformer *t = s->t;
    cm__heads h = {.q = queries(b, s, x)};
    int32_t   y = cm__b_linear(b, "self_attn.kv_a_proj_with_mqa", x, t->hidden, t->kv_rank + t->rope_dim, t->qkv_bias);
    halves    c = split2(b, "self_attn.kv_a_proj_with_mqa", y, 2, t->kv_rank, t->rope_dim);
    y = cm__b_rms_norm(b, "self_attn.kv_a_layernorm", c.first, t->kv_rank);
    y = cm__b_linear(b, "self_attn.kv_b_proj", y, t->kv_rank, t->heads * (t->nope_dim + t->v_dim), false);
    y = cm__into_heads(b, "self_attn.kv", y, t->heads, t->nope_dim + t->v_dim);
    halves  kv = split2(b, "self_attn.kv", y, 3, t->nope_dim, t->v_dim);
    int32_t rope = cm__into_heads(b, "self_attn.k_rope", c.second, 1, t->rope_dim);
    rope = cm__rotate(b, s, "self_attn.k_rope", rope);
    h.k = joined(b, "self_attn.k", kv.first, for_all_heads(b, t, rope));
    h.v = kv.second;
    return h;
}
