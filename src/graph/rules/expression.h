/* SPDX-License-Identifier: Apache-2.0 */
/* expression.h - operators written out as several simpler ones, as PyTorch runs them where it has no kernel for the whole. */
#ifndef CM_GRAPH_RULES_EXPRESSION_H
#define CM_GRAPH_RULES_EXPRESSION_H

#include "graph/graph.h"

/* An RMS normalisation of x over the dimensions of `norm`, times the weight. Returns the result. */
int32_t cm__rms_norm_written_out(cm_graph *g, const cm_node *norm, int32_t x, int32_t weight);

#endif
