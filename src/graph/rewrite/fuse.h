/* SPDX-License-Identifier: Apache-2.0 */
/* fuse.h - matching helpers shared by the fusion patterns (fuse*.c). */
#ifndef CM_GRAPH_REWRITE_FUSE_H
#define CM_GRAPH_REWRITE_FUSE_H

#include "graph/rule.h"
#include "graph/uses.h"

typedef struct cm__fuser {
    cm_graph *g;
    cm__uses  uses;
    int32_t   tensors; /* number of tensors that `uses` covers */
    int32_t   anchor; /* the node at which a pattern is tried */
    bool     *returned; /* per tensor: the model returns it */
    bool      eager;   /* fuse only what eager PyTorch runs as one kernel */
    bool      norms;   /* fuse norms that the user wrote out */
    bool      changed; /* a pattern rewrote something since `uses` was made */
    bool      marks_only; /* only mark norms that are written out; rewrite nothing */
} cm__fuser;

/* The node that produces a tensor, if it is this operator; -1 otherwise. */
int32_t cm__made_by(const cm__fuser *f, int32_t tensor, int op);
/* The only node that reads a tensor; -1: none or several do, or the model returns it. */
int32_t cm__only_reader(const cm__fuser *f, int32_t tensor);
int32_t cm__only_reader_op(const cm__fuser *f, int32_t tensor, int op);

bool    cm__is_number(const cm__fuser *f, int32_t tensor, double *value); /* one real number, known */
int32_t cm__other_input(const cm_node *n, int32_t tensor);                /* of two inputs; -1: `tensor` is neither */
/* x where node is x * c or x / c with a known c; -1 otherwise. */
int32_t cm__scaled_input(const cm__fuser *f, int32_t node);
/* c where node is x * c, 1 / c where it is x / c. */
double  cm__scale_of(const cm__fuser *f, int32_t node);
bool    cm__comes_from(const cm__fuser *f, int32_t tensor, int32_t ancestor, int depth);

/* Replace `node` by another operator with other inputs and the same first output; false (no change) if shapes
   differ. */
bool cm__rewrite(cm__fuser *f, int32_t node, int op, const int32_t *inputs, int32_t n, const cm__attr *attrs,
                 int32_t n_attrs);

/* Replaces a node that nothing reads any more by another operator. Returns the result, which is a new tensor. */
int32_t cm__put(cm__fuser *f, int32_t node, int op, const int32_t *inputs, int32_t n, const cm__attr *attrs, int32_t n_attrs);

/* The patterns. Each is tried at every node; a match rewrites the last node of the pattern. */
void cm__fuse_gelu(cm__fuser *f, int32_t node);
void cm__fuse_silu(cm__fuser *f, int32_t node);
void cm__fuse_norm(cm__fuser *f, int32_t node);
void cm__fuse_group_norm(cm__fuser *f, int32_t node);
void cm__fuse_attention(cm__fuser *f, int32_t node);
void cm__fuse_softmax(cm__fuser *f, int32_t node);
void cm__fuse_loss(cm__fuser *f, int32_t node);
void cm__fuse_written_norm(cm__fuser *f, int32_t node);

#endif
