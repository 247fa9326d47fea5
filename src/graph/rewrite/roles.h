/* SPDX-License-Identifier: Apache-2.0 */
/* roles.h - the roles of operators' inputs and the names that exporters invent, for roles.c, sharing.c and blocks.c. */
#ifndef CM_GRAPH_REWRITE_ROLES_H
#define CM_GRAPH_REWRITE_ROLES_H

#include "graph/uses.h"

/* The role of a tensor at one place where it is read. */
typedef enum cm__place_kind {
    CM__PLACE_OTHER,
    CM__PLACE_WEIGHT,     /* a weight or bias: trained */
    CM__PLACE_STATISTICS, /* running statistics, initial states, tables: stored, not trained */
    CM__PLACE_OPERAND     /* of an elementwise operator: trained if it is named like a parameter */
} cm__place_kind;

cm__place_kind cm__place_of(const cm_graph *g, const cm__uses *uses, cm__use use);

/* The tensor of the file that `tensor` is, through changes of shape and type; -1: it is computed. */
int32_t cm__origin_of(const cm_graph *g, int32_t tensor);

bool cm__name_is_invented(const char *name); /* by an exporter: "val_12", "onnx::Add_12" */

/* sharing.c: make one parameter for each place where the exporter merged equal ones. */
void cm__split_merged(cm_graph *g);

#endif
