/* SPDX-License-Identifier: Apache-2.0 */
/* test_fusing.c - which operators a compiler makes one kernel of. A fused kernel of n elements moves 8 n bytes. */
#include "model/inductor/fusing.h"
#include "trace_calls.h" /* after rules.h, which has another X */

#define COMPILED(net, batch, ...)                                                                                      \
    calls_by(CM_RUNTIME_TORCH_COMPILE, net, CM_PRECISION_FP32, true, CM_LAYOUT_AUTO, batch, CALLS(__VA_ARGS__))

/* A residual sum cannot be part of the kernel that makes its first operand: a product that reads it lies between. It
   reads 2 x 128 numbers and writes 128. */
static void a_library_call_separates_kernels(void **state)
{
    (void)state;
    COMPILED("input x 32\nlinear 32\nrelu as a\nlinear 32\nadd . a\nrelu\nlinear 10\n", 4,
             "gemm forward nt fp32 1,4,32,32", "elementwise forward fused fp32 1,128",
             "gemm forward nt fp32 1,4,32,32", "elementwise forward fused fp32 1,192",
             "gemm forward nt-bias fp32 1,4,10,32");
}

/* Without the call between, all of it is one kernel, which reads its operand once: 128 numbers in, 128 out. */
static void branches_are_one_kernel(void **state)
{
    (void)state;
    COMPILED("input x 32\nlinear 32 as y\nrelu as a\nrelu from y\nadd . a\nmul . y\nlinear 10\n", 4,
             "gemm forward nt fp32 1,4,32,32", "elementwise forward fused fp32 1,128",
             "gemm forward nt-bias fp32 1,4,10,32");
}

/* A tensor that one operator alone reads is computed there, also if it is larger: 4 x 8 numbers of a gate are read,
   4 x 8 x 16 of the image are read and written. Another reader makes the gate a tensor of its own. */
static void a_small_operand_is_computed_where_it_is_read(void **state)
{
    (void)state;
    COMPILED("input x 8 4 4\nconv 8 1 bias=off as y\ngap\nflatten\nlinear 8\nsigmoid\nreshape 8 1 1\nmul . y\nflatten\nlinear 2\n", 4,
             "conv forward nhwc fp32 4,8,8,4,4,1,1,1,1,0,0,1,1,1", "elementwise forward column_sum fp32 1,272",
             "elementwise forward partial_sums fp32 1,0", /* one block adds up all rows */
             "gemm forward nt fp32 1,4,8,8", "elementwise forward fused fp32 1,528",
             "gemm forward nt-bias fp32 1,4,2,128");
}

/* x[B, 6, side, side] -> a norm of each channel of each image, as PyTorch runs nn.InstanceNorm2d */
#define NORM_OF_CHANNELS(side)                                                                                         \
    CAPTURE("[[1,0],6," side "," side "]", "[" side "]", "6",                                                          \
            X("[1,[6,0]," side "," side "]") "," X("[1,[6,0]," side "," side "]") ","                                  \
            X("[[1,0],6," side "," side "]"),                                                                          \
            STEP("aten::view", "[2]", "[4]", "") ","                                                                   \
            STEP("aten::native_batch_norm", "[4,-1,-1,-1,-1]", "[5]", "\"training\":1") ","                          \
            STEP("aten::view", "[5]", "[6]", ""))

/* Planes of 25 numbers stay on the chip: one kernel reads 2 x 6 x 25 numbers and 5 weights, and writes a mean and a
   deviation of 12 planes and the sum, 330 numbers; backward reads all but the sum and its gradient, and writes 300.
   Planes of 1,600 numbers do not: a kernel reads the 19,200 numbers for the sums, before another one normalises. */
static void planes_on_the_chip_are_normalised_by_one_kernel(void **state)
{
    (void)state;
    MAKES_BY(TORCH_COMPILE, NORM_OF_CHANNELS("5"), FP32, 2, "elementwise forward long_row_sum fp32 1,165",
             "elementwise forward long_row_sum fp32 1,315");
    MAKES_BY(TORCH_COMPILE, NORM_OF_CHANNELS("40"), FP32, 2, "elementwise forward long_row_sum fp32 1,9600");
}

/* A filter of 6 x 25 numbers is standardised as a batch norm of one sample: 150 numbers in and out, 4 x 6 parameters
   and means, 2 x 6 saved, 336 in one kernel. */
static void filters_are_standardised_by_one_kernel(void **state)
{
    (void)state;
    MAKES_BY(TORCH_COMPILE,
             CAPTURE("[[1,0],6,25]", "[6,25]", "6", X("[1,6,25]") "," X("[1,6,25]") "," X("[[1,0],6,25]"),
                     STEP("aten::view", "[0]", "[4]", "") ","
                     STEP("aten::native_batch_norm", "[4,-1,-1,-1,-1]", "[5]", "\"training\":1") ","
                     STEP("aten::mul.Tensor", "[2,5]", "[6]", "")),
             FP32, 2, "elementwise forward row_sum fp32 1,168");
}

/* The gradient of a look-up adds 2 x 10 numbers to 16 at the places of 10 indices, which count as 7.2 bytes each
   (access_bytes). Given the gradient of a sum, one number, it moves 140 bytes: 17.5 elements of a copy. The gradient of w
   reads its 16 numbers and x, and writes 8: another kernel, because all additions come first. */
static void what_reads_a_scattered_result_waits(void **state)
{
    (void)state;
    MAKES_BY(TORCH_COMPILE,
             CAPTURE("[[1,0],8]", "[8]", "5", TENSOR("[10]", "int64", "buffer") "," X("[[1,0],10]"),
                     STEP("aten::index_select", "[2,4]", "[5]", "\"dim\":1")), FP32, 2,
             "elementwise forward fused fp32 1,18", "elementwise forward column_sum fp32 1,20");
}

/* Two look-ups whose results are added get the same gradient of 20 numbers, from a product. Each has a kernel: it moves
   80 + 72 + 64 bytes. */
static void scatters_are_kernels_of_their_own(void **state)
{
    (void)state;
    MAKES_BY(TORCH_COMPILE,
             CAPTURE("[[1,0],8]", "[8]", "10", TENSOR("[10]", "int64", "buffer") "," X("[[1,0],10]") ","
                     TENSOR("[10]", "int64", "buffer") "," X("[[1,0],10]") "," X("[[1,0],10]") ","
                     TENSOR("[10,4]", "fp32", "parameter") "," X("[[1,0],4]"),
                     STEP("aten::index_select", "[2,4]", "[5]", "\"dim\":1") ","
                     STEP("aten::index_select", "[2,6]", "[7]", "\"dim\":1") ","
                     STEP("aten::add.Tensor", "[5,7]", "[8]", "") "," STEP("aten::mm", "[8,9]", "[10]", "")), FP32, 2,
             "elementwise forward fused fp32 1,27", "elementwise forward fused fp32 1,27");
}

/* The bias's gradient is a sum over columns of what a product reads, too: two kernels, since blocks divide the sum. The
   first reads 4 x 64 numbers twice and writes them, the second reads them and writes 64 sums. */
static void a_sum_over_columns_is_apart_from_what_it_adds(void **state)
{
    (void)state;
    static const char net[] = "input x 32\nlinear 64\nrelu\nlinear 4\n";
    assert_int_equal(times_in(CM_RUNTIME_TORCH_COMPILE, net, CM_LAYOUT_AUTO, 4,
                              "elementwise forward fused fp32 1,384"), 1);
    assert_int_equal(times_in(CM_RUNTIME_TORCH_COMPILE, net, CM_LAYOUT_AUTO, 4,
                              "elementwise forward column_sum fp32 1,160"), 1);
}

/* Both gradients of a product of y and z read the gradient of the result: one kernel, 3 x 64 numbers in, 2 x 64 out. */
static void neighbours_that_read_the_same_are_one_kernel(void **state)
{
    (void)state;
    static const char net[] = "input x 32\nlinear 16 bias=off as y\nlinear 16 bias=off\nmul . y\nlinear 4\n";
    assert_int_equal(times_in(CM_RUNTIME_TORCH_COMPILE, net, CM_LAYOUT_AUTO, 4,
                              "elementwise forward fused fp32 1,160"), 1);
}

/* A product reads 4 x 8 x 16 numbers transposed: they are read and written once more, in generated code. The bias is
   added where the result is read. */
static void transposed_operands_are_copied_by_generated_code(void **state)
{
    (void)state;
    COMPILED("input x 8 16\nlinear 16\nrelu\ntranspose 0 2 1\nlinear 8\n", 4,
             "gemm forward nt fp32 1,32,16,16", "elementwise forward fused fp32 1,512",
             "elementwise forward fused fp32 1,512", "gemm forward nt fp32 1,64,8,8");
}

/* The gradient of a sum does not depend on forward, but both gradients of a gated layer are one kernel: backward is a
   graph of its own, which finds all of forward computed. It reads 3 x 64 numbers and writes 2 x 64, 1,280 bytes. */
static void backward_does_not_wait_for_forward(void **state)
{
    (void)state;
    MAKES_BY(TORCH_COMPILE,
             CAPTURE("[[1,0],8]", "[8]", "10",
                     TENSOR("[8,16]", "fp32", "parameter") "," X("[[1,0],16]") "," X("[[1,0],16]") "," X("[[1,0],16]") ","
                     X("[[1,0],16]") "," TENSOR("[16,8]", "fp32", "parameter") "," X("[[1,0],8]"),
                     STEP("aten::mm", "[2,4]", "[5]", "") "," STEP("aten::silu", "[5]", "[6]", "") ","
                     STEP("aten::mm", "[2,4]", "[7]", "") "," STEP("aten::mul.Tensor", "[6,7]", "[8]", "") ","
                     STEP("aten::mm", "[8,9]", "[10]", "")),
             FP32, 4, "elementwise forward fused fp32 1,160");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_library_call_separates_kernels),
                                       cmocka_unit_test(planes_on_the_chip_are_normalised_by_one_kernel),
                                       cmocka_unit_test(filters_are_standardised_by_one_kernel),
                                       cmocka_unit_test(what_reads_a_scattered_result_waits),
                                       cmocka_unit_test(scatters_are_kernels_of_their_own),
                                       cmocka_unit_test(branches_are_one_kernel),
                                       cmocka_unit_test(a_small_operand_is_computed_where_it_is_read),
                                       cmocka_unit_test(a_sum_over_columns_is_apart_from_what_it_adds),
                                       cmocka_unit_test(neighbours_that_read_the_same_are_one_kernel),
                                       cmocka_unit_test(transposed_operands_are_copied_by_generated_code),
                                       cmocka_unit_test(backward_does_not_wait_for_forward)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
