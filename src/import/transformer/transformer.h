/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transformer.h - one struct for all supported transformers, and the builder that makes a graph of it.
 *
 * A config.json and a one-line description both fill the struct through its field table. cm__transformer_complete()
 * derives the fields that were not given and refuses contradictions. cm__transformer_build() emits the operators that
 * Hugging Face's PyTorch code runs, in the same order and with the same parameter names.
 */
#ifndef CM_IMPORT_TRANSFORMER_TRANSFORMER_H
#define CM_IMPORT_TRANSFORMER_TRANSFORMER_H

#include "import/builder.h"

typedef enum cm__family {
    CM__GPT2, CM__BERT, CM__ROBERTA, CM__DISTILBERT, CM__T5, CM__OPT, CM__NEOX, CM__LLAMA, CM__MISTRAL, CM__QWEN2,
    CM__MIXTRAL, CM__VIT, CM__QWEN3, CM__GEMMA, CM__DEEPSEEK, CM__GPT_OSS, CM__PHI, CM__PHI3, CM__DINOV2, CM__WHISPER,
    CM__CLIP, CM__HYBRID, CM__QWEN, CM__FAMILIES
} cm__family;

enum { CM__NORM_LAYER, CM__NORM_RMS };
enum { CM__POSITION_LEARNED, CM__POSITION_ROTARY, CM__POSITION_RELATIVE, CM__POSITION_NONE };
enum { CM__HEAD_LM, CM__HEAD_MLM, CM__HEAD_CLASSIFIER, CM__HEAD_NONE };

/* All integers are int64_t, so that one table of offsets can address them. 0: not given. */
typedef struct cm__transformer {
    cm__family family;
    int64_t layers;         /* of the encoder if there are two stacks */
    int64_t decoder_layers;
    int64_t hidden, heads, kv_heads, head_dim, ffn;
    int64_t vocab;          /* 0: layers only, from hidden states to hidden states */
    int64_t seq;
    int64_t past;           /* tokens before these whose keys and values are inputs: a step of generation */
    int64_t positions;      /* rows of a learned position table, without the offset */
    int64_t types;          /* token types */
    int64_t masked;         /* tokens per sample that are predicted; 0: all */
    int64_t embed;          /* width of the token embedding; projected if it is not `hidden` */
    int64_t window;         /* tokens that attention looks back; 0: all */
    int64_t buckets;        /* of T5's bucketed position distances */
    int64_t full_every;     /* every Nth layer attends to all tokens despite the window; 0: none does */
    int64_t experts, top_k;
    int64_t expert_ffn;     /* inner width of one routed expert */
    int64_t shared_ffn;     /* inner width of the experts that see every token, together; 0: none */
    int64_t dense_layers;   /* first layers, which have no experts */
    int64_t expert_every;   /* the last of every so many layers has experts; 0: all have */
    int64_t q_rank, kv_rank, nope_dim, rope_dim; /* latent attention: ranks; parts of a head without, with positions */
    int64_t v_dim;          /* of a head's values; otherwise head_dim */
    int64_t mtp;            /* modules that predict further tokens */
    int64_t frames;         /* length of the encoder's sequence, where it is not `seq` */
    int64_t text_layers, text_hidden, text_heads, text_ffn, projection; /* the second tower of CLIP */
    int64_t image, patch, channels, labels;
    /* hybrid models: a letter for each layer, repeated (transformer/state.c), and the sizes of a state space */
    const char *pattern;
    int64_t state_kind;     /* CM__SCAN_ */
    int64_t state_heads, state_dim, state_groups, state_size, state_conv, state_chunk;
    int64_t state_rank;     /* of Mamba's time steps */
    int64_t state_norm;     /* a norm after the gate */
    int64_t state_bias, conv_bias;
    int64_t query_gate;     /* a sigmoid gate weighs the result of attention */
    int64_t norm, activation, position, head;
    int64_t qk_norm;        /* RMS norms of queries and keys, over a head */
    int64_t sandwich;       /* norms also after attention and feed-forward network */
    int64_t scaled;         /* embeddings are multiplied by sqrt(hidden) */
    int64_t softcap;        /* logits pass through c tanh(x / c) */
    int64_t shared_gate;    /* a sigmoid gate weighs the shared experts */
    int64_t expert_loop;    /* each expert's product is a call of its own, with its part of the stacked weights */
    int64_t clamped;        /* the products before a gated activation of experts are clamped */
    int64_t tied, gated, causal, pre_norm, parallel, qkv_bias, out_bias, mlp_bias;
    double  rotary;         /* fraction of a head's dimensions that is rotated */
    double  dropout, embed_dropout, attention_dropout;
} cm__transformer;

/* ---- fields by name --------------------------------------------------------------------------------------------- */

typedef enum cm__field_kind {
    CM__FIELD_COUNT, CM__FIELD_FLAG, CM__FIELD_CHOICE, CM__FIELD_RATIO, CM__FIELD_TEXT
} cm__field_kind;

typedef struct cm__field {
    const char        *key;
    size_t             offset;
    cm__field_kind     kind;
    int64_t            min, max;  /* limits of a count */
    const char *const *names;     /* values of a choice, ends with NULL */
    uint32_t           families;  /* bit per cm__family that reads it */
} cm__field;

extern const cm__field cm__fields[];
extern const int32_t   cm__n_fields;

const cm__field *cm__field_find(cm__span key); /* NULL: none */
/* Set a field from text ("12", "gelu", "0.1"); fails, with the expected kind of value in the message, if it is
   invalid. */
void    cm__field_set(cm__ctx *ctx, cm__transformer *t, const cm__field *field, cm__span value);
int64_t cm__field_int(const cm__transformer *t, const cm__field *field);
const char *cm__field_string(const cm__transformer *t, const cm__field *field); /* "" if it is not given */
double  cm__field_ratio(const cm__transformer *t, const cm__field *field);

/* ---- the struct's life ------------------------------------------------------------------------------------------ */

/* The family's defaults; sizes that must be given are 0. */
cm__transformer cm__transformer_defaults(cm__family family);
/* Derive fields that were not given (0) from the others: ffn, kv_heads, head_dim, positions ... */
void cm__transformer_derive(cm__transformer *t);
/* Dimensions of a head that rotary positions turn. */
int64_t cm__rotated_width(const cm__transformer *t);
/* Derive fields and refuse contradictions. `seq` > 0 replaces the sequence length. */
void cm__transformer_complete(cm__ctx *ctx, cm__transformer *t, int64_t seq);
/* The forward graph of a completed transformer. */
cm_graph *cm__transformer_build(cm__ctx *ctx, const cm__transformer *t, const char *name, const char *source);
/* The description ("gpt:layers=48,...") of the same transformer (describe.c). */
const char *cm__transformer_text(cm__ctx *ctx, const cm__transformer *t);

#endif
