/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire.h - an ONNX file as structures that point into its bytes.
 *
 * Only the fields that the importer needs are decoded. Strings and weights are not copied: a span refers to them and is
 * valid as long as the file's bytes are.
 */
#ifndef CM_IMPORT_ONNX_WIRE_H
#define CM_IMPORT_ONNX_WIRE_H

#include "base/ctx.h"
#include "base/map.h"

#define CM__ONNX_DEPTH_MAX 16 /* nesting of graphs */

/* All lists have this layout: items, then their count. */
#define CM__ONNX_LIST(type)                                                                                            \
    struct {                                                                                                           \
        type   *items;                                                                                                 \
        int32_t count;                                                                                                 \
    }

typedef CM__ONNX_LIST(cm__span) cm__onnx_spans;
typedef CM__ONNX_LIST(int64_t) cm__onnx_ints;
typedef CM__ONNX_LIST(float) cm__onnx_floats;

/* ONNX's numbers for element types (TensorProto.DataType). */
enum {
    CM__ONNX_FLOAT = 1, CM__ONNX_UINT8, CM__ONNX_INT8, CM__ONNX_UINT16, CM__ONNX_INT16, CM__ONNX_INT32, CM__ONNX_INT64,
    CM__ONNX_STRING, CM__ONNX_BOOL, CM__ONNX_FLOAT16, CM__ONNX_DOUBLE, CM__ONNX_UINT32, CM__ONNX_UINT64,
    CM__ONNX_COMPLEX64, CM__ONNX_COMPLEX128, CM__ONNX_BFLOAT16, CM__ONNX_FLOAT8_FIRST, CM__ONNX_FLOAT8_LAST = 20
};

/* The type of an attribute's value (AttributeProto.AttributeType). */
enum {
    CM__ONNX_ATTR_FLOAT = 1, CM__ONNX_ATTR_INT, CM__ONNX_ATTR_STRING, CM__ONNX_ATTR_TENSOR, CM__ONNX_ATTR_GRAPH,
    CM__ONNX_ATTR_FLOATS, CM__ONNX_ATTR_INTS, CM__ONNX_ATTR_STRINGS
};

typedef struct cm__onnx_tensor {
    cm__span      self; /* the whole message, to find typed contents later */
    cm__span      name, raw;
    cm__onnx_ints dims;
    int64_t       data_type, location; /* location 1: in another file */
} cm__onnx_tensor;

typedef struct cm__onnx_sparse {
    cm__onnx_tensor values;
    cm__onnx_ints   dims;
} cm__onnx_sparse;

typedef struct cm__onnx_attribute {
    cm__span              name, reference, text; /* reference: attribute of the enclosing function */
    int64_t               type, integer;
    float                 real;
    cm__onnx_tensor      *tensor;
    struct cm__onnx_body *graph;
    cm__onnx_floats       reals;
    cm__onnx_ints         integers;
    cm__onnx_spans        texts;
} cm__onnx_attribute;

typedef CM__ONNX_LIST(cm__onnx_attribute) cm__onnx_attributes;

typedef struct cm__onnx_node {
    cm__onnx_spans      inputs, outputs;
    cm__span            name, op, domain, overload;
    cm__onnx_attributes attributes;
} cm__onnx_node;

typedef struct cm__onnx_dim {
    cm__span self; /* empty: the dimension is unknown */
    cm__span param;
    int64_t  value;
} cm__onnx_dim;

typedef struct cm__onnx_shape {
    CM__ONNX_LIST(cm__onnx_dim) dims;
} cm__onnx_shape;

typedef struct cm__onnx_tensor_type {
    int64_t         data_type;
    cm__onnx_shape *shape; /* NULL: unknown */
} cm__onnx_tensor_type;

typedef struct cm__onnx_type {
    cm__onnx_tensor_type *tensor, *sparse;
    cm__span              sequence, map, optional;
} cm__onnx_type;

typedef struct cm__onnx_value {
    cm__span      name;
    cm__onnx_type type;
} cm__onnx_value;

/* A graph, or the graph of a branch or loop. */
typedef struct cm__onnx_body {
    CM__ONNX_LIST(cm__onnx_node) nodes;
    CM__ONNX_LIST(cm__onnx_tensor) initializers;
    CM__ONNX_LIST(cm__onnx_sparse) sparse_initializers;
    CM__ONNX_LIST(cm__onnx_value) inputs;
    CM__ONNX_LIST(cm__onnx_value) outputs;
    int32_t *order; /* set by the importer: the execution order of the nodes */
} cm__onnx_body;

typedef struct cm__onnx_opset {
    cm__span domain;
    int64_t  version;
} cm__onnx_opset;

typedef struct cm__onnx_function {
    cm__span            name, domain, overload;
    cm__onnx_spans      inputs, outputs;
    cm__onnx_attributes defaults;
    cm__onnx_body       body; /* nodes only */
} cm__onnx_function;

typedef struct cm__onnx_model {
    int64_t        ir_version;
    cm__span       producer;
    cm__onnx_body *graph;
    CM__ONNX_LIST(cm__onnx_opset) opsets;
    CM__ONNX_LIST(cm__onnx_function) functions;
} cm__onnx_model;

/* Fails through ctx if the bytes are not an ONNX model. */
cm__onnx_model *cm__onnx_decode(cm__ctx *ctx, const uint8_t *bytes, size_t size);

/* The numbers of the repeated field `tag` of a message, packed or not: varints as values, 4- and 8-byte numbers as
   bits. Writes at most `max`; returns how many there are. */
int32_t cm__onnx_numbers(cm__ctx *ctx, cm__span message, uint32_t tag, uint64_t *numbers, int32_t max);

#endif
