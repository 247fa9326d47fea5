/* SPDX-License-Identifier: Apache-2.0 */
/* train.h - the passes that turn a forward graph into one training step: precision, loss, backward, update. */
#ifndef CM_GRAPH_TRAINING_TRAIN_H
#define CM_GRAPH_TRAINING_TRAIN_H

#include "graph/graph.h"

/* precision.c: copy `forward` into `step` in the given precision, with the casts this needs. */
void cm__lower(cm_graph *step, const cm_graph *forward, const cm_train_options *o);

/* autocast.c: the type in which Habana's autocast computes a node. */
cm__cast_policy cm__habana_policy(const cm_node *n);

/* traced.c: cast the fp32 operands of a product for its gradients, where autocast has this 16-bit type. */
void cm__cast_for_backward(cm_graph *step, int32_t node, cm_dtype low);

/* Whether what is emitted next is compiled, if that depends on the type of the weights. */
void cm__decide_outside(cm_graph *step, bool bf16);

/* loss.c: add the loss of the model's first output; returns it, or -1 if there is none. Resolves AUTO. */
int32_t cm__add_loss(cm_graph *step, cm_loss *loss);

/* backward.c: gradients of `outputs`; returns, per tensor of the forward graph, its gradient or -1. */
int32_t *cm__backward_run(cm_graph *step, const int32_t *outputs, int32_t count, const cm_train_options *o);

/* recompute_groups.c: the nodes whose outputs selective recomputation keeps if it keeps products. group: per node, its
   layer; -1: none. */
bool *cm__kept_products(cm__ctx *ctx, const cm_graph *g, const int32_t *group, int32_t nodes);

/* update.c: optimizer state and one multi-tensor update of every parameter that has a gradient. */
void cm__add_update(cm_graph *step, const int32_t *gradient, int32_t tensors, cm_optimizer optimizer, bool master);
/* Paged optimizers of bitsandbytes: states in memory that moves to the host when the device is short of it, which
   PyTorch does not count as allocated. */
bool cm__optimizer_paged(cm_optimizer o);
/* Numbers that an optimizer keeps for each parameter. */
int cm__optimizer_states(cm_optimizer o);

#endif
