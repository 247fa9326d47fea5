/* SPDX-License-Identifier: Apache-2.0 */
/* test_shape_matrix.c - shapes of matrix products, convolutions, attention and recurrent layers. */
#include "graph_builder.h"

static int32_t output(int32_t index) { return cm__last(g)->outputs[index]; }
static cm_dtype type_of(int32_t tensor) { return cm__t(g, tensor)->dtype; }

/* ---- products --------------------------------------------------------------------------------------------------- */

TEST(gemm)
{
    SHAPE_IS(op(CM_OP_GEMM, IN(input("B,4"), weight("w", "4,6"), weight("b", "6"))), "[B, 6]");
    SHAPE_IS(OP(GEMM, IN(input("B,4"), weight("w", "6,4")), INTS(TRANS_B, 1)), "[B, 6]");
    SHAPE_IS(OP(GEMM, IN(input("4,B"), weight("w", "4,6")), INTS(TRANS_A, 1)), "[B, 6]");
    SHAPE_IS(op(CM_OP_GEMM, IN(input("B,7,4"), weight("w", "4,6"))), "[B, 7, 6]"); /* linear layers over sequences */
    SHAPE_IS(op(CM_OP_GEMM, IN(input("B,4"), weight("w", "4,6"), number(1))), "[B, 6]");
}

TEST(gemm_refuses)
{
    int32_t x = input("B,4"), w = weight("w", "4,6");
    REFUSES(FORMAT, "[B, 4] by [6, 4]: inner dimensions differ", op(CM_OP_GEMM, IN(x, weight("v", "6,4"))));
    REFUSES(FORMAT, "inner dimensions differ", OP(GEMM, IN(x, w), INTS(TRANS_B, 1)));
    REFUSES(FORMAT, "Gemm of [B, 7, 4] by [4, 6]", OP(GEMM, IN(input("B,7,4"), w), INTS(TRANS_A, 1)));
    REFUSES(FORMAT, "Gemm of", op(CM_OP_GEMM, IN(x, weight("w3", "2,4,6"))));
    REFUSES(FORMAT, "at least 2 dimensions", op(CM_OP_GEMM, IN(x, weight("w1", "4"))));
    REFUSES(FORMAT, "do not fit together", op(CM_OP_GEMM, IN(x, w, weight("b", "5"))));
    REFUSES(FORMAT, "larger than the product", op(CM_OP_GEMM, IN(x, w, weight("b", "2,1,6"))));
}

TEST(matmul_is_numpys)
{
    SHAPE_IS(op(CM_OP_MATMUL, IN(input("B,8,7,4"), input("B,8,4,9"))), "[B, 8, 7, 9]");
    SHAPE_IS(op(CM_OP_MATMUL, IN(input("B,1,7,4"), input("8,4,9"))), "[B, 8, 7, 9]");
    SHAPE_IS(op(CM_OP_MATMUL, IN(input("B,7,4"), weight("w", "4,6"))), "[B, 7, 6]");
    SHAPE_IS(op(CM_OP_MATMUL, IN(input("4"), input("B,4,6"))), "[B, 6]");
    SHAPE_IS(op(CM_OP_MATMUL, IN(input("B,7,4"), input("4"))), "[B, 7]");
    SHAPE_IS(op(CM_OP_MATMUL, IN(input("4"), input("4"))), "[]");
    REFUSES(FORMAT, "[B, 7, 4] by [B, 5, 6]: inner dimensions differ",
            op(CM_OP_MATMUL, IN(input("B,7,4"), input("B,5,6"))));
    REFUSES(FORMAT, "do not fit together", op(CM_OP_MATMUL, IN(input("2,7,4"), input("3,4,6"))));
    REFUSES(FORMAT, "at least 1 dimensions", op(CM_OP_MATMUL, IN(number(1), input("4"))));
}

TEST(types_of_products)
{
    assert_int_equal(type_of(op(CM_OP_MATMUL, IN(typed(CM_FP16, "4,4"), typed(CM_FP16, "4,4")))), CM_FP16);
    assert_int_equal(type_of(op(CM_OP_GEMM, IN(typed(CM_FP8, "4,4"), typed(CM_FP8, "4,4")))),
                     CM_BF16); /* a wider output type */
    assert_int_equal(type_of(op(CM_OP_MATMUL_INTEGER, IN(typed(CM_INT8, "B,4"), typed(CM_INT8, "4,6")))), CM_INT32);
    int32_t s = number(1), z = cm__constant_scalar(g, "z", CM_UINT8, 0);
    int32_t y = op(CM_OP_QLINEAR_MATMUL, IN(typed(CM_UINT8, "B,4"), s, z, typed(CM_UINT8, "4,6"), s, z, s, z));
    SHAPE_IS(y, "[B, 6]");
    assert_int_equal(type_of(y), CM_UINT8);
}

/* ---- convolution ------------------------------------------------------------------------------------------------ */

TEST(convolution)
{
    int32_t stem = OP(CONV, IN(input("B,3,224,224"), weight("w", "64,3,7,7"), weight("b", "64")), INTS(STRIDES, 2, 2),
                      INTS(PADS, 3, 3, 3, 3));
    SHAPE_IS(stem, "[B, 64, 112, 112]");
    SHAPE_IS(op(CM_OP_CONV, IN(input("B,3,20"), weight("w", "4,3,5"))), "[B, 4, 16]");
    SHAPE_IS(op(CM_OP_CONV, IN(input("B,3,8,9,10"), weight("w", "4,3,2,3,4"))), "[B, 4, 7, 7, 7]");
    SHAPE_IS(OP(CONV, IN(input("B,8,10,10"), weight("w", "8,1,3,3")), INTS(GROUP, 8)), "[B, 8, 8, 8]");
    SHAPE_IS(OP(CONV, IN(input("B,3,10,10"), weight("w", "4,3,3,3")), INTS(DILATIONS, 2, 3)), "[B, 4, 6, 4]");
    SHAPE_IS(OP(CONV, IN(input("B,3,7,8"), weight("w", "4,3,3,3")), INTS(AUTO_PAD, 2), INTS(STRIDES, 2, 2)),
             "[B, 4, 4, 4]");
    SHAPE_IS(OP(CONV, IN(input("B,3,7,8"), weight("w", "4,3,3,3")), INTS(AUTO_PAD, 1), INTS(STRIDES, 2, 2)),
             "[B, 4, 3, 3]");
    SHAPE_IS(OP(CONV, IN(input("B,3,7,8"), weight("w", "4,3,3,3")), INTS(PADS, 0, 1, 2, 3)),
             "[B, 4, 7, 10]"); /* begins, then ends */
}

TEST(convolution_in_integers)
{
    int32_t y = op(CM_OP_CONV_INTEGER, IN(typed(CM_UINT8, "B,3,8,8"), typed(CM_UINT8, "4,3,3,3")));
    SHAPE_IS(y, "[B, 4, 6, 6]");
    assert_int_equal(type_of(y), CM_INT32);
    int32_t s = number(1), z = cm__constant_scalar(g, "z", CM_INT8, 0);
    y = op(CM_OP_QLINEAR_CONV, IN(typed(CM_UINT8, "B,3,8,8"), s, z, typed(CM_INT8, "4,3,3,3"), s, z, s, z));
    SHAPE_IS(y, "[B, 4, 6, 6]");
    assert_int_equal(type_of(y), CM_INT8);
}

TEST(convolution_refuses)
{
    int32_t x = input("B,3,8,8"), w = weight("w", "4,3,3,3");
    REFUSES(FORMAT, "weight [4, 3, 3, 3] in 3 groups for input [B, 3, 8, 8]", OP(CONV, IN(x, w), INTS(GROUP, 3)));
    REFUSES(FORMAT, "in 1 groups for input", op(CM_OP_CONV, IN(x, weight("v", "4,2,3,3"))));
    REFUSES(FORMAT, "in 3 groups", OP(CONV, IN(x, weight("v", "4,1,3,3")), INTS(GROUP, 3))); /* 4 filters in 3 groups */
    REFUSES(FORMAT, "group of 0", OP(CONV, IN(x, w), INTS(GROUP, 0)));
    REFUSES(FORMAT, "weight [4, 3, 3] for input", op(CM_OP_CONV, IN(x, weight("v", "4,3,3"))));
    REFUSES(FORMAT, "a window of 9 over 8", op(CM_OP_CONV, IN(x, weight("v", "4,3,9,9"))));
    REFUSES(FORMAT, "3 pads, expected 4", OP(CONV, IN(x, w), INTS(PADS, 1, 1, 1)));
    REFUSES(FORMAT, "at least 3 dimensions", op(CM_OP_CONV, IN(input("B,3"), weight("v", "4,3"))));
}

TEST(transposed_convolution)
{
    int32_t x = input("B,4,5,5"), w = weight("w", "4,2,3,3");
    SHAPE_IS(op(CM_OP_CONV_TRANSPOSE, IN(x, w)), "[B, 2, 7, 7]");
    SHAPE_IS(OP(CONV_TRANSPOSE, IN(x, w), INTS(STRIDES, 2, 2)), "[B, 2, 11, 11]"); /* 2 (5 - 1) + 3 */
    SHAPE_IS(OP(CONV_TRANSPOSE, IN(x, w), INTS(STRIDES, 2, 2), INTS(PADS, 1, 1, 1, 1), INTS(OUTPUT_PADDING, 1, 1)),
             "[B, 2, 10, 10]");
    SHAPE_IS(OP(CONV_TRANSPOSE, IN(x, w), INTS(DILATIONS, 2, 2)), "[B, 2, 9, 9]"); /* (5 - 1) + 2 (3 - 1) + 1 */
    SHAPE_IS(OP(CONV_TRANSPOSE, IN(x, w), INTS(GROUP, 2)), "[B, 4, 7, 7]");
    SHAPE_IS(OP(CONV_TRANSPOSE, IN(x, w), INTS(STRIDES, 2, 2), INTS(AUTO_PAD, 2)), "[B, 2, 10, 10]");
    SHAPE_IS(OP(CONV_TRANSPOSE, IN(x, w), INTS(STRIDES, 3, 3), INTS(OUTPUT_SHAPE, 14, 16)), "[B, 2, 14, 16]");
    REFUSES(FORMAT, "weight [3, 2, 3, 3] for input [B, 4, 5, 5]",
            op(CM_OP_CONV_TRANSPOSE, IN(x, weight("v", "3,2,3,3"))));
    REFUSES(FORMAT, "is negative", OP(CONV_TRANSPOSE, IN(x, w), INTS(PADS, 9, 9, 9, 9)));
}

/* ---- attention -------------------------------------------------------------------------------------------------- */

TEST(attention_over_four_dimensions)
{
    op(CM_OP_ATTENTION, IN(typed(CM_BF16, "B,8,10,6"), typed(CM_BF16, "B,8,12,6"), typed(CM_BF16, "B,8,12,5")));
    SHAPE_IS(output(0), "[B, 8, 10, 5]");
    assert_int_equal(type_of(output(0)), CM_BF16);
    SHAPE_IS(output(1), "[B, 8, 10]"); /* log-sum-exp of each row */
    assert_int_equal(type_of(output(1)), CM_FP32);
    assert_int_equal(cm__t(g, output(1))->role, CM_ROLE_SAVED);
}

TEST(attention_over_three_dimensions)
{
    OP(ATTENTION, IN(input("B,10,24"), input("B,12,24"), input("B,12,32")), INTS(Q_NUM_HEADS, 4),
       INTS(KV_NUM_HEADS, 4));
    SHAPE_IS(output(0), "[B, 10, 32]");
    SHAPE_IS(output(1), "[B, 4, 10]");
}

TEST(attention_with_fewer_heads_of_keys)
{
    SHAPE_IS(op(CM_OP_ATTENTION, IN(input("B,8,10,6"), input("B,2,12,6"), input("B,2,12,6"))), "[B, 8, 10, 6]");
    OP(ATTENTION, IN(input("B,10,24"), input("B,12,12"), input("B,12,16")), INTS(Q_NUM_HEADS, 4),
       INTS(KV_NUM_HEADS, 2));
    SHAPE_IS(output(0), "[B, 10, 32]"); /* 4 heads of 16 / 2 */
    SHAPE_IS(output(1), "[B, 4, 10]");
}

TEST(attention_refuses)
{
    int32_t q = input("B,8,10,6"), k = input("B,8,12,6");
    REFUSES(FORMAT, "attention of [B, 8, 10, 6], [B, 8, 12, 5]", op(CM_OP_ATTENTION, IN(q, input("B,8,12,5"), k)));
    REFUSES(FORMAT, "attention of", op(CM_OP_ATTENTION, IN(q, k, input("B,8,11,6"))));
    REFUSES(FORMAT, "attention of", op(CM_OP_ATTENTION, IN(q, k, input("B,4,12,6"))));
    REFUSES(FORMAT, "attention of", op(CM_OP_ATTENTION, IN(q, input("B,3,12,6"), input("B,3,12,6")))); /* 8 by 3 */
    REFUSES(FORMAT, "attention over [B, 10, 24] in 0 heads", op(CM_OP_ATTENTION, IN(input("B,10,24"), k, k)));
    REFUSES(FORMAT, "in 5 heads", OP(ATTENTION, IN(input("B,10,24"), k, k), INTS(Q_NUM_HEADS, 5)));
    REFUSES(FORMAT, "attention over [B, 24]", OP(ATTENTION, IN(input("B,24"), k, k), INTS(Q_NUM_HEADS, 4)));
}

/* ---- recurrent layers ------------------------------------------------------------------------------------------- */

TEST(lstm_in_both_layouts)
{
    int32_t w = weight("w", "2,12,5"), r = weight("r", "2,12,3"); /* two directions, hidden 3, four gates */
    op(CM_OP_LSTM, IN(input("7,B,5"), w, r));
    SHAPE_IS(output(0), "[7, 2, B, 3]");
    SHAPE_IS(output(1), "[2, B, 3]");
    SHAPE_IS(output(2), "[2, B, 3]");
    SHAPE_IS(output(3), "[7, B, 2, 15]"); /* four gates and the cell, saved for backward */
    assert_int_equal(cm__t(g, output(3))->role, CM_ROLE_SAVED);
    OP(LSTM, IN(input("B,7,5"), w, r), INTS(LAYOUT, 1));
    SHAPE_IS(output(0), "[B, 7, 2, 3]");
    SHAPE_IS(output(1), "[B, 2, 3]");
    SHAPE_IS(output(2), "[B, 2, 3]");
}

TEST(gru_and_rnn_have_no_cell)
{
    op(CM_OP_GRU, IN(input("7,B,5"), weight("w", "1,9,5"), weight("r", "1,9,3"), weight("b", "1,18")));
    SHAPE_IS(output(0), "[7, 1, B, 3]");
    SHAPE_IS(output(1), "[1, B, 3]");
    assert_int_equal(output(2), -1);
    SHAPE_IS(output(3), "[7, B, 1, 18]"); /* six values of each element: cuDNN's reserve of 196,608,256 bytes for a GRU */
    op(CM_OP_RNN, IN(input("7,B,5"), weight("w", "1,3,5"), weight("r", "1,3,3")));
    SHAPE_IS(output(0), "[7, 1, B, 3]");
    SHAPE_IS(output(3), "[7, B, 1, 3]"); /* one: 2,294,016 bytes for 64 x 35 x 256 in fp32 (evidence/kernels.tar.xz) */
}

TEST(cells_save_their_gates)
{
    int32_t state = input("B,3");
    op(CM_OP_LSTM_CELL, IN(input("B,12"), input("B,12"), state));
    SHAPE_IS(output(0), "[B, 3]");
    SHAPE_IS(output(1), "[B, 3]");
    SHAPE_IS(output(2), "[B, 12]");
    assert_int_equal(cm__t(g, output(2))->role, CM_ROLE_SAVED);
    op(CM_OP_GRU_CELL, IN(input("B,9"), input("B,9"), state));
    SHAPE_IS(output(0), "[B, 3]");
    SHAPE_IS(output(1), "[B, 15]"); /* [B, 2560] for a state of 512 in PyTorch's profiler */
    assert_int_equal(cm__t(g, output(1))->role, CM_ROLE_SAVED);
    REFUSES(FORMAT, "gates [B, 9] do not fit the state [B, 3]",
            op(CM_OP_LSTM_CELL, IN(input("B,12"), input("B,9"), state)));
    REFUSES(FORMAT, "gates [2, B, 9] do not fit", op(CM_OP_GRU_CELL, IN(input("2,B,9"), input("B,9"), state)));
}

TEST(recurrent_layers_refuse)
{
    int32_t x = input("7,B,5"), r = weight("r", "1,12,3");
    REFUSES(FORMAT, "weights [1, 9, 5] and [1, 12, 3] do not fit", op(CM_OP_LSTM, IN(x, weight("w", "1,9,5"), r)));
    REFUSES(FORMAT, "do not fit", op(CM_OP_LSTM, IN(x, weight("w", "1,12,4"), r)));
    REFUSES(FORMAT, "recurrent layer over [B, 5]", op(CM_OP_LSTM, IN(input("B,5"), weight("w", "1,12,5"), r)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gemm),
        cmocka_unit_test(gemm_refuses),
        cmocka_unit_test(matmul_is_numpys),
        cmocka_unit_test(types_of_products),
        cmocka_unit_test(convolution),
        cmocka_unit_test(convolution_in_integers),
        cmocka_unit_test(convolution_refuses),
        cmocka_unit_test(transposed_convolution),
        cmocka_unit_test(attention_over_four_dimensions),
        cmocka_unit_test(attention_over_three_dimensions),
        cmocka_unit_test(attention_with_fewer_heads_of_keys),
        cmocka_unit_test(attention_refuses),
        cmocka_unit_test(lstm_in_both_layouts),
        cmocka_unit_test(gru_and_rnn_have_no_cell),
        cmocka_unit_test(cells_save_their_gates),
        cmocka_unit_test(recurrent_layers_refuse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
