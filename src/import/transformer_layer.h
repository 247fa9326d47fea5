/* SPDX-License-Identifier: Apache-2.0 */
/* transformer_layer.h - how each family names and arranges the parts of a layer, and the function that emits one. */
#ifndef CM_IMPORT_TRANSFORMER_LAYER_H
#define CM_IMPORT_TRANSFORMER_LAYER_H

#include "import/transformer.h"

/* How queries, keys and values come about. */
enum {
    CM__QKV_APART,       /* three products */
    CM__QKV_SPLIT_FIRST, /* one product, split, then heads: GPT-2 */
    CM__QKV_HEADS_FIRST  /* one product, heads, then split: GPT-NeoX */
};

/* Parts of a layer as Hugging Face names them, and what it does differently from the others. */
typedef struct cm__parts {
    const char *layer; /* format of the layer's index */
    const char *attention, *q, *k, *v, *qkv, *out, *norm1;
    const char *cross, *cross_q, *cross_k, *cross_v, *cross_out, *cross_norm;
    const char *gate, *up, *down, *act, *norm2;
    const char *ungated; /* `up` of a network without gate where it has another name */
    int32_t (*linear)(cm__builder *, const char *, int32_t, int64_t, int64_t, bool);
    int     fused;
    bool    scales_query;     /* multiplies the query itself: OPT */
    bool    scores_written;   /* no fused attention: T5 adds a learned bias to the scores */
    bool    no_out_dropout;   /* DistilBERT */
    bool    inner_dropout;    /* between activation and second matrix: T5 */
} cm__parts;

/* Where position numbers come from. */
enum { CM__IDS_BUFFER, CM__IDS_FROM_TOKENS, CM__IDS_FROM_MASK };

/* Parts outside the layers. NULL: the family has none. */
typedef struct cm__outline {
    cm__parts   parts;
    const char *tokens, *positions, *types, *embed_norm, *final_norm;
    const char *project_in, *project_out; /* where the embedding is narrower */
    const char *lm, *pooler;
    const char *mlm_dense, *mlm_norm, *mlm_decoder, *mlm_bias;
    const char *pre_classifier, *classifier;
    int         pre_classifier_act;
    int         ids;
    int64_t     offset; /* rows of the position table that no position uses */
} cm__outline;

extern const cm__outline cm__outlines[CM__FAMILIES];
extern const cm__parts   cm__t5_decoder;

/* A run of layers under way. Tensors are -1 where there are none. */
typedef struct cm__stack {
    const cm__transformer *t;
    const cm__parts       *parts;
    bool                   causal;
    int32_t                cos, sin;
    int32_t                bias, cross_bias; /* added to attention scores */
    int32_t                memory;           /* the encoder's output */
} cm__stack;

/* One layer over x[B, S, hidden]; the builder's scope names it. */
int32_t cm__layer(cm__builder *b, const cm__stack *s, int32_t x);
int32_t cm__norm(cm__builder *b, const cm__transformer *t, const char *part, int32_t x);

#endif
