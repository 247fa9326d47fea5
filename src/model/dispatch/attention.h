/* SPDX-License-Identifier: Apache-2.0 */
/* attention.h - whether a runtime runs attention as one fused kernel, or as products and a softmax that store the
   scores. */
#ifndef CM_MODEL_ATTENTION_H
#define CM_MODEL_ATTENTION_H

#include "device/variants.h"
#include "graph/graph.h"

/* True: attention runs as separate products and softmax. device NULL: a device without fused attention. See
   docs/dev/plans.md. */
bool cm__attention_math(const cm_graph *g, const cm_device *device, cm_runtime runtime);

/* The calls that a runtime makes for one attention. A model that a compiler traces may make masks that it omits
   otherwise: an open one, which masks nothing, is broadcast along the keys, and no fused kernel takes it; a causal one
   is an ordinary mask, as a sliding window is in PyTorch, and keys that several heads share are then repeated for each
   of them. */
bool cm__attention_unfused(const cm_graph *g, const cm_node *attention, cm_runtime runtime, bool math);
bool cm__attention_masked(const cm_graph *g, const cm_node *attention, cm_runtime runtime);

/* True: models write unfused attention as operators of their own, as before PyTorch 2.0, and autocast runs its softmax in
   fp32, between products of 16 bits. */
bool cm__attention_written(const cm_graph *g, cm_runtime runtime);

/* Tokens that each query looks back, itself included, if the sequence is longer than that; 0: all before it. */
int64_t cm__attention_window(const cm_graph *g, const cm_node *attention);

/* The kernel as the form of a call's variant, if it is another than the one that the runtime chooses today. */
cm__variant_form cm__attention_kernel(const cm_graph *g, cm_runtime runtime);

/* True: there are fewer heads of keys and values than of queries. */
bool cm__attention_grouped(const cm_graph *g, const cm_node *attention);

/* The values, if they are a part of a product's result in which neither queries nor keys lie, as in latent attention;
   -1: they are not. */
int32_t cm__values_alone(const cm_graph *g, const cm_node *attention);

/* Bytes per score that unfused attention stores from forward to backward. */
double cm__score_bytes(const cm_graph *g, const cm_node *attention, cm_runtime runtime);

#endif
