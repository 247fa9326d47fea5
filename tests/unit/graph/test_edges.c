/* SPDX-License-Identifier: Apache-2.0 */
/* test_edges.c - regression tests of src/graph: near matches and odd shapes that were once misread. */
#include "graph_builder.h"
#include "graph/training/train.h"

static void fuse(int32_t y, cm_fuse what)
{
    cm__output(g, y);
    cm__finish(g, what);
    cm__check(g);
}
static int32_t sum(int32_t x) { return OP(REDUCE_SUM, IN(x), INTS(KEEPDIMS, 0)); }

static int32_t einsum(const char *equation, const int32_t *inputs, int32_t count)
{
    int64_t text[64];
    int32_t length = (int32_t)strlen(equation);
    for (int32_t i = 0; i < length; i++) text[i] = equation[i];
    return cm__emit(g, CM_OP_EINSUM, NULL, inputs, count, &(cm__attr){.key = CM_ATTR_EQUATION, .count = length, .ints = text}, 1);
}

/* gradient: elementwise() compares elements at B = 1, where [4] and [B, 4] are equal */
TEST(a_broadcast_over_the_batch_alone_is_summed)
{
    train(sum(as("y", op(CM_OP_MUL, IN(input("B,4"), weight("w", "4"))))));
    assert_string_equal(gradient_made_by("w"), "SumTo");
    poly_is(find_back("y", "ElementwiseGrad")->write_bytes, 0, 4 * 4, 0);
}

/* cost: bytes_touched() compares at B = 1 */
TEST(a_view_broadcast_over_the_batch_reads_its_base)
{
    int32_t y = op(CM_OP_RELU, IN(op(CM_OP_EXPAND, IN(weight("w", "1,4"), known("B,4")))));
    cm__cost_all(g);
    poly_is(g->nodes[cm__t(g, y)->producer].read_bytes, 4 * 4, 0, 0);
}


/* train: tensors that only backward reads are not written in inference */
TEST(inference_writes_no_positions_or_statistics)
{
    int32_t h = as("pool", OP(MAX_POOL, IN(input("B,3,8")), INTS(KERNEL_SHAPE, 2), INTS(STRIDES, 2)));
    train_with(h, (cm_train_options){.precision = CM_PRECISION_FP32, .inference = true});
    poly_is(find_node(step, "MaxPool")->write_bytes, 0, 4 * 3 * 4, 0);
}

/* shape_matrix */
TEST(einsum_refuses_letters_of_two_sizes)
{
    REFUSES(FORMAT, "", einsum("ij,jk->ik", IN(input("2,3"), input("4,5"))));
}
TEST(einsum_refuses_more_terms_than_inputs)
{
    REFUSES(FORMAT, "", einsum("ij,jk,kl->il", IN(input("2,3"), input("3,4"))));
}
TEST(gemm_refuses_a_bias_that_widens)
{
    REFUSES(FORMAT, "", op(CM_OP_GEMM, IN(input("B,4"), weight("w", "4,1"), weight("b", "5"))));
}
TEST(attention_refuses_other_batches)
{
    REFUSES(FORMAT, "", op(CM_OP_ATTENTION, IN(input("B,8,10,6"), input("7,8,12,6"), input("B,8,12,6"))));
}
TEST(recurrent_weights_fit_each_other)
{
    REFUSES(FORMAT, "do not fit", op(CM_OP_LSTM, IN(input("7,B,5"), weight("w", "1,12,5"), weight("r", "1,9,3"))));
}
TEST(recurrent_directions_fit_each_other)
{
    REFUSES(FORMAT, "do not fit", op(CM_OP_LSTM, IN(input("7,B,5"), weight("w", "2,12,5"), weight("r", "1,12,3"))));
}

/* shape_move */
TEST(split_sizes_sum_to_the_axis)
{
    REFUSES(FORMAT, "", OUTPUTS(2, SPLIT, IN(input("B,10")), INTS(AXIS, 1), INTS(SPLIT, 4, 4)));
}
TEST(empty_tensors_take_other_empty_shapes)
{
    SHAPE_IS(OP(RESHAPE, IN(input("B,0"), known("0,5")), INTS(ALLOWZERO, 1)), "[0, 5]");
}
TEST(top_k_refuses_more_than_there_are)
{
    REFUSES(FORMAT, "", op(CM_OP_TOP_K, IN(input("B,4"), KNOWN(5))));
}

/* fold: a rule that cannot compute its output leaves it unknown */
TEST(the_size_of_a_square_of_the_batch_is_not_known)
{
    assert_false(is_known(op(CM_OP_SIZE, IN(input("B,B")))));
}
TEST(truth_of_a_symbol_that_may_be_zero_is_not_known)
{
    int32_t b = OP(SQUEEZE, IN(known("B-1")), INTS(AXES, 0));
    assert_false(is_known(OP(CAST, IN(b), INTS(TO, CM_BOOL))));
}
TEST(slices_from_far_below_backwards)
{
    value_is(op(CM_OP_SLICE, IN(known("7,8,9"), KNOWN(-100), KNOWN(INT64_MIN), KNOWN(0), KNOWN(-1))), "7"); /* ONNX: start is clamped to 0 */
}


/* fuse_activation */
static int32_t mul(int32_t a, int32_t b) { return op(CM_OP_MUL, IN(a, b)); }
static int32_t gelu_like(double half, double inner)
{
    int32_t x = op(CM_OP_TANH, IN(input("B,4")));
    int32_t erf = op(CM_OP_ERF, IN(mul(x, number(inner))));
    return mul(mul(x, op(CM_OP_ADD, IN(erf, number(1)))), number(half));
}
TEST(gelu_is_halved_by_a_half)
{
    fuse(gelu_like(0.7, 0.7071067811865476), CM_FUSE_ALL);
    assert_int_equal(count_type(g, "Gelu"), 0);
}
TEST(gelu_has_the_root_of_a_half_inside)
{
    fuse(gelu_like(0.5, 3), CM_FUSE_ALL);
    assert_int_equal(count_type(g, "Gelu"), 0);
}


/* fuse_attention */
static int32_t attention_parts(int64_t axis, int32_t *scores)
{
    int32_t q = op(CM_OP_TANH, IN(input("B,8,10,6"))), k = op(CM_OP_TANH, IN(input("B,8,10,6"))), v = op(CM_OP_TANH, IN(input("B,8,10,6")));
    *scores = mul(op(CM_OP_MATMUL, IN(q, OP(TRANSPOSE, IN(k), INTS(PERM, 0, 1, 3, 2)))), number(0.4));
    return op(CM_OP_MATMUL, IN(OP(SOFTMAX, IN(*scores), INTS(AXIS, axis)), v));
}
TEST(softmax_over_queries_is_no_attention)
{
    int32_t scores;
    fuse(attention_parts(-2, &scores), CM_FUSE_ALL);
    assert_int_equal(count_type(g, "Attention"), 0);
}
TEST(scores_that_are_returned_are_computed_once)
{
    int32_t scores, y = attention_parts(-1, &scores);
    cm__output(g, scores);
    fuse(y, CM_FUSE_ALL);
    assert_int_equal(count_type(g, "Attention"), 0);
}


int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_broadcast_over_the_batch_alone_is_summed),
        cmocka_unit_test(a_view_broadcast_over_the_batch_reads_its_base),
        cmocka_unit_test(inference_writes_no_positions_or_statistics),
        cmocka_unit_test(einsum_refuses_letters_of_two_sizes),
        cmocka_unit_test(einsum_refuses_more_terms_than_inputs),
        cmocka_unit_test(gemm_refuses_a_bias_that_widens),
        cmocka_unit_test(attention_refuses_other_batches),
        cmocka_unit_test(recurrent_weights_fit_each_other),
        cmocka_unit_test(recurrent_directions_fit_each_other),
        cmocka_unit_test(split_sizes_sum_to_the_axis),
        cmocka_unit_test(empty_tensors_take_other_empty_shapes),
        cmocka_unit_test(top_k_refuses_more_than_there_are),
        cmocka_unit_test(the_size_of_a_square_of_the_batch_is_not_known),
        cmocka_unit_test(truth_of_a_symbol_that_may_be_zero_is_not_known),
        cmocka_unit_test(slices_from_far_below_backwards),
        cmocka_unit_test(gelu_is_halved_by_a_half),
        cmocka_unit_test(gelu_has_the_root_of_a_half_inside),
        cmocka_unit_test(softmax_over_queries_is_no_attention),
        cmocka_unit_test(scores_that_are_returned_are_computed_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
