/* SPDX-License-Identifier: Apache-2.0 */
/* test_shape_move.c - shapes of operators that move data. */
#include "graph_builder.h"

static int32_t output(int32_t index) { return cm__last(g)->outputs[index]; }
static cm_dtype type_of(int32_t tensor) { return cm__t(g, tensor)->dtype; }

/* ---- reshapes --------------------------------------------------------------------------------------------------- */

static int32_t reshape(const char *from, const char *to) { return op(CM_OP_RESHAPE, IN(input(from), known(to))); }

TEST(reshapes)
{
    SHAPE_IS(reshape("B,3,4", "-1,12"), "[B, 12]");
    SHAPE_IS(reshape("B,3,4", "0,-1"), "[B, 12]"); /* 0: unchanged */
    SHAPE_IS(reshape("B,12", "0,3,4"), "[B, 3, 4]");
    SHAPE_IS(reshape("B,3,4", "3B,4"), "[3B, 4]");
    SHAPE_IS(reshape("2B+2,6", "2,-1"), "[2, 6B+6]");
    SHAPE_IS(reshape("2B+2,6", "B+1,-1"), "[B+1, 12]");
    SHAPE_IS(reshape("B,7,B", "7,-1,B"), "[7, B, B]"); /* factors cancel: no square of B is needed */
    SHAPE_IS(reshape("1", ""), "[]");
    SHAPE_IS(OP(RESHAPE, IN(input("B,12")), INTS(SHAPE, -1, 4)), "[3B, 4]"); /* opset 1 */
    SHAPE_IS(OP(RESHAPE, IN(input("0,3,4"), known("3,4,0")), INTS(ALLOWZERO, 1)), "[3, 4, 0]");
    assert_true(cm__last(g)->view);
}

TEST(reshape_refuses)
{
    REFUSES(FORMAT, "[B, 4] cannot take the shape [B, 5]", reshape("B,4", "B,5"));
    REFUSES(FORMAT, "cannot take the shape", reshape("B,4", "3,-1"));
    REFUSES(FORMAT, "cannot take the shape", reshape("B,4", "8,4"));
    REFUSES(FORMAT, "two dimensions of the new shape are -1", reshape("B,4", "-1,-1"));
    REFUSES(FORMAT, "cannot take the shape", reshape("B,4", "0,4,0"));
    REFUSES(FORMAT, "Reshape without a shape", op(CM_OP_RESHAPE, IN(input("B,4"))));
    REFUSES(UNSUPPORTED, "depends on data", op(CM_OP_RESHAPE, IN(input("B,4"), typed(CM_INT64, "2"))));
}

TEST(flatten)
{
    int32_t x = input("B,3,4,5");
    SHAPE_IS(op(CM_OP_FLATTEN, IN(x)), "[B, 60]");
    SHAPE_IS(OP(FLATTEN, IN(x), INTS(AXIS, 0)), "[1, 60B]");
    SHAPE_IS(OP(FLATTEN, IN(x), INTS(AXIS, -1)), "[12B, 5]");
    SHAPE_IS(OP(FLATTEN, IN(x), INTS(AXIS, 4)), "[60B, 1]");
    REFUSES(FORMAT, "axis 5", OP(FLATTEN, IN(x), INTS(AXIS, 5)));
    REFUSES(UNSUPPORTED, "square", op(CM_OP_FLATTEN, IN(input("3,B,B"))));
}

TEST(squeeze_and_unsqueeze)
{
    int32_t x = input("B,1,4,1");
    SHAPE_IS(op(CM_OP_SQUEEZE, IN(x)), "[B, 4]");
    SHAPE_IS(OP(SQUEEZE, IN(x), INTS(AXES, -1)), "[B, 1, 4]");
    SHAPE_IS(op(CM_OP_SQUEEZE, IN(x, KNOWN(1, 3))), "[B, 4]");
    SHAPE_IS(OP(UNSQUEEZE, IN(input("B,4")), INTS(AXES, 0, -1)), "[1, B, 4, 1]");
    SHAPE_IS(op(CM_OP_UNSQUEEZE, IN(input("B,4"), KNOWN(1))), "[B, 1, 4]");
    REFUSES(FORMAT, "axis 2 of [B, 1, 4, 1] is not 1", OP(SQUEEZE, IN(x), INTS(AXES, 2)));
    REFUSES(UNSUPPORTED, "the batch dimension is squeezed away", OP(SQUEEZE, IN(x), INTS(AXES, 0)));
    REFUSES(FORMAT, "axis 1 twice", OP(UNSQUEEZE, IN(input("B,4")), INTS(AXES, 1, 1)));
    REFUSES(FORMAT, "axis 4", OP(UNSQUEEZE, IN(input("B,4")), INTS(AXES, 0, 4)));
    REFUSES(LIMIT, "17 dimensions", OP(UNSQUEEZE, IN(input("1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1")), INTS(AXES, 0)));
}

TEST(transpose)
{
    int32_t x = input("B,3,4");
    SHAPE_IS(op(CM_OP_TRANSPOSE, IN(x)), "[4, 3, B]");
    SHAPE_IS(OP(TRANSPOSE, IN(x), INTS(PERM, 0, 2, 1)), "[B, 4, 3]");
    SHAPE_IS(OP(TRANSPOSE, IN(x), INTS(PERM, -1, 0, 1)), "[4, B, 3]");
    REFUSES(FORMAT, "perm has 2 entries for [B, 3, 4]", OP(TRANSPOSE, IN(x), INTS(PERM, 1, 0)));
    REFUSES(FORMAT, "axis 0 twice", OP(TRANSPOSE, IN(x), INTS(PERM, 0, 0, 1)));
    REFUSES(FORMAT, "axis 3", OP(TRANSPOSE, IN(x), INTS(PERM, 0, 1, 3)));
}

TEST(expand_and_tile)
{
    SHAPE_IS(op(CM_OP_EXPAND, IN(input("1,4"), known("B,3,1"))), "[B, 3, 4]"); /* both sides broadcast */
    SHAPE_IS(op(CM_OP_EXPAND, IN(input("B,4"), known("-1,4"))), "[B, 4]");
    REFUSES(FORMAT, "do not fit together", op(CM_OP_EXPAND, IN(input("B,4"), known("B,5"))));
    SHAPE_IS(op(CM_OP_TILE, IN(input("B,4"), known("2,3"))), "[2B, 12]");
    SHAPE_IS(op(CM_OP_TILE, IN(input("1,4"), known("B,1"))), "[B, 4]");
    REFUSES(FORMAT, "1 repeats for [B, 4]", op(CM_OP_TILE, IN(input("B,4"), known("2"))));
}

/* ---- slices ----------------------------------------------------------------------------------------------------- */

static int32_t slice(const char *shape, int64_t start, int64_t end, int64_t step_)
{
    return op(CM_OP_SLICE, IN(input(shape), KNOWN(start), KNOWN(end), KNOWN(0), KNOWN(step_)));
}

TEST(slices_of_a_fixed_dimension)
{
    static const struct {
        int64_t     start, end, step;
        const char *shape;
    } cases[] = {
        {2, 8, 1, "[6]"},          {2, 8, 4, "[2]"},           {0, INT64_MAX, 1, "[10]"},   {-3, INT64_MAX, 1, "[3]"},
        {0, -1, 1, "[9]"},         {INT64_MIN, 4, 1, "[4]"},   {5, 3, 1, "[0]"},            {12, 20, 1, "[0]"},
        {0, INT64_MIN, 1, "[0]"},  {0, 10, INT64_MAX, "[1]"},  {-20, 20, 3, "[4]"},         {0, 10, 3, "[4]"},
        {-1, INT64_MIN, -1, "[10]"}, {8, 2, -2, "[3]"},        {INT64_MAX, INT64_MIN, -3, "[4]"}, {2, 8, -1, "[0]"},
        {9, 0, -1, "[9]"},         {-1, -11, -1, "[10]"},      {-1, -10, -1, "[9]"},        {10, 5, -1, "[4]"},
        {3, 10, -1, "[0]"},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        SHAPE_IS(slice("10", cases[i].start, cases[i].end, cases[i].step), cases[i].shape);
    assert_true(cm__last(g)->view);
}

TEST(slices_of_the_batch_dimension)
{
    SHAPE_IS(slice("B", 1, INT64_MAX, 1), "[B-1]");
    SHAPE_IS(slice("B", 0, -1, 1), "[B-1]");
    SHAPE_IS(slice("B", -1, INT64_MAX, 1), "[1]");
    SHAPE_IS(slice("B", 0, 1, 1), "[1]");
    SHAPE_IS(slice("B", -1, INT64_MIN, -1), "[B]");
    SHAPE_IS(slice("4B", 0, INT64_MAX, 2), "[2B]");
    SHAPE_IS(op(CM_OP_SLICE, IN(input("3B,4"), known("B"), known("3B"), KNOWN(0))), "[2B, 4]");
    REFUSES(UNSUPPORTED, "every 2-th element of a dimension that grows", slice("B", 0, INT64_MAX, 2));
}

TEST(slices_of_several_axes)
{
    int32_t x = input("B,10,20");
    SHAPE_IS(op(CM_OP_SLICE, IN(x, KNOWN(1, 2), KNOWN(4, 9), KNOWN(-1, 1))), "[B, 7, 3]");
    SHAPE_IS(OP(SLICE, IN(x), INTS(STARTS, 0, 2), INTS(ENDS, INT64_MAX, 9)), "[B, 7, 20]"); /* axes in order */
    REFUSES(FORMAT, "a step of 0", slice("10", 0, 5, 0));
    REFUSES(FORMAT, "a step of", slice("10", 0, 5, INT64_MIN));
    REFUSES(FORMAT, "axis 3", op(CM_OP_SLICE, IN(x, KNOWN(0), KNOWN(1), KNOWN(3))));
    REFUSES(UNSUPPORTED, "depends on data", op(CM_OP_SLICE, IN(x, typed(CM_INT64, "1"), KNOWN(1), KNOWN(0))));
}

TEST(split)
{
    OUTPUTS(3, SPLIT, IN(input("B,10")), INTS(AXIS, 1), INTS(SPLIT, 2, 3, 5));
    SHAPE_IS(output(0), "[B, 2]");
    SHAPE_IS(output(2), "[B, 5]");
    OUTPUTS(2, SPLIT, IN(input("B,10"), KNOWN(1, 9)), INTS(AXIS, -1));
    SHAPE_IS(output(1), "[B, 9]");
    OUTPUTS(3, SPLIT, IN(input("B,10")), INTS(AXIS, 1), INTS(NUM_OUTPUTS, 3)); /* opset 18: the last is smaller */
    SHAPE_IS(output(0), "[B, 4]");
    SHAPE_IS(output(2), "[B, 2]");
    OUTPUTS(2, SPLIT, IN(input("4B,3")), INTS(AXIS, 0));
    SHAPE_IS(output(1), "[2B, 3]");
    assert_int_equal(cm__t(g, output(1))->storage, cm__last(g)->inputs[0]);
}

TEST(split_refuses)
{
    REFUSES(FORMAT, "parts exceed axis 1 of [B, 10]",
            OUTPUTS(2, SPLIT, IN(input("B,10")), INTS(AXIS, 1), INTS(SPLIT, 6, 5)));
    REFUSES(FORMAT, "split in 3 parts with 2 outputs",
            OUTPUTS(2, SPLIT, IN(input("B,9")), INTS(AXIS, 1), INTS(SPLIT, 3, 3, 3)));
    REFUSES(FORMAT, "split in 0 parts", OUTPUTS(2, SPLIT, IN(input("B,9")), INTS(AXIS, 1), INTS(NUM_OUTPUTS, 0)));
    REFUSES(FORMAT, "axis 2", OUTPUTS(2, SPLIT, IN(input("B,9")), INTS(AXIS, 2)));
}

TEST(concat)
{
    SHAPE_IS(OP(CONCAT, IN(input("B,3,4"), input("B,5,4")), INTS(AXIS, 1)), "[B, 8, 4]");
    SHAPE_IS(OP(CONCAT, IN(input("B,3"), input("2B,3"), input("1,3")), INTS(AXIS, -2)), "[3B+1, 3]");
    assert_int_equal(type_of(OP(CONCAT, IN(typed(CM_FP16, "B"), input("B")), INTS(AXIS, 0))), CM_FP32);
    REFUSES(FORMAT, "[B, 3] beside [B, 4] on axis 0", OP(CONCAT, IN(input("B,3"), input("B,4")), INTS(AXIS, 0)));
    REFUSES(FORMAT, "beside", OP(CONCAT, IN(input("B,3"), input("B,3,1")), INTS(AXIS, 0)));
    REFUSES(FORMAT, "Concat without its input 1", OP(CONCAT, IN(input("B,3"), -1), INTS(AXIS, 0)));
}

TEST(pad)
{
    SHAPE_IS(op(CM_OP_PAD, IN(input("B,3,8"), KNOWN(0, 0, 1, 0, 0, 2))), "[B, 3, 11]");
    SHAPE_IS(OP(PAD, IN(input("B,8")), INTS(PADS, 0, -1, 0, -2)), "[B, 5]"); /* negative pads crop */
    SHAPE_IS(op(CM_OP_PAD, IN(input("B,3,8"), KNOWN(1, 2), number(0), KNOWN(-1))), "[B, 3, 11]"); /* opset 18: axes */
    REFUSES(FORMAT, "4 pads for [B, 3, 8]", op(CM_OP_PAD, IN(input("B,3,8"), KNOWN(0, 0, 1, 0))));
    REFUSES(FORMAT, "3 pads", op(CM_OP_PAD, IN(input("8"), KNOWN(0, 0, 1))));
    REFUSES(FORMAT, "is negative", op(CM_OP_PAD, IN(input("8"), KNOWN(-5, -5))));
}

/* ---- gathers ---------------------------------------------------------------------------------------------------- */

TEST(gather)
{
    SHAPE_IS(op(CM_OP_GATHER, IN(weight("w", "100,16"), typed(CM_INT64, "B,7"))), "[B, 7, 16]");
    assert_false(cm__last(g)->view);
    SHAPE_IS(OP(GATHER, IN(input("B,9,16"), typed(CM_INT64, "5")), INTS(AXIS, -1)), "[B, 9, 5]");
    int32_t y = OP(GATHER, IN(input("B,9,16"), integer(0)), INTS(AXIS, 1)); /* x[:, 0] */
    SHAPE_IS(y, "[B, 16]");
    assert_true(cm__last(g)->view);
    assert_int_equal(cm__t(g, y)->storage, cm__last(g)->inputs[0]);
    OP(GATHER, IN(input("B,9,16"), typed(CM_INT64, "")), INTS(AXIS, 1)); /* the index is unknown: copied */
    assert_false(cm__last(g)->view);
    REFUSES(FORMAT, "axis 2", OP(GATHER, IN(input("B,9"), integer(0)), INTS(AXIS, 2)));
    REFUSES(FORMAT, "at least 1 dimensions", op(CM_OP_GATHER, IN(number(1), integer(0))));
}

TEST(gather_by_element_and_by_tuple)
{
    SHAPE_IS(op(CM_OP_GATHER_ELEMENTS, IN(input("B,9"), typed(CM_INT64, "B,4"))), "[B, 4]");
    SHAPE_IS(op(CM_OP_GATHER_ND, IN(input("8,9,16"), typed(CM_INT64, "B,5,2"))), "[B, 5, 16]");
    SHAPE_IS(OP(GATHER_ND, IN(input("B,9,16"), typed(CM_INT64, "B,5,1")), INTS(BATCH_DIMS, 1)), "[B, 5, 16]");
    REFUSES(FORMAT, "indices [5, 4] into [8, 9, 16]", op(CM_OP_GATHER_ND, IN(input("8,9,16"), typed(CM_INT64, "5,4"))));
    SHAPE_IS(op(CM_OP_SCATTER_ND, IN(input("8,9"), typed(CM_INT64, "5,1"), input("5,9"))), "[8, 9]");
}

TEST(one_hot)
{
    int32_t y = op(CM_OP_ONE_HOT, IN(typed(CM_INT64, "B,7"), integer(10), typed(CM_FP16, "2")));
    SHAPE_IS(y, "[B, 7, 10]");
    assert_int_equal(type_of(y), CM_FP16);
    SHAPE_IS(OP(ONE_HOT, IN(typed(CM_INT64, "B,7"), number(10), input("2")), INTS(AXIS, 1)), "[B, 10, 7]");
    REFUSES(UNSUPPORTED, "depends on data",
            op(CM_OP_ONE_HOT, IN(typed(CM_INT64, "B,7"), typed(CM_INT64, ""), input("2"))));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reshapes),
        cmocka_unit_test(reshape_refuses),
        cmocka_unit_test(flatten),
        cmocka_unit_test(squeeze_and_unsqueeze),
        cmocka_unit_test(transpose),
        cmocka_unit_test(expand_and_tile),
        cmocka_unit_test(slices_of_a_fixed_dimension),
        cmocka_unit_test(slices_of_the_batch_dimension),
        cmocka_unit_test(slices_of_several_axes),
        cmocka_unit_test(split),
        cmocka_unit_test(split_refuses),
        cmocka_unit_test(concat),
        cmocka_unit_test(pad),
        cmocka_unit_test(gather),
        cmocka_unit_test(gather_by_element_and_by_tuple),
        cmocka_unit_test(one_hot),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
