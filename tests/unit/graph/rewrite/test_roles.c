/* SPDX-License-Identifier: Apache-2.0 */
/* test_roles.c - trained tensors of a file, parameters that exporters dropped, blocks, and warnings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "import/import.h"
#include "onnx_writer.h"

static cm_diag   diag;
static cm__ctx  *ctx;
static cm_graph *g;

static int setup(void **state)
{
    (void)state;
    ctx = cm__ctx_new(&diag);
    g = cm__graph_new(ctx, "t", "onnx");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    cm__ctx_free(ctx);
    return 0;
}

/* A tensor stored in the file: a buffer until roles are assigned. */
static int32_t stored(const char *name, int32_t rank, const int64_t *dims)
{
    cm_dim d[4];
    for (int32_t i = 0; i < rank; i++) d[i] = cm__fixed(dims[i]);
    return cm__leaf(g, name, CM_ROLE_BUFFER, CM_FP32, rank, d);
}

static int32_t input(int64_t columns)
{
    return cm__leaf(g, "x", CM_ROLE_INPUT, CM_FP32, 2, (cm_dim[]){{1, 0}, {0, columns}});
}

static int32_t emit2(int op, const char *name, int32_t a, int32_t b)
{
    return cm__emit(g, op, name, (int32_t[]){a, b}, 2, NULL, 0);
}

static void find(int32_t output)
{
    cm__output(g, output);
    if (setjmp(ctx->trap)) fail_msg("%s", diag.reason);
    cm__find_roles(g);
    cm__find_blocks(g);
    cm__lifetimes(g);
}

static int64_t parameters(void)
{
    cm_totals totals;
    cm_graph_totals(g, 1, &totals);
    return totals.parameters;
}

static bool warned(const cm_graph *graph, const char *about)
{
    for (int32_t i = 0; i < graph->n_warnings; i++)
        if (strstr(graph->warnings[i], about)) return true;
    return false;
}

/* ---- roles ------------------------------------------------------------------------------------------------------ */

static void weights_are_trained_and_statistics_kept(void **state)
{
    (void)state;
    int32_t x = cm__leaf(g, "x", CM_ROLE_INPUT, CM_FP32, 4, (cm_dim[]){{1, 0}, {0, 3}, {0, 8}, {0, 8}});
    int32_t w = stored("val_7", 4, (int64_t[]){6, 3, 3, 3}); /* an invented name, but read as a weight */
    int32_t bn[4];
    for (int i = 0; i < 4; i++) bn[i] = stored((const char *[]){"g", "b", "m", "v"}[i], 1, (int64_t[]){6});
    int32_t y = emit2(CM_OP_CONV, "conv", x, w);
    find(cm__emit(g, CM_OP_BATCH_NORM, "bn", (int32_t[]){y, bn[0], bn[1], bn[2], bn[3]}, 5, NULL, 0));
    assert_int_equal(cm__t(g, w)->role, CM_ROLE_PARAMETER);
    assert_int_equal(cm__t(g, bn[1])->role, CM_ROLE_PARAMETER);
    assert_int_equal(cm__t(g, bn[2])->role, CM_ROLE_BUFFER);
    assert_int_equal(cm__t(g, bn[3])->role, CM_ROLE_BUFFER);
    assert_int_equal(parameters(), 6 * 3 * 3 * 3 + 2 * 6);
}

static void weights_are_seen_through_views(void **state)
{
    (void)state;
    int32_t  w = stored("w", 2, (int64_t[]){5, 4}), x = input(4);
    cm__attr perm = CM__INTS(CM_ATTR_PERM, 1, 0);
    int32_t  t = cm__emit(g, CM_OP_TRANSPOSE, "t", &w, 1, &perm, 1);
    find(emit2(CM_OP_MATMUL, "m", x, t));
    assert_int_equal(cm__t(g, w)->role, CM_ROLE_PARAMETER);
}

static void operands_go_by_their_names(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int         op;
        cm_role     role;
    } cases[] = {
        {"layer.gamma", CM_OP_MUL, CM_ROLE_PARAMETER}, {"onnx::Mul_12", CM_OP_MUL, CM_ROLE_BUFFER},
        {"val_12", CM_OP_ADD, CM_ROLE_BUFFER},         {"encoder.mask", CM_OP_ADD, CM_ROLE_BUFFER},
        {"rope.inv_freq", CM_OP_MUL, CM_ROLE_BUFFER},  {"pos_embed", CM_OP_ADD, CM_ROLE_PARAMETER},
    };
    int32_t x = input(4), y = cm__emit(g, CM_OP_RELU, "r", &x, 1, NULL, 0), ids[6];
    for (int i = 0; i < 6; i++) {
        ids[i] = stored(cases[i].name, 2, (int64_t[]){1, 4});
        y = emit2(cases[i].op, "op", y, ids[i]);
    }
    find(y);
    for (int i = 0; i < 6; i++)
        if (cm__t(g, ids[i])->role != cases[i].role)
            fail_msg("%s is a %s", cases[i].name, cm_role_name(cm__t(g, ids[i])->role));
}

static void mean_and_mask_are_not_trained(void **state)
{
    (void)state;
    int32_t x = input(4), offset = stored("norm.offset", 1, (int64_t[]){4}),
            mask = stored("attn.extra", 2, (int64_t[]){1, 4});
    int32_t y = emit2(CM_OP_SUB, "sub", x, offset);
    y = emit2(CM_OP_ADD, "add", y, mask);
    find(cm__emit(g, CM_OP_SOFTMAX, "softmax", &y, 1, NULL, 0));
    assert_int_equal(cm__t(g, offset)->role, CM_ROLE_BUFFER);
    assert_int_equal(cm__t(g, mask)->role, CM_ROLE_BUFFER);
}

static void embeddings_are_trained_and_tied_once(void **state)
{
    (void)state;
    int32_t  table = stored("wte", 2, (int64_t[]){11, 4});
    int32_t  ids = cm__leaf(g, "ids", CM_ROLE_INPUT, CM_INT64, 2, (cm_dim[]){{1, 0}, {0, 7}});
    int32_t  x = emit2(CM_OP_GATHER, "embed", table, ids);
    cm__attr perm = CM__INTS(CM_ATTR_PERM, 1, 0);
    int32_t  t = cm__emit(g, CM_OP_TRANSPOSE, "t", &table, 1, &perm, 1);
    find(emit2(CM_OP_MATMUL, "logits", x, t));
    assert_int_equal(parameters(), 11 * 4);
}

/* ---- what exporters do ------------------------------------------------------------------------------------------ */

static void read_file(bytes *file)
{
    if (setjmp(ctx->trap)) fail_msg("%s", diag.reason);
    g = cm__import_onnx(ctx, "t", file->data, file->size, NULL);
}

static void dropped_biases_come_back(void **state)
{
    (void)state;
    for (int pytorch = 0; pytorch < 2; pytorch++) {
        bytes graph = {0}, attrs = {0};
        w_value(&graph, 11, "x", 1, 2, (int64_t[]){-1, 4}, "batch");
        w_weight(&graph, "h.0.fc.weight", 2, (int64_t[]){4, 5});
        w_attr_float(&attrs, "beta", 1);
        w_node(&graph, "Gemm", "fc", "x h.0.fc.weight", "y", &attrs);
        w_name(&graph, 12, "y");
        bytes file = w_model(&graph, pytorch ? "pytorch" : "another", 20);
        read_file(&file);
        w_free(&file);
        cm__lifetimes(g);
        assert_int_equal(parameters(), 4 * 5 + (pytorch ? 5 : 0));
        if (pytorch) assert_string_equal(cm__t(g, g->nodes[0].inputs[2])->name, "h.0.fc.bias");
        assert_int_equal(warned(g, "lost their bias"), pytorch);
    }
}

/* ---- blocks and review ------------------------------------------------------------------------------------------ */

static void blocks_go_by_parameter_names(void **state)
{
    (void)state;
    static const char *const names[] = {"stem.weight", "h.0.a.weight", "h.0.b.weight", "h.1.a.weight", "head.weight"};
    static const int32_t     blocks[] = {-1, 0, 0, 1, -1};
    int32_t                  x = input(4);
    for (int i = 0; i < 5; i++) {
        x = emit2(CM_OP_MATMUL, "m", x, stored(names[i], 2, (int64_t[]){4, 4}));
        x = cm__emit(g, CM_OP_RELU, "r", &x, 1, NULL, 0); /* belongs to the block before it */
    }
    find(x);
    for (int i = 0; i < 10; i++) assert_int_equal(g->nodes[i].block, blocks[i / 2]);
}

static void review_asks_for_normalisation(void **state)
{
    (void)state;
    int32_t x = cm__leaf(g, "x", CM_ROLE_INPUT, CM_FP32, 4, (cm_dim[]){{1, 0}, {0, 3}, {0, 9}, {0, 9}});
    for (int i = 0; i < 3; i++) x = emit2(CM_OP_CONV, "conv", x, stored("w", 4, (int64_t[]){3, 3, 3, 3}));
    find(x);
    cm__review(g);
    assert_true(warned(g, "optimize=False"));
    assert_int_equal(g->optimizer, CM_OPTIMIZER_MOMENTUM);
}

static void review_misses_parameters(void **state)
{
    (void)state;
    int32_t x = input(4);
    find(cm__emit(g, CM_OP_RELU, "r", &x, 1, NULL, 0));
    cm__review(g);
    assert_true(warned(g, "no trainable parameter"));
    assert_int_equal(g->optimizer, CM_OPTIMIZER_ADAMW);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(weights_are_trained_and_statistics_kept),
        TEST(weights_are_seen_through_views),
        TEST(operands_go_by_their_names),
        TEST(mean_and_mask_are_not_trained),
        TEST(embeddings_are_trained_and_tied_once),
        TEST(dropped_biases_come_back),
        TEST(blocks_go_by_parameter_names),
        TEST(review_asks_for_normalisation),
        TEST(review_misses_parameters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
