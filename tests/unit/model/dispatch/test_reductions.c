/* SPDX-License-Identifier: Apache-2.0 */
/* test_reductions.c - reductions, running sums, products along a dimension, distances, sums of gradients. */
#include "trace_calls.h"

/* Backward of a cumulative sum reverses, sums and reverses; of a product also multiplies and divides. */
static void cumulative(void **state)
{
    (void)state;
    MAKES(ONE("aten::cumsum", "[[1,0],5,4]", "[4]", "[[1,0],5,4]", "\"dim\":1"), FP32, 2,
          "reduce forward cumsum fp32 2,5,4", "reduce forward cumsum fp32 2,5,4", "elementwise forward flip fp32 1,40",
          "elementwise forward flip fp32 1,40");
    MAKES(ONE("aten::cumprod", "[[1,0],5,4]", "[4]", "[[1,0],5,4]", "\"dim\":1"), FP32, 2,
          "reduce forward cumprod fp32 2,5,4", "reduce forward cumsum fp32 2,5,4", "elementwise forward div fp32 1,40",
          "elementwise forward compare fp32 1,40", "reduce forward max bool 1,40,1"); /* is any of them zero? */
    /* two sums from the other end, of positive and of negative gradients: 11 kernels of 40 numbers and 4 reversals */
    MAKES(ONE("aten::logcumsumexp", "[[1,0],5,4]", "[4]", "[[1,0],5,4]", "\"dim\":1"), FP32, 2,
          "reduce forward cumsum fp32 2,5,4", "reduce forward cumsum fp32 2,5,4", "reduce forward cumsum fp32 2,5,4",
          "elementwise forward flip fp32 1,40", "elementwise forward flip fp32 1,40",
          "elementwise forward flip fp32 1,40", "elementwise forward flip fp32 1,40",
          "elementwise forward exp fp32 1,40", "elementwise forward exp fp32 1,40", "elementwise forward sub fp32 1,40",
          "elementwise forward sub fp32 1,40", "elementwise forward sub fp32 1,40");
}

/* In 2 x 5 x 4 numbers 5 are multiplied each time. The gradient counts zeros. Without zeros it divides the product. */
static void a_product(void **state)
{
    (void)state;
    MAKES(ONE("aten::prod.dim_int", "[[1,0],5,4]", "[4]", "[[1,0],4]", "\"dim\":1"), FP32, 2,
          "elementwise forward compare fp32>bool 1,40", "elementwise forward copy bool>int64 1,40",
          "reduce forward sum int64 2,5,4", "reduce forward sum int64 1,8,1", "elementwise forward div:plane fp32 10,4",
          "elementwise forward mul:plane fp32 10,4");
}

#define CLAMPED_PRODUCT(least)                                                                                         \
    CAPTURE("[[1,0],5,4]", "[4]", "5", X("[[1,0],5,4]") "," X("[[1,0],4]"),                                           \
            STEP("aten::clamp", "[2]", "[4]", "\"min\":" least ",\"max\":1") ","                                      \
            STEP("aten::prod.dim_int", "[4]", "[5]", "\"dim\":1"))

/* A clamp at zero makes zeros: each number's gradient is the product of the others, those before it times those after
   it. One at a tenth does not. */
static void a_product_with_zeros(void **state)
{
    (void)state;
    MAKES(CLAMPED_PRODUCT("0"), FP32, 2, "elementwise forward fill fp32 1,8", "elementwise forward cat:strided fp32 10,4",
          "elementwise forward cat:strided fp32 10,4", "reduce forward cumprod fp32 2,5,4",
          "reduce forward cumprod fp32 2,5,4", "elementwise forward flip fp32 1,32", "elementwise forward flip fp32 1,40",
          "elementwise forward mul fp32 1,40", "elementwise forward mul:plane fp32 10,4",
          "elementwise forward mul fp32 1,40"); /* the last is the gradient of w */
    MAKES(CLAMPED_PRODUCT("0.1"), FP32, 2, "elementwise forward div:plane fp32 10,4");
}

/* Distances of 6 points to each other in 2 samples, 72 pairs of 3 coordinates. The gradient of the second points turns
   both the incoming gradient and the distances. */
static void distances(void **state)
{
    (void)state;
    MAKES(CAPTURE("[[1,0],6,3]", "[3]", "4", X("[[1,0],6,6]"),
                  STEP("aten::_cdist_forward", "[2,2]", "[4]", "\"p\":2.0,\"compute_mode\":2")),
          FP32, 2, "distances forward - fp32 72,3", "distances backward - fp32 72,3",
          "distances backward - fp32 72,3", "reduce forward sum fp32 1,6,36", "reduce forward sum fp32 1,6,36",
          "elementwise forward copy:turned fp32 6,12", "elementwise forward copy:turned fp32 6,12");
}

static void logarithm_of_a_sum(void **state)
{
    (void)state;
    MAKES(ONE("aten::logsumexp", "[[1,0],5]", "[5]", "[[1,0]]", "\"dim\":[1],\"keepdim\":0"), FP32, 2,
          "reduce forward max fp32 2,5,1", "reduce forward sum fp32 2,5,1", "elementwise forward exp fp32 1,10",
          "elementwise forward exp fp32 1,10"); /* forward and backward */
    MAKES(ONE("aten::linalg_vector_norm", "[[1,0],5]", "[5]", "[[1,0]]", "\"dim\":[1],\"keepdim\":0"), FP32, 2,
          "reduce forward norm fp32 2,5,1");
    MAKES(ONE("aten::var.correction", "[[1,0],5]", "[5]", "[[1,0]]", "\"dim\":[1],\"keepdim\":0"), FP32, 2,
          "reduce forward var fp32 2,5,1");
}

/* Gradients of what was broadcast: one number per channel, per image and channel, per column. */
static void sums_of_broadcast_numbers(void **state)
{
    (void)state;
    MAKES(ONE("aten::relu", "[[1,0],4,8,8]", "[4,1,1]", "[[1,0],4,8,8]", ""), FP32, 2,
          "reduce forward sum:nchw fp32 2,4,64");
    MAKES(ONE("aten::relu", "[[1,0],4,8,8]", "[8]", "[[1,0],4,8,8]", ""), FP32, 2, "reduce forward sum fp32 1,64,8");
    MAKES(ONE("aten::relu", "[3,4,8,8]", "[3,4,1,1]", "[3,4,8,8]", ""), FP32, 2, "reduce forward sum fp32 12,64,1");
    MAKES(ONE("aten::relu", "[3,4,8,8]", "[3,1,1,8]", "[3,4,8,8]", ""), FP32, 2, "reduce forward sum fp32 3,32,8");
    MAKES(ONE("aten::relu", "[3,4,8,8]", "[1]", "[3,4,8,8]", ""), FP32, 2, "reduce forward sum fp32 1,768,1",
          "reduce forward sum fp32 1,768,1"); /* one is the sum of the results */
}

/* A gradient that lies by columns of the sums: each of its numbers takes a sector of 32 bytes (4 numbers read and
   written), or a quarter of it where no more than 16 sums are side by side. */
static void sums_across_memory(void **state)
{
    (void)state;
#define TURN                                                                                                           \
    STEP("aten::expand", "[4]", "[5]", "") "," STEP("aten::transpose.int", "[5]", "[6]", "\"dim0\":1,\"dim1\":2")
#define TURNED(columns)                                                                                                \
    CAPTURE("[3," columns ",20]", "[20]", "7",                                                                         \
            TENSOR("[20," columns "]", "fp32", "parameter") "," X("[3,20," columns "]") ","                            \
            X("[3," columns ",20]") "," X("[3," columns ",20]"), TURN "," STEP("aten::mul.Tensor", "[6,2]", "[7]", ""))
    MAKES(TURNED("40"), FP32, 2, "elementwise forward copy fp32 1,9600");
    MAKES(TURNED("16"), FP32, 2, "elementwise forward copy fp32 1,960");
}

/* w[3, 5, 1] is repeated 4 times and permuted to [4, 3, 5] or [3, 4, 5], whose gradient is contiguous: the numbers that are
   summed are apart by 15, by 5, or side by side in [3, 5, 4]. One number for each of the middle dimension is summed from
   both sides. */
static void sums_in_the_order_of_memory(void **state)
{
    (void)state;
#define PERMUTED(shape, perm)                                                                                          \
    CAPTURE(shape, "[1]", "7",                                                                                         \
            TENSOR("[3,5,1]", "fp32", "parameter") "," X("[3,5,4]") "," X(shape) "," X(shape),                         \
            STEP("aten::expand", "[4]", "[5]", "") "," STEP("aten::permute", "[5]", "[6]", "\"dims\":" perm) ","       \
                STEP("aten::mul.Tensor", "[6,2]", "[7]", ""))
    MAKES(PERMUTED("[4,3,5]", "[2,0,1]"), FP32, 2, "reduce forward sum fp32 1,4,15");
    MAKES(PERMUTED("[3,4,5]", "[0,2,1]"), FP32, 2, "reduce forward sum fp32 3,4,5");
    MAKES(PERMUTED("[3,5,4]", "[0,1,2]"), FP32, 2, "reduce forward sum fp32 15,4,1");
#define MIDDLE                                                                                                         \
    CAPTURE("[3,4,5]", "[1]", "7",                                                                                     \
            TENSOR("[4]", "fp32", "parameter") "," X("[3,5,4]") "," X("[3,4,5]") "," X("[3,4,5]"),                     \
            STEP("aten::expand", "[4]", "[5]", "") "," STEP("aten::permute", "[5]", "[6]", "\"dims\":[0,2,1]") ","     \
                STEP("aten::mul.Tensor", "[6,2]", "[7]", ""))
    MAKES(MIDDLE, FP32, 2, "reduce forward sum:nchw fp32 3,4,5");
}

/* [3, 20, 40] seen as [3, 40, 20], as a channels-last image is: the numbers of a sum over 40 are side by side, those of a
   sum over 20 are not, but their sums are. [3, 20, 2, 40] seen as [3, 2, 40, 20]: neither of both, and each number takes a
   sector of 32 bytes (4 numbers read and written): 4 x 4,800. If only 4 sums are beside each other, half a sector (measured:
   11 to 21 bytes): 2 x 9,600. Sums over the first and last dimension have rows of [3, 4, 5]. */
static void reductions_of_views(void **state)
{
    (void)state;
#define VIEWED(shape, seen, perm, summed, axis)                                                                        \
    CAPTURE(shape, "[1]", "5", X(seen) "," X(summed),                                                                  \
            STEP("aten::permute", "[2]", "[4]", "\"dims\":" perm) ","                                                  \
                STEP("aten::sum.dim_IntList", "[4]", "[5]", "\"dim\":" axis ",\"keepdim\":0"))
    MAKES(VIEWED("[3,20,40]", "[3,40,20]", "[0,2,1]", "[3,20]", "[1]"), FP32, 2, "reduce forward sum fp32 60,40,1");
    MAKES(VIEWED("[3,20,40]", "[3,40,20]", "[0,2,1]", "[3,40]", "[2]"), FP32, 2, "reduce forward sum fp32 3,20,40");
    MAKES(VIEWED("[3,20,2,40]", "[3,2,40,20]", "[0,2,3,1]", "[3,40,20]", "[1]"), FP32, 2,
          "elementwise forward copy fp32 1,19200");
    MAKES(VIEWED("[3,4,20,40]", "[3,40,4,20]", "[0,3,1,2]", "[3,40,4]", "[3]"), FP32, 2,
          "elementwise forward copy fp32 1,19200");
    MAKES(VIEWED("[3,4,5]", "[3,4,5]", "[0,1,2]", "[4]", "[0,2]"), FP32, 2, "reduce forward sum:nchw fp32 3,4,5");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cumulative), cmocka_unit_test(a_product), cmocka_unit_test(a_product_with_zeros),
        cmocka_unit_test(distances), cmocka_unit_test(logarithm_of_a_sum),
        cmocka_unit_test(sums_of_broadcast_numbers), cmocka_unit_test(sums_across_memory),
        cmocka_unit_test(sums_in_the_order_of_memory), cmocka_unit_test(reductions_of_views)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
