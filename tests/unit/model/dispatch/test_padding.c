/* SPDX-License-Identifier: Apache-2.0 */
/* test_padding.c - products that torch.compile pads, and those that it leaves. */
#include "trace_calls.h"

/* 1,001 columns of a product in 16 bits become 1,008. One kernel copies 512 x 1,001 weights, another one the 1,024 x 1,001
   numbers of the result, which leaves the compiled code: 4 bytes each. A product with a dimension of 16 stays as it is, and
   eager PyTorch pads none. */
static void columns_of_the_result(void **state)
{
    (void)state;
    calls_by(CM_RUNTIME_TORCH_COMPILE, "input x 512\nlinear 1001 bias=off\n", CM_PRECISION_BF16, true, CM_LAYOUT_AUTO,
             1024, CALLS("elementwise forward fused fp32 1,256256", "elementwise forward fused fp32 1,512512",
                         "gemm forward nt bf16 1,1024,1008,512"));
    calls_by(CM_RUNTIME_TORCH_COMPILE, "input x 16\nlinear 1001 bias=off\n", CM_PRECISION_BF16, true, CM_LAYOUT_AUTO,
             65536, CALLS("gemm forward nt bf16 1,65536,1001,16"));
    INFER("input x 512\nlinear 1001 bias=off\n", BF16, AUTO, 1024, "gemm forward nt bf16 1,1024,1001,512");
}

/* A copy of 50,257 x 768 weights pays for 512 rows, not for 256 (padded-products.json.xz, and a recorded step). The copies
   of the larger batch have no size in the smaller one. */
static void few_rows_do_not_pay_for_copies(void **state)
{
    (void)state;
    const char *net = "input x 768\nlinear 50257 bias=off\n";
    calls_by(CM_RUNTIME_TORCH_COMPILE, net, CM_PRECISION_BF16, true, CM_LAYOUT_AUTO, 256,
             CALLS("elementwise forward fused fp32 0,0", "elementwise forward fused fp32 0,0",
                   "gemm forward nt bf16 1,256,50257,768"));
    calls_by(CM_RUNTIME_TORCH_COMPILE, net, CM_PRECISION_BF16, true, CM_LAYOUT_AUTO, 512,
             CALLS("elementwise forward fused fp32 1,19298688", "elementwise forward fused fp32 1,12865792",
                   "gemm forward nt bf16 1,512,50264,768"));
}

/* 8,192 x 252 x 256 multiplications are too few for an even dimension, 8,192 x 253 x 256 enough for an odd one. */
static void even_dimensions_must_be_larger(void **state)
{
    (void)state;
    calls_by(CM_RUNTIME_TORCH_COMPILE, "input x 256\nlinear 252 bias=off\n", CM_PRECISION_FP16, true, CM_LAYOUT_AUTO,
             8192, CALLS("elementwise forward fused fp32 0,0", "elementwise forward fused fp32 0,0",
                         "gemm forward nt fp16 1,8192,252,256"));
    calls_by(CM_RUNTIME_TORCH_COMPILE, "input x 256\nlinear 253 bias=off\n", CM_PRECISION_FP16, true, CM_LAYOUT_AUTO,
             8192, CALLS("elementwise forward fused fp32 1,32384", "elementwise forward fused fp32 1,1036288",
                         "gemm forward nt fp16 1,8192,256,256"));
}

/* TF32 units load four numbers at once: 1,001 columns become 1,004. In fp32 alignment does not matter. */
static void tf32_loads_four_numbers(void **state)
{
    (void)state;
    calls_by(CM_RUNTIME_TORCH_COMPILE, "input x 512\nlinear 1001 bias=off\n", CM_PRECISION_TF32, true, CM_LAYOUT_AUTO,
             1024, CALLS("elementwise forward fused fp32 1,512512", "elementwise forward fused fp32 1,1025024",
                         "gemm forward nt tf32 1,1024,1004,512"));
    calls_by(CM_RUNTIME_TORCH_COMPILE, "input x 512\nlinear 1001 bias=off\n", CM_PRECISION_FP32, true, CM_LAYOUT_AUTO,
             1024, CALLS("gemm forward nt fp32 1,1024,1001,512"));
}

/* After a recurrent layer, the rest of a model is not compiled: the same product in TF32, 64 x 32 rows, stays as it is. */
static void what_is_not_compiled_is_not_padded(void **state)
{
    (void)state;
#define PRODUCT(in) STEP("aten::mm", "[" in ",5]", "[11]", "")
#define BEFORE_PRODUCT(steps, in)                                                                                      \
    CAPTURE("[[1,0],32,512]", "[512]", "11",                                                                           \
            TENSOR("[512,512]", "fp32", "parameter") "," TENSOR("[512,1001]", "fp32", "parameter") ","                 \
            TENSOR("[1,[1,0],512]", "fp32", "buffer") "," X("[[1,0],32,512]") "," X("[1,[1,0],512]") ","               \
            X("[[32,0],512]") "," X("[[32,0],512]") "," X("[[32,0],1001]"),                                            \
            steps "," PRODUCT(in))
    MAKES_BY(TORCH_COMPILE, BEFORE_PRODUCT(STEP("aten::view", "[2]", "[9]", ""), "9"), TF32, 64,
             "gemm forward nn tf32 1,2048,1004,512");
    MAKES_BY(TORCH_COMPILE,
             BEFORE_PRODUCT(STEP("aten::rnn_tanh", "[2,6,4,4]", "[7,8]", "\"has_biases\":0,\"batch_first\":1") ","
                            STEP("aten::view", "[7]", "[10]", ""), "10"), TF32, 64,
             "gemm forward nn tf32 1,2048,1001,512");
}

/* The layer between has 253 columns, which backward multiplies with: a generated kernel wrote their gradient, so that it is
   padded. The gradient of the weights of the layer has 253 rows, too short to be aligned in memory, and stays. */
static void gradients(void **state)
{
    (void)state;
    const char *net = "input x 512\nlinear 512 bias=off\nrelu\nlinear 253 bias=off\nrelu\nlinear 512 bias=off\n";
    assert_int_equal(times_at(CM_RUNTIME_TORCH_COMPILE, net, CM_PRECISION_AMP_FP16, CM_LAYOUT_AUTO, 4096,
                              "gemm forward nn fp16 1,4096,512,256"), 1);
    assert_int_equal(times_at(CM_RUNTIME_TORCH_COMPILE, net, CM_PRECISION_AMP_FP16, CM_LAYOUT_AUTO, 4096,
                              "gemm forward tn fp16 1,253,512,4096"), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(columns_of_the_result),
                                       cmocka_unit_test(few_rows_do_not_pay_for_copies),
                                       cmocka_unit_test(even_dimensions_must_be_larger),
                                       cmocka_unit_test(tf32_loads_four_numbers),
                                       cmocka_unit_test(what_is_not_compiled_is_not_padded), cmocka_unit_test(gradients)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
