/* SPDX-License-Identifier: Apache-2.0 */
/*
 * towers.c - arrangements of more than one stack: Whisper (sound to text), CLIP (image beside text), and
 * the modules of DeepSeek-V3 that predict further tokens.
 */
#include "import/transformer/model.h"

static cm__stack stack_of(const cm__transformer *t, const cm__parts *parts, bool causal)
{
    return (cm__stack){.t = t, .parts = parts, .causal = causal, .cos = -1, .sin = -1, .bias = -1, .cross_bias = -1,
                       .memory = -1};
}

/* ---- Whisper ----------------------------------------------------------------------------------------------------- */

static int32_t conv_gelu(cm__model *m, const char *part, int32_t x, int64_t in, int64_t stride)
{
    cm__builder *b = &m->b;
    int64_t      h = m->t->hidden;
    int32_t      w = cm__b_parameter(b, part, "weight", 3, (int64_t[]){h, in, 3});
    int32_t      c = cm__b_parameter(b, part, "bias", 1, &h);
    cm__attr     attrs[] = {CM__INTS(CM_ATTR_STRIDES, stride), CM__INTS(CM_ATTR_PADS, 1, 1)};
    x = cm__emit(b->g, CM_OP_CONV, part, (int32_t[]){x, w, c}, 3, attrs, 2);
    return cm__b_unary(b, CM_OP_GELU, part, "gelu", x);
}

/* Two convolutions halve the number of frames; the encoder's positions are a table of sines that is not trained. */
static int32_t encoded_sound(cm__model *m)
{
    const cm__transformer *t = m->t;
    cm__builder           *b = &m->b;
    cm_dim  dims[] = {{1, 0}, cm__fixed(t->channels), cm__fixed(2 * t->frames)};
    int32_t x = cm__leaf(b->g, "input_features", CM_ROLE_INPUT, CM_FP32, 3, dims);
    x = conv_gelu(m, "model.encoder.conv1", x, t->channels, 1);
    x = conv_gelu(m, "model.encoder.conv2", x, t->hidden, 2);
    x = cm__b_transpose(b, "model.encoder.conv2", "transpose", x, 3, (int64_t[]){0, 2, 1});
    cm_dim  table[] = {cm__fixed(t->frames), cm__fixed(t->hidden)};
    int32_t p = cm__leaf(b->g, "model.encoder.embed_positions.weight", CM_ROLE_BUFFER, CM_FP32, 2, table);
    x = cm__b_binary(b, CM_OP_ADD, "model.encoder", "positions", x, p);
    cm__stack s = stack_of(t, &m->o->parts, false);
    return cm__norm(b, t, m->o->final_norm, cm__m_layers(m, &s, t->layers, x));
}

int32_t cm__m_speech(cm__model *m)
{
    const cm__transformer *t = m->t;
    cm__builder           *b = &m->b;
    cm__stack s = stack_of(t, &cm__whisper_decoder, true);
    s.memory = encoded_sound(m);
    int32_t ids = cm__m_tokens(m, "decoder_input_ids", CM_ROLE_INPUT, (cm_dim){1, 0});
    m->tokens = cm__b_parameter(b, m->o->tokens, "weight", 2, (int64_t[]){t->vocab, t->hidden});
    int32_t x = cm__m_lookup(m, m->o->tokens, m->tokens, ids);
    int32_t table = cm__b_parameter(b, m->o->positions, "weight", 2, (int64_t[]){t->positions, t->hidden});
    int32_t p = cm__b_slice(b, m->o->positions, "slice", table, 0, 0, t->seq);
    x = cm__b_binary(b, CM_OP_ADD, "model.decoder", "positions", x, p);
    x = cm__m_layers(m, &s, t->decoder_layers, x);
    return cm__norm(b, t, "model.decoder.layer_norm", x);
}

/* ---- CLIP -------------------------------------------------------------------------------------------------------- */

static int32_t scoped_token(cm__model *m, const char *tower, int32_t x, int64_t index)
{
    cm__b_scope(&m->b, "%s", tower);
    x = cm__m_token(m, x, index);
    cm__b_scope(&m->b, "%s", "");
    return x;
}

static int32_t image_tower(cm__model *m)
{
    cm__transformer image = *m->t;
    cm__builder    *b = &m->b;
    image.seq = (image.image / image.patch) * (image.image / image.patch) + 1;
    cm__model inner = *m;
    inner.t = &image;
    int32_t x = cm__m_image(&inner);
    x = cm__b_layer_norm(&inner.b, "vision_model.pre_layrnorm", x, image.hidden);
    cm__stack s = stack_of(&image, &m->o->parts, false);
    x = scoped_token(&inner, "vision_model", cm__m_layers(&inner, &s, image.layers, x), 0);
    *b = inner.b;
    m->next_block = inner.next_block;
    x = cm__b_layer_norm(b, "vision_model.post_layernorm", x, image.hidden);
    return cm__b_linear(b, "visual_projection", x, image.hidden, image.projection, false);
}

/* The embedding of the last token, as all texts are padded to one length. */
static int32_t text_tower(cm__model *m)
{
    cm__transformer text = *m->t;
    cm__builder    *b = &m->b;
    text.hidden = text.embed = text.text_hidden;
    text.heads = text.kv_heads = text.text_heads;
    text.head_dim = text.v_dim = text.hidden / text.heads;
    text.ffn = text.text_ffn;
    int32_t ids = cm__m_tokens(m, "input_ids", CM_ROLE_INPUT, (cm_dim){1, 0});
    m->tokens = cm__b_parameter(b, m->o->tokens, "weight", 2, (int64_t[]){text.vocab, text.hidden});
    int32_t x = cm__m_lookup(m, m->o->tokens, m->tokens, ids);
    int32_t table = cm__b_parameter(b, m->o->positions, "weight", 2, (int64_t[]){text.positions, text.hidden});
    int32_t where = cm__m_tokens(m, "position_ids", CM_ROLE_BUFFER, cm__fixed(1));
    int32_t p = cm__m_lookup(m, m->o->positions, table, where);
    x = cm__b_binary(b, CM_OP_ADD, "text_model.embeddings", "positions", x, p);
    cm__stack s = stack_of(&text, &cm__clip_text, true);
    x = cm__m_layers(m, &s, text.text_layers, x);
    x = scoped_token(m, "text_model", cm__b_layer_norm(b, m->o->final_norm, x, text.hidden), text.seq - 1);
    return cm__b_linear(b, "text_projection", x, text.hidden, text.projection, false);
}

/* x / |x| over the last dimension */
static int32_t unit_length(cm__builder *b, const char *part, int32_t x)
{
    cm__attr last[] = {CM__INTS(CM_ATTR_AXES, -1), CM__INTS(CM_ATTR_KEEPDIMS, 1)};
    int32_t  norm = cm__emit(b->g, CM_OP_REDUCE_L2, cm__b_name(b, part, "norm"), &x, 1, last, 2);
    return cm__b_binary(b, CM_OP_DIV, part, "unit", x, norm);
}

/* Similarities of every text with every image of the batch: [B, B]. */
int32_t cm__m_towers(cm__model *m)
{
    cm__builder *b = &m->b;
    int32_t      image = unit_length(b, "image_embeds", image_tower(m));
    int32_t      text = unit_length(b, "text_embeds", text_tower(m));
    int32_t      columns = cm__b_transpose(b, "image_embeds", "transpose", image, 2, (int64_t[]){1, 0});
    int32_t      scale = cm__parameter(b->g, "logit_scale", 0, NULL);
    int32_t      y = cm__b_binary(b, CM_OP_MATMUL, "logits_per_text", NULL, text, columns);
    scale = cm__b_unary(b, CM_OP_EXP, "logit_scale", "exp", scale);
    return cm__b_binary(b, CM_OP_MUL, "logits_per_text", "scale", y, scale);
}

/* ---- further tokens ---------------------------------------------------------------------------------------------- */

/* One module: norms of hidden state and next embedding, a product of both, a layer. */
static int32_t predicted_on(cm__model *m, const cm__stack *s, int64_t index, int32_t x)
{
    const cm__transformer *t = m->t;
    cm__builder           *b = &m->b;
    cm__attr               last = CM__INTS(CM_ATTR_AXIS, 2);
    m->b.g->block = m->next_block++;
    cm__b_scope(b, "model.layers.%lld", (long long)index);
    int32_t next = cm__m_lookup(m, cm__b_name(b, "embed_tokens", NULL), m->tokens, m->ids);
    int32_t both[] = {cm__norm(b, t, "enorm", next), cm__norm(b, t, "hnorm", x)};
    x = cm__emit(b->g, CM_OP_CONCAT, cm__b_name(b, "eh_proj", "concat"), both, 2, &last, 1);
    x = cm__b_linear(b, "eh_proj", x, 2 * t->hidden, t->hidden, false);
    cm__stack at = *s;
    at.index = index;
    x = cm__layer(b, &at, x);
    m->b.g->block = -1;
    cm__b_scope(b, "%s", "");
    return x;
}

/* The states of all modules one after another, [B, (1 + modules) S, h]: the head and the loss are shared. */
int32_t cm__m_further(cm__model *m, const cm__stack *s, int32_t x)
{
    cm__builder *b = &m->b;
    cm__attr     tokens = CM__INTS(CM_ATTR_AXIS, 1);
    int32_t      all = cm__norm(b, m->t, m->o->final_norm, x);
    for (int64_t i = 0; i < m->t->mtp; i++) {
        x = predicted_on(m, s, m->t->layers + i, x);
        const char *norm = cm__format(b->g->ctx, "model.layers.%lld.shared_head.norm", (long long)(m->t->layers + i));
        int32_t     both[] = {all, cm__norm(b, m->t, norm, x)};
        all = cm__emit(b->g, CM_OP_CONCAT, cm__format(b->g->ctx, "%s.concat", norm), both, 2, &tokens, 1);
    }
    return all;
}
