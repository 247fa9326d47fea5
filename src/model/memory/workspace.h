/* SPDX-License-Identifier: Apache-2.0 */
/* workspace.h - memory that operators allocate while they run, besides their outputs. */
#ifndef CM_MODEL_WORKSPACE_H
#define CM_MODEL_WORKSPACE_H

#include "graph/graph.h"

/* Memory that one node allocates and frees. */
typedef struct cm__temporary {
    cm_poly bytes;
    double  least_batch; /* smaller batches use another algorithm, which allocates nothing */
} cm__temporary;

typedef enum cm__conv_pass { CM__CONV_FORWARD, CM__CONV_INPUT, CM__CONV_WEIGHT } cm__conv_pass;

/* Workspace of one pass of a convolution, given its forward node. */
cm__temporary cm__workspace_conv(const cm_graph *g, const cm_node *forward, cm__conv_pass pass);

#endif
