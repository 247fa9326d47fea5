/* SPDX-License-Identifier: Apache-2.0 */
/* uses.h - the readers of each tensor. The index is a snapshot: later edits of the graph do not change it. */
#ifndef CM_GRAPH_USES_H
#define CM_GRAPH_USES_H

#include "graph/graph.h"

typedef struct cm__use {
    int32_t node, slot; /* the node and the index of its input */
} cm__use;

typedef struct cm__uses {
    int32_t *first; /* readers of tensor t: list[first[t]] up to list[first[t + 1]], in node order */
    cm__use *list;
} cm__uses;

cm__uses cm__uses_of(const cm_graph *g);

#endif
