/* SPDX-License-Identifier: Apache-2.0 */
/* test_shape.c - shapes and types of elementwise operators, normalisations, reductions, pools and losses. */
#include "graph_builder.h"

static int32_t output(int32_t index) { return cm__last(g)->outputs[index]; }
static cm_dtype type_of(int32_t tensor) { return cm__t(g, tensor)->dtype; }

/* ---- elementwise ------------------------------------------------------------------------------------------------ */

TEST(one_operand_keeps_its_shape_and_type)
{
    static const int ops[] = {CM_OP_ABS, CM_OP_RELU,    CM_OP_GELU,     CM_OP_SOFTMAX,
                              CM_OP_LRN, CM_OP_HARDMAX, CM_OP_IDENTITY, CM_OP_TRILU};
    for (size_t i = 0; i < COUNT(ops); i++) {
        int32_t y = op(ops[i], IN(typed(CM_FP16, "B,3,5")));
        SHAPE_IS(y, "[B, 3, 5]");
        assert_int_equal(type_of(y), CM_FP16);
    }
}

TEST(operands_broadcast)
{
    int32_t y = op(CM_OP_ADD, IN(input("B,1,5"), input("4,1")));
    SHAPE_IS(y, "[B, 4, 5]");
    SHAPE_IS(op(CM_OP_SUM, IN(input("B,1,5"), input("4,1"), input("2,1,1,1"))), "[2, B, 4, 5]");
    SHAPE_IS(op(CM_OP_MUL, IN(number(2), input("B"))), "[B]");
    REFUSES(FORMAT, "do not fit together", op(CM_OP_ADD, IN(input("B,3"), input("B,4"))));
}

TEST(a_power_has_the_type_of_its_base)
{
    int32_t y = op(CM_OP_POW, IN(typed(CM_FP16, "B,3"), input("1,3")));
    SHAPE_IS(y, "[B, 3]");
    assert_int_equal(type_of(y), CM_FP16);
}

TEST(old_broadcasting_keeps_the_first_shape)
{
    SHAPE_IS(OP(ADD, IN(input("B,3,4,5"), input("3")), INTS(BROADCAST, 1), INTS(AXIS, 1)), "[B, 3, 4, 5]");
    int32_t y = OP(LESS, IN(input("B,3,4,5"), input("3")), INTS(BROADCAST, 1), INTS(AXIS, 1));
    SHAPE_IS(y, "[B, 3, 4, 5]");
    assert_int_equal(type_of(y), CM_BOOL);
}

TEST(comparisons_are_truth_values)
{
    static const int ops[] = {CM_OP_EQUAL, CM_OP_LESS, CM_OP_GREATER_OR_EQUAL};
    for (size_t i = 0; i < COUNT(ops); i++) {
        int32_t y = op(ops[i], IN(input("B,1"), input("7")));
        SHAPE_IS(y, "[B, 7]");
        assert_int_equal(type_of(y), CM_BOOL);
    }
    assert_int_equal(type_of(op(CM_OP_IS_NAN, IN(input("B")))), CM_BOOL);
    assert_int_equal(type_of(op(CM_OP_NOT, IN(typed(CM_BOOL, "B")))), CM_BOOL);
}

TEST(where_has_the_type_of_what_it_chooses_from)
{
    int32_t y = op(CM_OP_WHERE, IN(typed(CM_BOOL, "B,1"), typed(CM_FP16, "5"), number(0)));
    SHAPE_IS(y, "[B, 5]");
    assert_int_equal(type_of(y), CM_FP16);
}

TEST(casts)
{
    assert_int_equal(type_of(OP(CAST, IN(input("B")), INTS(TO, CM_INT32))), CM_INT32);
    assert_int_equal(type_of(op(CM_OP_CAST_LIKE, IN(input("B"), typed(CM_BF16, "9")))), CM_BF16);
    SHAPE_IS(output(0), "[B]");
    assert_int_equal(type_of(OP(EYE_LIKE, IN(input("4,4")), INTS(DTYPE, CM_INT8))), CM_INT8);
    assert_int_equal(type_of(op(CM_OP_BERNOULLI, IN(input("4,4")))), CM_FP32);
    REFUSES(UNSUPPORTED, "unknown data type in 'to'", OP(CAST, IN(input("B")), INTS(TO, CM_DTYPES)));
    REFUSES(UNSUPPORTED, "unknown data type in 'to'", OP(CAST, IN(input("B")), INTS(TO, -1)));
}

TEST(dropout_keeps_a_mask_of_one_byte)
{
    op(CM_OP_DROPOUT, IN(typed(CM_FP16, "B,6")));
    SHAPE_IS(output(1), "[B, 6]");
    assert_int_equal(type_of(output(0)), CM_FP16);
    assert_int_equal(type_of(output(1)), CM_BOOL);
    assert_int_equal(cm__t(g, output(1))->role, CM_ROLE_SAVED);
}

TEST(quantisation)
{
    int32_t x = input("B,6"), scale = number(0.1), zero = cm__constant_scalar(g, "zero", CM_INT8, 0);
    assert_int_equal(type_of(op(CM_OP_QUANTIZE_LINEAR, IN(x, scale))), CM_UINT8);
    assert_int_equal(type_of(op(CM_OP_QUANTIZE_LINEAR, IN(x, scale, zero))), CM_INT8);
    assert_int_equal(type_of(op(CM_OP_DEQUANTIZE_LINEAR, IN(output(0), scale, zero))), CM_FP32);
    op(CM_OP_DYNAMIC_QUANTIZE_LINEAR, IN(x));
    assert_int_equal(type_of(output(0)), CM_UINT8);
    assert_int_equal(type_of(output(1)), CM_FP32);
    assert_int_equal(type_of(output(2)), CM_UINT8);
    SHAPE_IS(output(1), "[]");
}

/* ---- normalisation ---------------------------------------------------------------------------------------------- */

static int32_t batch_norm(const char *scale)
{
    return op(CM_OP_BATCH_NORM,
              IN(typed(CM_BF16, "B,6,5,5"), weight("s", scale), weight("b", "6"), weight("m", "6"), weight("v", "6")));
}

TEST(batch_norm_keeps_statistics_per_channel)
{
    int32_t y = batch_norm("6");
    SHAPE_IS(y, "[B, 6, 5, 5]");
    assert_int_equal(type_of(y), CM_BF16);
    for (int i = 1; i <= 2; i++) {
        SHAPE_IS(output(i), "[6]");
        assert_int_equal(type_of(output(i)), CM_FP32);
        assert_int_equal(cm__t(g, output(i))->role, CM_ROLE_SAVED);
    }
    REFUSES(FORMAT, "'s' is [5], 6 elements expected", batch_norm("5"));
    REFUSES(FORMAT, "at least 2 dimensions", op(CM_OP_BATCH_NORM, IN(input("6"), weight("s", "6"), 0, 0, 0)));
}

TEST(layer_norm_keeps_statistics_per_row)
{
    int32_t y = op(CM_OP_LAYER_NORM, IN(input("B,7,6"), weight("s", "6"), weight("b", "6")));
    SHAPE_IS(y, "[B, 7, 6]");
    SHAPE_IS(output(1), "[B, 7, 1]");
    SHAPE_IS(output(2), "[B, 7, 1]");
    OP(LAYER_NORM, IN(input("B,7,6")), INTS(AXIS, 1));
    SHAPE_IS(output(1), "[B, 1, 1]");
    REFUSES(FORMAT, "axis 3", OP(LAYER_NORM, IN(input("B,7,6")), INTS(AXIS, 3)));
}

TEST(rms_norm_keeps_no_mean)
{
    op(CM_OP_RMS_NORM, IN(input("B,7,6"), weight("s", "6")));
    assert_int_equal(cm__last(g)->n_outputs, 2);
    SHAPE_IS(output(1), "[B, 7, 1]");
    op(CM_OP_SIMPLIFIED_LAYER_NORM, IN(input("B,7,6"), weight("s", "6")));
    assert_int_equal(cm__last(g)->n_outputs, 2);
}

TEST(group_and_instance_norm_keep_statistics_per_group)
{
    SHAPE_IS(OP(GROUP_NORM, IN(input("B,6,5,5"), weight("s", "6"), weight("b", "6")), INTS(NUM_GROUPS, 3)),
             "[B, 6, 5, 5]");
    SHAPE_IS(output(1), "[B, 3]");
    SHAPE_IS(output(2), "[B, 3]");
    op(CM_OP_INSTANCE_NORM, IN(input("B,6,5,5"), weight("s", "6"), weight("b", "6")));
    SHAPE_IS(output(1), "[B, 6]");
}

/* ---- reductions ------------------------------------------------------------------------------------------------- */

TEST(reductions)
{
    int32_t x = input("B,3,4");
    SHAPE_IS(OP(REDUCE_MEAN, IN(x), INTS(AXES, 1)), "[B, 1, 4]");
    SHAPE_IS(OP(REDUCE_MEAN, IN(x), INTS(AXES, -1), INTS(KEEPDIMS, 0)), "[B, 3]");
    SHAPE_IS(op(CM_OP_REDUCE_SUM, IN(x, KNOWN(0, 2))), "[1, 3, 1]"); /* opset 13: axes are an input */
    SHAPE_IS(op(CM_OP_REDUCE_MAX, IN(x)), "[1, 1, 1]");
    SHAPE_IS(OP(REDUCE_PROD, IN(x), INTS(KEEPDIMS, 0)), "[]");
    SHAPE_IS(OP(REDUCE_SUM, IN(x), INTS(NOOP_WITH_EMPTY_AXES, 1)), "[B, 3, 4]");
    REFUSES(FORMAT, "axis 3", OP(REDUCE_L2, IN(x), INTS(AXES, 3)));
    REFUSES(UNSUPPORTED, "depends on data", op(CM_OP_REDUCE_SUM, IN(x, typed(CM_INT64, "1"))));
}

TEST(positions_of_extremes)
{
    int32_t y = OP(ARG_MAX, IN(input("B,3,4")), INTS(AXIS, -1), INTS(KEEPDIMS, 0));
    SHAPE_IS(y, "[B, 3]");
    assert_int_equal(type_of(y), CM_INT64);
    SHAPE_IS(op(CM_OP_ARG_MIN, IN(input("B,3,4"))), "[1, 3, 4]"); /* axis 0, kept */
}

TEST(top_k_gives_values_and_positions)
{
    op(CM_OP_TOP_K, IN(input("B,9,4"), KNOWN(2)));
    SHAPE_IS(output(0), "[B, 9, 2]");
    SHAPE_IS(output(1), "[B, 9, 2]");
    assert_int_equal(type_of(output(1)), CM_INT64);
    SHAPE_IS(OP(TOP_K, IN(input("B,9,4")), INTS(K, 5), INTS(AXIS, 1)), "[B, 5, 4]");
    REFUSES(FORMAT, "TopK without k", op(CM_OP_TOP_K, IN(input("B,9"))));
}

/* ---- pools ------------------------------------------------------------------------------------------------------ */

TEST(max_pool_keeps_positions)
{
    int32_t x = typed(CM_BF16, "B,6,112,112");
    int32_t y = OP(MAX_POOL, IN(x), INTS(KERNEL_SHAPE, 3, 3), INTS(STRIDES, 2, 2), INTS(PADS, 1, 1, 1, 1));
    SHAPE_IS(y, "[B, 6, 56, 56]"); /* (112 + 2 - 3) / 2 + 1 */
    SHAPE_IS(output(1), "[B, 6, 56, 56]");
    assert_int_equal(type_of(output(1)), CM_INT64);
    assert_int_equal(cm__t(g, output(1))->role, CM_ROLE_SAVED);
}

TEST(pools_slide_in_every_dimension)
{
    SHAPE_IS(OP(AVERAGE_POOL, IN(input("B,2,9")), INTS(KERNEL_SHAPE, 4)), "[B, 2, 6]");
    assert_int_equal(cm__last(g)->n_outputs, 1);
    SHAPE_IS(OP(AVERAGE_POOL, IN(input("B,2,4,6,9")), INTS(KERNEL_SHAPE, 2, 3, 4), INTS(STRIDES, 2, 3, 5)),
             "[B, 2, 2, 2, 2]");
    SHAPE_IS(OP(MAX_POOL, IN(input("B,2,4,4")), INTS(KERNEL_SHAPE, 3, 3), INTS(STRIDES, 2, 2)), "[B, 2, 1, 1]");
    SHAPE_IS(OP(MAX_POOL, IN(input("B,2,4,4")), INTS(KERNEL_SHAPE, 3, 3), INTS(STRIDES, 2, 2), INTS(CEIL_MODE, 1)),
             "[B, 2, 2, 2]");
    SHAPE_IS(OP(LP_POOL, IN(input("B,2,7,7")), INTS(KERNEL_SHAPE, 3, 3), INTS(STRIDES, 2, 2), INTS(AUTO_PAD, 2)),
             "[B, 2, 4, 4]");
    REFUSES(FORMAT, "at least 3 dimensions", OP(MAX_POOL, IN(input("B,2")), INTS(KERNEL_SHAPE, 1)));
    REFUSES(FORMAT, "1 kernel_shape, expected 2", OP(MAX_POOL, IN(input("B,2,4,4")), INTS(KERNEL_SHAPE, 3)));
}

TEST(global_pools_leave_channels)
{
    SHAPE_IS(op(CM_OP_GLOBAL_AVERAGE_POOL, IN(input("B,6,7,9"))), "[B, 6, 1, 1]");
    SHAPE_IS(op(CM_OP_GLOBAL_MAX_POOL, IN(input("B,6,7"))), "[B, 6, 1]");
}

TEST(regions_are_counted_by_their_list)
{
    int32_t x = input("B,6,50,50"), rois = input("30,5");
    SHAPE_IS(OP(MAX_ROI_POOL, IN(x, rois), INTS(POOLED_SHAPE, 7, 9)), "[30, 6, 7, 9]");
    SHAPE_IS(OP(ROI_ALIGN, IN(x, rois, typed(CM_INT64, "30")), INTS(OUTPUT_HEIGHT, 4), INTS(OUTPUT_WIDTH, 5)),
             "[30, 6, 4, 5]");
    REFUSES(FORMAT, "no pooled_shape", op(CM_OP_MAX_ROI_POOL, IN(x, rois)));
}

TEST(samples_and_determinants)
{
    int32_t y = OP(MULTINOMIAL, IN(input("B,10")), INTS(SAMPLE_SIZE, 3));
    SHAPE_IS(y, "[B, 3]");
    assert_int_equal(type_of(y), CM_INT32);
    SHAPE_IS(op(CM_OP_DET, IN(input("B,4,4"))), "[B]");
    REFUSES(FORMAT, "at least 2 dimensions", op(CM_OP_DET, IN(input("4"))));
}

/* ---- losses ----------------------------------------------------------------------------------------------------- */

TEST(losses_are_one_number_unless_told_otherwise)
{
    int32_t x = input("B,10,7"), labels = typed(CM_INT64, "B,7");
    SHAPE_IS(op(CM_OP_CROSS_ENTROPY, IN(x, labels)), "[]");
    SHAPE_IS(output(1), "[B, 10, 7]"); /* log-probabilities */
    assert_int_equal(cm__t(g, output(1))->role, CM_ROLE_SAVED);
    SHAPE_IS(OP(CROSS_ENTROPY, IN(x, labels), INTS(REDUCTION, 2)), "[B, 7]");
    SHAPE_IS(op(CM_OP_NLL_LOSS, IN(x, labels)), "[]");
    SHAPE_IS(OP(NLL_LOSS, IN(x, labels), INTS(REDUCTION, 2)), "[B, 7]");
    SHAPE_IS(OP(MSE_LOSS, IN(x, x), INTS(REDUCTION, 1)), "[]");
    SHAPE_IS(OP(BCE_LOSS, IN(x, x), INTS(REDUCTION, 2)), "[B, 10, 7]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_operand_keeps_its_shape_and_type),
        cmocka_unit_test(operands_broadcast),
        cmocka_unit_test(a_power_has_the_type_of_its_base),
        cmocka_unit_test(old_broadcasting_keeps_the_first_shape),
        cmocka_unit_test(comparisons_are_truth_values),
        cmocka_unit_test(where_has_the_type_of_what_it_chooses_from),
        cmocka_unit_test(casts),
        cmocka_unit_test(dropout_keeps_a_mask_of_one_byte),
        cmocka_unit_test(quantisation),
        cmocka_unit_test(batch_norm_keeps_statistics_per_channel),
        cmocka_unit_test(layer_norm_keeps_statistics_per_row),
        cmocka_unit_test(rms_norm_keeps_no_mean),
        cmocka_unit_test(group_and_instance_norm_keep_statistics_per_group),
        cmocka_unit_test(reductions),
        cmocka_unit_test(positions_of_extremes),
        cmocka_unit_test(top_k_gives_values_and_positions),
        cmocka_unit_test(max_pool_keeps_positions),
        cmocka_unit_test(pools_slide_in_every_dimension),
        cmocka_unit_test(global_pools_leave_channels),
        cmocka_unit_test(regions_are_counted_by_their_list),
        cmocka_unit_test(samples_and_determinants),
        cmocka_unit_test(losses_are_one_number_unless_told_otherwise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
