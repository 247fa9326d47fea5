/* SPDX-License-Identifier: Apache-2.0 */
/* test_cost.c - FLOP and bytes of nodes, by the formulas of docs/dev/memory.md. */
#include "graph_builder.h"

enum { FP32 = 4, BF16 = 2, INT64 = 8, BOOL = 1 }; /* bytes */

static const cm_node *costed(int32_t tensor)
{
    cm__cost_all(g);
    return &g->nodes[cm__t(g, tensor)->producer];
}

static void costs(int32_t tensor, double flop_per_sample, double read_once, double read_per_sample,
                  double written_per_sample)
{
    const cm_node *n = costed(tensor);
    poly_is(n->flop, 0, flop_per_sample, 0);
    poly_is(n->read_bytes, read_once, read_per_sample, 0);
    poly_is(n->write_bytes, 0, written_per_sample, 0);
}

/* ---- matrix products -------------------------------------------------------------------------------------------- */

TEST(gemm_is_2mnk)
{
    enum { N = 6, K = 4, S = 7 };
    costs(op(CM_OP_GEMM, IN(input("B,4"), weight("w", "4,6"), weight("b", "6"))), 2 * N * K, FP32 * (K * N + N),
          FP32 * K, FP32 * N);
    costs(OP(GEMM, IN(input("4,B"), weight("w", "4,6")), INTS(TRANS_A, 1)), 2 * N * K, FP32 * K * N, FP32 * K,
          FP32 * N);
    costs(OP(GEMM, IN(input("B,4"), weight("w", "6,4")), INTS(TRANS_B, 1)), 2 * N * K, FP32 * K * N, FP32 * K,
          FP32 * N);
    costs(op(CM_OP_GEMM, IN(input("B,7,4"), weight("w", "4,6"))), 2 * S * N * K, FP32 * K * N, FP32 * S * K,
          FP32 * S * N);
}

TEST(matmul_is_2mnk_per_matrix)
{
    enum { H = 8, M = 7, K = 4, N = 9 };
    costs(op(CM_OP_MATMUL, IN(input("B,8,7,4"), input("B,8,4,9"))), 2 * H * M * N * K, 0, FP32 * H * (M * K + K * N),
          FP32 * H * M * N);
    const cm_node *n = costed(op(CM_OP_MATMUL, IN(input("B,4"), input("4,B")))); /* contrastive losses: all pairs */
    poly_is(n->flop, 0, 0, 2 * K);
    poly_is(n->write_bytes, 0, 0, FP32);
}

TEST(quantised_products_count_alike)
{
    int32_t s = number(1), z = cm__constant_scalar(g, "z", CM_UINT8, 0);
    const cm_node *n = costed(
        op(CM_OP_QLINEAR_MATMUL, IN(typed(CM_UINT8, "B,4"), s, z, typed(CM_UINT8, "4,6"), s, z, s, z)));
    poly_is(n->flop, 0, 2 * 4 * 6, 0);
    n = costed(op(CM_OP_QLINEAR_CONV, IN(typed(CM_UINT8, "B,3,8,8"), s, z, typed(CM_UINT8, "4,3,3,3"), s, z, s, z)));
    poly_is(n->flop, 0, 2 * (4 * 6 * 6) * (3 * 3 * 3), 0);
}

TEST(convolution_is_2_y_crs)
{
    enum { C = 6, F = 8, R = 3, X = 10 * 10, Y = 8 * 8 };
    costs(op(CM_OP_CONV, IN(input("B,6,10,10"), weight("w", "8,6,3,3"))), 2 * (F * Y) * (C * R * R),
          FP32 * F * C * R * R, FP32 * C * X, FP32 * F * Y);
    costs(OP(CONV, IN(input("B,6,10,10"), weight("w", "8,3,3,3")), INTS(GROUP, 2)), 2 * (F * Y) * (C / 2 * R * R),
          FP32 * F * C / 2 * R * R, FP32 * C * X, FP32 * F * Y);
    costs(OP(CONV, IN(input("B,6,10,10"), weight("w", "6,1,3,3")), INTS(GROUP, 6)), 2 * (C * Y) * (R * R),
          FP32 * C * R * R, FP32 * C * X, FP32 * C * Y);
}

TEST(transposed_convolution_is_2_x_crs)
{
    enum { C = 6, F = 8, R = 3, X = 5 * 5, Y = 11 * 11 };
    costs(OP(CONV_TRANSPOSE, IN(input("B,6,5,5"), weight("w", "6,8,3,3")), INTS(STRIDES, 2, 2)),
          2 * (C * X) * (F * R * R), FP32 * C * F * R * R, FP32 * C * X, FP32 * F * Y);
    costs(OP(CONV_TRANSPOSE, IN(input("B,6,5,5"), weight("w", "6,4,3,3")), INTS(STRIDES, 2, 2), INTS(GROUP, 2)),
          2 * (C * X) * (F / 2 * R * R), FP32 * C * F / 2 * R * R, FP32 * C * X, FP32 * F * Y);
}

TEST(attention_is_two_products)
{
    enum { H = 8, Q = 10, K = 12, D = 6, V = 5, KV = 2, LSE = H * Q };
    int32_t y = op(CM_OP_ATTENTION,
                   IN(typed(CM_BF16, "B,8,10,6"), typed(CM_BF16, "B,8,12,6"), typed(CM_BF16, "B,8,12,5")));
    costs(y, 2 * H * Q * K * (D + V), 0, BF16 * H * (Q * D + K * D + K * V), BF16 * H * Q * V + FP32 * LSE);
    y = op(CM_OP_ATTENTION, IN(input("B,8,10,6"), input("B,2,12,6"), input("B,2,12,5"))); /* fewer keys are read */
    costs(y, 2 * H * Q * K * (D + V), 0, FP32 * (H * Q * D + KV * K * (D + V)), FP32 * (H * Q * V + LSE));
    y = OP(ATTENTION, IN(input("B,10,48"), input("B,12,48"), input("B,12,40")), INTS(Q_NUM_HEADS, 8),
           INTS(KV_NUM_HEADS, 8));
    costs(y, 2 * H * Q * K * (D + V), 0, FP32 * H * (Q * D + K * (D + V)), FP32 * (H * Q * V + LSE));
}

TEST(attention_reads_its_mask_and_skips_nothing)
{
    int32_t q = input("B,8,10,6"), mask = typed(CM_BOOL, "10,10");
    int32_t y = OP(ATTENTION, IN(q, input("B,8,10,6"), input("B,8,10,6"), mask), INTS(CAUSAL, 1));
    costs(y, 2 * 8 * 10 * 10 * (6 + 6), BOOL * 10 * 10, FP32 * 3 * 8 * 10 * 6, FP32 * (8 * 10 * 6 + 8 * 10));
}

TEST(recurrent_layers_are_products_per_step)
{
    enum { S = 7, I = 5, H = 3, GATES = 4, W = GATES * H * I, R = GATES * H * H };
    int32_t y = op(CM_OP_LSTM, IN(input("7,B,5"), weight("w", "1,12,5"), weight("r", "1,12,3")));
    costs(y, 2 * S * (W + R), FP32 * (W + R), FP32 * S * I,
          FP32 * (S * H + H + H + S * (GATES + 1) * H)); /* Y, Y_h, Y_c, reserve */
    y = OP(GRU, IN(input("B,7,5"), weight("w", "1,9,5"), weight("r", "1,9,3")), INTS(LAYOUT, 1));
    poly_is(costed(y)->flop, 0, 2 * S * (3 * H * I + 3 * H * H), 0);
}

/* ---- the rest --------------------------------------------------------------------------------------------------- */

static double k(int code) { return cm__ops[code].flop_per_element; }

TEST(elementwise_and_norms_count_outputs)
{
    enum { N = 3 * 4 };
    costs(op(CM_OP_RELU, IN(input("B,3,4"))), 1 * N, 0, FP32 * N, FP32 * N);
    costs(op(CM_OP_GELU, IN(typed(CM_BF16, "B,3,4"))), k(CM_OP_GELU) * N, 0, BF16 * N, BF16 * N);
    costs(op(CM_OP_ADD, IN(input("B,3,4"), weight("b", "4"))), 1 * N, FP32 * 4, FP32 * N, FP32 * N);
    costs(op(CM_OP_LAYER_NORM, IN(input("B,3,4"), weight("s", "4"), weight("b", "4"))), k(CM_OP_LAYER_NORM) * N,
          FP32 * 2 * 4, FP32 * N, FP32 * (N + 2 * 3)); /* with two statistics per row */
    costs(op(CM_OP_SOFTMAX, IN(input("B,3,4"))), k(CM_OP_SOFTMAX) * N, 0, FP32 * N, FP32 * N);
    costs(op(CM_OP_DROPOUT, IN(input("B,3,4"))), k(CM_OP_DROPOUT) * N, 0, FP32 * N, (FP32 + BOOL) * N);
    costs(OP(CAST, IN(input("B,3,4")), INTS(TO, CM_BF16)), 0, 0, FP32 * N, BF16 * N);
}

TEST(reductions_count_inputs)
{
    enum { N = 3 * 4 };
    costs(OP(REDUCE_SUM, IN(input("B,3,4")), INTS(AXES, -1)), 1 * N, 0, FP32 * N, FP32 * 3);
    costs(op(CM_OP_GLOBAL_AVERAGE_POOL, IN(input("B,3,4"))), 1 * N, 0, FP32 * N, FP32 * 3);
    costs(op(CM_OP_TOP_K, IN(input("B,3,4"), KNOWN(2))), k(CM_OP_TOP_K) * N, INT64, FP32 * N, (FP32 + INT64) * 3 * 2);
    const cm_node *loss = costed(op(CM_OP_CROSS_ENTROPY, IN(input("B,10"), typed(CM_INT64, "B"))));
    poly_is(loss->flop, 0, k(CM_OP_CROSS_ENTROPY) * 10, 0);
    poly_is(loss->read_bytes, 0, FP32 * 10 + INT64, 0);
    poly_is(loss->write_bytes, FP32, FP32 * 10, 0); /* the loss and the log-probabilities */
}

TEST(pools_count_windows)
{
    costs(OP(AVERAGE_POOL, IN(input("B,3,8,8")), INTS(KERNEL_SHAPE, 2, 2), INTS(STRIDES, 2, 2)), (3 * 4 * 4) * (2 * 2),
          0, FP32 * 3 * 8 * 8, FP32 * 3 * 4 * 4);
    costs(OP(MAX_POOL, IN(input("B,3,9")), INTS(KERNEL_SHAPE, 3)), (3 * 7) * 3, 0, FP32 * 3 * 9,
          (FP32 + INT64) * 3 * 7);
}

TEST(views_are_free)
{
    int32_t x = input("B,3,4");
    costs(OP(RESHAPE, IN(x), INTS(SHAPE, -1, 12)), 0, 0, 0, 0);
    costs(OP(TRANSPOSE, IN(x), INTS(PERM, 0, 2, 1)), 0, 0, 0, 0);
    costs(OP(SLICE, IN(x), INTS(STARTS, 1), INTS(ENDS, 3), INTS(AXES, 1)), 0, 0, 0, 0);
    costs(OUTPUTS(2, SPLIT, IN(x), INTS(AXIS, 2))->outputs[0], 0, 0, 0, 0);
    costs(op(CM_OP_EXPAND, IN(x, known("7,1,1,1"))), 0, 0, 0, 0);
    costs(OP(GATHER, IN(x, integer(0)), INTS(AXIS, 1)), 0, 0, 0, 0);
    costs(op(CM_OP_SHAPE, IN(x)), 0, 0, 0, 0);
}

TEST(copies_move_bytes_without_flop)
{
    int32_t x = input("B,3");
    costs(OP(CONCAT, IN(x, input("B,4")), INTS(AXIS, 1)), 0, 0, FP32 * 7, FP32 * 7);
    costs(op(CM_OP_PAD, IN(x, KNOWN(0, 1, 0, 1))), 0, INT64 * 4, FP32 * 3, FP32 * 5);
}

TEST(gathers_read_the_rows_they_pick)
{
    costs(op(CM_OP_GATHER, IN(weight("w", "50000,16"), typed(CM_INT64, "B,7"))), 0, 0, INT64 * 7 + FP32 * 7 * 16,
          FP32 * 7 * 16);
}

TEST(broadcast_views_read_their_base)
{
    int32_t wide = op(CM_OP_EXPAND, IN(weight("w", "1,4"), known("9,4")));
    costs(op(CM_OP_ADD, IN(input("B,9,4"), wide)), 9 * 4, FP32 * 4, FP32 * 9 * 4, FP32 * 9 * 4);
    int32_t narrow = OP(SLICE, IN(weight("v", "100,4")), INTS(STARTS, 0), INTS(ENDS, 9)); /* of a slice: the slice */
    costs(op(CM_OP_ADD, IN(input("B,9,4"), narrow)), 9 * 4, FP32 * 9 * 4, FP32 * 9 * 4, FP32 * 9 * 4);
}

TEST(inputs_are_read_once)
{
    int32_t x = input("B,4");
    costs(op(CM_OP_MUL, IN(x, x)), 4, 0, FP32 * 4, FP32 * 4);
}

TEST(einstein_sums_know_their_flop)
{
    int64_t        text[] = {'b', 'i', 'j', ',', 'j', 'k', '-', '>', 'b', 'i', 'k'};
    cm__attr       equation = {.key = CM_ATTR_EQUATION, .count = COUNT(text), .ints = text};
    const cm_node *n = costed(cm__emit(g, CM_OP_EINSUM, NULL, IN(input("B,2,3"), weight("w", "3,5")), &equation, 1));
    poly_is(n->flop, 0, 2 * 2 * 3 * 5, 0);
    poly_is(n->read_bytes, FP32 * 3 * 5, FP32 * 2 * 3, 0);
    poly_is(n->write_bytes, 0, FP32 * 2 * 5, 0);
    poly_is(costed(n->outputs[0])->flop, 0, 2 * 2 * 3 * 5, 0); /* computing the cost twice gives the same */
}

/* ---- backward --------------------------------------------------------------------------------------------------- */

static double flop_of(const char *name, const char *type)
{
    cm_poly p = find_back(name, type)->flop;
    return cm_poly_at(&p, 1);
}

TEST(backward_of_products_repeats_forward_per_operand)
{
    int32_t h = as("conv1", op(CM_OP_CONV, IN(input("B,3,8,8"), weight("w1", "4,3,3,3"), weight("b1", "4"))));
    h = as("conv2", op(CM_OP_CONV, IN(h, weight("w2", "5,4,3,3"))));
    h = as("up", OP(CONV_TRANSPOSE, IN(h, weight("w3", "5,2,2,2")), INTS(STRIDES, 2, 2)));
    h = as("fc", op(CM_OP_GEMM, IN(op(CM_OP_FLATTEN, IN(h)), weight("w4", "128,10"))));
    train(h);
    assert_int_equal(count_type(step, "ConvGradInput"), 2); /* not for the first layer */
    assert_int_equal(count_type(step, "ConvGradWeight"), 3);
    assert_true(flop_of("conv1", "ConvGradWeight") == 2 * (4 * 6 * 6) * (3 * 3 * 3));
    assert_true(flop_of("conv2", "ConvGradWeight") == 2 * (5 * 4 * 4) * (4 * 3 * 3));
    assert_true(flop_of("conv2", "ConvGradInput") == 2 * (5 * 4 * 4) * (4 * 3 * 3));
    assert_true(flop_of("up", "ConvGradInput") == 2 * (5 * 4 * 4) * (2 * 2 * 2));
    assert_true(flop_of("fc", "GemmGradInput") == 2 * 128 * 10);
    assert_true(flop_of("fc", "GemmGradWeight") == 2 * 128 * 10);
}

TEST(backward_of_attention_is_five_products)
{
    int32_t q = as("q", op(CM_OP_MUL, IN(input("B,8,10,6"), weight("w", "6"))));
    int32_t y = as("att", op(CM_OP_ATTENTION, IN(q, input("B,8,12,6"), input("B,8,12,6"))));
    train(OP(REDUCE_SUM, IN(y), INTS(KEEPDIMS, 0)));
    double forward = 2 * 8 * 10 * 12 * (6 + 6);
    assert_true(flop_of("att", "AttentionGrad") == forward * 5 / 2);
}

TEST(backward_of_recurrent_layers_is_twice_forward)
{
    int32_t y = as("lstm", op(CM_OP_LSTM, IN(input("7,B,5"), weight("w", "1,12,5"), weight("r", "1,12,3"))));
    train(OP(REDUCE_SUM, IN(y), INTS(KEEPDIMS, 0)));
    assert_true(flop_of("lstm", "RNNGrad") == 2 * (2 * 7 * (12 * 5 + 12 * 3)));
}

TEST(backward_of_a_product_reads_gradient_and_operand)
{
    as("fc", op(CM_OP_GEMM, IN(op(CM_OP_RELU, IN(weight("p", "9,4"))), weight("w", "4,6"))));
    train(OP(REDUCE_SUM, IN(op(CM_OP_RELU, IN(cm__last(g)->outputs[0]))), INTS(KEEPDIMS, 0)));
    const cm_node *n = find_back("fc", "GemmGradWeight");
    poly_is(n->read_bytes, FP32 * (9 * 6 + 9 * 4), 0, 0);
    poly_is(n->write_bytes, FP32 * 4 * 6, 0, 0);
    n = find_back("fc", "GemmGradInput");
    poly_is(n->read_bytes, FP32 * (9 * 6 + 4 * 6), 0, 0);
    poly_is(n->write_bytes, FP32 * 9 * 4, 0, 0);
}

/* The input of a pool is kept, but backward reads only the gradient and the indices of the maxima. */
TEST(backward_of_pooling_does_not_read_its_input)
{
    int32_t h = op(CM_OP_MUL, IN(input("B,3,8"), weight("w", "8")));
    int32_t y = as("pool", OP(MAX_POOL, IN(h), INTS(KERNEL_SHAPE, 2), INTS(STRIDES, 2)));
    train(OP(REDUCE_SUM, IN(op(CM_OP_RELU, IN(y))), INTS(KEEPDIMS, 0)));
    const cm_node *n = find_back("pool", "PoolGrad");
    poly_is(n->flop, 0, 3 * 8, 0);
    poly_is(n->read_bytes, 0, (FP32 + INT64) * 3 * 4, 0);
    poly_is(n->write_bytes, 0, FP32 * 3 * 8, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gemm_is_2mnk),
        cmocka_unit_test(matmul_is_2mnk_per_matrix),
        cmocka_unit_test(quantised_products_count_alike),
        cmocka_unit_test(convolution_is_2_y_crs),
        cmocka_unit_test(transposed_convolution_is_2_x_crs),
        cmocka_unit_test(attention_is_two_products),
        cmocka_unit_test(attention_reads_its_mask_and_skips_nothing),
        cmocka_unit_test(recurrent_layers_are_products_per_step),
        cmocka_unit_test(elementwise_and_norms_count_outputs),
        cmocka_unit_test(reductions_count_inputs),
        cmocka_unit_test(pools_count_windows),
        cmocka_unit_test(views_are_free),
        cmocka_unit_test(copies_move_bytes_without_flop),
        cmocka_unit_test(gathers_read_the_rows_they_pick),
        cmocka_unit_test(broadcast_views_read_their_base),
        cmocka_unit_test(inputs_are_read_once),
        cmocka_unit_test(einstein_sums_know_their_flop),
        cmocka_unit_test(backward_of_products_repeats_forward_per_operand),
        cmocka_unit_test(backward_of_attention_is_five_products),
        cmocka_unit_test(backward_of_recurrent_layers_is_twice_forward),
        cmocka_unit_test(backward_of_a_product_reads_gradient_and_operand),
        cmocka_unit_test(backward_of_pooling_does_not_read_its_input),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
