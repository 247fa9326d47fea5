/* SPDX-License-Identifier: Apache-2.0 */
/* train.h - the passes that make one training step of a forward graph: precision, loss, backward, update. */
#ifndef CM_GRAPH_TRAIN_H
#define CM_GRAPH_TRAIN_H

#include "graph/graph.h"

/* precision.c: `forward` again in `step`, in the given precision, with the casts that takes. */
void cm__lower(cm_graph *step, const cm_graph *forward, cm_precision precision, bool inference, bool master);

/* loss.c: the loss over the model's first output; returns it, or -1 where there is none to compute. Decides AUTO. */
int32_t cm__add_loss(cm_graph *step, cm_loss *loss);

/* backward.c: gradients of `outputs`; returns, per tensor of the graph as it was, its gradient or -1. */
int32_t *cm__backward_run(cm_graph *step, const int32_t *outputs, int32_t count, cm_recompute recompute);

/* update.c: optimizer state and one multi-tensor update of every parameter that has a gradient. */
void cm__add_update(cm_graph *step, const int32_t *gradient, int32_t tensors, cm_optimizer optimizer, bool master);

#endif
