/* SPDX-License-Identifier: Apache-2.0 */
/* test_compiled.c - kernels that torch.compile generates. */
#include "dispatch_calls.h"

#define SMALL "elementwise forward row_sum fp32 1,512" /* adds up the parts of divided sums over rows */

/* Three elementwise operators in a row become one kernel: 64 numbers in, 64 out. Products are unchanged. */
static void a_compiler_joins_functions(void **state)
{
    (void)state;
    calls_by(CM_RUNTIME_TORCH_COMPILE, "input x 32\nlinear 16\nrelu\nrelu\nrelu\nlinear 10\n", CM_PRECISION_FP32,
             true, CM_LAYOUT_AUTO, 4,
             CALLS("gemm forward nt fp32 1,4,16,32", "elementwise forward fused fp32 1,64",
                   "gemm forward nt-bias fp32 1,4,10,16"));
}

/* A batch norm in training sums its input, 2 x 8 x 16 numbers, before it reads it again. Its backward sums the
   operands of its gradient: it reads the activation's gradient and result besides its input. With channels first, the
   numbers of a channel are rows. The loss is the script's: no compiler sees it. */
static void a_compiled_batch_norm_sums_first(void **state)
{
    (void)state;
    calls_by(CM_RUNTIME_TORCH_COMPILE, "input x 8 4 4\nbn\nrelu\nflatten\nlinear 4\n", CM_PRECISION_FP32, true,
             CM_LAYOUT_AUTO, 2, CALLS("elementwise forward fused fp32 1,272", "gemm forward nt-bias fp32 1,2,4,128"));
    calls_by(CM_RUNTIME_TORCH_COMPILE, "input x 8 4 4\nconv 8 1 bias=off\nbn\nrelu\nflatten\nlinear 4\n",
             CM_PRECISION_FP32, false, CM_LAYOUT_AUTO, 2,
             CALLS("conv forward nchw fp32 2,8,8,4,4,1,1,1,1,0,0,1,1,1",
                   "elementwise forward long_row_sum fp32 1,144", /* 256 numbers, and 4 x 8 parameters and means */
                   SMALL, "elementwise forward scale int64 1,1",
                   "elementwise forward fused fp32 1,280", /* 256 in and out; 4 x 8 parameters and means, 2 x 8 saved */
                   "gemm forward nt-bias fp32 1,2,4,128", "cross_entropy forward - fp32 2,4",
                   "cross_entropy backward - fp32 2,4",
                   "gemm forward nn fp32 1,2,128,4", "gemm forward tn fp32 1,4,128,2",
                   "elementwise forward column_sum fp32 1,6", /* the bias: 8 numbers in, 4 out */
                   "elementwise forward partial_sums fp32 1,0", /* one block adds up all rows */
                   "elementwise forward long_row_sum fp32 1,396", SMALL, /* 3 x 256 numbers, and 3 x 8 */
                   "elementwise forward fused fp32 1,532", /* 3 x 256 in, 256 out, 3 x 8 in, 2 x 8 out */
                   "conv bwd_weight nchw fp32 2,8,8,4,4,1,1,1,1,0,0,1,1,1", "optimizer update sgd fp32 5,596"));
}

/* The channels of what a linear layer returns are neighbours in memory, so that its batch norm adds up columns, forward
   and backward. The norm reads 8 x 16 numbers and 4 x 16 parameters and means. */
static void a_batch_norm_of_a_matrix_adds_columns(void **state)
{
    (void)state;
    static const char net[] = "input x 32\nlinear 16 bias=off\nbn\nrelu\nlinear 4\n";
    assert_int_equal(times_of(CM_RUNTIME_TORCH_COMPILE, net, CM_LAYOUT_NCHW, 8, "long_row_sum"), 0);
    assert_int_equal(times_in(CM_RUNTIME_TORCH_COMPILE, net, CM_LAYOUT_NCHW, 8, "elementwise forward column_sum fp32 1,96"), 1);
}

/* A compiler adds the bias of a convolution in the kernel that reads its result: 2 x 8 x 16 numbers in and out. */
static void a_bias_is_added_by_its_reader(void **state)
{
    (void)state;
    calls_by(CM_RUNTIME_TORCH_COMPILE, "input x 8 4 4\nconv 8 1\nrelu\nflatten\nlinear 4\n", CM_PRECISION_FP32, true,
             CM_LAYOUT_NHWC, 2,
             CALLS("conv forward nhwc fp32 2,8,8,4,4,1,1,1,1,0,0,1,1,1", "elementwise forward fused fp32 1,256",
                   "gemm forward nt-bias fp32 1,2,4,128"));
}

/* Rows of up to 1,024 numbers stay on the chip; longer ones are read in pieces. 4 rows in and out. */
static void long_rows_have_kernels_of_their_own(void **state)
{
    (void)state;
    calls_by(CM_RUNTIME_TORCH_COMPILE, "input x 8\nlinear 1024\nsoftmax\nlinear 4\n", CM_PRECISION_FP32, true,
             CM_LAYOUT_AUTO, 4,
             CALLS("gemm forward nt-bias fp32 1,4,1024,8", "elementwise forward row_sum fp32 1,4096",
                   "gemm forward nt-bias fp32 1,4,4,1024"));
    calls_by(CM_RUNTIME_TORCH_COMPILE, "input x 8\nlinear 1025\nsoftmax\nlinear 4\n", CM_PRECISION_FP32, true,
             CM_LAYOUT_AUTO, 4,
             CALLS("gemm forward nt-bias fp32 1,4,1025,8", "elementwise forward long_row_sum fp32 1,4100",
                   "gemm forward nt-bias fp32 1,4,4,1025"));
}

/* With channels last they are sums over columns, which blocks of 128 rows share. 16 x 16 rows of 128 numbers have two
   blocks, whose second one has 128 sums of 4 bytes. Backward has two such sums; its second kernels add them up one by one.
   8 x 16 rows have one block, and nothing is left to add; so has the bias of the linear layer. */
static void channels_last_sums_have_partial_sums(void **state)
{
    (void)state;
    static const char net[] = "input x 128 4 4\nconv 128 1 bias=off\nbn\nrelu\nflatten\nlinear 4\n";
    static const char second[] = "elementwise forward partial_sums fp32 1,64";
    static const char none[] = "elementwise forward partial_sums fp32 1,0";
    assert_int_equal(times_in(CM_RUNTIME_TORCH_COMPILE, net, CM_LAYOUT_NHWC, 16, second), 3);
    assert_int_equal(times_in(CM_RUNTIME_TORCH_COMPILE, net, CM_LAYOUT_NHWC, 8, none), 4);
}

/* The convolution makes the sums of the forward pass; those of backward stay, and those of the second norm, which follows no
   convolution. A library's kernel reads the 256 numbers of each operand once (8 bytes are one element of a copy) beside
   what it has for each channel. A compiler has kernels for all four, and counts the batches of both norms. */
static void a_tuned_batch_norm_is_summed_before(void **state)
{
    (void)state;
    static const char net[] = "input x 8 4 4\nconv 8 1 bias=off\nbn\nrelu\nbn\nflatten\nlinear 4\n";
    assert_int_equal(times_in(CM_RUNTIME_TORCH_COMPILE, net, CM_LAYOUT_AUTO, 2,
                              "reduce forward sum:nchw fp32 2,8,16"), 0);
    assert_int_equal(times_in(CM_RUNTIME_TORCH_COMPILE, net, CM_LAYOUT_AUTO, 2,
                              "elementwise forward scale int64 1,1"), 2);
    assert_int_equal(times_in(CM_RUNTIME_TUNED, net, CM_LAYOUT_AUTO, 2, "reduce forward sum:nchw fp32 2,8,16"), 0);
    assert_int_equal(times_in(CM_RUNTIME_TUNED, net, CM_LAYOUT_AUTO, 2, "elementwise forward fused fp32 1,144"), 1);
    assert_int_equal(times_in(CM_RUNTIME_TUNED, net, CM_LAYOUT_AUTO, 2, "elementwise forward fused fp32 1,268"), 2);
    assert_int_equal(times_in(CM_RUNTIME_TUNED, net, CM_LAYOUT_AUTO, 2, "elementwise forward scale int64 1,1"), 1);
    assert_int_equal(times_in(CM_RUNTIME_TUNED, net, CM_LAYOUT_AUTO, 2, SMALL), 0);
}

/* A residual sum's gradient is added to that of the norm beside it. It has no sums of its own. */
static void a_residual_sum_has_no_weights(void **state)
{
    (void)state;
    static const char net[] = "input x 32\nlinear 16 as y\nln\nlinear 16\nadd . y\nlinear 4\n";
    assert_int_equal(times_in(CM_RUNTIME_TORCH_COMPILE, net, CM_LAYOUT_AUTO, 4,
                              "elementwise forward column_sum fp32 1,64"), 1); /* 2 x 4 x 16 numbers */
}

/* A compiler has two kernels for the gradients of a layer norm's weights, from its input and its gradient: 4 x 16 numbers
   each. A vendor's kernel of the norm makes them. */
static void a_tuned_norm_makes_the_gradients_of_its_weights(void **state)
{
    (void)state;
    static const char net[] = "input x 32\nlinear 16\nln\nlinear 4\n";
    assert_int_equal(times_in(CM_RUNTIME_TORCH_COMPILE, net, CM_LAYOUT_AUTO, 4,
                              "elementwise forward column_sum fp32 1,64"), 1);
    assert_int_equal(times_in(CM_RUNTIME_TUNED, net, CM_LAYOUT_AUTO, 4, "elementwise forward column_sum fp32 1,64"), 0);
}

/* Backward of SiLU needs the normalised input, which nobody stored: a kernel reads the convolution's 2 x 8 x 16 numbers of
   16 bits, which count as 2.4 bytes, and writes 256 numbers in fp32: 1,638.4 bytes, or 204.8 elements of a copy. In
   fp32 it reads 1,024 bytes. ReLU needs only its result; ReLU6 compares twice and computes the input where it needs it. */
static void a_normalised_input_is_computed_again_in_fp32(void **state)
{
    (void)state;
    static const char net[] = "input x 4 4 4\nconv 8 1 bias=off\nbn\nsilu\nconv 8 1 bias=off\nflatten\nlinear 4\n";
    static const char again[] = "elementwise forward fused fp32 1,205", in_fp32[] = "elementwise forward fused fp32 1,256";
    static const char relu[] = "input x 4 4 4\nconv 8 1 bias=off\nbn\nrelu\nconv 8 1 bias=off\nflatten\nlinear 4\n";
    static const char relu6[] = "input x 4 4 4\nconv 8 1 bias=off\nbn\nrelu6\nconv 8 1 bias=off\nflatten\nlinear 4\n";
    assert_int_equal(times_at(CM_RUNTIME_TORCH_COMPILE, net, CM_PRECISION_AMP_BF16, CM_LAYOUT_AUTO, 2, again), 1);
    assert_int_equal(times_at(CM_RUNTIME_TORCH_COMPILE, net, CM_PRECISION_FP32, CM_LAYOUT_AUTO, 2, in_fp32), 1);
    assert_int_equal(times_at(CM_RUNTIME_TORCH_COMPILE, relu, CM_PRECISION_AMP_BF16, CM_LAYOUT_AUTO, 2, again), 0);
    assert_int_equal(times_at(CM_RUNTIME_TORCH_COMPILE, relu6, CM_PRECISION_AMP_BF16, CM_LAYOUT_AUTO, 2, again), 0);
}

/* A group norm and a ReLU; 2 images of 8 channels and 16 pixels, 4 groups.
   Forward: the first kernel sums rows of 32 numbers on the chip. It reads 256 numbers and 16 parameters, which is a copy
   of 136 elements. The second kernel reads them again and writes the ReLU's result.
   Backward: sums over rows of 16 pixels read 3 x 256 numbers (input, gradient, ReLU's result) and 3 x 8 parameters. Only
   the bias of the last layer is a sum over columns. */
static void group_norms_sum_first(void **state)
{
    (void)state;
    static const char net[] = "input x 4 4 4\nconv 8 1 bias=off\ngn 4\nrelu\nconv 8 1 bias=off\nflatten\nlinear 4\n";
    assert_int_equal(times_in(CM_RUNTIME_TORCH_COMPILE, net, CM_LAYOUT_NCHW, 2, "elementwise forward row_sum fp32 1,136"), 1);
    assert_int_equal(times_in(CM_RUNTIME_TORCH_COMPILE, net, CM_LAYOUT_NCHW, 2, "elementwise forward row_sum fp32 1,396"), 1);
    assert_int_equal(times_of(CM_RUNTIME_TORCH_COMPILE, net, CM_LAYOUT_NCHW, 2, "column_sum"), 1);
}

/* Autocast casts what a group norm normalises to fp32. Both kernels of the norm read it in 16 bits: 256 numbers that count
   as 2.4 bytes (2 + 1 for the access, over 1.25) and 16 parameters, which is a copy of 85 elements. A cast by itself
   would read 256 numbers and write 256 in fp32: 205 elements. */
static void a_group_norm_casts_its_input(void **state)
{
    (void)state;
    static const char net[] = "input x 4 4 4\nconv 8 1 bias=off\ngn 4\nrelu\nconv 8 1 bias=off\nflatten\nlinear 4\n";
    static const char sums[] = "elementwise forward row_sum fp32 1,85", cast[] = "elementwise forward fused fp32 1,205";
    assert_int_equal(times_at(CM_RUNTIME_TORCH_COMPILE, net, CM_PRECISION_AMP_BF16, CM_LAYOUT_NCHW, 2, sums), 1);
    assert_int_equal(times_at(CM_RUNTIME_TORCH_COMPILE, net, CM_PRECISION_AMP_BF16, CM_LAYOUT_NCHW, 2, cast), 0);
}

/* Inductor makes the images of these convolutions channels-last, also that of the second, which generated code writes: no
   copy before it. The gradient of its filter of 3 x 3 is channels-last, the parameter is not: autograd copies it. Nothing is
   copied if the parameters are channels-last, or for the filter of one pixel. */
static void converted_filters_have_copied_gradients(void **state)
{
    (void)state;
    static const char net[] = "input x 64 8 8\nconv 128 1 bias=off\nrelu\nconv 128 3 pad=1 bias=off\nflatten\nlinear 4\n";
    static const char copy[] = "elementwise forward copy:turned fp32 128,1152"; /* 128 x 128 x 9 numbers */
    assert_int_equal(times_in(CM_RUNTIME_TORCH_COMPILE, net, CM_LAYOUT_NCHW, 2, copy), 1);
    assert_int_equal(times_in(CM_RUNTIME_TORCH_COMPILE, net, CM_LAYOUT_NHWC, 2, copy), 0);
}

/* A norm over the channels of an image with channels first: the numbers of a row lie 16 apart. With channels last they are
   neighbours. */
static void rows_of_channels_first_are_strided(void **state)
{
    (void)state;
    static const char net[] = "input x 8 4 4\nconv 8 1 bias=off\ntranspose 0 2 3 1\nln\nlinear 4\n";
    assert_true(times_of(CM_RUNTIME_TORCH_COMPILE, net, CM_LAYOUT_NCHW, 2, "strided_row_sum") > 0);
    assert_int_equal(times_of(CM_RUNTIME_TORCH_COMPILE, net, CM_LAYOUT_NHWC, 2, "strided_row_sum"), 0);
}

/* An enlarged image computes the activation before it wherever it reads it: 256 numbers in, 1,024 out, four reads each.
   That costs nothing beside 5,120 bytes. */
static void an_enlarged_image_computes_what_it_reads(void **state)
{
    (void)state;
    calls_by(CM_RUNTIME_TORCH_COMPILE, "input x 8 4 4\nconv 8 1 bias=off\nrelu\nupsample 2 mode=1\nflatten\nlinear 4\n",
             CM_PRECISION_FP32, true, CM_LAYOUT_NHWC, 2,
             CALLS("conv forward nhwc fp32 2,8,8,4,4,1,1,1,1,0,0,1,1,1", "elementwise forward fused fp32 1,640",
                   "gemm forward nt-bias fp32 1,2,4,512"));
}

/* Two branches that end in norms and are added up: one kernel normalises both, 2 x 8 x 16 numbers each, and writes the
   activation. In backward both get the activation's gradient: one kernel sums it and its products with both inputs, one
   makes both results; the third adds up the gradients of what both branches read. A norm after a norm is not part of its
   sums. */
static void branches_are_summed_together(void **state)
{
    (void)state;
    static const char both[] = "input x 8 4 4\nconv 8 1 bias=off as y\nconv 8 1 bias=off from y\nbn as a\n"
                               "conv 8 3 pad=1 bias=off from y\nbn\nadd . a\nrelu\nflatten\nlinear 4\n";
    static const char apart[] = "input x 8 4 4\nconv 8 1 bias=off\nbn\nrelu\nbn\nrelu\nflatten\nlinear 4\n";
    assert_int_equal(times_of(CM_RUNTIME_TORCH_COMPILE, both, CM_LAYOUT_NCHW, 2, "long_row_sum"), 3);
    assert_int_equal(times_of(CM_RUNTIME_TORCH_COMPILE, both, CM_LAYOUT_NCHW, 2, "fused"), 3);
    assert_int_equal(times_of(CM_RUNTIME_TORCH_COMPILE, apart, CM_LAYOUT_NCHW, 2, "long_row_sum"), 4);
}

/* A gate times what it gates, 4 x 16 numbers each: forward reads both and writes the product, 768 bytes. Backward computes
   the gate again from its input: it reads both and the product's gradient, and writes two gradients, 1,280 bytes. */
static void gates_are_computed_again(void **state)
{
    (void)state;
    static const char net[] = "input x 8\nlinear 16 bias=off from x as u\nlinear 16 bias=off from x\nsilu\nmul . u\nlinear 4\n";
    assert_int_equal(times_in(CM_RUNTIME_TORCH_COMPILE, net, CM_LAYOUT_AUTO, 4, "elementwise forward fused fp32 1,96"), 1);
    assert_int_equal(times_in(CM_RUNTIME_TORCH_COMPILE, net, CM_LAYOUT_AUTO, 4, "elementwise forward fused fp32 1,160"), 1);
}

/* Columns of 1,025 count as 1,032 in bf16, and so does the inner size of the gradient of what they were computed from; columns of
   1,001 do not, and neither does a batch of 1,025, nor fp32 without TF32. */
static void large_products_are_padded(void **state)
{
    (void)state;
    static const char net[] = "input x 64\nlinear 64 bias=off\nlinear 1025 bias=off\nrelu\nlinear 1001 bias=off\n";
    static const char wide[] = "gemm forward nt bf16 1,1025,1032,64", *const inner = "gemm forward nn bf16 1,1025,64,1032";
    assert_int_equal(times_at(CM_RUNTIME_TORCH_COMPILE, net, CM_PRECISION_AMP_BF16, CM_LAYOUT_AUTO, 1025, wide), 1);
    assert_int_equal(times_at(CM_RUNTIME_TORCH_COMPILE, net, CM_PRECISION_AMP_BF16, CM_LAYOUT_AUTO, 1025, inner), 1);
    assert_int_equal(times_at(CM_RUNTIME_TORCH_COMPILE, net, CM_PRECISION_AMP_BF16, CM_LAYOUT_AUTO, 1025,
                              "gemm forward nt bf16 1,1025,1001,1032"), 1);
    assert_int_equal(times_at(CM_RUNTIME_TORCH_EAGER, net, CM_PRECISION_AMP_BF16, CM_LAYOUT_AUTO, 1025, wide), 0);
    assert_int_equal(times_at(CM_RUNTIME_TORCH_COMPILE, net, CM_PRECISION_FP32, CM_LAYOUT_AUTO, 1025,
                              "gemm forward nt fp32 1,1025,1025,64"), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_compiler_joins_functions), cmocka_unit_test(large_products_are_padded),
                                       cmocka_unit_test(a_compiled_batch_norm_sums_first),
                                       cmocka_unit_test(a_batch_norm_of_a_matrix_adds_columns),
                                       cmocka_unit_test(a_bias_is_added_by_its_reader),
                                       cmocka_unit_test(long_rows_have_kernels_of_their_own),
                                       cmocka_unit_test(channels_last_sums_have_partial_sums),
                                       cmocka_unit_test(a_tuned_batch_norm_is_summed_before),
                                       cmocka_unit_test(a_residual_sum_has_no_weights),
                                       cmocka_unit_test(a_tuned_norm_makes_the_gradients_of_its_weights),
                                       cmocka_unit_test(a_normalised_input_is_computed_again_in_fp32),
                                       cmocka_unit_test(group_norms_sum_first),
                                       cmocka_unit_test(a_group_norm_casts_its_input),
                                       cmocka_unit_test(converted_filters_have_copied_gradients),
                                       cmocka_unit_test(rows_of_channels_first_are_strided),
                                       cmocka_unit_test(an_enlarged_image_computes_what_it_reads),
                                       cmocka_unit_test(branches_are_summed_together),
                                       cmocka_unit_test(gates_are_computed_again)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
