/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layering.h - what the parts of a step have whatever the device and the micro-batch are: parameters, tensors that
 * cross boundaries or are stored for backward, and sums among the devices that share a layer.
 */
#ifndef CM_MODEL_LAYERING_H
#define CM_MODEL_LAYERING_H

#include "model/dispatch/dispatch.h"

/* A tensor of a part. */
typedef struct cm__layer_tensor {
    int32_t tensor, part;
    cm_poly bytes;
    double  by;          /* as many devices share it */
    cm_poly fused_bytes; /* of a stored activation: what Megatron-LM stores of it (model/memory/fused.c) */
} cm__layer_tensor;

/* The exchange of tensor-parallel devices after a node. */
typedef struct cm__layer_sum {
    int32_t part;
    bool    forward, loss; /* loss: three numbers per token, in forward */
    bool    gathers;       /* only the all-gather of PyTorch's sequence parallelism, in recomputation */
    /* of a sum in backward: the tensor whose gradient it is, before casts; -1: in another pass */
    int32_t input;
    int32_t node;          /* after which it comes */
    int32_t order;         /* among the sums of backward, or of the other passes; of a loss 0 */
    int32_t products;      /* whose results are added on each device before devices exchange them; 0: of a table */
    cm_poly bytes;         /* of a loss: tokens */
} cm__layer_sum;

typedef struct cm__layer_gradient {
    double  elements;
    int32_t producer, part;
    bool    expert; /* of experts that devices share */
} cm__layer_gradient;

typedef struct cm__layer_parameters {
    /* experts: those of `trained` that belong to shared experts; units: modules that FSDP gathers by themselves */
    double trained, experts, frozen_bytes, units;
} cm__layer_parameters;

typedef struct cm__layering {
    int32_t               count; /* of parts */
    const int32_t        *part;  /* per node */
    const cm__shards     *shards; /* of the calls */
    const cm__twins      *twins; /* as in the calls: other parts have no sums, no part has gradients; NULL: all have */
    cm__layer_parameters *parameters; /* per part */
    double                all_parameters, tied_parameters, weight_bytes; /* weight_bytes: per parameter */
    double                tensors;    /* trained ones */
    cm__layer_tensor     *boundaries; /* results that the next part reads */
    cm__layer_tensor     *kept;       /* activations that the middle layer stores for backward */
    cm__layer_sum        *sums;       /* in the order of the nodes; only with tensor parallelism */
    /* per node: what a product that makes a weight gradient reads, before casts; -1: others */
    int32_t              *weight_input;
    /* per node: order of the sum whose all-gather joins what the product reads; -1: none */
    int32_t              *gathered_for;
    int32_t              *attentions; /* nodes of all passes that read keys and values; only with context parallelism */
    int32_t              *experts;    /* products of experts in all passes; only with expert parallelism */
    cm__layer_gradient   *gradients;  /* in the order in which they are sent: the last parameter's first */
    int32_t               n_boundaries, n_kept, n_sums, n_attentions, n_experts, n_gradients;
    int32_t               cap_boundaries, cap_kept, cap_sums, cap_attentions, cap_experts;
} cm__layering;

/* `calls` gives the part of each layer that one device has. other: of another plan for the same graph with the same
   twins, which must outlive the result; NULL: none. */
cm__layering *cm__layering_new(cm__ctx *ctx, const cm_graph *g, const cm__dispatch *calls, const cm__layering *other);

#endif
