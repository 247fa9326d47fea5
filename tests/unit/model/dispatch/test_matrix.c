/* SPDX-License-Identifier: Apache-2.0 */
/* test_matrix.c - products: linear layers and their gradients. */
#include "trace_calls.h"

#define LINEAR "input x 32\nlinear 10\n"

static void a_linear_layer(void **state)
{
    (void)state;
    TRAIN(LINEAR, FP32, AUTO, 4, "gemm forward nt-bias fp32 1,4,10,32", "cross_entropy forward - fp32 4,10",
          "cross_entropy backward - fp32 4,10", "gemm forward tn fp32 1,10,32,4", "reduce forward sum fp32 1,4,10",
          "optimizer update sgd fp32 2,330");
    TRAIN(LINEAR, TF32, AUTO, 4, "gemm forward nt-bias tf32 1,4,10,32", "cross_entropy forward - fp32 4,10",
          "cross_entropy backward - fp32 4,10", "gemm forward tn tf32 1,10,32,4", "reduce forward sum fp32 1,4,10",
          "optimizer update sgd fp32 2,330");
    INFER(LINEAR, FP32, AUTO, 4, "gemm forward nt-bias fp32 1,4,10,32");
}

/* The second layer's input has a gradient. */
static void two_linear_layers(void **state)
{
    (void)state;
    TRAIN("input x 32\nlinear 16 bias=off\nrelu\ndropout 0.5\nlinear 10\n", FP32, AUTO, 4,
          "gemm forward nt fp32 1,4,16,32", "elementwise forward relu fp32 1,64",
          "elementwise forward dropout fp32 1,64", "gemm forward nt-bias fp32 1,4,10,16",
          "cross_entropy forward - fp32 4,10", "cross_entropy backward - fp32 4,10", "gemm forward nn fp32 1,4,16,10",
          "gemm forward tn fp32 1,10,16,4", "reduce forward sum fp32 1,4,10",
          "elementwise forward dropout_grad fp32 1,64", "elementwise forward relu_grad fp32 1,64",
          "gemm forward tn fp32 1,16,32,4", "optimizer update sgd fp32 3,682");
}

/* Inductor adds the bias where the result is read, in 32 bits and if only elementwise operators read it: not the result
   of the model, and not in 16 bits. There the call has the type and the count of the 64 numbers that are moved. */
static void a_compiler_adds_biases_later(void **state)
{
    (void)state;
    const char *net = "input x 16\nlinear 16\nrelu\nlinear 8\n";
    calls_by(CM_RUNTIME_TORCH_COMPILE, net, CM_PRECISION_FP32, true, CM_LAYOUT_AUTO, 4,
             CALLS("gemm forward nt fp32 1,4,16,16", "elementwise forward fused fp32 1,64",
                   "gemm forward nt-bias fp32 1,4,8,16"));
    calls_by(CM_RUNTIME_TORCH_COMPILE, net, CM_PRECISION_BF16, true, CM_LAYOUT_AUTO, 4,
             CALLS("gemm forward nt-bias bf16 1,4,16,16", "elementwise forward fused fp32 1,38" /* 64 numbers that count as 2.4 bytes */,
                   "gemm forward nt-bias bf16 1,4,8,16"));
}

/* 8 rows for each of 4 experts: a product for each expert, in bf16 one for all. Two samples have 16 rows. */
static void experts_one_after_another(void **state)
{
    (void)state;
#define EXPERTS                                                                                                        \
    CAPTURE("[[8,0],5]", "[5]", "6",                                                                                   \
            TENSOR("[4,5,6]", "fp32", "parameter") "," TENSOR("[4]", "int32", "input") "," X("[[8,0],6]"),             \
            STEP("aten::_grouped_mm", "[2,4,5]", "[6]", ""))
#define FOUR(call) call, call, call, call
    MAKES(EXPERTS, FP32, 2, FOUR("gemm forward nn fp32 1,4,6,5"), FOUR("gemm forward nt fp32 1,4,5,6"),
          FOUR("gemm forward tn fp32 1,5,6,4"));
    MAKES(EXPERTS, BF16, 2, "gemm forward nn bf16 4,4,6,5", "gemm forward nt bf16 4,4,5,6",
          "gemm forward tn bf16 4,5,6,4");
}

/* Attention without a fused kernel: its products run in fp32 under autocast, their gradients too (unless they are traced:
   graph/test_traced.c). A softmax written by hand is between products in 16 bits. */
static void attention_inside_autocast(void **state)
{
    (void)state;
#define ATTENTION(softmax)                                                                                             \
    CAPTURE("[[1,0],6,4]", "[4]", "7",                                                                                 \
            X("[[1,0],4,6]") "," X("[[1,0],6,6]") "," X("[[1,0],6,6]") "," X("[[1,0],6,4]"),                           \
            STEP("aten::transpose.int", "[2]", "[4]", "\"dim0\":1,\"dim1\":2") ","                                     \
            STEP("aten::bmm", "[2,4]", "[5]", "") "," STEP("aten::" softmax, "[5]", "[6]", "\"dim\":-1") ","           \
            STEP("aten::bmm", "[6,2]", "[7]", ""))
#define FORWARD(type) "gemm forward nt " type " 2,6,6,4", "gemm forward nn " type " 2,6,4,6"
#define BACKWARD(type) "gemm forward nn " type " 2,6,4,6", "gemm forward nt " type " 2,6,6,4", \
                       "gemm forward tn " type " 2,6,4,6", "gemm forward tn " type " 2,4,6,6"
    MAKES(ATTENTION("_safe_softmax"), AMP_BF16, 2, FORWARD("fp32"), BACKWARD("fp32"));
    MAKES(ATTENTION("_softmax"), AMP_BF16, 2, FORWARD("bf16"), BACKWARD("bf16"));
}

/* Distances of 7 points to 7: squares are summed and added as columns to 3 coordinates. A clamp and a root follow, and
   in backward a division and what replaces it where distances are zero. */
static void distances(void **state)
{
    (void)state;
    MAKES(CAPTURE("[[1,0],7,3]", "[3]", "4", X("[[1,0],7,7]"), STEP("aten::_euclidean_dist", "[2,2]", "[4]", "")), FP32,
          2, "reduce forward sum fp32 14,3,1", "reduce forward sum fp32 14,3,1", "elementwise forward cat fp32 14,5",
          "elementwise forward cat fp32 14,5", "gemm forward nt fp32 2,7,7,5", "elementwise forward clip fp32 1,98",
          "elementwise forward sqrt fp32 1,98", "elementwise forward div fp32 1,98", "elementwise forward where fp32 1,98");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(attention_inside_autocast), cmocka_unit_test(a_linear_layer),
                                       cmocka_unit_test(two_linear_layers),
                                       cmocka_unit_test(a_compiler_adds_biases_later),
                                       cmocka_unit_test(experts_one_after_another), cmocka_unit_test(distances)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
