/* SPDX-License-Identifier: Apache-2.0 */
/* workspace.h - what operators allocate while they run, besides their outputs. */
#ifndef CM_MODEL_WORKSPACE_H
#define CM_MODEL_WORKSPACE_H

#include "graph/graph.h"

/* Allocated and freed by one node. */
typedef struct cm__temporary {
    cm_poly bytes;
    double  least_batch; /* below it another algorithm runs, which allocates nothing */
} cm__temporary;

typedef enum cm__conv_pass { CM__CONV_FORWARD, CM__CONV_INPUT, CM__CONV_WEIGHT } cm__conv_pass;

/* Of one pass of a convolution, given its forward node. */
cm__temporary cm__workspace_conv(const cm_graph *g, const cm_node *forward, cm__conv_pass pass);

#endif
