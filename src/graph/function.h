/* SPDX-License-Identifier: Apache-2.0 */
/* function.h - custom autograd functions of a recorded model, whose backward is recorded and not derived. */
#ifndef CM_GRAPH_FUNCTION_H
#define CM_GRAPH_FUNCTION_H

#include "graph/graph.h"

#define CM__OF_OUTPUT(k) (-2 - (k)) /* in cm__function.leaf: the gradient of output k */

/* One call. Its nodes are consecutive; cm_node.function is its index in cm_graph.functions. */
typedef struct cm__function {
    const cm_graph *backward;           /* the operators of its backward */
    const int32_t  *inputs, *outputs;   /* tensors of the model; -1: not a tensor */
    const int32_t  *gradients;          /* per input: tensor of `backward`; -1: none */
    const int32_t  *leaf;               /* per tensor of `backward`: tensor of the model, CM__OF_OUTPUT(k), or -1 */
    int32_t         n_inputs, n_outputs;
} cm__function;

/* The same functions with their tensors mapped to those of another graph. */
const cm__function *cm__functions_mapped(cm__ctx *ctx, const cm_graph *from, const int32_t *map);

/* Mark the tensors that the functions' backward reads. */
void cm__functions_need(const cm_graph *g, bool *needed);

/* Make the functions' inputs, and what their backward reads, follow a tensor that another one represents. */
void cm__functions_follow(const cm_graph *g, int32_t from, int32_t to);

/* Whether a tensor is an output of the function that its node belongs to. */
bool cm__is_function_output(const cm_graph *g, const cm_node *n, int32_t tensor);

/* Whether a node belongs to a function: its gradient rule is not used. */
bool cm__in_function(const cm_graph *g, const cm_node *n);

#endif
