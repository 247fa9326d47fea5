/* SPDX-License-Identifier: Apache-2.0 */
/* test_fallbacks.c - operators for which Inductor has no code: they make the calls of PyTorch without a compiler. */
#include "model/inductor/fusing.h"
#include "trace_calls.h" /* after rules.h, which has another X */

/* 2 matrices of 4 x 4: the factors, and for their gradient a product and two triangular systems. */
static void factors_are_library_calls(void **state)
{
    (void)state;
    MAKES_BY(TORCH_COMPILE,
             CAPTURE("[[1,0],4,4]", "[4]", "4", X("[[1,0],4,4]") "," TENSOR("[[1,0]]", "int32", "activation"),
                     STEP("aten::linalg_cholesky_ex", "[2]", "[4,5]", "")),
             FP32, 2, "factor forward cholesky fp32 2,4,4", "factor forward substitute fp32 2,4,4",
             "factor forward substitute fp32 2,4,4", "gemm forward nt fp32 2,4,4,4");
}

/* Distances have kernels of their own in both passes. */
static void distances_are_library_calls(void **state)
{
    (void)state;
    MAKES_BY(TORCH_COMPILE,
             CAPTURE("[[1,0],5,3]", "[3]", "5", TENSOR("[[1,0],6,3]", "fp32", "input") "," X("[[1,0],5,6]"),
                     STEP("aten::_cdist_forward", "[2,4]", "[5]", "\"p\":2.0,\"compute_mode\":2")),
             FP32, 2, "distances forward - fp32 60,3", "distances backward - fp32 60,3");
}

/* An image of 6 x 6 pixels becomes 4 x 4 of windows that overlap: generated code reads the windows, a kernel of PyTorch
   adds their gradients. */
static void gradients_of_adaptive_pools_are_library_calls(void **state)
{
    (void)state;
    MAKES_BY(TORCH_COMPILE, ONE("aten::_adaptive_avg_pool2d", "[[1,0],8,6,6]", "[6]", "[[1,0],8,4,4]", ""), FP32, 2,
             "resize backward adaptive-avg:nchw fp32 2,8,6,6,4,4");
}

/* The largest 3 of 8 numbers are chosen by PyTorch's kernel, and rows of 513 sorted by it. */
static void choices_and_long_sorts_are_library_calls(void **state)
{
    (void)state;
    MAKES_BY(TORCH_COMPILE,
             CAPTURE("[[1,0],8]", "[8]", "4", X("[[1,0],3]") "," TENSOR("[[1,0],3]", "int64", "activation"),
                     STEP("aten::topk", "[2]", "[4,5]", "\"k\":3,\"dim\":-1")),
             FP32, 2, "sort forward topk fp32 2,8,3");
    MAKES_BY(TORCH_COMPILE,
             CAPTURE("[[1,0],513]", "[513]", "4", X("[[1,0],513]") "," TENSOR("[[1,0],513]", "int64", "activation"),
                     STEP("aten::sort", "[2]", "[4,5]", "\"dim\":-1")),
             FP32, 2, "sort forward sort fp32 2,513,513");
}

/* Generated code sorts rows of 8 numbers: the kernel reads 2 x 8 of them and 8 weights, writes 16 places, which take 7.2
   bytes each with their access, and the sum that is the loss: 64 + 32 + 115.2 + 4 bytes. */
static void short_sorts_are_generated(void **state)
{
    (void)state;
    MAKES_BY(TORCH_COMPILE,
             CAPTURE("[[1,0],8]", "[8]", "4", X("[[1,0],8]") "," TENSOR("[[1,0],8]", "int64", "activation"),
                     STEP("aten::sort", "[2]", "[4,5]", "\"dim\":-1")),
             FP32, 2, "elementwise forward row_sum fp32 1,27");
}

/* Places in an image are read by generated code, and their gradients added by a kernel of PyTorch. Of volumes both are
   kernels of PyTorch: 20 rows of 3 numbers, and places with eight neighbours as two rows of places with four. */
static void samples_are_library_calls(void **state)
{
    (void)state;
    MAKES_BY(TORCH_COMPILE,
             CAPTURE("[[1,0],6,5,4]", "[4]", "5", TENSOR("[[1,0],7,8,2]", "fp32", "input") "," X("[[1,0],6,7,8]"),
                     STEP("aten::grid_sampler_2d", "[2,4]", "[5]", "")),
             FP32, 2, "resize backward sample:nchw fp32 2,6,5,4,7,8");
    MAKES_BY(TORCH_COMPILE,
             CAPTURE("[[1,0],6,5,4,3]", "[3]", "5", TENSOR("[[1,0],7,2,8,3]", "fp32", "input") "," X("[[1,0],6,7,2,8]"),
                     STEP("aten::grid_sampler_3d", "[2,4]", "[5]", "")),
             FP32, 2, "resize forward sample:nchw fp32 2,6,20,3,28,8", "resize backward sample:nchw fp32 2,6,20,3,28,8");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(factors_are_library_calls),
                                       cmocka_unit_test(distances_are_library_calls),
                                       cmocka_unit_test(gradients_of_adaptive_pools_are_library_calls),
                                       cmocka_unit_test(choices_and_long_sorts_are_library_calls),
                                       cmocka_unit_test(short_sorts_are_generated),
                                       cmocka_unit_test(samples_are_library_calls)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
