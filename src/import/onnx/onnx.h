/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx.h - the parts of the ONNX importer, from decoded messages (onnx/wire.h) to a graph.
 *
 *     onnx.c           the file: which inputs, which batch, one attempt or two
 *     onnx/input.c     shapes of inputs: the batch symbol and other free dimensions
 *     onnx/leaf.c      element types, initializers, constants
 *     onnx/order.c     the order of nodes
 *     onnx/attribute.c attributes
 *     onnx/node.c      one node
 *     onnx/control.c   functions, If, Loop, Scan: bodies run in place
 *     onnx/sequence.c  sequences of tensors, resolved during import
 */
#ifndef CM_IMPORT_ONNX_ONNX_H
#define CM_IMPORT_ONNX_ONNX_H

#include "import/import.h"
#include "import/onnx/wire.h"

/* The names visible in one graph, branch, iteration or function call. */
typedef struct cm__onnx_scope {
    cm__map                      names; /* to tensors */
    const struct cm__onnx_scope *outer; /* its names are visible too; NULL: none */
    const struct cm__onnx_scope *caller; /* the scope that runs this body; NULL: the file's main graph */
    const cm__onnx_function     *function; /* the function whose call this scope belongs to; NULL: none */
    cm__onnx_attributes          arguments; /* of that call */
    const char                  *prefix; /* of node names: "loop/3/"; "" in the main graph */
    int32_t                      depth;
} cm__onnx_scope;

/* A sequence of tensors of known length. */
typedef struct cm__onnx_sequence {
    int32_t *items, count;
} cm__onnx_sequence;

typedef struct cm__onnx {
    cm__ctx               *ctx;
    cm_graph              *g;
    const cm__onnx_model  *model;
    const cm_load_options *options;
    cm__map                ops, attributes, functions; /* names to rows of ops.def, attrs.def, and to functions */
    cm__map                weights; /* names of the main graph's initializers */
    cm__span               batch_name;  /* name of the batch dimension; empty: none is named */
    int64_t                fixed_batch; /* the file's batch size, replaced by the symbol; 0: keep the file's sizes */
    int64_t                opset;
    bool                   restore_bias; /* Gemms with two inputs lost a zero bias in the export */
    cm__map                biases;       /* restored biases, by name */
    cm__onnx_sequence     *sequences;
    int32_t                n_sequences, cap_sequences;
    int32_t                inlined;      /* nodes run in bodies, and values passed to them */
    bool                   seq_taken;    /* some dimension was set to the given sequence length */
    int32_t                free_dims;    /* number of dimensions with an assumed size */
    int32_t                open_branches; /* branches taken although the condition is unknown */
    const char            *open_branch;  /* the first of them */
} cm__onnx;

/* A name of the file as text, with '?' for everything that is not printable UTF-8. */
char *cm__onnx_text(cm__ctx *ctx, cm__span span);

static inline bool cm__onnx_standard(cm__span domain) { return !domain.length || cm__span_is(domain, "ai.onnx"); }

/* onnx/input.c */
bool cm__onnx_is_data(const cm__onnx *im, cm__span name); /* an input that is not an initializer */
void cm__onnx_find_batch(cm__onnx *im);
bool cm__onnx_common_batch(const cm__onnx *im, int64_t *batch); /* the common size of axis 0 of all data inputs */
void cm__onnx_input(cm__onnx *im, cm__onnx_scope *scope, const cm__onnx_value *value);

/* onnx/leaf.c */
cm_dtype cm__onnx_need_dtype(cm__onnx *im, int64_t data_type);
bool     cm__onnx_first(cm__onnx *im, const cm__onnx_tensor *t, cm__num *number); /* its first element */
int32_t  cm__onnx_reals(cm__onnx *im, const char *name, const cm__onnx_floats *values);
int32_t  cm__onnx_constant(cm__onnx *im, const cm__onnx_scope *scope, const cm__onnx_node *node, const char *name);
void     cm__onnx_initializers(cm__onnx *im, cm__onnx_scope *scope, const cm__onnx_body *body);

/* onnx/order.c: fills body->order; fails on a cycle and on a tensor written twice. */
void cm__onnx_sort(cm__onnx *im, cm__onnx_body *body);

/* onnx/attribute.c */
const cm__onnx_attribute *cm__onnx_attribute_find(const cm__onnx_scope *scope, const cm__onnx_node *node,
                                                  const char *name);
int64_t             cm__onnx_attribute_int(const cm__onnx_scope *scope, const cm__onnx_node *node, const char *name,
                                           int64_t otherwise);
/* A node's attributes, with references to the function's parameters replaced by the arguments. */
cm__onnx_attributes cm__onnx_resolve(cm__onnx *im, const cm__onnx_scope *scope, const cm__onnx_attributes *attributes);
cm__attr *cm__onnx_attributes_of(cm__onnx *im, const cm__onnx_scope *scope, const cm__onnx_node *node, int32_t *n);

/* onnx/node.c */
#define CM__ONNX_ABSENT (-2)   /* in scope.names: an optional input that the caller of a function omitted */
#define CM__ONNX_SEQUENCE (-3) /* in scope.names, this and below: sequences 0, 1, 2 ... */
void    cm__onnx_place(cm__onnx *im, const cm__onnx_node *node, int32_t index);
void    cm__onnx_bind(cm__onnx *im, cm__onnx_scope *scope, cm__span name, int32_t tensor);
int32_t cm__onnx_lookup(const cm__onnx_scope *scope, cm__span name); /* -1: not defined */
int32_t cm__onnx_need(cm__onnx *im, const cm__onnx_scope *scope, cm__span name, const char *what);
void    cm__onnx_spend(cm__onnx *im, int32_t count); /* fails if the inlined bodies become too large */
void    cm__onnx_run(cm__onnx *im, cm__onnx_scope *scope, cm__onnx_body *body); /* all nodes of a body */

/* onnx/control.c: run the node if it is one of these; returns whether it was. */
bool cm__onnx_control(cm__onnx *im, cm__onnx_scope *scope, const cm__onnx_node *node, const char *name);
void cm__onnx_index_functions(cm__onnx *im);

/* onnx/sequence.c: the same for operators on sequences. */
bool cm__onnx_sequence_run(cm__onnx *im, cm__onnx_scope *scope, const cm__onnx_node *node, const char *name);

#endif
