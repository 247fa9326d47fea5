/* SPDX-License-Identifier: Apache-2.0 */
/* aten.h - the kernel call that an ATen operator makes, from its name, shapes, types and strides in a trace. */
#ifndef CM_TIMELINE_ATEN_H
#define CM_TIMELINE_ATEN_H

#include <jansson.h>
#include "device/calls.h"

#define CM__TRACED_RANK 8
#define CM__TRACED_ARGS 6 /* arguments whose shapes are kept */
#define CM__TRACED_CALLS 2

/* A tensor argument. */
typedef struct cm__traced_tensor {
    int32_t     rank; /* -1: not a tensor, or not recorded */
    int64_t     dims[CM__TRACED_RANK], strides[CM__TRACED_RANK];
    const char *type; /* "bf16"; NULL: unknown */
    bool        strided; /* strides are recorded */
} cm__traced_tensor;

/* How the kernels of operators inside an operator are counted. */
typedef enum cm__traced_scope {
    CM__TRACED_LEAF,  /* operators inside count on their own */
    CM__TRACED_WHOLE, /* they are part of this one */
} cm__traced_scope;

/* A distinct operator of a trace. */
typedef struct cm__op_kind {
    const char    *name;
    cm__traced_scope scope;
    cm__call       calls[CM__TRACED_CALLS]; /* convolution_backward makes two: of the input, of the weight */
    int32_t        n_calls;               /* 0: no call is known for it */
    bool           known;                 /* the operator is in the table */
    double         tensors, elements;     /* of the first list of tensors: what an optimizer updates */
    bool           gradient;              /* of one parameter: tensors is 1 */
    bool           scales;                /* _foreach_mul_: the momentum of an optimizer */
} cm__op_kind;

/* An operator that is being converted. */
typedef struct cm__traced_op {
    cm__ctx        *ctx;
    cm__op_kind    *kind;
    cm__traced_tensor in[CM__TRACED_ARGS];
    const json_t   *numbers; /* "Concrete Inputs" */
    const json_t   *listed, *listed_strides; /* shapes and strides of the first argument, if it is a list of tensors */
    const char     *function; /* from the table */
} cm__traced_op;

bool         cm__traced_known(const char *name);
cm__op_kind *cm__traced_read(cm__ctx *ctx, const char *name, const json_t *args);

/* Used by the rules. */
cm__call *cm__traced_call(cm__traced_op *a, int op, cm__pass pass, const char *variant, const char *dtype);
int64_t   cm__traced_product(const int64_t *dims, int32_t count);
int64_t   cm__traced_elements(const cm__traced_tensor *t);
bool      cm__traced_channels_last(const cm__traced_tensor *t);
/* A tensor of the first argument, a list; its type is not recorded. rank -1: none. */
cm__traced_tensor cm__traced_listed(const cm__traced_op *a, size_t index);
/* A number of the operator's arguments, or number `index` of a list; `otherwise`: not recorded. */
int64_t   cm__traced_number(const cm__traced_op *a, size_t argument, size_t index, int64_t otherwise);
bool      cm__traced_true(const cm__traced_op *a, size_t argument, size_t index, bool otherwise);
const char *cm__traced_word(const cm__traced_op *a, size_t argument); /* "" if it is not recorded */

/* Rules: aten_matrix.c, aten_rows.c, aten_map.c. */
typedef void cm__traced_rule(cm__traced_op *a);
cm__traced_rule cm__traced_gemm, cm__traced_conv, cm__traced_conv_transpose, cm__traced_conv_backward,
    cm__traced_attention, cm__traced_rnn, cm__traced_layer_norm, cm__traced_channel_norm, cm__traced_group_norm,
    cm__traced_softmax, cm__traced_nll, cm__traced_pool, cm__traced_embedding, cm__traced_reduce, cm__traced_map,
    cm__traced_copy, cm__traced_fill, cm__traced_cat, cm__traced_foreach, cm__traced_gradient;

#endif
