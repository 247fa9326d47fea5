/* SPDX-License-Identifier: Apache-2.0 */
/*
 * build.c - a whole transformer: embeddings, stacks of layers, head.
 *
 * Emits the operators that Hugging Face's eager PyTorch code runs. Parameters have its names.
 */
#include <math.h>
#include "import/transformer/model.h"

typedef cm__model model;

/* ---- embeddings ------------------------------------------------------------------------------------------------- */

int32_t cm__m_tokens(model *m, const char *name, cm_role role, cm_dim rows)
{
    return cm__leaf(m->b.g, name, role, CM_INT64, 2, (cm_dim[]){rows, cm__fixed(m->t->seq)});
}

int32_t cm__m_lookup(model *m, const char *part, int32_t table, int32_t ids)
{
    cm__attr first = CM__INTS(CM_ATTR_AXIS, 0);
    return cm__emit(m->b.g, CM_OP_GATHER, part, (int32_t[]){table, ids}, 2, &first, 1);
}

static int32_t embedding(model *m, const char *part, int64_t rows, int64_t width, int32_t ids)
{
    int32_t table = cm__b_parameter(&m->b, part, "weight", 2, (int64_t[]){rows, width});
    return cm__m_lookup(m, part, table, ids);
}

static int32_t whole(model *m, const char *name, double value)
{
    return cm__constant_scalar(m->b.g, name, CM_INT64, value);
}

/* Padding tokens have no position: (cumsum(mask) * mask) and an offset. */
static int32_t count_positions(model *m, int32_t mask, int op, double shift)
{
    cm__builder *b = &m->b;
    int32_t      axis = whole(m, "position_ids.axis", 1);
    int32_t      y = cm__b_binary(b, CM_OP_CUM_SUM, "position_ids", "cumsum", mask, axis);
    y = cm__b_binary(b, CM_OP_MUL, "position_ids", "mask", y, mask);
    return cm__b_binary(b, op, "position_ids", "shift", y, whole(m, "position_ids.amount", shift));
}

static int32_t position_ids(model *m, int32_t ids)
{
    cm__builder *b = &m->b;
    if (m->o->ids == CM__IDS_FROM_MASK) { /* minus one, to count from 0, plus the offset */
        int32_t mask = cm__m_tokens(m, "attention_mask", CM_ROLE_INPUT, (cm_dim){1, 0});
        int32_t y = count_positions(m, mask, CM_OP_SUB, 1);
        int32_t rows = whole(m, "position_ids.rows", (double)m->o->offset);
        return cm__b_binary(b, CM_OP_ADD, "position_ids", "offset", y, rows);
    }
    if (m->o->ids == CM__IDS_BUFFER) return cm__m_tokens(m, "position_ids", CM_ROLE_BUFFER, cm__fixed(1));
    int32_t padding = whole(m, "padding_idx", 1);
    int32_t mask = cm__b_binary(b, CM_OP_EQUAL, "position_ids", "padding", ids, padding);
    mask = cm__b_unary(b, CM_OP_NOT, "position_ids", "tokens", mask);
    mask = cm__b_attr(b, CM_OP_CAST, "position_ids", "int", mask, CM__INTS(CM_ATTR_TO, CM_INT64));
    return count_positions(m, mask, CM_OP_ADD, 1);
}

/* In BERT's order: words, types, positions, norm, dropout. */
static int32_t embed_tokens(model *m)
{
    const cm__transformer *t = m->t;
    cm__builder           *b = &m->b;
    int32_t ids = m->ids = cm__m_tokens(m, "input_ids", CM_ROLE_INPUT, (cm_dim){1, 0});
    m->tokens = cm__b_parameter(b, m->o->tokens, "weight", 2, (int64_t[]){t->vocab, t->embed});
    int32_t x = cm__m_lookup(m, m->o->tokens, m->tokens, ids);
    if (t->embed != t->hidden) x = cm__b_linear(b, m->o->project_in, x, t->embed, t->hidden, false);
    if (t->types) {
        int32_t types = cm__m_tokens(m, "token_type_ids", CM_ROLE_INPUT, (cm_dim){1, 0});
        x = cm__b_binary(b, CM_OP_ADD, "embeddings", "types", x, embedding(m, m->o->types, t->types, t->hidden, types));
    }
    if (t->position == CM__POSITION_LEARNED) {
        int32_t where = position_ids(m, ids);
        int32_t p = embedding(m, m->o->positions, t->positions + m->o->offset, t->hidden, where);
        x = cm__b_binary(b, CM_OP_ADD, "embeddings", "positions", x, p);
    }
    if (t->scaled) x = cm__b_binary(b, CM_OP_MUL, "embeddings", "scale", x, cm__b_scalar(b, sqrt((double)t->hidden)));
    if (m->o->embed_norm) x = cm__norm(b, t, m->o->embed_norm, x);
    return cm__b_dropout(b, "embeddings.dropout", x, t->embed_dropout);
}

static const char *of_image(model *m, const char *part)
{
    return cm__format(m->b.g->ctx, "%s.%s", m->o->image, part);
}

/* [1, 1, h] -> [B, 1, h] */
static int32_t class_token(model *m)
{
    cm_graph *g = m->b.g;
    int32_t   token = cm__parameter(g, of_image(m, "cls_token"), 3, (int64_t[]){1, 1, m->t->hidden});
    int32_t   shape = cm__leaf(g, of_image(m, "cls_shape"), CM_ROLE_CONSTANT, CM_INT64, 1, (cm_dim[]){{0, 3}});
    cm__num  *value = cm__alloc_array(g->ctx, 3, sizeof *value);
    value[0].i = (cm_dim){1, 0};
    value[1].i = cm__fixed(1);
    value[2].i = cm__fixed(m->t->hidden);
    cm__t(g, shape)->value = value;
    return cm__b_binary(&m->b, CM_OP_EXPAND, of_image(m, "cls_token"), "expand", token, shape);
}

int32_t cm__m_image(model *m)
{
    const cm__transformer *t = m->t;
    cm__builder           *b = &m->b;
    const char *conv = of_image(m, "patch_embeddings.projection");
    bool        biased = t->family != CM__CLIP;
    cm_dim   dims[] = {{1, 0}, cm__fixed(t->channels), cm__fixed(t->image), cm__fixed(t->image)};
    int32_t  x = cm__leaf(b->g, "pixel_values", CM_ROLE_INPUT, CM_FP32, 4, dims);
    int32_t  w = cm__b_parameter(b, conv, "weight", 4, (int64_t[]){t->hidden, t->channels, t->patch, t->patch});
    int32_t  c = biased ? cm__b_parameter(b, conv, "bias", 1, &t->hidden) : -1;
    cm__attr stride = CM__INTS(CM_ATTR_STRIDES, t->patch, t->patch);
    x = cm__emit(b->g, CM_OP_CONV, conv, (int32_t[]){x, w, c}, biased ? 3 : 2, &stride, 1);
    x = cm__b_reshape(b, conv, "flatten", x, 3, (int64_t[]){0, t->hidden, t->seq - 1});
    x = cm__b_transpose(b, conv, "transpose", x, 3, (int64_t[]){0, 2, 1});
    cm__attr axis = CM__INTS(CM_ATTR_AXIS, 1);
    x = cm__emit(b->g, CM_OP_CONCAT, of_image(m, "concat"), (int32_t[]){class_token(m), x}, 2, &axis, 1);
    int32_t p = cm__parameter(b->g, of_image(m, "position_embeddings"), 3, (int64_t[]){1, t->seq, t->hidden});
    x = cm__b_binary(b, CM_OP_ADD, m->o->image, "positions", x, p);
    return cm__b_dropout(b, of_image(m, "dropout"), x, t->embed_dropout);
}

static int32_t embed(model *m)
{
    if (m->o->image) return cm__m_image(m);
    if (m->t->vocab) return embed_tokens(m);
    cm_dim dims[] = {{1, 0}, cm__fixed(m->t->seq), cm__fixed(m->t->hidden)};
    return cm__leaf(m->b.g, "hidden_states", CM_ROLE_INPUT, CM_FP32, 3, dims);
}

/* ---- stacks ----------------------------------------------------------------------------------------------------- */

int32_t cm__m_layers(model *m, const cm__stack *s, int64_t layers, int32_t x)
{
    for (int32_t i = 0; i < layers; i++) {
        m->b.g->block = m->next_block++;
        cm__b_scope(&m->b, s->parts->layer, i);
        cm__stack at = *s;
        at.index = i;
        x = cm__layer(&m->b, &at, x);
    }
    m->b.g->block = -1;
    cm__b_scope(&m->b, "%s", "");
    return x;
}

static int32_t rotary_buffer(model *m, const char *name)
{
    cm_dim dims[] = {cm__fixed(1), cm__fixed(1), cm__fixed(m->t->seq), cm__fixed(cm__rotated_width(m->t))};
    return cm__leaf(m->b.g, name, CM_ROLE_BUFFER, CM_FP32, 4, dims);
}

static int32_t single_stack(model *m)
{
    int32_t   x = embed(m);
    cm__stack s = {.t = m->t, .parts = &m->o->parts, .causal = m->t->causal, .cos = -1, .sin = -1, .bias = -1,
                   .cross_bias = -1, .memory = -1};
    if (m->t->position == CM__POSITION_ROTARY) {
        s.cos = rotary_buffer(m, "rotary_emb.cos");
        s.sin = rotary_buffer(m, "rotary_emb.sin");
    }
    x = cm__m_layers(m, &s, m->t->layers, x);
    bool bare = !m->t->vocab && !m->o->image;
    bool normed = m->o->final_norm && m->t->pre_norm && !bare;
    if (m->t->mtp && !bare) return cm__m_further(m, &s, x);
    return normed ? cm__norm(&m->b, m->t, m->o->final_norm, x) : x;
}

/* ---- encoder and decoder: T5 ------------------------------------------------------------------------------------- */

static int32_t scores_leaf(model *m, const char *name, int64_t heads)
{
    cm_dim dims[] = {cm__fixed(1), cm__fixed(heads), cm__fixed(m->t->seq), cm__fixed(m->t->seq)};
    return cm__leaf(m->b.g, name, CM_ROLE_BUFFER, CM_FP32, 4, dims);
}

/* 1 for tokens, 0 for padding -> 0 and a large negative number, [B, 1, 1, S] */
static int32_t padding_mask(model *m, const char *name)
{
    cm__builder *b = &m->b;
    cm_dim       dims[] = {{1, 0}, cm__fixed(m->t->seq)};
    int32_t      y = cm__leaf(b->g, name, CM_ROLE_INPUT, CM_FP32, 2, dims);
    y = cm__b_attr(b, CM_OP_UNSQUEEZE, name, "extend", y, CM__INTS(CM_ATTR_AXES, 1, 2));
    y = cm__b_binary(b, CM_OP_SUB, name, "invert", cm__b_scalar(b, 1), y);
    return cm__b_binary(b, CM_OP_MUL, name, "lowest", y, cm__b_scalar(b, -3.4028235e38));
}

/* T5's position bias, a table over buckets of distances: computed once per stack, used by all layers: [B, H, S, S]. */
static int32_t relative_bias(model *m, const char *part, int32_t mask)
{
    cm__builder *b = &m->b;
    cm_dim       dims[] = {cm__fixed(m->t->seq), cm__fixed(m->t->seq)};
    int32_t      distance = cm__leaf(b->g, cm__b_name(b, part, "buckets"), CM_ROLE_BUFFER, CM_INT64, 2, dims);
    int32_t      x = embedding(m, part, m->t->buckets, m->t->heads, distance);
    x = cm__b_transpose(b, part, "transpose", x, 3, (int64_t[]){2, 0, 1});
    x = cm__b_attr(b, CM_OP_UNSQUEEZE, part, "unsqueeze", x, CM__INTS(CM_ATTR_AXES, 0));
    return cm__b_binary(b, CM_OP_ADD, part, "mask", x, mask);
}

static int32_t t5_stack(model *m, cm__stack *s, const char *stack, int64_t layers, int32_t ids)
{
    cm__builder *b = &m->b;
    const char  *norm = cm__format(b->g->ctx, "%s.final_layer_norm", stack);
    int32_t      x = cm__m_lookup(m, cm__format(b->g->ctx, "%s.embed_tokens", stack), m->tokens, ids);
    x = cm__b_dropout(b, cm__format(b->g->ctx, "%s.embed_dropout", stack), x, m->t->embed_dropout);
    x = cm__m_layers(m, s, layers, x);
    x = cm__norm(b, m->t, norm, x);
    return cm__b_dropout(b, cm__format(b->g->ctx, "%s.dropout", stack), x, m->t->dropout);
}

static int32_t encoder_decoder(model *m)
{
    const cm__transformer *t = m->t;
    cm__builder           *b = &m->b;
    cm__stack s = {.t = t, .parts = &m->o->parts, .cos = -1, .sin = -1, .memory = -1, .cross_bias = -1};
    int32_t   ids = cm__m_tokens(m, "input_ids", CM_ROLE_INPUT, (cm_dim){1, 0});
    int32_t   targets = cm__m_tokens(m, "decoder_input_ids", CM_ROLE_INPUT, (cm_dim){1, 0});
    m->tokens = cm__b_parameter(b, m->o->tokens, "weight", 2, (int64_t[]){t->vocab, t->hidden});
    int32_t padding = padding_mask(m, "attention_mask");
    s.bias = relative_bias(m, "encoder.block.0.layer.0.SelfAttention.relative_attention_bias", padding);
    s.memory = t5_stack(m, &s, "encoder", t->layers, ids);
    int32_t later = padding_mask(m, "decoder_attention_mask");
    later = cm__b_binary(b, CM_OP_ADD, "decoder.causal_mask", NULL, scores_leaf(m, "decoder.causal", 1), later);
    s.bias = relative_bias(m, "decoder.block.0.layer.0.SelfAttention.relative_attention_bias", later);
    int32_t none = scores_leaf(m, "decoder.cross", t->heads);
    s.cross_bias = cm__b_binary(b, CM_OP_ADD, "decoder.cross_mask", NULL, none, padding);
    s.parts = &cm__t5_decoder;
    return t5_stack(m, &s, "decoder", t->decoder_layers, targets);
}

/* ---- heads ------------------------------------------------------------------------------------------------------ */

static int32_t vocabulary_weight(model *m, const char *part)
{
    if (m->t->tied) return m->tokens;
    return cm__b_parameter(&m->b, part, "weight", 2, (int64_t[]){m->t->vocab, m->t->embed});
}

/* c tanh(x / c) with Gemma 2's c = 30 */
static int32_t softcapped(model *m, int32_t x)
{
    x = cm__b_binary(&m->b, CM_OP_DIV, m->o->lm, "cap", x, cm__b_scalar(&m->b, 30));
    x = cm__b_unary(&m->b, CM_OP_TANH, m->o->lm, "tanh", x);
    return cm__b_binary(&m->b, CM_OP_MUL, m->o->lm, "uncap", x, cm__b_scalar(&m->b, 30));
}

static int32_t lm_head(model *m, int32_t x)
{
    const cm__transformer *t = m->t;
    if (t->embed != t->hidden) x = cm__b_linear(&m->b, m->o->project_out, x, t->hidden, t->embed, false);
    if (t->family == CM__T5 && t->tied)
        x = cm__b_binary(&m->b, CM_OP_MUL, m->o->lm, "scale", x, cm__b_scalar(&m->b, 1 / sqrt((double)t->hidden)));
    int32_t bias = m->o->lm_bias ? cm__b_parameter(&m->b, m->o->lm, "bias", 1, &t->vocab) : -1;
    x = cm__b_project(&m->b, m->o->lm, x, vocabulary_weight(m, m->o->lm), bias);
    return t->softcap ? softcapped(m, x) : x;
}

/* If the data marks the masked tokens, only those reach the head. Which ones they are does not affect the cost. */
static int32_t mlm_head(model *m, int32_t x)
{
    const cm__transformer *t = m->t;
    if (t->masked && t->masked < t->seq) x = cm__b_slice(&m->b, "masked", "tokens", x, 1, 0, t->masked);
    x = cm__b_linear(&m->b, m->o->mlm_dense, x, t->hidden, t->hidden, true);
    x = cm__b_activation(&m->b, cm__format(m->b.g->ctx, "%s.act", m->o->mlm_dense), x, t->activation);
    x = cm__norm(&m->b, t, m->o->mlm_norm, x);
    int32_t bias = cm__parameter(m->b.g, m->o->mlm_bias, 1, &t->vocab);
    return cm__b_project(&m->b, m->o->mlm_decoder, x, vocabulary_weight(m, m->o->mlm_decoder), bias);
}

int32_t cm__m_token(model *m, int32_t x, int64_t index)
{
    x = cm__b_slice(&m->b, "pooled", "token", x, 1, index, index + 1);
    return cm__b_attr(&m->b, CM_OP_SQUEEZE, "pooled", "squeeze", x, CM__INTS(CM_ATTR_AXES, 1));
}

static int32_t pooled(model *m, int32_t x)
{
    x = cm__b_linear(&m->b, m->o->pooler, cm__m_token(m, x, 0), m->t->hidden, m->t->hidden, true);
    return cm__b_unary(&m->b, CM_OP_TANH, m->o->pooler, "tanh", x);
}

/* The class token beside the mean of the patches: [B, 2 h] */
static int32_t token_and_mean(model *m, int32_t x)
{
    cm__attr mean[] = {CM__INTS(CM_ATTR_AXES, 1), CM__INTS(CM_ATTR_KEEPDIMS, 0)}, last = CM__INTS(CM_ATTR_AXIS, 1);
    int32_t  patches = cm__b_slice(&m->b, "pooled", "patches", x, 1, 1, m->t->seq);
    patches = cm__emit(m->b.g, CM_OP_REDUCE_MEAN, "pooled.mean", &patches, 1, mean, 2);
    return cm__emit(m->b.g, CM_OP_CONCAT, "pooled.concat", (int32_t[]){cm__m_token(m, x, 0), patches}, 2, &last, 1);
}

/* Decoders classify every token and keep the last result; other families pool the first token. */
static int32_t classifier_head(model *m, int32_t x)
{
    const cm__transformer *t = m->t;
    const cm__outline     *o = m->o;
    cm__builder           *b = &m->b;
    if (o->lm) return cm__m_token(m, cm__b_linear(b, o->classifier, x, t->hidden, t->labels, false), t->seq - 1);
    if (t->family == CM__DINOV2)
        return cm__b_linear(b, o->classifier, token_and_mean(m, x), 2 * t->hidden, t->labels, true);
    x = t->family == CM__BERT ? pooled(m, x) : cm__m_token(m, x, 0);
    if (o->pre_classifier) {
        if (t->family == CM__ROBERTA) x = cm__b_dropout(b, "classifier.dropout1", x, t->dropout);
        x = cm__b_linear(b, o->pre_classifier, x, t->hidden, t->hidden, true);
        x = cm__b_activation(b, "classifier.act", x, o->pre_classifier_act);
    }
    if (t->family != CM__VIT) x = cm__b_dropout(b, "classifier.dropout", x, t->dropout);
    return cm__b_linear(b, o->classifier, x, t->hidden, t->labels, true);
}

cm_graph *cm__transformer_build(cm__ctx *ctx, const cm__transformer *t, const char *name, const char *source)
{
    static int32_t (*const heads[])(model *, int32_t) = {
        [CM__HEAD_LM] = lm_head, [CM__HEAD_MLM] = mlm_head, [CM__HEAD_CLASSIFIER] = classifier_head};
    model m = {.t = t, .o = &cm__outlines[t->family], .b = {.g = cm__graph_new(ctx, name, source)}};
    m.b.g->block = -1;
    m.b.g->optimizer = CM_OPTIMIZER_ADAMW;
    int32_t x = t->family == CM__T5        ? encoder_decoder(&m)
                : t->family == CM__WHISPER ? cm__m_speech(&m)
                : t->family == CM__CLIP    ? cm__m_towers(&m)
                                           : single_stack(&m);
    cm__output(m.b.g, t->head == CM__HEAD_NONE ? x : heads[t->head](&m, x));
    if (t->head == CM__HEAD_NONE && m.o->pooler && (t->vocab || m.o->image)) cm__output(m.b.g, pooled(&m, x));
    bool states = t->head == CM__HEAD_NONE && t->family != CM__CLIP; /* hidden states are not classes */
    if (states) m.b.g->loss = CM_LOSS_MSE;
    m.b.g->nodes_read = m.b.g->n_nodes;
    m.b.g->description = cm__transformer_text(ctx, t);
    return m.b.g;
}
