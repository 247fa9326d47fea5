/* SPDX-License-Identifier: Apache-2.0 */
/* shards.h - what tensor-parallel devices share of a graph: tensors, calls, and what they tell each other. */
#ifndef CM_MODEL_SHARDS_H
#define CM_MODEL_SHARDS_H

#include "model/dispatch.h"

/* How a product with a parameter is divided: not, by columns of its result, by rows of the parameter. */
typedef enum cm__division { CM__WHOLE, CM__COLUMNS, CM__ROWS } cm__division;

/* Per tensor: a device has a part of it only (shards.c). */
void         cm__find_split(const cm_graph *g, bool *split);
cm__division cm__division_of(const cm_graph *g, const cm_node *forward, const bool *split);

/* Whether a backward node of a product computes the gradient of what flowed into it, not that of the parameter. */
bool         cm__is_input_gradient(const cm_node *n, const cm_node *forward);

/* Whether a product is of experts: a parameter of one matrix for each. */
bool         cm__is_expert(const cm_graph *g, const cm_node *forward);

/* A call as one of the devices of d->shards makes it (dispatch_shards.c). */
void cm__shard_call(const cm__dispatch *d, int32_t node, cm__sized_call *call);

#endif
