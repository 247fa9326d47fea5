/* SPDX-License-Identifier: Apache-2.0 */
/* test_elementwise.c - elementwise functions, concatenation and dropout. */
#include "dispatch_calls.h"

/* Dropout runs in training only: in layers and in attention. */
static void dropout_is_for_training(void **state)
{
    (void)state;
    INFER("input x 32\nlinear 16\ndropout 0.5\n", FP32, AUTO, 4, "gemm forward nt-bias fp32 1,4,16,32");
}

/* Concatenated channels are contiguous over a whole image (channels first), or over one pixel (channels last). */
static void joined_channels(void **state)
{
    static const char net[] =
        "input x 3 8 8\nas x\nconv 4 1 bias=off\nas a\nconv 6 1 bias=off from x\nas b\nconcat a b\n";
    (void)state;
    INFER(net, FP32, NCHW, 2, "conv forward nchw fp32 2,3,4,8,8,1,1,1,1,0,0,1,1,1",
          "conv forward nchw fp32 2,3,6,8,8,1,1,1,1,0,0,1,1,1", "elementwise forward cat fp32 2,640");
    INFER(net, FP32, NHWC, 2, "conv forward nhwc fp32 2,3,4,8,8,1,1,1,1,0,0,1,1,1",
          "conv forward nhwc fp32 2,3,6,8,8,1,1,1,1,0,0,1,1,1", "elementwise forward cat:nhwc fp32 128,10");
}

/* One value per plane: planes are contiguous, or interleaved by pixel. */
static void a_spread_product(void **state)
{
    static const char net[] = "input x 4 8 8\nas x\ngap\nas s\nmul x s\n";
    (void)state;
    INFER(net, FP32, NCHW, 2, "reduce forward mean fp32 8,64,1", "elementwise forward mul:col fp32 8,64");
    INFER(net, FP32, NHWC, 2, "reduce forward mean fp32 2,64,4", "elementwise forward mul:plane fp32 128,4");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(dropout_is_for_training),
                                       cmocka_unit_test(joined_channels),
                                       cmocka_unit_test(a_spread_product)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
