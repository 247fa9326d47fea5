/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vgg_file.c - write VGG-16 (Simonyan and Zisserman, arXiv:1409.1556, table 1 column D) as an ONNX protobuf.
 *
 * The graph is processed twice: the first pass only counts bytes, for the length that precedes the graph; the second
 * writes. Weights are left as holes in the file, which read as zeros.
 */
#include "vgg_file.h"

#include <string.h>
#include <unistd.h>

typedef struct sink {
    FILE   *file; /* NULL: count only */
    int64_t size;
} sink;

typedef struct message {
    unsigned char bytes[512];
    size_t        size;
} message;

enum { VARINT = 0, BYTES = 2 }; /* protobuf's wire types */

static void put_number(message *m, uint64_t n)
{
    for (; n >= 0x80; n >>= 7) m->bytes[m->size++] = (unsigned char)(n | 0x80);
    m->bytes[m->size++] = (unsigned char)n;
}

static void put_int(message *m, int field, int64_t n)
{
    put_number(m, (uint64_t)(field << 3 | VARINT));
    put_number(m, (uint64_t)n);
}

static void put_length(message *m, int field, int64_t length)
{
    put_number(m, (uint64_t)(field << 3 | BYTES));
    put_number(m, (uint64_t)length);
}

static void put_bytes(message *m, int field, const void *bytes, size_t size)
{
    put_length(m, field, (int64_t)size);
    memcpy(m->bytes + m->size, bytes, size);
    m->size += size;
}

static void put_text(message *m, int field, const char *text) { put_bytes(m, field, text, strlen(text)); }
static void put_message(message *m, int field, const message *inner) { put_bytes(m, field, inner->bytes, inner->size); }

static void give(sink *s, const message *m)
{
    if (s->file) fwrite(m->bytes, 1, m->size, s->file);
    s->size += (int64_t)m->size;
}

static void give_part(sink *s, int field, const message *part)
{
    message head = {0};
    put_length(&head, field, (int64_t)part->size);
    give(s, &head);
    give(s, part);
}

/* Field numbers of TensorProto: dims = 1, data_type = 2 (1: float), name = 8, raw_data = 9. */
static void give_weight(sink *s, const char *name, const int64_t *dims, int rank)
{
    message tensor = {0}, head = {0};
    int64_t bytes = 4;
    for (int i = 0; i < rank; i++) {
        put_int(&tensor, 1, dims[i]);
        bytes *= dims[i];
    }
    put_int(&tensor, 2, 1);
    put_text(&tensor, 8, name);
    put_length(&tensor, 9, bytes);
    put_length(&head, 5, (int64_t)tensor.size + bytes); /* GraphProto.initializer */
    give(s, &head);
    give(s, &tensor);
    if (s->file) fseeko(s->file, bytes, SEEK_CUR);
    s->size += bytes;
}

/* Field numbers of AttributeProto: name = 1, ints = 8, type = 20 (7: ints; 2: int), i = 3. */
static void put_ints(message *node, const char *name, const int64_t *values, int count)
{
    message attribute = {0};
    put_text(&attribute, 1, name);
    for (int i = 0; i < count; i++) put_int(&attribute, 8, values[i]);
    put_int(&attribute, 20, 7);
    put_message(node, 5, &attribute);
}

static void put_transposed(message *node)
{
    message attribute = {0};
    put_text(&attribute, 1, "transB");
    put_int(&attribute, 3, 1);
    put_int(&attribute, 20, 2);
    put_message(node, 5, &attribute);
}

/* Fields of NodeProto: input = 1, output = 2, name = 3, op_type = 4, attribute = 5. `from` < 0: the model's input. */
static message node_of(const char *op, int from, int to, bool weighted)
{
    message node = {0};
    char    name[32];
    snprintf(name, sizeof name, from < 0 ? "x" : "t%d", from);
    put_text(&node, 1, name);
    for (const char *part = "wb"; weighted && *part; part++) {
        snprintf(name, sizeof name, "%c%d", *part, to);
        put_text(&node, 1, name);
    }
    snprintf(name, sizeof name, "t%d", to);
    put_text(&node, 2, name);
    snprintf(name, sizeof name, "%s_%d", op, to);
    put_text(&node, 3, name);
    put_text(&node, 4, op);
    return node;
}

static void give_weights(sink *s, int id, const int64_t *dims, int rank)
{
    char name[32];
    snprintf(name, sizeof name, "w%d", id);
    give_weight(s, name, dims, rank);
    snprintf(name, sizeof name, "b%d", id);
    give_weight(s, name, dims, 1);
}

static int give_conv(sink *s, int id, int64_t in, int64_t out)
{
    message node = node_of("Conv", id - 1, id, true);
    put_ints(&node, "kernel_shape", (int64_t[]){3, 3}, 2);
    put_ints(&node, "pads", (int64_t[]){1, 1, 1, 1}, 4);
    give_part(s, 1, &node);
    give_weights(s, id, (int64_t[]){out, in, 3, 3}, 4);
    message relu = node_of("Relu", id, id + 1, false);
    give_part(s, 1, &relu);
    return id + 2;
}

static int give_pool(sink *s, int id)
{
    message node = node_of("MaxPool", id - 1, id, false);
    put_ints(&node, "kernel_shape", (int64_t[]){2, 2}, 2);
    put_ints(&node, "strides", (int64_t[]){2, 2}, 2);
    give_part(s, 1, &node);
    return id + 1;
}

static int give_dense(sink *s, int id, int64_t in, int64_t out)
{
    message node = node_of("Gemm", id - 1, id, true);
    put_transposed(&node);
    give_part(s, 1, &node);
    give_weights(s, id, (int64_t[]){out, in}, 2);
    return id + 1;
}

/* Fields of ValueInfoProto: name = 1, type = 2; of its tensor type: elem_type = 1, shape = 2; of a dim: value = 1,
   name = 2. */
static void give_value(sink *s, int field, const char *name, const int64_t *dims, int rank)
{
    message shape = {0}, tensor = {0}, type = {0}, value = {0};
    for (int i = 0; i < rank; i++) {
        message dim = {0};
        if (dims[i]) put_int(&dim, 1, dims[i]);
        else put_text(&dim, 2, "batch");
        put_message(&shape, 1, &dim);
    }
    put_int(&tensor, 1, 1);
    put_message(&tensor, 2, &shape);
    put_message(&type, 1, &tensor);
    put_text(&value, 1, name);
    put_message(&value, 2, &type);
    give_part(s, field, &value);
}

static void give_graph(sink *s)
{
    static const int64_t layers[] = {64, 64, 0, 128, 128, 0, 256, 256, 256, 0, 512, 512, 512, 0, 512, 512, 512, 0};
    int                  id = 0;
    int64_t              channels = 3;
    char                 last[16];
    message              name = {0};
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++) {
        id = layers[i] ? give_conv(s, id, channels, layers[i]) : give_pool(s, id);
        if (layers[i]) channels = layers[i];
    }
    message flatten = node_of("Flatten", id - 1, id, false);
    give_part(s, 1, &flatten);
    id = give_dense(s, id + 1, 512 * 7 * 7, 4096);
    id = give_dense(s, id, 4096, 4096);
    id = give_dense(s, id, 4096, 1000);
    snprintf(last, sizeof last, "t%d", id - 1);
    put_text(&name, 2, "vgg16");
    give(s, &name);
    give_value(s, 11, "x", (int64_t[]){0, 3, 224, 224}, 4);
    give_value(s, 12, last, (int64_t[]){0, 1000}, 2);
}

bool write_vgg_file(FILE *file)
{
    sink    counted = {0}, written = {.file = file};
    message head = {0}, opset = {0};
    give_graph(&counted);
    put_int(&opset, 2, 13);
    put_int(&head, 1, 8); /* ModelProto: ir_version = 1, opset_import = 8, graph = 7 */
    put_message(&head, 8, &opset);
    put_length(&head, 7, counted.size);
    give(&written, &head);
    give_graph(&written);
    return fflush(file) == 0 && ftruncate(fileno(file), written.size) == 0;
}
