/* SPDX-License-Identifier: Apache-2.0 */
/* test_fuse.c - exporters' no-ops are removed, linear layers are fused, and tensors with other readers are kept. */
#include "graph_builder.h"

static void fuse(int32_t y, cm_fuse what)
{
    cm__output(g, y);
    cm__finish(g, what);
    cm__check(g);
}

static int32_t hidden(const char *shape) { return op(CM_OP_TANH, IN(input(shape))); }

/* ---- noise ------------------------------------------------------------------------------------------------------ */

TEST(operators_that_change_nothing_are_dropped)
{
    int32_t h = hidden("B,4");
    h = op(CM_OP_IDENTITY, IN(h));
    h = OP(CAST, IN(h), INTS(TO, CM_FP32));
    h = op(CM_OP_CAST_LIKE, IN(h, input("1")));
    h = OP(RESHAPE, IN(h), INTS(SHAPE, -1, 4));
    h = op(CM_OP_EXPAND, IN(h, known("B,1")));
    h = OP(TRANSPOSE, IN(h), INTS(PERM, 0, 1));
    fuse(op(CM_OP_RELU, IN(h)), CM_FUSE_ALL);
    assert_int_equal(g->n_nodes, 2);
    assert_int_equal(g->nodes[1].inputs[0], g->nodes[0].outputs[0]);
}

TEST(operators_that_change_something_stay)
{
    int32_t h = OP(CAST, IN(hidden("B,4")), INTS(TO, CM_FP16));
    h = OP(RESHAPE, IN(h), INTS(SHAPE, -1, 2, 2));
    h = op(CM_OP_EXPAND, IN(h, known("3,B,2,2")));
    h = OP(TRANSPOSE, IN(h), INTS(PERM, 0, 1, 3, 2)); /* the same shape, another order */
    fuse(h, CM_FUSE_ALL);
    assert_int_equal(g->n_nodes, 5);
}

TEST(a_broadcast_over_the_batch_stays)
{
    int32_t y = op(CM_OP_EXPAND, IN(op(CM_OP_TANH, IN(weight("token", "1,4"))), known("B,4")));
    fuse(op(CM_OP_RELU, IN(y)), CM_FUSE_ALL);
    assert_int_equal(count_type(g, "Expand"), 1);
}

TEST(noise_at_the_end_moves_the_output)
{
    int32_t h = hidden("B,4");
    fuse(op(CM_OP_IDENTITY, IN(op(CM_OP_IDENTITY, IN(h)))), CM_FUSE_ALL);
    assert_int_equal(g->n_nodes, 1);
    assert_int_equal(g->outputs[0], h);
}

static int32_t rows(int32_t x, int64_t from, int64_t to)
{
    return OP(SLICE, IN(x), INTS(STARTS, from), INTS(ENDS, to), INTS(AXES, 0));
}

/* Blocks of 6 rows in ONNX's gate order: input, output, forget, cell. */
static int32_t in_onnx_order(int32_t w)
{
    cm__attr axis = INTS(AXIS, 0), first = INTS(AXES, 0);
    int32_t  parts[] = {rows(w, 0, 6), rows(w, 18, 24), rows(w, 6, 12), rows(w, 12, 18)};
    int32_t  whole = cm__emit(g, CM_OP_CONCAT, NULL, parts, 4, &axis, 1);
    return cm__emit(g, CM_OP_UNSQUEEZE, NULL, &whole, 1, &first, 1);
}

TEST(gates_in_another_order_are_the_weight)
{
    int32_t w = in_onnx_order(weight("w", "24,7")), r = in_onnx_order(weight("r", "24,6"));
    fuse(OP(LSTM, IN(input("5,B,7"), w, r), INTS(HIDDEN_SIZE, 6)), CM_FUSE_EAGER);
    assert_int_equal(count_type(g, "Slice") + count_type(g, "Concat"), 0);
    const cm_node *n = find_node(g, "LSTM");
    assert_int_equal(g->nodes[cm__t(g, n->inputs[1])->producer].inputs[0], find_tensor(g, "w"));
    assert_int_equal(g->nodes[cm__t(g, n->inputs[2])->producer].inputs[0], find_tensor(g, "r"));
}

TEST(rows_in_another_order_stay_elsewhere)
{
    int32_t y = op(CM_OP_ADD, IN(input("1,24,7"), in_onnx_order(weight("w", "24,7")))); /* no gates */
    fuse(y, CM_FUSE_EAGER);
    assert_int_equal(count_type(g, "Concat"), 1);
    start_over();
    cm__attr axis = INTS(AXIS, 0), first = INTS(AXES, 0);
    int32_t  parts[] = {rows(weight("a", "24,7"), 0, 12), rows(weight("b", "24,7"), 0, 12)}; /* of two weights */
    int32_t  both = cm__emit(g, CM_OP_CONCAT, NULL, parts, 2, &axis, 1),
            w = cm__emit(g, CM_OP_UNSQUEEZE, NULL, &both, 1, &first, 1);
    fuse(OP(LSTM, IN(input("5,B,7"), w, weight("r", "1,24,6")), INTS(HIDDEN_SIZE, 6)), CM_FUSE_EAGER);
    assert_int_equal(count_type(g, "Concat"), 1);
}

static int32_t dropouts_left(int32_t y)
{
    fuse(y, CM_FUSE_ALL);
    return count_type(g, "Dropout");
}

TEST(inactive_dropout_is_noise)
{
    assert_int_equal(dropouts_left(OP(DROPOUT, IN(hidden("B,4")), REAL(RATIO, 0))), 0);
    start_over();
    assert_int_equal(dropouts_left(op(CM_OP_DROPOUT, IN(hidden("B,4"), number(0)))), 0);
    start_over();
    int32_t training = cm__constant_scalar(g, "training", CM_BOOL, 0);
    assert_int_equal(dropouts_left(op(CM_OP_DROPOUT, IN(hidden("B,4"), number(0.1), training))), 0);
    start_over();
    assert_int_equal(dropouts_left(OP(DROPOUT, IN(hidden("B,4")), REAL(RATIO, 0.1), INTS(IS_TEST, 1))), 0);
}

TEST(active_dropout_stays)
{
    assert_int_equal(dropouts_left(OP(DROPOUT, IN(hidden("B,4")), REAL(RATIO, 0.1))), 1);
    start_over();
    int32_t training = cm__constant_scalar(g, "training", CM_BOOL, 1);
    assert_int_equal(dropouts_left(op(CM_OP_DROPOUT, IN(hidden("B,4"), number(0.1), training))), 1);
    start_over();
    assert_int_equal(dropouts_left(op(CM_OP_DROPOUT, IN(hidden("B,4")))), 1); /* the default is 0.5 */
}

/* ---- biases of zero --------------------------------------------------------------------------------------------- */

static int32_t conv_inputs(int32_t bias)
{
    fuse(op(CM_OP_CONV, IN(input("B,3,8,8"), weight("w", "4,3,3,3"), bias)), CM_FUSE_ALL);
    return find_node(g, "Conv")->n_inputs;
}

TEST(a_bias_of_zeros_is_none)
{
    assert_int_equal(conv_inputs(op(CM_OP_EXPAND, IN(op(CM_OP_CAST_LIKE, IN(number(0), input("1"))), known("4")))), 2);
    assert_int_equal(count_type(g, "Expand"), 0);
    start_over();
    assert_int_equal(conv_inputs(op(CM_OP_CONSTANT_OF_SHAPE, IN(known("4")))), 2);
}

TEST(a_bias_of_zeros_of_other_products_is_none)
{
    int32_t zeros = op(CM_OP_EXPAND, IN(number(0), known("6")));
    fuse(op(CM_OP_GEMM, IN(input("B,4"), weight("w", "4,6"), zeros)), CM_FUSE_ALL);
    assert_int_equal(find_node(g, "Gemm")->n_inputs, 2);
    start_over();
    zeros = op(CM_OP_EXPAND, IN(number(0), known("2")));
    fuse(op(CM_OP_CONV_TRANSPOSE, IN(input("B,4,5,5"), weight("w", "4,2,3,3"), zeros)), CM_FUSE_ALL);
    assert_int_equal(find_node(g, "ConvTranspose")->n_inputs, 2);
}

TEST(other_biases_stay)
{
    assert_int_equal(conv_inputs(op(CM_OP_EXPAND, IN(number(1), known("4")))), 3);
    start_over();
    assert_int_equal(conv_inputs(weight("b", "4")), 3);
    start_over();
    int32_t b = weight("b", "4"); /* trained, starting from zero */
    cm__t(g, b)->value = cm__t(g, reals(4, (double[]){0, 0, 0, 0}))->value;
    assert_int_equal(conv_inputs(b), 3);
}

/* ---- linear layers ---------------------------------------------------------------------------------------------- */

TEST(a_product_with_a_parameter_is_linear)
{
    fuse(op(CM_OP_MATMUL, IN(input("B,7,4"), weight("w", "4,6"))), CM_FUSE_ALL);
    assert_int_equal(count_type(g, "Gemm"), 1);
    assert_int_equal(cm__attr_int(find_node(g, "Gemm"), CM_ATTR_TRANS_B, 0), 0);
}

TEST(a_bias_is_taken_in)
{
    int32_t y = op(CM_OP_MATMUL, IN(input("B,7,4"), OP(TRANSPOSE, IN(weight("w", "6,4")), INTS(PERM, 1, 0))));
    y = op(CM_OP_ADD, IN(weight("b", "6"), y));
    fuse(y, CM_FUSE_ALL);
    assert_int_equal(g->n_nodes, 1);
    const cm_node *n = find_node(g, "Gemm");
    assert_int_equal(n->n_inputs, 3);
    assert_string_equal(cm__t(g, n->inputs[1])->name, "w");
    assert_string_equal(cm__t(g, n->inputs[2])->name, "b");
    assert_int_equal(cm__attr_int(n, CM_ATTR_TRANS_B, 0), 1);
    assert_int_equal(n->outputs[0], y);
    poly_is(n->flop, 0, 2 * 7 * 4 * 6, 0);
}

TEST(transposes_before_gemm_are_taken_in)
{
    int32_t turned = OP(TRANSPOSE, IN(weight("w", "4,6")), INTS(PERM, 1, 0));
    fuse(OP(GEMM, IN(input("B,4"), turned, weight("b", "6")), INTS(TRANS_B, 1)), CM_FUSE_ALL);
    const cm_node *n = find_node(g, "Gemm");
    assert_int_equal(g->n_nodes, 1);
    assert_int_equal(cm__attr_int(n, CM_ATTR_TRANS_B, 0), 0);
    assert_int_equal(n->n_inputs, 3);
}

TEST(products_without_a_parameter_stay)
{
    fuse(op(CM_OP_MATMUL, IN(input("B,4"), leaf("basis", CM_ROLE_BUFFER, CM_FP32, "4,6"))), CM_FUSE_ALL);
    assert_int_equal(count_type(g, "MatMul"), 1);
    start_over();
    fuse(op(CM_OP_MATMUL, IN(input("B,8,4,5"), weight("experts", "8,5,6"))), CM_FUSE_ALL); /* a batch of matrices */
    assert_int_equal(count_type(g, "MatMul"), 1);
}

static int32_t adds_left(int32_t y)
{
    fuse(y, CM_FUSE_ALL);
    return count_type(g, "Add");
}

static int32_t product(void) { return op(CM_OP_MATMUL, IN(input("B,4"), weight("w", "4,4"))); }

TEST(additions_that_are_no_bias_stay)
{
    assert_int_equal(adds_left(op(CM_OP_ADD, IN(product(), input("B,4")))), 1); /* a residual */
    start_over();
    assert_int_equal(adds_left(op(CM_OP_ADD, IN(product(), leaf("mean", CM_ROLE_BUFFER, CM_FP32, "4")))), 1);
    start_over();
    assert_int_equal(adds_left(op(CM_OP_ADD, IN(product(), weight("position", "7,1,4")))), 1);
    start_over();
    int32_t y = product();
    assert_int_equal(adds_left(op(CM_OP_MUL, IN(op(CM_OP_ADD, IN(y, weight("b", "4"))), y))), 1); /* read twice */
    start_over();
    y = product();
    cm__output(g, y); /* returned */
    assert_int_equal(adds_left(op(CM_OP_ADD, IN(y, weight("b", "4")))), 1);
}

/* ---- levels ----------------------------------------------------------------------------------------------------- */

TEST(without_fusing_all_stays_as_it_is)
{
    int32_t y = op(CM_OP_MATMUL, IN(op(CM_OP_IDENTITY, IN(input("B,4"))), weight("w", "4,6")));
    y = op(CM_OP_ADD, IN(y, weight("b", "6")));
    fuse(op(CM_OP_MUL, IN(y, op(CM_OP_SIGMOID, IN(y)))), CM_FUSE_NONE);
    assert_int_equal(g->n_nodes, 5);
}

TEST(eager_puts_linear_layers_together_too)
{
    fuse(op(CM_OP_ADD, IN(op(CM_OP_MATMUL, IN(input("B,4"), weight("w", "4,6"))), weight("b", "6"))), CM_FUSE_EAGER);
    assert_int_equal(g->n_nodes, 1);
}

TEST(fused_nodes_keep_their_layer)
{
    g->block = 5;
    int32_t y = op(CM_OP_ADD, IN(op(CM_OP_MATMUL, IN(input("B,4"), weight("w", "4,6"))), weight("b", "6")));
    g->block = -1;
    fuse(y, CM_FUSE_ALL);
    assert_int_equal(find_node(g, "Gemm")->block, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operators_that_change_nothing_are_dropped),
        cmocka_unit_test(operators_that_change_something_stay),
        cmocka_unit_test(a_broadcast_over_the_batch_stays),
        cmocka_unit_test(gates_in_another_order_are_the_weight),
        cmocka_unit_test(rows_in_another_order_stay_elsewhere),
        cmocka_unit_test(noise_at_the_end_moves_the_output),
        cmocka_unit_test(inactive_dropout_is_noise),
        cmocka_unit_test(active_dropout_stays),
        cmocka_unit_test(a_bias_of_zeros_is_none),
        cmocka_unit_test(a_bias_of_zeros_of_other_products_is_none),
        cmocka_unit_test(other_biases_stay),
        cmocka_unit_test(a_product_with_a_parameter_is_linear),
        cmocka_unit_test(a_bias_is_taken_in),
        cmocka_unit_test(transposes_before_gemm_are_taken_in),
        cmocka_unit_test(products_without_a_parameter_stay),
        cmocka_unit_test(additions_that_are_no_bias_stay),
        cmocka_unit_test(without_fusing_all_stays_as_it_is),
        cmocka_unit_test(eager_puts_linear_layers_together_too),
        cmocka_unit_test(fused_nodes_keep_their_layer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
