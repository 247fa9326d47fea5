/* SPDX-License-Identifier: Apache-2.0 */
/* state_space.h - layers whose state is updated token by token: Mamba, Mamba 2, gated delta rule. */
#ifndef CM_GRAPH_RULES_STATE_SPACE_H
#define CM_GRAPH_RULES_STATE_SPACE_H

#include "graph/graph.h"

/* In the order of names in import/transformer/transformer.c. */
typedef enum cm__scan_kind { CM__SCAN_MAMBA2, CM__SCAN_MAMBA, CM__SCAN_DELTA } cm__scan_kind;

/* Sizes of one layer, in the order of the node's attribute. Its state is heads matrices of dim x state. */
typedef struct cm__scan {
    int64_t kind;
    int64_t heads, dim;    /* the layer's inner width is their product; Mamba: one head for each channel */
    int64_t groups, state; /* heads of a group share keys and queries (Mamba: B and C) of `state` numbers */
    int64_t chunk;         /* tokens that are computed at once, as products; Mamba: 1 */
    int64_t kernel;        /* width of the convolution before it */
} cm__scan;
#define CM__SCAN_SIZES 7

/* A product of every chunk: `stack` matrices m x k by k x n, so often in forward and in backward. */
typedef struct cm__scan_product {
    double stack, m, n, k;
    int    forward, backward;
} cm__scan_product;
#define CM__SCAN_PRODUCTS 6

/* Inputs of the operator; those that a kind lacks are -1. */
enum {
    CM__SCAN_PROJECTED, /* [B, S, gate, channels, ...]: what the layer's first product writes */
    CM__SCAN_STEPS,     /* a second product: Mamba's time steps [B, S, width], the delta rule's gates [B, S, 2 heads] */
    CM__SCAN_CONV, CM__SCAN_CONV_BIAS, CM__SCAN_STEP_BIAS, CM__SCAN_DECAY, CM__SCAN_SKIP, CM__SCAN_NORM,
    CM__SCAN_PAIRS,     /* Mamba: B and C after their norms [B, S, 2 state] */
    CM__SCAN_INPUTS
};

cm__scan cm__scan_of(const cm_node *n);
int64_t  cm__scan_width(const cm__scan *s);    /* of the result */
int64_t  cm__scan_channels(const cm__scan *s); /* that pass the convolution */
int32_t  cm__scan_products(const cm__scan *s, cm__scan_product products[CM__SCAN_PRODUCTS]);
/* FLOP per token that no product contains: the convolution and Mamba's recurrence. */
double   cm__scan_functions(const cm__scan *s);
cm_poly  cm__scan_tokens(const cm_graph *g, const cm_node *forward); /* of the batch */

#endif
