/* SPDX-License-Identifier: Apache-2.0 */
/* layer.h - the names and the arrangement of a layer's parts in each family; the function that emits a
   layer. */
#ifndef CM_IMPORT_TRANSFORMER_LAYER_H
#define CM_IMPORT_TRANSFORMER_LAYER_H

#include "import/transformer/transformer.h"

/* How queries, keys and values are computed. */
enum {
    CM__QKV_APART,       /* three products */
    CM__QKV_SPLIT_FIRST, /* one product, split, then heads: GPT-2 */
    CM__QKV_HEADS_FIRST  /* one product, heads, then split: GPT-NeoX */
};

/* Names of a layer's parts in Hugging Face's code, and differences between the families. */
typedef struct cm__parts {
    const char *layer; /* format string of the layer's index */
    const char *attention, *q, *k, *v, *qkv, *out, *norm1;
    const char *cross, *cross_q, *cross_k, *cross_v, *cross_out, *cross_norm;
    const char *gate, *up, *down, *act, *norm2;
    const char *after1, *before2, *after2; /* norms of a layer with four of them; before2 replaces norm2 there */
    const char *scale1, *scale2;           /* learned scales of both branches */
    const char *experts;                   /* the module that holds router and experts */
    const char *ungated; /* name of `up` in a network without gate, if it differs */
    int32_t (*linear)(cm__builder *, const char *, int32_t, int64_t, int64_t, bool);
    int     fused;
    bool    scales_query;     /* the query itself is multiplied: OPT */
    bool    scores_written;   /* no fused attention: T5 adds a trained bias to the scores */
    bool    no_out_dropout;   /* DistilBERT */
    bool    inner_dropout;    /* between activation and second matrix: T5 */
    bool    no_key_bias;      /* Whisper */
    bool    gate_in_up;       /* one product for both: Phi-3 */
} cm__parts;

/* The source of position ids. */
enum { CM__IDS_BUFFER, CM__IDS_FROM_TOKENS, CM__IDS_FROM_MASK };

/* Parts outside the layers. NULL: the family has none. */
typedef struct cm__outline {
    cm__parts   parts;
    const char *tokens, *positions, *types, *embed_norm, *final_norm;
    const char *project_in, *project_out; /* if the embedding is narrower */
    const char *lm, *pooler;
    const char *mlm_dense, *mlm_norm, *mlm_decoder, *mlm_bias;
    const char *pre_classifier, *classifier;
    bool        lm_bias;
    const char *image; /* the prefix of patch embeddings */
    int         pre_classifier_act;
    int         ids;
    int64_t     offset; /* unused rows of the position table */
} cm__outline;

extern const cm__outline cm__outlines[CM__FAMILIES];
extern const cm__parts   cm__t5_decoder, cm__whisper_decoder, cm__clip_text;

/* The state of emitting a stack of layers. Absent tensors are -1. */
typedef struct cm__stack {
    const cm__transformer *t;
    const cm__parts       *parts;
    bool                   causal;
    int32_t                cos, sin;
    int32_t                bias, cross_bias; /* added to attention scores */
    int32_t                memory;           /* the encoder's output */
    int64_t                index;            /* of the layer */
} cm__stack;

/* Emit one layer over x[B, S, hidden]; the builder's scope is its name. */
int32_t cm__layer(cm__builder *b, const cm__stack *s, int32_t x);
int32_t cm__norm(cm__builder *b, const cm__transformer *t, const char *part, int32_t x);

#endif
