/* SPDX-License-Identifier: Apache-2.0 */
/* model.h - the state of emitting a whole transformer, and the parts that several arrangements share. */
#ifndef CM_IMPORT_TRANSFORMER_MODEL_H
#define CM_IMPORT_TRANSFORMER_MODEL_H

#include "import/transformer/layer.h"

typedef struct cm__model {
    cm__builder            b;
    const cm__transformer *t;
    const cm__outline     *o;
    int32_t                tokens; /* embedding table, for heads that use it too */
    int32_t                ids;    /* the tokens that were looked up in it */
    int32_t                next_block;
} cm__model;

/* A leaf of token numbers, [rows, S]. */
int32_t cm__m_tokens(cm__model *m, const char *name, cm_role role, cm_dim rows);
int32_t cm__m_lookup(cm__model *m, const char *part, int32_t table, int32_t ids);
/* Patches of an image with class token and positions. */
int32_t cm__m_image(cm__model *m);
int32_t cm__m_layers(cm__model *m, const cm__stack *s, int64_t layers, int32_t x);
/* [B, S, h] -> [B, h] */
int32_t cm__m_token(cm__model *m, int32_t x, int64_t index);

/* Arrangements of transformer/towers.c: Whisper's hidden states, CLIP's comparison of both towers, and hidden states
   beside those of the modules that predict further tokens. */
int32_t cm__m_speech(cm__model *m);
int32_t cm__m_towers(cm__model *m);
int32_t cm__m_further(cm__model *m, const cm__stack *s, int32_t x);

#endif
