/* SPDX-License-Identifier: Apache-2.0 */
/* test_shape_make.c - shapes of operators that make new data, as the ONNX standard defines them. */
#include "graph_builder.h"

static cm_dtype type_of(int32_t tensor) { return cm__t(g, tensor)->dtype; }

/* ---- images ----------------------------------------------------------------------------------------------------- */

TEST(resize)
{
    int32_t x = input("B,3,8,10");
    SHAPE_IS(op(CM_OP_RESIZE, IN(x, -1, reals(4, (double[]){1, 1, 2, 0.5}))), "[B, 3, 16, 5]");
    SHAPE_IS(op(CM_OP_RESIZE, IN(x, -1, reals(4, (double[]){1, 1, 1.2999999523, 1.7}))), "[B, 3, 10, 17]"); /* floor */
    SHAPE_IS(op(CM_OP_RESIZE, IN(x, reals(4, (double[]){1, 1, 3, 3}))), "[B, 3, 24, 30]"); /* opset 10 */
    SHAPE_IS(op(CM_OP_RESIZE, IN(x, -1, -1, known("B,3,7,9"))), "[B, 3, 7, 9]");
    SHAPE_IS(op(CM_OP_RESIZE, IN(x, -1, typed(CM_FP32, "0"), known("B,3,7,9"))), "[B, 3, 7, 9]"); /* empty scales */
    SHAPE_IS(OP(RESIZE, IN(x, -1, -1, known("7,9")), INTS(AXES, 2, 3)), "[B, 3, 7, 9]");           /* opset 18 */
    double  scales[4] = {1, 1, 2, 2};
    int64_t bits[4];
    memcpy(bits, scales, sizeof bits);
    SHAPE_IS(OP(UPSAMPLE, IN(x), INTS(SCALES, bits[0], bits[1], bits[2], bits[3])), "[B, 3, 16, 20]"); /* opset 7 */
}

TEST(resize_refuses)
{
    int32_t x = input("B,3,8,10");
    REFUSES(FORMAT, "3 sizes or scales for [B, 3, 8, 10]", op(CM_OP_RESIZE, IN(x, -1, reals(3, (double[]){1, 2, 2}))));
    REFUSES(UNSUPPORTED, "the batch dimension is resized",
            op(CM_OP_RESIZE, IN(x, -1, reals(4, (double[]){2, 1, 1, 1}))));
    REFUSES(FORMAT, "a scale of -1", op(CM_OP_RESIZE, IN(x, -1, reals(4, (double[]){1, 1, -1, 1}))));
    REFUSES(FORMAT, "a scale of 1e+30", op(CM_OP_RESIZE, IN(x, -1, reals(4, (double[]){1, 1, 1e30, 1}))));
    REFUSES(FORMAT, "sizes or scales", op(CM_OP_RESIZE, IN(x)));
    REFUSES(UNSUPPORTED, "depends on data", op(CM_OP_RESIZE, IN(x, -1, -1, typed(CM_INT64, "4"))));
}

TEST(blocks_of_pixels)
{
    SHAPE_IS(OP(DEPTH_TO_SPACE, IN(input("B,12,5,7")), INTS(BLOCKSIZE, 2)), "[B, 3, 10, 14]");
    SHAPE_IS(OP(SPACE_TO_DEPTH, IN(input("B,3,10,14")), INTS(BLOCKSIZE, 2)), "[B, 12, 5, 7]");
    REFUSES(FORMAT, "blocks of 2 do not divide [B, 6, 5, 7]",
            OP(DEPTH_TO_SPACE, IN(input("B,6,5,7")), INTS(BLOCKSIZE, 2)));
    REFUSES(FORMAT, "do not divide", OP(SPACE_TO_DEPTH, IN(input("B,3,5,8")), INTS(BLOCKSIZE, 2)));
    REFUSES(FORMAT, "blocks of 0", op(CM_OP_SPACE_TO_DEPTH, IN(input("B,3,4,4"))));
}

TEST(grids_crops_and_columns)
{
    SHAPE_IS(op(CM_OP_GRID_SAMPLE, IN(input("B,3,8,9"), input("B,5,6,2"))), "[B, 3, 5, 6]");
    REFUSES(FORMAT, "grid [B, 5, 2] for [B, 3, 8, 9]", op(CM_OP_GRID_SAMPLE, IN(input("B,3,8,9"), input("B,5,2"))));
    SHAPE_IS(OP(CENTER_CROP_PAD, IN(input("B,8,9"), known("4,12")), INTS(AXES, 1, 2)), "[B, 4, 12]");
    REFUSES(FORMAT, "1 sizes for [B, 8, 9]", op(CM_OP_CENTER_CROP_PAD, IN(input("B,8,9"), known("4"))));
    SHAPE_IS(op(CM_OP_COL2IM, IN(input("B,12,16"), KNOWN(5, 5), KNOWN(2, 2))),
             "[B, 3, 5, 5]"); /* 12 = 3 channels of 2 x 2 */
    REFUSES(FORMAT, "do not fit the image", op(CM_OP_COL2IM, IN(input("B,10,16"), KNOWN(5, 5), KNOWN(2, 2))));
}

TEST(max_unpool)
{
    int32_t x = input("B,3,4,4"), where = typed(CM_INT64, "B,3,4,4");
    SHAPE_IS(OP(MAX_UNPOOL, IN(x, where), INTS(KERNEL_SHAPE, 2, 2), INTS(STRIDES, 2, 2)), "[B, 3, 8, 8]");
    SHAPE_IS(OP(MAX_UNPOOL, IN(x, where, known("B,3,9,9")), INTS(KERNEL_SHAPE, 2, 2), INTS(STRIDES, 2, 2)),
             "[B, 3, 9, 9]");
}

/* ---- made from nothing ------------------------------------------------------------------------------------------ */

TEST(constants_of_a_shape)
{
    int32_t y = OP(CONSTANT_OF_SHAPE, IN(known("B,4")), INTS(DTYPE, CM_INT64));
    SHAPE_IS(y, "[B, 4]");
    assert_int_equal(type_of(y), CM_INT64);
    SHAPE_IS(op(CM_OP_CONSTANT_OF_SHAPE, IN(typed(CM_INT64, "0"))), "[]");
    REFUSES(FORMAT, "unknown data type", OP(CONSTANT_OF_SHAPE, IN(known("B,4")), INTS(DTYPE, 99)));
    REFUSES(FORMAT, "is negative", op(CM_OP_CONSTANT_OF_SHAPE, IN(known("-4"))));
}

static int32_t range(const char *from, const char *to, const char *by)
{
    int32_t ends[3] = {known(from), known(to), known(by)};
    for (int i = 0; i < 3; i++) ends[i] = OP(SQUEEZE, IN(ends[i]), INTS(AXES, 0));
    return op(CM_OP_RANGE, ends, 3);
}

TEST(ranges)
{
    SHAPE_IS(range("0", "7", "2"), "[4]");
    SHAPE_IS(range("7", "0", "-2"), "[4]");
    SHAPE_IS(range("3", "3", "1"), "[0]");
    SHAPE_IS(range("5", "0", "1"), "[0]");
    SHAPE_IS(range("0", "B", "1"), "[B]");
    SHAPE_IS(range("1", "B+1", "1"), "[B]");
    SHAPE_IS(range("0", "4B", "2"), "[2B]");
    SHAPE_IS(op(CM_OP_RANGE, IN(number(0), number(1), number(0.3))), "[4]"); /* ceil(1 / 0.3) */
    SHAPE_IS(op(CM_OP_RANGE, IN(number(1), number(0), number(0.3))), "[0]");
    REFUSES(FORMAT, "a range without end", range("0", "7", "0"));
    REFUSES(FORMAT, "a range without end", op(CM_OP_RANGE, IN(number(0), number(1), number(0))));
    REFUSES(UNSUPPORTED, "a range of B in steps of 2", range("0", "B", "2"));
    REFUSES(UNSUPPORTED, "bounds depend on data", op(CM_OP_RANGE, IN(integer(0), typed(CM_INT64, ""), integer(1))));
}

TEST(shapes_and_sizes)
{
    int32_t x = input("B,3,4,5");
    value_is(op(CM_OP_SHAPE, IN(x)), "B,3,4,5");
    value_is(OP(SHAPE, IN(x), INTS(START, 1), INTS(END, -1)), "3,4");
    value_is(OP(SHAPE, IN(x), INTS(START, -2)), "4,5");
    value_is(OP(SHAPE, IN(x), INTS(START, -9), INTS(END, 9)), "B,3,4,5");
    SHAPE_IS(OP(SHAPE, IN(x), INTS(START, 3), INTS(END, 1)), "[0]");
    value_is(op(CM_OP_SIZE, IN(x)), "60B");
    value_is(op(CM_OP_SIZE, IN(number(1))), "1");
}

TEST(random_numbers_and_windows)
{
    int32_t y = OP(RANDOM_NORMAL, NO_INPUTS, INTS(SHAPE, 3, 4), INTS(DTYPE, CM_FP16));
    SHAPE_IS(y, "[3, 4]");
    assert_int_equal(type_of(y), CM_FP16);
    SHAPE_IS(op(CM_OP_RANDOM_UNIFORM_LIKE, IN(input("B,4"))), "[B, 4]");
    SHAPE_IS(op(CM_OP_HANN_WINDOW, IN(integer(16))), "[16]");
    REFUSES(FORMAT, "no shape or data type", op(CM_OP_RANDOM_UNIFORM, NO_INPUTS));
    REFUSES(UNSUPPORTED, "depends on data", op(CM_OP_HANN_WINDOW, IN(typed(CM_INT64, ""))));
}

/* ---- recorded --------------------------------------------------------------------------------------------------- */

/* Each output is its type, its rank, and per dimension a multiple of B and a constant. */
TEST(recorded_outputs)
{
    int32_t x = input("B,9");
    const cm_node *node = OUTPUTS(2, OPAQUE, IN(x), INTS(OUTPUTS, CM_FP16, 2, 1, 0, 0, 7, CM_INT64, 0));
    SHAPE_IS(node->outputs[0], "[B, 7]");
    SHAPE_IS(node->outputs[1], "[]");
    assert_int_equal(type_of(node->outputs[0]), CM_FP16);
    assert_int_equal(type_of(node->outputs[1]), CM_INT64);
    node = OUTPUTS(1, INDEX, IN(x, typed(CM_INT64, "5")), INTS(OUTPUTS, CM_FP32, 1, 2, 3));
    SHAPE_IS(node->outputs[0], "[2B+3]");
    REFUSES(FORMAT, "without outputs", op(CM_OP_OPAQUE, IN(x)));
    REFUSES(FORMAT, "without outputs", OUTPUTS(1, OPAQUE, IN(x), INTS(OUTPUTS, CM_FP32)));
    REFUSES(FORMAT, "shapes are not given", OUTPUTS(1, OPAQUE, IN(x), INTS(OUTPUTS, CM_FP32, 2, 1, 0)));
    REFUSES(FORMAT, "shapes are not given", OUTPUTS(1, OPAQUE, IN(x), INTS(OUTPUTS, CM_DTYPES, 0)));
    REFUSES(FORMAT, "shapes are not given", OUTPUTS(1, OPAQUE, IN(x), INTS(OUTPUTS, -1, 0)));
    REFUSES(FORMAT, "shapes are not given", OUTPUTS(1, OPAQUE, IN(x), INTS(OUTPUTS, CM_FP32, -1)));
    REFUSES(FORMAT, "shapes are not given", OUTPUTS(1, OPAQUE, IN(x), INTS(OUTPUTS, CM_FP32, INT64_MAX)));
}

/* Losses and states; two dimensions, or a result only, are refused. */
TEST(a_ctc_loss)
{
    int32_t x = input("9,B,5"), labels = typed(CM_INT64, "B,3");
    const cm_node *node =
        OUTPUTS(2, CTC_LOSS, IN(x, labels), INTS(OUTPUTS, CM_FP32, 1, 1, 0, CM_FP32, 3, 1, 0, 0, 9, 0, 7));
    SHAPE_IS(node->outputs[0], "[B]");
    SHAPE_IS(node->outputs[1], "[B, 9, 7]");
    REFUSES(FORMAT, "a CTC loss of [9, B, 5]", OUTPUTS(1, CTC_LOSS, IN(x, labels), INTS(OUTPUTS, CM_FP32, 1, 1, 0)));
    REFUSES(FORMAT, "a CTC loss of [9, B, 5]",
            OUTPUTS(2, CTC_LOSS, IN(x, labels), INTS(OUTPUTS, CM_FP32, 1, 1, 0, CM_FP32, 2, 1, 0, 0, 9)));
    REFUSES(FORMAT, "a CTC loss of [B, 3]",
            OUTPUTS(2, CTC_LOSS, IN(labels, labels), INTS(OUTPUTS, CM_FP32, 1, 1, 0, CM_FP32, 3, 1, 0, 0, 9, 0, 7)));
}

/* A product of two batch dimensions has no value; it is still a number. */
TEST(sizes_that_have_no_value)
{
    int32_t size = op(CM_OP_SIZE, IN(input("B,B,3")));
    SHAPE_IS(size, "[]");
    assert_false(is_known(size));
    assert_true(is_known(op(CM_OP_SIZE, IN(input("B,3")))));
}

TEST(more_that_is_refused)
{
    int32_t image = input("B,3,8,9");
    REFUSES(FORMAT, "", op(CM_OP_GRID_SAMPLE, IN(input("B,3"), input("B,2"))));
    REFUSES(FORMAT, "blocks of 4097", OP(DEPTH_TO_SPACE, IN(image), INTS(BLOCKSIZE, 4097)));
    REFUSES(FORMAT, "blocks of 2", OP(DEPTH_TO_SPACE, IN(input("B,12,5")), INTS(BLOCKSIZE, 2)));
    REFUSES(FORMAT, "do not fit the image", op(CM_OP_COL2IM, IN(input("B,12,16"), KNOWN(5, 5), KNOWN(4))));
    REFUSES(FORMAT, "", OP(CENTER_CROP_PAD, IN(image, known("4")), INTS(AXES, 4))); /* no such axis */
    REFUSES(FORMAT, "a range without end", range("0", "7", "B"));
    REFUSES(FORMAT, "no size or data type", OP(HANN_WINDOW, IN(integer(16)), INTS(OUTPUT_DTYPE, 99)));
    REFUSES(FORMAT, "no shape or data type", OP(RANDOM_NORMAL, NO_INPUTS, INTS(SHAPE, 3), INTS(DTYPE, -1)));
}

/* (n - 1) stride + kernel - padding, in one and in three dimensions */
TEST(windows_that_were_pooled)
{
    int32_t line = input("B,3,5"), volume = input("B,3,2,3,4");
    SHAPE_IS(OP(MAX_UNPOOL, IN(line, typed(CM_INT64, "B,3,5")), INTS(KERNEL_SHAPE, 3), INTS(STRIDES, 2)), "[B, 3, 11]");
    SHAPE_IS(OP(MAX_UNPOOL, IN(line, typed(CM_INT64, "B,3,5")), INTS(KERNEL_SHAPE, 3), INTS(STRIDES, 2), INTS(PADS, 1, 1)),
             "[B, 3, 9]");
    SHAPE_IS(OP(MAX_UNPOOL, IN(volume, typed(CM_INT64, "B,3,2,3,4")), INTS(KERNEL_SHAPE, 2, 2, 2), INTS(STRIDES, 2, 2, 2)),
             "[B, 3, 4, 6, 8]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(resize),
        cmocka_unit_test(resize_refuses),
        cmocka_unit_test(blocks_of_pixels),
        cmocka_unit_test(grids_crops_and_columns),
        cmocka_unit_test(max_unpool),
        cmocka_unit_test(constants_of_a_shape),
        cmocka_unit_test(ranges),
        cmocka_unit_test(shapes_and_sizes),
        cmocka_unit_test(random_numbers_and_windows),
        cmocka_unit_test(recorded_outputs),
        cmocka_unit_test(a_ctc_loss),
        cmocka_unit_test(sizes_that_have_no_value),
        cmocka_unit_test(more_that_is_refused),
        cmocka_unit_test(windows_that_were_pooled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
