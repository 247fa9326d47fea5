/* SPDX-License-Identifier: Apache-2.0 */
/* test_onnx_wire.c - decoding: spans, lists packed and not, and malformed bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "import/onnx/wire.h"
#include "onnx_writer.h"

static cm_diag diag;

/* The decoded model, or NULL with `diag` filled; the caller frees *ctx. */
static cm__onnx_model *decode(const bytes *b, cm__ctx **ctx)
{
    *ctx = cm__ctx_new(&diag);
    if (setjmp((*ctx)->trap)) return NULL;
    return cm__onnx_decode(*ctx, b->data, b->size);
}

static void refused(bytes *b, const char *reason)
{
    cm__ctx *ctx;
    assert_null(decode(b, &ctx));
    if (!strstr(diag.reason, reason)) fail_msg("'%s' is not about '%s'", diag.reason, reason);
    cm__ctx_free(ctx);
    w_free(b);
}

static void strings_and_weights_are_spans(void **state)
{
    (void)state;
    cm__ctx *ctx;
    bytes    graph = {0}, t = w_tensor("w", 1, 2, (int64_t[]){2, 3});
    float    data[6] = {1, 2, 3, 4, 5, 6};
    w_data(&t, 9, data, sizeof data);
    w_message(&graph, 5, &t);
    bytes           m = w_model(&graph, "somebody", 20);
    cm__onnx_model *model = decode(&m, &ctx);
    assert_non_null(model);
    assert_true(cm__span_is(model->producer, "somebody"));
    const cm__onnx_tensor *w = &model->graph->initializers.items[0];
    assert_int_equal(w->dims.count, 2);
    assert_int_equal(w->dims.items[1], 3);
    assert_int_equal(w->raw.length, sizeof data);
    assert_true((const uint8_t *)w->raw.text > m.data && (const uint8_t *)w->raw.text < m.data + m.size);
    assert_int_equal(model->opsets.items[0].version, 20);
    cm__ctx_free(ctx);
    w_free(&m);
}

static void packed_and_unpacked_dims_are_the_same(void **state)
{
    (void)state;
    for (int packed = 0; packed < 2; packed++) {
        cm__ctx *ctx;
        bytes    graph = {0}, t = {0}, dims = {0};
        for (int64_t d = 1; d <= 300; d += 299) w_varint(&dims, (uint64_t)d);
        if (packed) w_message(&t, 1, &dims);
        else for (int64_t d = 1; d <= 300; d += 299) w_int(&t, 1, d);
        w_free(&dims);
        w_message(&graph, 5, &t);
        bytes           m = w_model(&graph, "", 20);
        cm__onnx_model *model = decode(&m, &ctx);
        assert_non_null(model);
        assert_int_equal(model->graph->initializers.items[0].dims.count, 2);
        assert_int_equal(model->graph->initializers.items[0].dims.items[0], 1);
        assert_int_equal(model->graph->initializers.items[0].dims.items[1], 300);
        cm__ctx_free(ctx);
        w_free(&m);
    }
}

static void numbers_are_found_packed_and_not(void **state)
{
    (void)state;
    cm__ctx *ctx = cm__ctx_new(&diag);
    uint64_t got[4];
    bytes    t = {0}, packed = {0};
    w_int(&t, 7, -5);
    w_varint(&packed, 6);
    w_varint(&packed, 7);
    w_message(&t, 7, &packed);
    assert_false(setjmp(ctx->trap));
    assert_int_equal(cm__onnx_numbers(ctx, (cm__span){(char *)t.data, t.size}, 7, got, 4), 3);
    assert_int_equal((int64_t)got[0], -5);
    assert_int_equal(got[2], 7);
    assert_true(cm__onnx_numbers(ctx, (cm__span){(char *)t.data, t.size}, 7, got, 2) > 2);
    cm__ctx_free(ctx);
    w_free(&t);
}

/* A truncated file is refused, unless it was cut at the end of a top-level field and still has its graph. */
static void every_truncation_is_refused(void **state)
{
    (void)state;
    bytes graph = {0};
    w_value(&graph, 11, "x", 1, 2, (int64_t[]){-1, 4}, "batch");
    w_node(&graph, "Relu", "relu", "x", "y", NULL);
    w_value(&graph, 12, "y", 1, 2, (int64_t[]){-1, 4}, "batch");
    bytes  m = w_model(&graph, "p", 20);
    size_t opset_field = 6; /* tag, length, and the 4 bytes of {domain "", version 20} */
    for (size_t size = 0; size < m.size; size++) {
        cm__ctx *ctx;
        bytes    cut = {.data = m.data, .size = size};
        bool     whole = size == m.size - opset_field;
        assert_int_equal(decode(&cut, &ctx) != NULL, whole);
        if (!whole) assert_true(*diag.reason);
        cm__ctx_free(ctx);
    }
    w_free(&m);
}

static void what_is_not_onnx_is_refused(void **state)
{
    (void)state;
    bytes empty = {0}, text = {0}, no_graph = {0}, wrong = {0}, huge = {0};
    refused(&empty, "not an ONNX model");
    w_raw(&text, "{\"model_type\": \"bert\"}", 22);
    refused(&text, "not an ONNX model");
    w_int(&no_graph, 1, 8);
    refused(&no_graph, "not an ONNX model");
    w_int(&wrong, 7, 1); /* the graph as a number */
    refused(&wrong, "wrong type");
    w_varint(&huge, 7 << 3 | 2);
    w_varint(&huge, 0xfffffff0u);
    refused(&huge, "not an ONNX model");
}

/* Prepend the header of a nested field to the bytes written so far; the buffer grows towards the front. */
static uint8_t *wrapped(uint8_t *front, const uint8_t *end, int field)
{
    bytes header = {0};
    w_varint(&header, (uint64_t)field << 3 | 2);
    w_varint(&header, (uint64_t)(end - front));
    memcpy(front -= header.size, header.data, header.size);
    w_free(&header);
    return front;
}

static void deep_nesting_is_refused(void **state)
{
    (void)state;
    enum { DEPTH = 20000, ROOM = DEPTH * 16 };
    uint8_t *room = malloc(ROOM), *end = room + ROOM, *front = end;
    for (int depth = 0; depth < DEPTH; depth++) /* a graph in an attribute in a node in a graph */
        front = wrapped(wrapped(wrapped(front, end, 6), end, 5), end, 1);
    front = wrapped(front, end, 7);
    bytes m = {0};
    w_raw(&m, front, (size_t)(end - front));
    free(room);
    refused(&m, "nested deeper than 16");
}

static void a_hundred_thousand_nodes_decode(void **state)
{
    (void)state;
    cm__ctx *ctx;
    bytes    graph = {0};
    for (int i = 0; i < 100000; i++) w_node(&graph, "Relu", "", "x", "y", NULL);
    bytes           m = w_model(&graph, "", 20);
    cm__onnx_model *model = decode(&m, &ctx);
    assert_non_null(model);
    assert_int_equal(model->graph->nodes.count, 100000);
    assert_true(cm__span_is(model->graph->nodes.items[99999].op, "Relu"));
    cm__ctx_free(ctx);
    w_free(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strings_and_weights_are_spans),
        cmocka_unit_test(packed_and_unpacked_dims_are_the_same),
        cmocka_unit_test(numbers_are_found_packed_and_not),
        cmocka_unit_test(every_truncation_is_refused),
        cmocka_unit_test(what_is_not_onnx_is_refused),
        cmocka_unit_test(deep_nesting_is_refused),
        cmocka_unit_test(a_hundred_thousand_nodes_decode),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
