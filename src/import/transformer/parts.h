/* SPDX-License-Identifier: Apache-2.0 */
/* parts.h - the parts of a layer that have files of their own: latent attention, experts. */
#ifndef CM_IMPORT_TRANSFORMER_PARTS_H
#define CM_IMPORT_TRANSFORMER_PARTS_H

#include "graph/rules/state_space.h"
#include "import/transformer/layer.h"

/* Queries [B, H, S, d], keys [B, K, S, d], values [B, K, S, v]. */
typedef struct cm__heads {
    int32_t q, k, v;
} cm__heads;

/* [B, S, count * dim] -> [B, count, S, dim] */
int32_t cm__into_heads(cm__builder *b, const char *part, int32_t x, int64_t count, int64_t dim);
/* x cos + rotate_half(x) sin over the first rotated dimensions of a head; the others are unchanged. */
int32_t cm__rotate(cm__builder *b, const cm__stack *s, const char *part, int32_t x);
/* Multi-head latent attention up to its queries, keys and values, positions included. */
cm__heads cm__latent(cm__builder *b, const cm__stack *s, int32_t x);
/* The parts of a layer. */
typedef struct cm__layer_kind {
    bool attention, state;
    bool network; /* a feed-forward network or experts; after the others, with a norm of its own */
    bool dense;   /* the network has no experts */
    bool unknown;
} cm__layer_kind;

/* The parts of layer `index`: as its letter in the model's pattern says; without a pattern, attention and a
   network. */
cm__layer_kind cm__layer_kind_of(const cm__transformer *t, int64_t index);
/* From x[B, S, h] to [B, S, h]. */
int32_t cm__state_space(cm__builder *b, const cm__transformer *t, int32_t x);
void    cm__state_derive(cm__transformer *t);
void    cm__state_check(cm__ctx *ctx, const cm__transformer *t);
/* Router, routed experts and shared experts of a layer. */
int32_t cm__mixture(cm__builder *b, const cm__transformer *t, int32_t x);

#endif
