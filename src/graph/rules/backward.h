/* SPDX-License-Identifier: Apache-2.0 */
/* backward.h - the state of the backward pass while it runs, as the gradient rules use it. */
#ifndef CM_GRAPH_RULES_BACKWARD_H
#define CM_GRAPH_RULES_BACKWARD_H

#include "graph/function.h"
#include "graph/rule.h"

typedef struct cm__backward {
    cm_graph *g;
    int32_t   forward_nodes, forward_tensors; /* smaller indices belong to forward */
    bool     *needs;    /* per forward tensor: a gradient must reach it */
    int32_t  *gradient; /* per forward tensor: its gradient so far, -1: none yet */
    int32_t  *group;    /* per forward node: its recomputation group; -1: its outputs are kept */
    int32_t  *copy;     /* per forward tensor: its recomputed copy, or itself if it is kept; -1: not recomputed yet */
    bool     *keeps;    /* per forward node: it is in a group, and its outputs are kept nevertheless; NULL: none is */
    bool     *discards; /* per forward node: it is in a group, and nothing else keeps its outputs; NULL: none is */
    int32_t  *first_of_group, *next_in_group; /* the nodes of each group, in order; -1 ends a list */
} cm__backward;

bool    cm__wants(const cm__backward *b, const cm_node *n, int32_t input);
int32_t cm__gradient_of_output(const cm__backward *b, const cm_node *n, int32_t output); /* -1: none */

/* recompute_groups.c: fills in the groups. */
void cm__group_nodes(cm__backward *b, const cm_train_options *o);

/* recompute_modules.c: groups of modules whose results are discarded; bits of cm_module. */
void cm__group_modules(cm__backward *b, uint32_t modules);

/* The tensor to read in backward for a forward tensor: the one kept since forward, or its recomputed copy. */
int32_t cm__kept(cm__backward *b, int32_t tensor);

/* A backward node with one output shaped like `like`; returns the output. */
int32_t cm__back(cm__backward *b, const cm_node *n, int op, int32_t like, const int32_t *inputs, int32_t count);

/* A backward node with one output per input from `first` to `last` that needs a gradient, which it is given. */
void cm__back_joint(cm__backward *b, const cm_node *n, int op, const int32_t *inputs, int32_t count, int32_t first,
                    int32_t last);

/* traced.c: the gradients of a product whose operands were cast for them; false: they were not. */
bool cm__product_under_autocast(cm__backward *b, const cm_node *n);

/* The tensor that an operator of a custom function's recorded backward reads: its 16-bit copy if autocast casts it. */
int32_t cm__operand_under_autocast(cm__backward *b, const cm_node *n, int32_t tensor);

/* Set the gradient of a forward tensor, or add to it. Reduces broadcast dimensions and casts to the tensor's type
   first. */
void cm__give(cm__backward *b, const cm_node *n, int32_t tensor, int32_t gradient);

/* recorded_backward.c */
/* Outputs of functions need gradients if an input does. Called after the function's last node was visited. */
void cm__function_needs(cm__backward *b, int32_t node);

/* Emit the backward of the function that ends at this node, if a gradient reached it. */
void cm__function_backward(cm__backward *b, int32_t node);

#endif
