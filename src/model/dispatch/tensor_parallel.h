/* SPDX-License-Identifier: Apache-2.0 */
/* tensor_parallel.h - what one device of a plan runs of a graph. */
#ifndef CM_MODEL_DISPATCH_TENSOR_PARALLEL_H
#define CM_MODEL_DISPATCH_TENSOR_PARALLEL_H

#include "graph/plan_counts.h"
#include "graph/split.h"
#include "model/dispatch/dispatch.h"

/* Whether a device of the plan runs less than the whole step at its micro-batch. */
bool       cm__plan_shares(const cm_plan *plan);
/* What one device of the plan runs. */
cm__shards cm__shards_new(cm__ctx *ctx, const cm_graph *g, const cm_plan *plan);

/* Bytes of a gradient over those of its weight: Megatron-LM adds up those of bf16 weights in fp32. */
double cm__gradient_copies(const cm_graph *g, cm_runtime runtime);

/* A call as one of the devices of d->shards makes it. */
void cm__shard_call(const cm__dispatch *d, int32_t node, cm__sized_call *call);

#endif
