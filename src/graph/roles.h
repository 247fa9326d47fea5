/* SPDX-License-Identifier: Apache-2.0 */
/* roles.h - what roles.c, sharing.c and blocks.c know of operators' inputs and of exporters' names. */
#ifndef CM_GRAPH_ROLES_H
#define CM_GRAPH_ROLES_H

#include "graph/uses.h"

/* What a tensor that is read in some place is there. */
typedef enum cm__place_kind {
    CM__PLACE_OTHER,
    CM__PLACE_WEIGHT,     /* a weight or bias: trained */
    CM__PLACE_STATISTICS, /* running statistics, initial states, tables: kept, not trained */
    CM__PLACE_OPERAND     /* of an elementwise operator: trained if its name says so */
} cm__place_kind;

cm__place_kind cm__place_of(const cm_graph *g, const cm__uses *uses, cm__use use);
bool cm__passes_weight(const cm_node *n); /* gives on, in another shape or type, what it reads */

/* The tensor from the file that `tensor` is, perhaps in another shape or type; -1: it is computed. */
int32_t cm__origin_of(const cm_graph *g, int32_t tensor);

bool cm__name_is_invented(const char *name); /* by an exporter: "val_12", "onnx::Add_12" */

/* sharing.c: one parameter for each place where equal ones were merged by the exporter. */
void cm__split_merged(cm_graph *g);

#endif
