/* SPDX-License-Identifier: Apache-2.0 */
/* attention.h - which attention a runtime has: one kernel, or products and a softmax whose scores are stored. */
#ifndef CM_MODEL_ATTENTION_H
#define CM_MODEL_ATTENTION_H

#include "graph/graph.h"

/* Whether attention is written out. device NULL: one that has no fused attention. docs/plans.md. */
bool cm__attention_math(const cm_graph *g, const cm_device *device, cm_runtime runtime);

/* Bytes that attention which is written out stores of each score, from forward to backward. */
double cm__score_bytes(const cm_graph *g, const cm_node *attention);

#endif
