/* SPDX-License-Identifier: Apache-2.0 */
/* test_deformed.c - which kernels torchvision's deformed convolution runs. */
#include "trace_calls.h"

/* Two images of 6 channels and 5 x 4 pixels, 8 filters of 3 x 3 that read at 20 places each. */
#define DEFORMED(filters)                                                                                              \
    CAPTURE("[[1,0],6,5,4]", "[4]", "8",                                                                               \
            TENSOR(filters, "fp32", "parameter") "," TENSOR("[[1,0],18,5,4]", "fp32", "input") ","                     \
                TENSOR("[[1,0],9,5,4]", "fp32", "input") "," TENSOR("[8]", "fp32", "parameter") ","                    \
                X("[[1,0],8,5,4]"),                                                                                    \
            STEP("torchvision::deform_conv2d", "[2,4,5,6,7]", "[8]", ""))

/* 6 x 9 numbers for each of 40 places are 2,160. 40 places have 9 pairs of coordinates, to each of which 6 channels add. */
static void columns_and_products(void **state)
{
    (void)state;
    MAKES(DEFORMED("[8,6,3,3]"), FP32, 2, "elementwise forward fill fp32 1,2160", "elementwise forward fill fp32 1,2160",
          "deform forward columns fp32 240,9", "deform forward columns fp32 240,9",
          "gemm forward nn fp32 1,8,40,54", "gemm forward tn fp32 1,54,40,8", "gemm forward nt fp32 1,8,54,40",
          "deform forward places fp32 720,6", "deform forward image fp32 2160,1",
          "reduce forward sum:nchw fp32 2,8,20", "elementwise forward add:col fp32 16,20");
}

/* Two groups of 4 filters over 3 channels each have products of their own; the columns are the same. */
static void groups_of_filters(void **state)
{
    (void)state;
    MAKES(DEFORMED("[8,3,3,3]"), FP32, 2, "deform forward columns fp32 240,9",
          "deform forward columns fp32 240,9", "gemm forward nn fp32 1,4,40,27",
          "gemm forward nn fp32 1,4,40,27", "gemm forward tn fp32 1,27,40,4", "gemm forward tn fp32 1,27,40,4",
          "gemm forward nt fp32 1,4,27,40", "gemm forward nt fp32 1,4,27,40");
}

/* Under autocast it computes in fp32 all the same. */
static void in_fp32_only(void **state)
{
    (void)state;
    MAKES(DEFORMED("[8,6,3,3]"), AMP_BF16, 2, "gemm forward nn fp32 1,8,40,54",
          "deform forward image fp32 2160,1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_and_products), cmocka_unit_test(groups_of_filters), cmocka_unit_test(in_fp32_only)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
