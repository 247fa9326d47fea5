/* SPDX-License-Identifier: Apache-2.0 */
/* test_strides.c - strides of results, as PyTorch's Tensor.stride() gives them for the same calls (batch size 7). */
#include "graph/strides.h"
#include "graph_builder.h"

static cm__strides *placed(bool channels_last)
{
    cm__strides *s = cm__strides_new(ctx, g, channels_last);
    for (int32_t i = 0; i < g->n_nodes; i++) cm__strides_place(s, i);
    return s;
}

static void lies(cm__strides *s, int32_t tensor, int64_t a, int64_t b, int64_t c, int64_t d)
{
    const int64_t *is = cm__strides_of(s, tensor), want[] = {a, b, c, d};
    for (int i = 0; i < 4; i++) assert_int_equal(is[i], want[i]);
}

static int32_t permuted(int32_t x, int64_t a, int64_t b, int64_t c, int64_t d)
{
    return OP(TRANSPOSE, IN(x), INTS(PERM, a, b, c, d));
}

TEST(convolutions_keep_channels_last)
{
    int32_t x = input("B,3,8,8"), w = weight("w", "6,3,3,3"), y = op(CM_OP_CONV, IN(x, w));
    int32_t z = op(CM_OP_RELU, IN(y));
    lies(placed(true), z, 6 * 36, 1, 36, 6);
    lies(placed(false), z, 6 * 36, 36, 6, 1);
    assert_true(cm__strides_channels_last(placed(true), z));
    assert_false(cm__strides_channels_last(placed(false), z));
}

/* Module.to(memory_format=torch.channels_last) converts frozen weights as well; one makes its convolution channels-last
   even if the image is not, such as the result of an index. */
TEST(a_frozen_weight_keeps_channels_last)
{
    int32_t rows = op(CM_OP_TANH, IN(leaf("r", CM_ROLE_ACTIVATION, CM_FP32, "B,3,8,8")));
    int32_t w = leaf("w", CM_ROLE_BUFFER, CM_FP32, "6,3,3,3"), y = op(CM_OP_CONV, IN(rows, w));
    lies(placed(true), w, 27, 1, 9, 3);
    lies(placed(true), y, 6 * 36, 1, 36, 6);
    lies(placed(false), y, 6 * 36, 36, 6, 1);
}

/* ConvNeXt: rows of channels transposed to an image give the next convolution a channels-last input. */
TEST(a_turned_matrix_makes_the_convolution_channels_last)
{
    int32_t x = permuted(op(CM_OP_TANH, IN(input("B,8,8,6"))), 0, 3, 1, 2);
    int32_t y = op(CM_OP_CONV, IN(x, weight("w", "6,6,3,3")));
    lies(placed(false), x, 6 * 64, 1, 6 * 8, 6);
    lies(placed(false), y, 6 * 36, 1, 36, 6);
}

/* The result has the strides of the permuted heads; if the other operand is contiguous, the first operand's. */
TEST(elementwise_results_lie_as_the_first_operand)
{
    int32_t heads = permuted(op(CM_OP_TANH, IN(input("B,10,8,6"))), 0, 2, 1, 3);
    int32_t rows = op(CM_OP_TANH, IN(input("B,8,10,6"))), table = weight("t", "1,1,10,6");
    int32_t by_table = op(CM_OP_MUL, IN(heads, table)), first = op(CM_OP_ADD, IN(by_table, rows));
    int32_t second = op(CM_OP_ADD, IN(rows, by_table)), product = op(CM_OP_SOFTMAX, IN(heads));
    cm__strides *s = placed(false);
    lies(s, by_table, 480, 6, 48, 1);
    lies(s, first, 480, 6, 48, 1);
    lies(s, second, 480, 60, 6, 1);
    lies(s, product, 480, 60, 6, 1);
}

/* One number per plane, broadcast: channels and pixels cannot be distinguished, so the result is contiguous. */
TEST(a_spread_mean_lies_in_rows)
{
    int32_t x = op(CM_OP_CONV, IN(input("B,3,8,8"), weight("w", "6,3,3,3")));
    int32_t m = OP(REDUCE_MEAN, IN(x), INTS(AXES, 2, 3));
    int32_t wide = op(CM_OP_EXPAND, IN(m, known("1,6,6,6"))), scaled = op(CM_OP_TANH, IN(wide));
    cm__strides *s = placed(true);
    lies(s, m, 6, 1, 1, 1);
    lies(s, scaled, 216, 36, 6, 1);
}

TEST(channels_last_as_pytorch_tells_it)
{
    int32_t pixels = op(CM_OP_CONV, IN(input("B,3,1,1"), weight("w", "6,3,1,1"))), one = op(CM_OP_TANH, IN(input("B,1,8,8")));
    cm__strides *rows = placed(false), *last = placed(true);
    assert_false(cm__strides_channels_last(rows, pixels));
    assert_true(cm__strides_channels_last(last, pixels));
    assert_true(cm__strides_in_rows(rows, one));
}

TEST(joined_images)
{
    int32_t a = op(CM_OP_CONV, IN(input("B,3,8,8"), weight("w", "6,3,3,3")));
    int32_t both = OP(CONCAT, IN(a, a), INTS(AXIS, 1)), mixed = OP(CONCAT, IN(a, op(CM_OP_SOFTMAX, IN(a))), INTS(AXIS, 1));
    cm__strides *s = placed(true);
    lies(s, both, 12 * 36, 1, 72, 12);
    lies(s, mixed, 12 * 36, 36, 6, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(convolutions_keep_channels_last),
        cmocka_unit_test(a_frozen_weight_keeps_channels_last),
        cmocka_unit_test(a_turned_matrix_makes_the_convolution_channels_last),
        cmocka_unit_test(elementwise_results_lie_as_the_first_operand),
        cmocka_unit_test(a_spread_mean_lies_in_rows),
        cmocka_unit_test(channels_last_as_pytorch_tells_it),
        cmocka_unit_test(joined_images),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
