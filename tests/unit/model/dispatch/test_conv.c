/* SPDX-License-Identifier: Apache-2.0 */
/* test_conv.c - convolutions, with and without bias. */
#include "dispatch_calls.h"

#define IMAGES "input x 3 8 8\nconv 4 3 pad=1\nrelu\ngap\nflatten\nlinear 10\n"

static void a_convolution_with_bias(void **state)
{
    (void)state;
    TRAIN(IMAGES, FP32, NCHW, 2, "conv forward nchw fp32 2,3,4,8,8,3,3,1,1,1,1,1,1,1",
          "elementwise forward add:col fp32 8,64", "elementwise forward relu fp32 1,512",
          "reduce forward mean fp32 8,64,1", "gemm forward nt-bias fp32 1,2,10,4", "cross_entropy forward - fp32 2,10",
          "cross_entropy backward - fp32 2,10", "gemm forward nn fp32 1,2,4,10", "gemm forward tn fp32 1,10,4,2",
          "reduce forward sum fp32 1,2,10", "elementwise forward scale:strided fp32 1,512",
          "elementwise forward relu_grad fp32 1,512", "conv bwd_weight nchw fp32 2,3,4,8,8,3,3,1,1,1,1,1,1,1",
          "reduce forward sum:nchw fp32 2,4,64", "optimizer update sgd fp32 4,162");
    INFER(IMAGES, FP32, NHWC, 2, "conv forward nhwc fp32 2,3,4,8,8,3,3,1,1,1,1,1,1,1",
          "elementwise forward add:row fp32 128,4", "elementwise forward relu fp32 1,512",
          "reduce forward mean fp32 2,64,4", "gemm forward nt-bias fp32 1,2,10,4");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_convolution_with_bias)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
