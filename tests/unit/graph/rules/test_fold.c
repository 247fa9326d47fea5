/* SPDX-License-Identifier: Apache-2.0 */
/* test_fold.c - constant folding, with values as functions of the batch size. */
#include "graph_builder.h"

/* An integer that depends on the batch size. */
static int32_t symbol(const char *text) { return OP(SQUEEZE, IN(known(text)), INTS(AXES, 0)); }

static double real_of(int32_t tensor)
{
    assert_non_null(cm__t(g, tensor)->value);
    return cm__t(g, tensor)->value->f;
}

/* ---- what exporters write --------------------------------------------------------------------------------------- */

/* x.view(x.shape[0], -1, x.shape[2] * x.shape[3]) */
TEST(shape_gather_mul_concat_reshape)
{
    int32_t x = input("B,6,4,5"), shape = op(CM_OP_SHAPE, IN(x)), size[3];
    size[0] = op(CM_OP_GATHER, IN(shape, integer(0)));
    size[2] = op(CM_OP_MUL, IN(op(CM_OP_GATHER, IN(shape, integer(-2))), op(CM_OP_GATHER, IN(shape, integer(3)))));
    size[1] = integer(-1);
    for (int i = 0; i < 3; i++) size[i] = OP(UNSQUEEZE, IN(size[i]), INTS(AXES, 0));
    int32_t all = OP(CONCAT, IN(size[0], size[1], size[2]), INTS(AXIS, 0));
    value_is(all, "B,-1,20");
    SHAPE_IS(op(CM_OP_RESHAPE, IN(x, all)), "[B, 6, 20]");
}

/* x.view(-1, x.shape[-1]) over B * S rows, through floats, as in old exporters */
TEST(sizes_go_through_arithmetic)
{
    int32_t x = input("B,8,12"), shape = op(CM_OP_SHAPE, IN(x));
    int32_t rows = op(CM_OP_REDUCE_PROD, IN(op(CM_OP_SLICE, IN(shape, KNOWN(0), KNOWN(-1)))));
    value_is(rows, "8B");
    SHAPE_IS(op(CM_OP_RESHAPE, IN(x, OP(CONCAT, IN(rows, KNOWN(12)), INTS(AXIS, 0)))), "[8B, 12]");
    int32_t heads = op(CM_OP_DIV, IN(op(CM_OP_GATHER, IN(shape, KNOWN(2))), KNOWN(3)));
    int32_t floats = OP(CAST, IN(heads), INTS(TO, CM_FP32));
    value_is(OP(CAST, IN(op(CM_OP_FLOOR, IN(floats))), INTS(TO, CM_INT64)), "4");
    assert_true(real_of(op(CM_OP_SQRT, IN(floats))) == 2);
}

TEST(zero_length_slices_vanish)
{
    int32_t shape = op(CM_OP_SHAPE, IN(input("B,3,4"))), none = op(CM_OP_SLICE, IN(shape, KNOWN(3), KNOWN(INT64_MAX)));
    SHAPE_IS(none, "[0]");
    value_is(OP(CONCAT, IN(none, KNOWN(5), none), INTS(AXIS, 0)), "5");
    SHAPE_IS(op(CM_OP_CONSTANT_OF_SHAPE, IN(none)), "[]");
}

TEST(where_equal_minus_one_expands)
{
    int32_t shape = known("B,-1,4"), minus = KNOWN(-1);
    int32_t one = OP(CONSTANT_OF_SHAPE, IN(op(CM_OP_SHAPE, IN(shape))), REAL(VALUE, 1), INTS(DTYPE, CM_INT64));
    value_is(one, "1,1,1");
    value_is(op(CM_OP_WHERE, IN(op(CM_OP_EQUAL, IN(shape, minus)), one, shape)), "B,1,4");
}

/* ---- comparisons ------------------------------------------------------------------------------------------------ */

TEST(comparisons_hold_for_every_batch_size_of_one_or_more)
{
    static const struct {
        int         op;
        const char *a, *b, *result;
    } cases[] = {
        {CM_OP_GREATER, "B", "0", "1"},
        {CM_OP_GREATER_OR_EQUAL, "B", "1", "1"},
        {CM_OP_LESS, "B", "1", "0"},
        {CM_OP_LESS_OR_EQUAL, "B", "0", "0"},
        {CM_OP_LESS, "B", "B+1", "1"},
        {CM_OP_LESS, "B", "B", "0"},
        {CM_OP_LESS_OR_EQUAL, "B", "2B", "1"},
        {CM_OP_GREATER, "3B+1", "2B", "1"},
        {CM_OP_EQUAL, "B", "B", "1"},
        {CM_OP_EQUAL, "B", "2B", "0"},
        {CM_OP_LESS, "3", "4", "1"},
        {CM_OP_GREATER_OR_EQUAL, "3", "4", "0"},
        {CM_OP_MIN, "B", "1", "1"},
        {CM_OP_MAX, "B", "1", "B"},
        {CM_OP_MIN, "B", "B+1", "B"},
        {CM_OP_MAX, "B", "B+1", "B+1"},
        {CM_OP_MIN, "7", "3", "3"},
        {CM_OP_MAX, "7", "3", "7"},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        value_is(op(cases[i].op, IN(symbol(cases[i].a), symbol(cases[i].b))), cases[i].result);
}

TEST(comparisons_that_depend_on_the_batch_size_are_not_known)
{
    static const int ops[] = {CM_OP_LESS, CM_OP_LESS_OR_EQUAL, CM_OP_GREATER, CM_OP_GREATER_OR_EQUAL, CM_OP_MIN,
                              CM_OP_MAX};
    for (size_t i = 0; i < COUNT(ops); i++) assert_false(is_known(op(ops[i], IN(symbol("B"), symbol("8")))));
    assert_false(is_known(op(CM_OP_LESS, IN(symbol("B"), symbol("2")))));
    assert_false(is_known(op(CM_OP_GREATER, IN(symbol("B"), symbol("1")))));
}

TEST(truth_values)
{
    int32_t yes = op(CM_OP_LESS, IN(integer(1), integer(2))), no = op(CM_OP_NOT, IN(yes));
    value_is(no, "0");
    value_is(op(CM_OP_AND, IN(yes, no)), "0");
    value_is(op(CM_OP_OR, IN(yes, no)), "1");
    value_is(OP(CAST, IN(symbol("B")), INTS(TO, CM_BOOL)), "1");
    value_is(OP(CAST, IN(number(0.5)), INTS(TO, CM_BOOL)), "1");
    value_is(OP(CAST, IN(integer(7)), INTS(TO, CM_BOOL)), "1");
    value_is(OP(CAST, IN(yes), INTS(TO, CM_INT64)), "1");
}

/* ---- arithmetic ------------------------------------------------------------------------------------------------- */

TEST(integers)
{
    static const struct {
        int         op;
        const char *a, *b, *result;
    } cases[] = {
        {CM_OP_ADD, "B,2", "3,4", "B+3,6"},  {CM_OP_SUB, "2B", "B", "B"},     {CM_OP_MUL, "B", "6", "6B"},
        {CM_OP_DIV, "6B", "3", "2B"},        {CM_OP_DIV, "6B", "2B", "3"},    {CM_OP_DIV, "7", "2", "3"},
        {CM_OP_DIV, "-7", "2", "-3"},        {CM_OP_MOD, "7", "3", "1"},      {CM_OP_MOD, "-7", "3", "2"},
        {CM_OP_MOD, "7", "-3", "-2"},        {CM_OP_POW, "2", "10", "1024"},  {CM_OP_ADD, "1,2,3", "10", "11,12,13"},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        value_is(op(cases[i].op, IN(known(cases[i].a), known(cases[i].b))), cases[i].result);
    value_is(op(CM_OP_NEG, IN(known("B,-3"))), "-1B,3");
    value_is(op(CM_OP_SIGN, IN(known("-5,0,5"))), "-1,0,1");
}

TEST(integers_that_cannot_be_told_are_not_known)
{
    assert_false(is_known(op(CM_OP_DIV, IN(symbol("B"), symbol("2")))));
    assert_false(is_known(op(CM_OP_DIV, IN(symbol("7"), symbol("0")))));
    assert_false(is_known(op(CM_OP_MOD, IN(symbol("7"), symbol("0")))));
    assert_false(is_known(op(CM_OP_MOD, IN(symbol("B"), symbol("2")))));
    assert_false(is_known(op(CM_OP_MUL, IN(symbol("B"), symbol("B")))));
    assert_false(is_known(op(CM_OP_POW, IN(symbol("10"), symbol("300")))));
    assert_false(is_known(op(CM_OP_ADD, IN(symbol("B"), typed(CM_INT64, "")))));
    assert_false(is_known(op(CM_OP_SIGN, IN(symbol("B-3")))));
    assert_false(is_known(OP(CAST, IN(symbol("B")), INTS(TO, CM_FP32)))); /* a real cannot depend on B */
    assert_false(is_known(OP(CAST, IN(number(1e30)), INTS(TO, CM_INT64))));
    assert_false(
        is_known(op(CM_OP_DIV, IN(cm__constant_scalar(g, "n", CM_INT64, -9223372036854775808.0), symbol("-1")))));
    REFUSES(LIMIT, "overflows", op(CM_OP_ADD, IN(KNOWN(INT64_MAX), KNOWN(1))));
}

TEST(real_numbers)
{
    static const struct {
        int    op;
        double a, b, result;
    } binary[] = {
        {CM_OP_ADD, 1.5, 2, 3.5}, {CM_OP_SUB, 1.5, 2, -0.5}, {CM_OP_MUL, 1.5, 2, 3}, {CM_OP_DIV, 3, 2, 1.5},
        {CM_OP_POW, 2, -1, 0.5},  {CM_OP_MIN, 1.5, 2, 1.5},  {CM_OP_MAX, 1.5, 2, 2},
    };
    static const struct {
        int    op;
        double x, result;
    } unary[] = {
        {CM_OP_CEIL, 1.2, 2}, {CM_OP_FLOOR, -1.2, -2}, {CM_OP_ROUND, 2.5, 2}, {CM_OP_SQRT, 9, 3}, {CM_OP_EXP, 0, 1},
        {CM_OP_LOG, 1, 0},    {CM_OP_RECIPROCAL, 4, 0.25}, {CM_OP_SIGN, -3, -1}, {CM_OP_NEG, 3, -3},
    };
    for (size_t i = 0; i < COUNT(binary); i++)
        assert_true(real_of(op(binary[i].op, IN(number(binary[i].a), number(binary[i].b)))) == binary[i].result);
    for (size_t i = 0; i < COUNT(unary); i++)
        assert_true(real_of(op(unary[i].op, IN(number(unary[i].x)))) == unary[i].result);
    value_is(op(CM_OP_LESS, IN(number(1), number(2))), "1");
    value_is(op(CM_OP_GREATER_OR_EQUAL, IN(number(1), number(2))), "0");
    value_is(op(CM_OP_LESS, IN(number(2), number(2))), "0");
    value_is(op(CM_OP_LESS_OR_EQUAL, IN(number(2), number(2))), "1");
    value_is(op(CM_OP_GREATER, IN(number(2), number(2))), "0");
    value_is(op(CM_OP_EQUAL, IN(number(2), number(2))), "1");
    value_is(OP(CAST, IN(number(-2.7)), INTS(TO, CM_INT64)), "-2");
    assert_false(is_known(op(CM_OP_ADD, IN(number(1), integer(1)))));
}

TEST(reductions_of_vectors)
{
    value_is(op(CM_OP_REDUCE_PROD, IN(known("B,3,4"))), "12B");
    value_is(OP(REDUCE_SUM, IN(known("B,3,4")), INTS(KEEPDIMS, 0)), "B+7");
    value_is(op(CM_OP_REDUCE_MAX, IN(known("3,9,4"))), "9");
    value_is(op(CM_OP_REDUCE_MIN, IN(known("3,9,4"))), "3");
    assert_false(is_known(op(CM_OP_REDUCE_MAX, IN(known("B,3")))));
    assert_false(is_known(op(CM_OP_REDUCE_PROD, IN(known("B,B")))));
}

/* ---- movement --------------------------------------------------------------------------------------------------- */

/* 0 1 2 3 | 4 5 6 7 | 8 9 10 11 */
static int32_t matrix(void)
{
    return OP(RESHAPE, IN(op(CM_OP_RANGE, IN(integer(0), integer(12), integer(1)))), INTS(SHAPE, 3, 4));
}

TEST(slices_of_any_rank)
{
    value_is(op(CM_OP_SLICE, IN(matrix(), KNOWN(1), KNOWN(3), KNOWN(1))), "1,2,5,6,9,10");
    value_is(op(CM_OP_SLICE, IN(matrix(), KNOWN(1, 0), KNOWN(INT64_MAX, -2), KNOWN(0, 1))), "4,5,8,9");
    value_is(op(CM_OP_SLICE, IN(matrix(), KNOWN(-1), KNOWN(INT64_MIN), KNOWN(0), KNOWN(-2))), "8,9,10,11,0,1,2,3");
    value_is(op(CM_OP_SLICE, IN(matrix(), KNOWN(INT64_MAX), KNOWN(1), KNOWN(1), KNOWN(-1))), "3,2,7,6,11,10");
    value_is(op(CM_OP_SLICE, IN(matrix(), KNOWN(-2), KNOWN(INT64_MAX), KNOWN(1))), "2,3,6,7,10,11");
    value_is(op(CM_OP_SLICE, IN(known("B,3,4,5"), KNOWN(0), KNOWN(INT64_MAX), KNOWN(0), KNOWN(2))), "B,4");
}

TEST(transposes_of_any_rank)
{
    value_is(op(CM_OP_TRANSPOSE, IN(matrix())), "0,4,8,1,5,9,2,6,10,3,7,11");
    int32_t cube = OP(RESHAPE, IN(matrix()), INTS(SHAPE, 2, 3, 2));
    value_is(OP(TRANSPOSE, IN(cube), INTS(PERM, 2, 0, 1)), "0,2,4,6,8,10,1,3,5,7,9,11");
    value_is(OP(TRANSPOSE, IN(matrix()), INTS(PERM, 0, 1)), "0,1,2,3,4,5,6,7,8,9,10,11");
}

TEST(pieces)
{
    value_is(op(CM_OP_GATHER, IN(known("B,3,4"), KNOWN(2, 0, -2))), "4,B,3");
    assert_false(is_known(op(CM_OP_GATHER, IN(known("B,3,4"), KNOWN(3)))));
    assert_false(is_known(op(CM_OP_GATHER, IN(known("B,3,4"), KNOWN(-4)))));
    OUTPUTS(3, SPLIT, IN(known("B,3,4,5")), INTS(SPLIT, 1, 0, 3));
    value_is(cm__last(g)->outputs[0], "B");
    value_is(cm__last(g)->outputs[2], "3,4,5");
    value_is(op(CM_OP_EXPAND, IN(known("7"), known("2,3"))), "7,7,7,7,7,7");
    value_is(op(CM_OP_EXPAND, IN(OP(UNSQUEEZE, IN(known("1,2")), INTS(AXES, 1)), known("2,2"))), "1,1,2,2");
    value_is(op(CM_OP_IDENTITY, IN(known("B,3"))), "B,3");
    value_is(OP(FLATTEN, IN(matrix()), INTS(AXIS, 0)), "0,1,2,3,4,5,6,7,8,9,10,11");
    assert_false(is_known(OP(CONCAT, IN(known("1"), typed(CM_INT64, "1")), INTS(AXIS, 0))));
}

TEST(ranges)
{
    value_is(op(CM_OP_RANGE, IN(integer(2), integer(9), integer(3))), "2,5,8");
    value_is(op(CM_OP_RANGE, IN(integer(5), integer(0), integer(-2))), "5,3,1");
    value_is(op(CM_OP_RANGE, IN(symbol("B"), symbol("B+3"), integer(1))), "B,B+1,B+2");
    int32_t positions = op(CM_OP_RANGE, IN(integer(0), symbol("B"), integer(1)));
    SHAPE_IS(positions, "[B]");
    assert_false(is_known(positions));
}

TEST(only_small_contents_are_kept)
{
    assert_true(is_known(op(CM_OP_CONSTANT_OF_SHAPE, IN(known("32,32")))));
    assert_false(is_known(op(CM_OP_CONSTANT_OF_SHAPE, IN(known("32,33")))));
    assert_false(is_known(op(CM_OP_CONSTANT_OF_SHAPE, IN(known("B")))));
    assert_true(real_of(OP(CONSTANT_OF_SHAPE, IN(known("2")), REAL(VALUE, 0.5))) == 0.5);
    assert_false(is_known(op(CM_OP_EXPAND, IN(known("7"), known("1025")))));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shape_gather_mul_concat_reshape),
        cmocka_unit_test(sizes_go_through_arithmetic),
        cmocka_unit_test(zero_length_slices_vanish),
        cmocka_unit_test(where_equal_minus_one_expands),
        cmocka_unit_test(comparisons_hold_for_every_batch_size_of_one_or_more),
        cmocka_unit_test(comparisons_that_depend_on_the_batch_size_are_not_known),
        cmocka_unit_test(truth_values),
        cmocka_unit_test(integers),
        cmocka_unit_test(integers_that_cannot_be_told_are_not_known),
        cmocka_unit_test(real_numbers),
        cmocka_unit_test(reductions_of_vectors),
        cmocka_unit_test(slices_of_any_rank),
        cmocka_unit_test(transposes_of_any_rank),
        cmocka_unit_test(pieces),
        cmocka_unit_test(ranges),
        cmocka_unit_test(only_small_contents_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
