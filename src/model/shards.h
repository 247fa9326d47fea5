/* SPDX-License-Identifier: Apache-2.0 */
/* shards.h - what tensor-parallel devices share of a graph: tensors, calls, and what they tell each other. */
#ifndef CM_MODEL_SHARDS_H
#define CM_MODEL_SHARDS_H

#include "model/dispatch.h"

/* How a product with a parameter is divided: not, by columns of its result, by rows of the parameter. */
typedef enum cm__division { CM__WHOLE, CM__COLUMNS, CM__ROWS } cm__division;

/* Whether a device of the plan runs less than the whole step at its micro-batch. */
bool         cm__plan_shares(const cm_plan *plan);
/* What one device of the plan runs (dispatch_shards.c). */
cm__shards   cm__shards_new(cm__ctx *ctx, const cm_graph *g, const cm_plan *plan);

/* Bytes of a gradient over those of its weight: Megatron-LM adds up those of bf16 weights in fp32 (shards.c). */
double       cm__gradient_copies(const cm_graph *g, cm_runtime runtime);

/* Refused, with the numbers that would do, where the plan does not divide the model: heads by tp, tokens by cp, experts
   by ep (plan_check.c). */
void         cm__plan_check(cm__ctx *ctx, const cm_graph *g, const cm_plan *plan);
bool         cm__plan_divides(const cm_graph *g, const cm_plan *plan); /* the same as an answer */

/* Per tensor: a device has a part of it only (shards.c). */
void         cm__find_split(const cm_graph *g, bool *split);
cm__division cm__division_of(const cm_graph *g, const cm_node *forward, const bool *split);

/* Whether a backward node of a product computes the gradient of what flowed into it, not that of the parameter. */
bool         cm__is_input_gradient(const cm_node *n, const cm_node *forward);

/* The parameter that a node reads, itself or its copy in a narrower type; -1: none. */
int32_t      cm__parameter_read(const cm_graph *g, const cm_node *n, int32_t input);

/* Whether a product is of experts: a parameter of one matrix for each. */
bool         cm__is_expert(const cm_graph *g, const cm_node *forward);

/* A call as one of the devices of d->shards makes it (dispatch_shards.c). */
void cm__shard_call(const cm__dispatch *d, int32_t node, cm__sized_call *call);

#endif
