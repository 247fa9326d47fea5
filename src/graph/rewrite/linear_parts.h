/* SPDX-License-Identifier: Apache-2.0 */
/* linear_parts.h - linear layers that a capture recorded in parts. */
#ifndef CM_GRAPH_REWRITE_LINEAR_PARTS_H
#define CM_GRAPH_REWRITE_LINEAR_PARTS_H

#include "graph/graph.h"

/* Set part[i] for the copy of the input and the addition of the bias of each such layer; `part` has one entry per
   node. */
void cm__find_linear_parts(const cm_graph *g, bool *part);

#endif
