/* SPDX-License-Identifier: Apache-2.0 */
/* test_conv.c - convolutions, with and without bias. */
#include "trace_calls.h"

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

/* A volume whose channels are innermost in memory, as after a layer norm over channels, stays so. */
static void a_volume_with_channels_last(void **state)
{
    (void)state;
    MAKES(CAPTURE("[[1,0],2,3,5,4]", "[4]", "7", X("[[1,0],4,2,3,5]") "," TENSOR("[6,4,1,1,1]", "fp32", "parameter") ","
                  X("[[1,0],6,2,3,5]") "," X("[[1,0],6,2,3,5]"),
                  STEP("aten::permute", "[2]", "[4]", "\"dims\":[0,4,1,2,3]") ","
                  STEP("aten::convolution", "[4,5]", "[6]", "\"stride\":[1,1,1],\"padding\":[0,0,0],\"groups\":1") ","
                  STEP("aten::relu", "[6]", "[7]", "")),
          FP32, 2, "conv3d forward nhwc fp32 2,4,6,2,3,5,1,1,1,1,1,1,0,0,0,1,1,1,1", "elementwise forward relu fp32 1,360",
          "conv3d bwd_input nhwc fp32 2,4,6,2,3,5,1,1,1,1,1,1,0,0,0,1,1,1,1");
}

/* The gradient of an image in forward, as penalties of gradients have it. Backward convolves the image's gradient, and the
   gradient of the filters is a convolution of 3 channels as samples with 4 filters of 4 x 4 for each of 2 samples. */
static void a_convolution_derived_twice(void **state)
{
    (void)state;
    MAKES(CAPTURE("[[1,0],4,4,4]", "[4]", "6", TENSOR("[[1,0],3,8,8]", "fp32", "input") ","
                  TENSOR("[4,3,4,4]", "fp32", "parameter") "," X("[[1,0],3,8,8]"),
                  STEP("aten::convolution_backward", "[2,4,5]", "[6]", "\"stride\":[2,2],\"padding\":[1,1],\"groups\":1")),
          FP32, 2, "conv bwd_input nchw fp32 2,3,4,8,8,4,4,2,2,1,1,1,1,1",
          "conv forward nchw fp32 2,3,4,8,8,4,4,2,2,1,1,1,1,1", "conv forward nchw fp32 3,2,4,8,8,4,4,1,1,1,1,2,2,1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_convolution_with_bias),
                                       cmocka_unit_test(a_volume_with_channels_last),
                                       cmocka_unit_test(a_convolution_derived_twice)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
