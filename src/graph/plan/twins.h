/* SPDX-License-Identifier: Apache-2.0 */
/*
 * twins.h - repeated layers of a step that consist of the same nodes.
 *
 * Layers with equal operators, attributes, shapes and connections make equal kernel calls. A plan search therefore
 * looks at one of them and counts it as often as it occurs.
 */
#ifndef CM_GRAPH_PLAN_TWINS_H
#define CM_GRAPH_PLAN_TWINS_H

#include "graph/graph.h"

typedef struct cm__twins {
    const int32_t *of;    /* per part (cm__part_map()): the first part with the same nodes, which represents it */
    const int32_t *count; /* per part: how many parts it represents, itself included; 0: another one represents it */
    const int32_t *next;  /* per node: the first from it on that counts (cm__twin_count()) */
    bool           any;   /* some part represents another one */
} cm__twins;

/* The twins of a step. The parts before and after the layers represent themselves. */
const cm__twins *cm__twins_of(cm__ctx *ctx, const cm_graph *step);

/* How often a node counts: the update once, a node of a layer as often as its layer. NULL: every node once. */
static inline int32_t cm__twin_count(const cm__twins *twins, const cm_graph *g, const int32_t *part, int32_t node)
{
    return twins && g->nodes[node].phase != CM_UPDATE ? twins->count[part[node]] : 1;
}

/* The next node that counts, after the given one; -1: the first one. The graph's node count: there is none. */
static inline int32_t cm__twin_next(const cm__twins *twins, int32_t node)
{
    return twins ? twins->next[node + 1] : node + 1;
}

#endif
