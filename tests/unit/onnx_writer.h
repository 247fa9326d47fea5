/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_writer.h - write ONNX files for tests in protobuf's wire format; field numbers are those of onnx.proto.
 *
 *     w_model(&m, &graph) of w_node(&graph, "Relu", "r", "x", "y", NULL) ...; names in one string, separated by spaces.
 */
#ifndef CM_TESTS_UNIT_ONNX_WRITER_H
#define CM_TESTS_UNIT_ONNX_WRITER_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct bytes {
    uint8_t *data;
    size_t   size, room;
} bytes;

static inline void w_free(bytes *b)
{
    free(b->data);
    *b = (bytes){0};
}

static inline void w_raw(bytes *b, const void *data, size_t size)
{
    if (b->size + size > b->room) {
        b->room = (b->size + size) * 2;
        b->data = realloc(b->data, b->room);
    }
    if (size) memcpy(b->data + b->size, data, size);
    b->size += size;
}

static inline void w_varint(bytes *b, uint64_t value)
{
    uint8_t byte;
    do {
        byte = (uint8_t)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
        w_raw(b, &byte, 1);
    } while (value >>= 7);
}

static inline void w_int(bytes *b, int field, int64_t value)
{
    w_varint(b, (uint64_t)field << 3);
    w_varint(b, (uint64_t)value);
}

static inline void w_float(bytes *b, int field, float value)
{
    w_varint(b, (uint64_t)field << 3 | 5);
    w_raw(b, &value, sizeof value);
}

static inline void w_data(bytes *b, int field, const void *data, size_t size)
{
    w_varint(b, (uint64_t)field << 3 | 2);
    w_varint(b, size);
    w_raw(b, data, size);
}

static inline void w_text(bytes *b, int field, const char *text) { w_data(b, field, text, strlen(text)); }

/* Append a nested message and free it. */
static inline void w_message(bytes *b, int field, bytes *inner)
{
    w_data(b, field, inner->data, inner->size);
    w_free(inner);
}

/* ---- attributes ------------------------------------------------------------------------------------------------- */

static inline void w_attr_int(bytes *attrs, const char *name, int64_t value)
{
    bytes a = {0};
    w_text(&a, 1, name);
    w_int(&a, 3, value);
    w_int(&a, 20, 2);
    w_message(attrs, 5, &a);
}

static inline void w_attr_float(bytes *attrs, const char *name, float value)
{
    bytes a = {0};
    w_text(&a, 1, name);
    w_float(&a, 2, value);
    w_int(&a, 20, 1);
    w_message(attrs, 5, &a);
}

static inline void w_attr_ints(bytes *attrs, const char *name, int count, const int64_t *values)
{
    bytes a = {0};
    w_text(&a, 1, name);
    for (int i = 0; i < count; i++) w_int(&a, 8, values[i]);
    w_int(&a, 20, 7);
    w_message(attrs, 5, &a);
}

static inline void w_attr_message(bytes *attrs, const char *name, int field, int type, bytes *inner)
{
    bytes a = {0};
    w_text(&a, 1, name);
    w_message(&a, field, inner);
    w_int(&a, 20, type);
    w_message(attrs, 5, &a);
}

static inline void w_attr_graph(bytes *attrs, const char *name, bytes *graph)
{
    w_attr_message(attrs, name, 6, 5, graph);
}
static inline void w_attr_tensor(bytes *attrs, const char *name, bytes *tensor)
{
    w_attr_message(attrs, name, 5, 4, tensor);
}

static inline void w_attr_reference(bytes *attrs, const char *name, const char *to, int type)
{
    bytes a = {0};
    w_text(&a, 1, name);
    w_int(&a, 20, type);
    w_text(&a, 21, to);
    w_message(attrs, 5, &a);
}

/* ---- nodes, tensors, graphs ------------------------------------------------------------------------------------- */

static inline void w_words(bytes *b, int field, const char *words)
{
    while (*words) {
        size_t length = strcspn(words, " ");
        w_data(b, field, words, length == 1 && *words == '-' ? 0 : length); /* "-": an omitted input or output */
        words += length + (words[length] == ' ');
    }
}

/* `attrs` may be NULL and is freed. field: 1 in a graph, 7 in a function. */
static inline void w_node_of(bytes *graph, int field, const char *op, const char *domain, const char *name,
                             const char *inputs, const char *outputs, bytes *attrs)
{
    bytes n = {0};
    w_words(&n, 1, inputs);
    w_words(&n, 2, outputs);
    if (*name) w_text(&n, 3, name);
    w_text(&n, 4, op);
    if (attrs) {
        w_raw(&n, attrs->data, attrs->size);
        w_free(attrs);
    }
    if (*domain) w_text(&n, 7, domain);
    w_message(graph, field, &n);
}

static inline void w_node(bytes *graph, const char *op, const char *name, const char *inputs, const char *outputs,
                          bytes *attrs)
{
    w_node_of(graph, 1, op, "", name, inputs, outputs, attrs);
}

/* A tensor without data. */
static inline bytes w_tensor(const char *name, int type, int rank, const int64_t *dims)
{
    bytes t = {0};
    for (int i = 0; i < rank; i++) w_int(&t, 1, dims[i]);
    w_int(&t, 2, type);
    w_text(&t, 8, name);
    return t;
}

static inline void w_weight(bytes *graph, const char *name, int rank, const int64_t *dims)
{
    bytes t = w_tensor(name, 1, rank, dims);
    w_int(&t, 14, 1); /* data_location: external */
    w_message(graph, 5, &t);
}

static inline bytes w_int64_tensor(const char *name, int rank, int count, const int64_t *values)
{
    bytes t = w_tensor(name, 7, rank, (int64_t[]){count});
    w_data(&t, 9, values, (size_t)count * sizeof *values); /* tests assume a little-endian machine */
    return t;
}

static inline void w_int64s(bytes *graph, const char *name, int count, const int64_t *values)
{
    bytes t = w_int64_tensor(name, 1, count, values);
    w_message(graph, 5, &t);
}

/* field: 11 for an input, 12 for an output. A negative dimension is the symbolic dimension `param`. */
static inline void w_value(bytes *graph, int field, const char *name, int type, int rank, const int64_t *dims,
                           const char *param)
{
    bytes shape = {0}, tensor = {0}, t = {0}, value = {0};
    for (int i = 0; i < rank; i++) {
        bytes d = {0};
        if (dims[i] < 0) w_text(&d, 2, param);
        else w_int(&d, 1, dims[i]);
        w_message(&shape, 1, &d);
    }
    w_int(&tensor, 1, type);
    w_message(&tensor, 2, &shape);
    w_message(&t, 1, &tensor);
    w_text(&value, 1, name);
    w_message(&value, 2, &t);
    w_message(graph, field, &value);
}

static inline void w_name(bytes *graph, int field, const char *name)
{
    bytes value = {0};
    w_text(&value, 1, name);
    w_message(graph, field, &value);
}

static inline bytes w_model(bytes *graph, const char *producer, int64_t opset)
{
    bytes m = {0}, set = {0};
    w_int(&m, 1, 8);
    w_text(&m, 2, producer);
    w_message(&m, 7, graph);
    w_text(&set, 1, "");
    w_int(&set, 2, opset);
    w_message(&m, 8, &set);
    return m;
}

#endif
