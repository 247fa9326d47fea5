/* SPDX-License-Identifier: Apache-2.0 */
/* backward.h - the backward pass under way, as the gradient rules see it. */
#ifndef CM_GRAPH_BACKWARD_H
#define CM_GRAPH_BACKWARD_H

#include "graph/rule.h"

typedef struct cm__backward {
    cm_graph *g;
    int32_t   forward_nodes, forward_tensors; /* what is below these numbers belongs to forward */
    bool     *needs;    /* per forward tensor: a gradient must reach it */
    int32_t  *gradient; /* per forward tensor: its gradient so far, -1: none yet */
    int32_t  *group;    /* per forward node: recomputed together; -1: its outputs are kept */
    int32_t  *copy;     /* per forward tensor: as recomputed, or itself where it is kept; -1: not yet */
    int32_t  *first_of_group, *next_in_group; /* the nodes of each group, in order; -1 ends */
} cm__backward;

bool    cm__wants(const cm__backward *b, const cm_node *n, int32_t input);
int32_t cm__gradient_of_output(const cm__backward *b, const cm_node *n, int32_t output); /* -1: none */

/* A forward tensor that backward reads: kept since forward, or computed again (recompute). */
int32_t cm__kept(cm__backward *b, int32_t tensor);

/* A backward node with one output shaped like `like`; returns the output. */
int32_t cm__back(cm__backward *b, const cm_node *n, int op, int32_t like, const int32_t *inputs, int32_t count);

/* The gradient of a forward tensor, or one more summand of it; broadcasts and casts are undone on the way. */
void cm__give(cm__backward *b, const cm_node *n, int32_t tensor, int32_t gradient);

#endif
