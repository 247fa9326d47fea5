/* SPDX-License-Identifier: Apache-2.0 */
/* split.h - how tensor-parallel devices divide a graph. */
#ifndef CM_GRAPH_PLAN_SPLIT_H
#define CM_GRAPH_PLAN_SPLIT_H

#include "graph/graph.h"

/* How a product with a parameter is divided: not at all, by columns of its result, by rows of the parameter. */
typedef enum cm__division { CM__WHOLE, CM__COLUMNS, CM__ROWS } cm__division;

/* Per tensor: whether each device has only a part of it. */
void         cm__find_split(const cm_graph *g, bool *split);
cm__division cm__division_of(const cm_graph *g, const cm_node *forward, const bool *split);

/* Whether a backward node of a product computes the gradient of its input, not that of the parameter. */
bool cm__is_input_gradient(const cm_node *n, const cm_node *forward);

/* The parameter that a node reads, directly or as a copy in a narrower type; -1: none. */
int32_t cm__parameter_read(const cm_graph *g, const cm_node *n, int32_t input);

/* Whether a node looks up rows of a table, which is divided by its rows. */
static inline bool cm__is_table(const cm_node *n) { return cm__ops[n->op].shard == CM__SHARD_table; }

/* Whether a product computes experts: its parameter has one matrix for each. */
bool cm__is_expert(const cm_graph *g, const cm_node *forward);

#endif
