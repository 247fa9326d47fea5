/* SPDX-License-Identifier: Apache-2.0 */
/* plan_counts.h - the counts of a parallel plan, and whether they divide a graph. */
#ifndef CM_GRAPH_PLAN_COUNTS_H
#define CM_GRAPH_PLAN_COUNTS_H

#include "graph/graph.h"

/* Every count filled in; refused, with the reason, where they contradict each other. */
void cm__plan_fill(cm__ctx *ctx, cm_plan *plan);

/* Devices that have the same weights: replicas, and those that share the tokens of a sequence. */
static inline int32_t cm__replicas(const cm_plan *plan) { return plan->dp * (plan->cp > 1 ? plan->cp : 1); }

/* Refused, with the numbers that would do, where the plan does not divide the model: heads by tp, tokens by cp, experts
   by ep (plan_divisors.c). */
void cm__plan_check(cm__ctx *ctx, const cm_graph *g, const cm_plan *plan);
bool cm__plan_divides(const cm_graph *g, const cm_plan *plan); /* the same as an answer */

#endif
