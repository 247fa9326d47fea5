/* SPDX-License-Identifier: Apache-2.0 */
/* test_elementwise.c - elementwise functions, concatenation and dropout. */
#include "trace_calls.h"

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

/* Mish has kernels of its own, which take twice as long as those of SiLU. */
static void a_function_of_its_own(void **state)
{
    (void)state;
    MAKES(ONE("aten::mish", "[[1,0],4]", "[4]", "[[1,0],4]", ""), FP32, 2, "elementwise forward mish fp32 1,8",
          "elementwise forward mish_grad fp32 1,8");
}

/* The gradient of x * number is a product with the number too: both read one tensor. */
static void a_product_with_a_number(void **state)
{
    (void)state;
    MAKES(CAPTURE("[[1,0],4]", "[4]", "5", TENSOR("[1]", "fp32", "parameter") "," X("[[1,0],4]"),
                  STEP("aten::mul.Tensor", "[2,4]", "[5]", "")),
          FP32, 2, "elementwise forward scale fp32 1,8", "elementwise forward scale fp32 1,8");
}

/* a + w (b - a): one kernel; backward has dy (1 - w), dy w and dy (b - a), which is summed for the weight of a column. */
static void an_interpolation(void **state)
{
    (void)state;
    MAKES(CAPTURE("[[1,0],6]", "[6]", "7", TENSOR("[6,4]", "fp32", "parameter") "," X("[[1,0],4]") ","
                  TENSOR("[4]", "fp32", "parameter") "," X("[[1,0],4]"),
                  STEP("aten::mm", "[2,4]", "[5]", "") "," STEP("aten::lerp.Tensor", "[5,5,6]", "[7]", "")),
          FP32, 2, "elementwise forward addcmul fp32 1,8", "elementwise forward fill fp32 1,4",
          "elementwise forward sub fp32 1,4", "elementwise forward mul:row fp32 2,4", "elementwise forward mul:row fp32 2,4",
          "elementwise forward sub fp32 1,8", "elementwise forward mul fp32 1,8", "reduce forward sum fp32 1,2,4");
}

/* The scale of a layer is fp32, its input bf16: the gradient of the scale reads both. */
static void a_product_of_two_types(void **state)
{
    (void)state;
    MAKES(CAPTURE("[[1,0],6]", "[6]", "7", TENSOR("[6,4]", "fp32", "parameter") "," X("[[1,0],4]") ","
                  TENSOR("[4]", "fp32", "parameter") "," X("[[1,0],4]"),
                  STEP("aten::mm", "[2,4]", "[5]", "") "," STEP("aten::mul.Tensor", "[5,6]", "[7]", "")),
          AMP_BF16, 2, "elementwise forward mul bf16+fp32>fp32 1,8");
}

/* Parts that are not dense: rows of 3 and of 6, from matrices of 3 x 4 that are read transposed. */
static void joined_with_gaps(void **state)
{
    (void)state;
    MAKES(CAPTURE("[[1,0],3,4]", "[4]", "5", X("[[1,0],4,3]") "," X("[[1,0],8,3]"),
                  STEP("aten::transpose.int", "[2]", "[4]", "\"dim0\":1,\"dim1\":2") ","
                  STEP("aten::cat", "[4,4]", "[5]", "\"dim\":1")),
          FP32, 2, "elementwise forward cat:strided fp32 16,3");
    MAKES(CAPTURE("[[1,0],3,4]", "[4]", "5", X("[[1,0],4,3]") "," X("[[1,0],4,6]"),
                  STEP("aten::transpose.int", "[2]", "[4]", "\"dim0\":1,\"dim1\":2") ","
                  STEP("aten::cat", "[4,4]", "[5]", "\"dim\":2")),
          FP32, 2, "elementwise forward cat:part fp32 8,6");
}

/* PyTorch's gradients of clamp, from derivatives.yaml: where(x >= least && x <= most, dy, 0), and with one bound
   where(x >= least, dy, 0). The zero is a tensor of one element, so that the kernel computes where operands lie. */
static void a_bounded_function(void **state)
{
    (void)state;
    MAKES(ONE("aten::clamp", "[[1,0],4]", "[4]", "[[1,0],4]", "\"min\":-1,\"max\":1"), FP32, 2,
          "elementwise forward clip fp32 1,8", "elementwise forward compare fp32>bool 1,8",
          "elementwise forward compare fp32>bool 1,8", "elementwise forward and bool 1,8",
          "elementwise forward where fp32 1,8");
    MAKES(ONE("aten::clamp_min", "[[1,0],4]", "[4]", "[[1,0],4]", "\"min\":0"), FP32, 2,
          "elementwise forward clip fp32 1,8", "elementwise forward compare fp32>bool 1,8",
          "elementwise forward where fp32 1,8");
}

/* cos: dy * -sin(x). log1p: dy / (x + 1). A variance computes its mean again. */
static void gradients_of_several_kernels(void **state)
{
    (void)state;
    MAKES(ONE("aten::cos", "[[1,0],4]", "[4]", "[[1,0],4]", ""), FP32, 2, "elementwise forward copy fp32 1,8",
          "elementwise forward copy fp32 1,8", "elementwise forward neg fp32 1,8");
    MAKES(ONE("aten::log1p", "[[1,0],4]", "[4]", "[[1,0],4]", ""), FP32, 2, "elementwise forward log fp32 1,8",
          "elementwise forward scale fp32 1,8", "elementwise forward div fp32 1,8");
    MAKES(ONE("aten::var.correction", "[[1,0],4]", "[4]", "[[1,0],1]", "\"dim\":[1],\"keepdim\":true"), FP32, 2,
          "reduce forward var fp32 2,4,1", "reduce forward mean fp32 2,4,1");
}

/* masked_fill() copies its operand and fills the copy, in both passes; masked_fill_() does not copy in forward. */
static void a_filled_copy(void **state)
{
    (void)state;
    MAKES(CAPTURE("[[1,0],4]", "[4]", "5", TENSOR("[[1,0],4]", "bool", "input") "," X("[[1,0],4]"),
                  STEP("aten::masked_fill.Scalar", "[2,4]", "[5]", "\"value\":0")),
          FP32, 2, "elementwise forward copy fp32 1,8", "elementwise forward copy fp32 1,8");
    MAKES(CAPTURE("[[1,0],4]", "[4]", "5", TENSOR("[[1,0],4]", "bool", "input") "," X("[[1,0],4]"),
                  STEP("aten::masked_fill_.Scalar", "[2,4]", "[5]", "\"value\":0")),
          FP32, 2, "elementwise forward where fp32 1,8");
}

/* weight.to(x.dtype) beside the result of a product: under autocast the weight is cast to 16 bits and the operator runs
   in them, forward and for both gradients. Without the cast it reads both types, as does the weight's gradient, and
   computes in fp32. In fp32 there is no cast: two products and the gradients of three operands. */
static void casts_to_the_type_of_a_product(void **state)
{
    (void)state;
#define PRODUCT_TIMES(weight, cast)                                                                                    \
    CAPTURE("[4,4]", "[4,4]", "4", X("[4,4]") "," X("[4,4]") "," X("[4,4]"),                                           \
            STEP("aten::mm", "[2,2]", "[5]", "") "," cast STEP("aten::mul.Tensor", "[5," weight "]", "[4]", ""))
#define CAST STEP("aten::to.autocast", "[0]", "[6]", "") ","
    MAKES(PRODUCT_TIMES("6", CAST), AMP_BF16, 2, "elementwise forward mul bf16 1,16",
          "elementwise forward mul bf16 1,16", "elementwise forward mul bf16 1,16");
    MAKES(PRODUCT_TIMES("0", ""), AMP_BF16, 2, "elementwise forward mul bf16+fp32>fp32 1,16",
          "elementwise forward mul bf16+fp32>fp32 1,16");
    MAKES(PRODUCT_TIMES("6", CAST), FP32, 2, "elementwise forward mul fp32 1,16", "elementwise forward mul fp32 1,16",
          "elementwise forward mul fp32 1,16", "elementwise forward mul fp32 1,16",
          "elementwise forward mul fp32 1,16");
}

/* (x > 0).to(y.dtype) beside a product y: truth values become numbers of 16 bits under autocast, and y times them and its
   gradient are computed in these. (x > 0).float() stays in fp32, and so does what reads it. In fp32 there are two products
   and one gradient of each. */
static void truth_values_get_the_type_of_a_product(void **state)
{
    (void)state;
#define MASKED(cast)                                                                                                   \
    CAPTURE("[4,4]", "[4,4]", "7", TENSOR("[4,4]", "bool", "input") "," X("[4,4]") "," X("[4,4]") "," X("[4,4]"),      \
            STEP("aten::mm", "[2,2]", "[5]", "") "," STEP(cast, "[4]", "[6]", "") ","                                  \
            STEP("aten::mul.Tensor", "[5,6]", "[7]", ""))
    MAKES(MASKED("aten::to.autocast"), AMP_BF16, 2, "elementwise forward copy bool>bf16 1,16",
          "elementwise forward mul bf16 1,16", "elementwise forward mul bf16 1,16");
    MAKES(MASKED("aten::_to_copy"), AMP_BF16, 2, "elementwise forward copy bool>fp32 1,16",
          "elementwise forward mul bf16+fp32>fp32 1,16");
    MAKES(MASKED("aten::to.autocast"), FP32, 2, "elementwise forward copy bool>fp32 1,16",
          "elementwise forward mul fp32 1,16", "elementwise forward mul fp32 1,16", "elementwise forward mul fp32 1,16",
          "elementwise forward mul fp32 1,16");
}

/* Scores, a product in bf16 under autocast, plus a bias in fp32: fp32, but bf16 in place. */
static void functions_in_place_keep_the_type(void **state)
{
    (void)state;
#define BIASED(add)                                                                                                    \
    CAPTURE("[[1,0],4,4]", "[4]", "6",                                                                                 \
            TENSOR("[4,4]", "fp32", "parameter") "," X("[[1,0],4,4]") "," X("[[1,0],4,4]"),                            \
            STEP("aten::bmm", "[2,2]", "[5]", "") "," STEP(add, "[5,4]", "[6]", ""))
    MAKES(BIASED("aten::add.Tensor"), AMP_BF16, 2, "elementwise forward add:row bf16+fp32>fp32 2,16");
    MAKES(BIASED("aten::add_.Tensor"), AMP_BF16, 2, "elementwise forward add:row bf16+fp32>bf16 2,16");
}

/* [2, 6] to [2, 3]: the gradient's kernel has a thread for each of the 6 results, as the benchmark counts them. */
static void gated_linear_units(void **state)
{
    (void)state;
    MAKES(ONE("aten::glu", "[[1,0],6]", "[6]", "[[1,0],3]", "\"dim\":1"), FP32, 2, "elementwise forward glu fp32 1,6",
          "elementwise forward glu_grad fp32 1,6");
}

/* 2 x 12 x 4 x 4 pixels to 2 x 3 x 8 x 8 and back. */
static void shuffled_pixels(void **state)
{
    (void)state;
    MAKES(ONE("aten::pixel_shuffle", "[[1,0],12,4,4]", "[4]", "[[1,0],3,8,8]", "\"upscale_factor\":2"), FP32, 2,
          "elementwise forward shuffle fp32 1,384", "elementwise forward shuffle fp32 1,384");
}

/* The gradient of a gradient of tanh, as recorded: one kernel for the outer gradient, three for the result of tanh.
   softplus has eight for its input. */
static void second_derivatives(void **state)
{
    (void)state;
#define SLOPE(name) CAPTURE("[[1,0],4]", "[4]", "5", X("[[1,0],4]") "," X("[[1,0],4]"), \
    STEP("aten::exp", "[2]", "[4]", "") "," STEP(name, "[2,4]", "[5]", ""))
    MAKES(SLOPE("aten::tanh_backward"), FP32, 2, "elementwise forward tanh_grad fp32 1,8",
          "elementwise forward tanh_grad fp32 1,8", "elementwise forward scale fp32 1,8");
    MAKES(SLOPE("aten::sigmoid_backward"), FP32, 2, "elementwise forward sigmoid_grad fp32 1,8",
          "elementwise forward sigmoid_grad fp32 1,8", "elementwise forward scale fp32 1,8",
          "elementwise forward scale fp32 1,8");
    MAKES(SLOPE("aten::softplus_backward"), FP32, 2, "elementwise forward sigmoid fp32 1,8",
          "elementwise forward sigmoid_grad fp32 1,8", "elementwise forward scale fp32 1,8",
          "elementwise forward scale fp32 1,8", "elementwise forward copy fp32 1,8");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(second_derivatives), cmocka_unit_test(dropout_is_for_training),
                                       cmocka_unit_test(joined_channels),
                                       cmocka_unit_test(a_spread_product),
                                       cmocka_unit_test(a_function_of_its_own),
                                       cmocka_unit_test(a_product_with_a_number),
                                       cmocka_unit_test(a_product_of_two_types), cmocka_unit_test(an_interpolation),
                                       cmocka_unit_test(joined_with_gaps),
                                       cmocka_unit_test(a_bounded_function),
                                       cmocka_unit_test(gradients_of_several_kernels),
                                       cmocka_unit_test(a_filled_copy),
                                       cmocka_unit_test(casts_to_the_type_of_a_product),
                                       cmocka_unit_test(truth_values_get_the_type_of_a_product),
                                       cmocka_unit_test(functions_in_place_keep_the_type),
                                       cmocka_unit_test(gated_linear_units), cmocka_unit_test(shuffled_pixels)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
