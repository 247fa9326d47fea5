/* SPDX-License-Identifier: Apache-2.0 */
/* tensor_parallel.h - the part of a graph that one device of a plan runs. */
#ifndef CM_MODEL_DISPATCH_TENSOR_PARALLEL_H
#define CM_MODEL_DISPATCH_TENSOR_PARALLEL_H

#include "graph/plan/counts.h"
#include "graph/plan/split.h"
#include "model/dispatch/dispatch.h"

/* True: a device of the plan runs less than the whole step at its micro-batch. */
bool       cm__plan_shares(const cm_plan *plan);
/* The part of each layer that one device of the plan runs. */
/* other: of another plan for the same graph, which must outlive the result; NULL: none. */
cm__shards cm__shards_new(cm__ctx *ctx, const cm_graph *g, const cm_plan *plan, const cm__shards *other);
/* The same, if the plan divides each layer as that of `like`, which must outlive the result. */
cm__shards cm__shards_like(cm__ctx *ctx, const cm_graph *g, const cm__shards *like, const cm_plan *plan);
/* True: both give a device the same part of each parameter. b NULL: false. */
bool       cm__same_parameters(const cm__shards *a, const cm__shards *b);

/* Bytes of a gradient over those of its weight: Megatron-LM accumulates the gradients of bf16 weights in fp32. */
double cm__gradient_copies(const cm_graph *g, cm_runtime runtime);

/* The division of a call over devices, as its node states it. It depends on which tensors are split and on nothing else
   of the plan, so that plans with the same d->shards.split share it. */
typedef struct cm__way {
    int8_t product; /* of a product: the size that tensor parallelism divides; -1: none */
    int8_t cast;    /* rank of the parameter that is cast; -1: none is */
    bool   update, attention, split, expert, of_weight; /* of_weight: makes the gradient of a weight */
} cm__way;
cm__way cm__way_of(const cm__dispatch *d, int32_t node, int16_t op);
/* Reduces a call's sizes to what one of the devices runs. */
void    cm__shard_call(const cm__shards *shards, cm__way way, cm__sized_call *call);

#endif
