/* SPDX-License-Identifier: Apache-2.0 */
/*
 * retype.h - the step in bf16 from that in fp16, or the other way round.
 *
 * Both types have the same size, and autocast has the same rules for both. So the two steps differ only in the names of
 * types, and the second one costs a copy of the tensors instead of another training graph.
 */
#ifndef CM_GRAPH_TRAINING_RETYPE_H
#define CM_GRAPH_TRAINING_RETYPE_H

#include "graph/graph.h"

/* True: steps of `forward` in the two precisions differ only in the 16-bit type. */
bool cm__can_retype(const cm_graph *forward, cm_precision from, cm_precision to);

/* The step in precision `to`. It uses the names, sizes and lists of `step`, which must outlive it. */
cm_status cm__graph_retype(const cm_graph *step, cm_precision to, cm_graph **retyped, cm_diag *diag);

#endif
