/* SPDX-License-Identifier: Apache-2.0 */
/* test_fuse_attention.c - written-out attention of exporters and users, and similar patterns that are none. */
#include "graph_builder.h"

static void fuse(int32_t y, cm_fuse what)
{
    cm__output(g, y);
    cm__finish(g, what);
    cm__check(g);
}

enum { H = 8, S = 10, D = 6 };

static int32_t activation(const char *name, const char *shape)
{
    return as(name, op(CM_OP_MUL, IN(input(shape), weight(cm__format(ctx, "w%s", name), "6"))));
}

static int32_t scaled(int32_t x) { return op(CM_OP_MUL, IN(x, number(0.4082482904638630))); } /* 1 / sqrt 6 */
static int32_t transposed(int32_t k) { return OP(TRANSPOSE, IN(k), INTS(PERM, 0, 1, 3, 2)); }
static int32_t softmax(int32_t x) { return as("p", OP(SOFTMAX, IN(x), INTS(AXIS, -1))); }

/* Q K^T over [B, 8, 10, 6], scaled. */
static int32_t scores(void)
{
    return scaled(op(CM_OP_MATMUL, IN(activation("q", "B,8,10,6"), transposed(activation("k", "B,8,10,6")))));
}

static int32_t times_v(int32_t p) { return as("y", op(CM_OP_MATMUL, IN(p, activation("v", "B,8,10,6")))); }

static const cm_node *attention(int32_t inputs, int causal)
{
    const cm_node *n = find_node(g, "Attention");
    assert_int_equal(count_type(g, "MatMul") + count_type(g, "Softmax"), 0);
    assert_string_equal(cm__t(g, n->inputs[0])->name, "q");
    assert_string_equal(cm__t(g, n->inputs[1])->name, "k");
    assert_string_equal(cm__t(g, n->inputs[2])->name, "v");
    assert_int_equal(n->n_inputs, inputs);
    assert_int_equal(cm__attr_int(n, CM_ATTR_CAUSAL, 0), causal);
    return n;
}

static int32_t attentions(int32_t y, cm_fuse what)
{
    fuse(y, what);
    return count_type(g, "Attention");
}

/* ---- ways to write it ------------------------------------------------------------------------------------------- */

TEST(two_products_and_a_softmax)
{
    fuse(times_v(softmax(scores())), CM_FUSE_ALL);
    const cm_node *n = attention(3, 0);
    poly_is(n->flop, 0, 2.0 * H * S * S * D * 2, 0); /* of the two products */
    assert_string_equal(n->name, "y");
    assert_true(cm__attr_real(n, CM_ATTR_DROPOUT, 1) == 0);
    assert_int_equal(count_type(g, "Transpose"), 0);
}

TEST(both_factors_scaled)
{
    int32_t q = scaled(activation("q", "B,8,10,6")), k = scaled(transposed(activation("k", "B,8,10,6")));
    fuse(times_v(softmax(op(CM_OP_MATMUL, IN(q, k)))), CM_FUSE_ALL);
    attention(3, 0);
}

TEST(a_guard_against_rows_of_nan)
{
    int32_t p = softmax(scores());
    fuse(times_v(op(CM_OP_WHERE, IN(op(CM_OP_IS_NAN, IN(p)), number(0), p))), CM_FUSE_ALL);
    attention(3, 0);
    assert_int_equal(count_type(g, "IsNaN"), 0);
}

TEST(dropout_of_probabilities)
{
    fuse(times_v(op(CM_OP_DROPOUT, IN(softmax(scores()), number(0.25)))), CM_FUSE_ALL);
    assert_true(cm__attr_real(attention(3, 0), CM_ATTR_DROPOUT, 0) == 0.25);
    assert_int_equal(count_type(g, "Dropout"), 0);
}

TEST(dropout_as_an_attribute)
{
    fuse(times_v(OP(DROPOUT, IN(softmax(scores())), REAL(RATIO, 0.25))), CM_FUSE_ALL);
    assert_true(cm__attr_real(attention(3, 0), CM_ATTR_DROPOUT, 0) == 0.25);
}

/* scaled_dot_product_attention with dropout, in a network with dropout of 0.1 elsewhere. */
static double dropout_found(double ratio, bool as_exported)
{
    int32_t q = scaled(activation("q", "B,8,10,6")), k = scaled(transposed(activation("k", "B,8,10,6"))),
            p = softmax(op(CM_OP_MATMUL, IN(q, k)));
    if (ratio > 0) p = op(CM_OP_DROPOUT, IN(p, number(ratio)));
    g->as_exported = as_exported;
    fuse(op(CM_OP_DROPOUT, IN(times_v(p), number(0.1))), CM_FUSE_EAGER);
    return cm__attr_real(attention(3, 0), CM_ATTR_DROPOUT, -1);
}

/* The exported Dropout inside attention is in inference mode, so optimizers remove it. */
TEST(dropout_that_an_optimizer_took_out)
{
    assert_true(dropout_found(0, false) == 0.1);
    start_over();
    assert_true(dropout_found(0.25, false) == 0.25);
}

TEST(dropout_that_was_never_there)
{
    assert_true(dropout_found(0, true) == 0);
    start_over();
    assert_true(dropout_found(0.25, true) == 0.25);
    start_over(); /* written by hand: the dropout is in training mode, and stays */
    fuse(op(CM_OP_DROPOUT, IN(times_v(softmax(scores())), number(0.1))), CM_FUSE_ALL);
    assert_true(cm__attr_real(attention(3, 0), CM_ATTR_DROPOUT, -1) == 0);
}

/* [B, 2, 10, 6] -> [B, 8, 10, 6]: grouped queries in an export. */
static int32_t repeated(const char *name)
{
    int32_t apart = op(CM_OP_UNSQUEEZE, IN(activation(name, "B,2,10,6"), KNOWN(2)));
    int32_t spread = op(CM_OP_EXPAND, IN(apart, KNOWN(1, 1, 4, 1, 1)));
    return op(CM_OP_RESHAPE, IN(spread, KNOWN(0, 8, 10, 6)));
}

TEST(grouped_queries)
{
    int32_t q = scaled(activation("q", "B,8,10,6")), k = scaled(transposed(repeated("k")));
    int32_t p = softmax(op(CM_OP_MATMUL, IN(q, k)));
    fuse(as("y", op(CM_OP_MATMUL, IN(p, repeated("v")))), CM_FUSE_EAGER);
    poly_is(attention(3, 0)->flop, 0, 2.0 * H * S * S * D * 2, 0); /* the same FLOP as without repetition */
    assert_int_equal(count_type(g, "Expand"), 0);
}

TEST(casts_on_the_way)
{
    int32_t wide = OP(CAST, IN(scores()), INTS(TO, CM_FP64));
    fuse(times_v(OP(CAST, IN(softmax(wide)), INTS(TO, CM_FP32))), CM_FUSE_ALL);
    attention(3, 0);
}

TEST(cross_attention)
{
    int32_t s = scaled(op(CM_OP_MATMUL, IN(activation("q", "B,8,10,6"), transposed(activation("k", "B,8,12,6")))));
    fuse(op(CM_OP_MATMUL, IN(softmax(s), activation("v", "B,8,12,6"))), CM_FUSE_ALL);
    attention(3, 0);
}

/* [B, S, H, d] transposed to [B, H, d, S] in one step. */
TEST(keys_transposed_in_one_step)
{
    int32_t k = OP(TRANSPOSE, IN(activation("rows", "B,10,8,6")), INTS(PERM, 0, 2, 3, 1));
    fuse(times_v(softmax(scaled(op(CM_OP_MATMUL, IN(activation("q", "B,8,10,6"), as("k", k)))))), CM_FUSE_ALL);
    const cm_node *n = attention(3, 0);
    assert_string_equal(cm__dims_text(g, cm__t(g, n->inputs[1])), "[B, 8, 10, 6]");
}

/* If other nodes read the transposed keys, the transpose cannot be changed. */
TEST(transposed_keys_that_are_read_elsewhere_stay)
{
    int32_t k = OP(TRANSPOSE, IN(activation("rows", "B,10,8,6")), INTS(PERM, 0, 2, 3, 1));
    cm__output(g, op(CM_OP_RELU, IN(k)));
    int32_t s = scaled(op(CM_OP_MATMUL, IN(activation("q", "B,8,10,6"), k)));
    assert_int_equal(attentions(times_v(softmax(s)), CM_FUSE_ALL), 0);
    assert_string_equal(cm__dims_text(g, cm__t(g, k)), "[B, 8, 6, 10]");
}

TEST(heads_folded_into_the_batch)
{
    int32_t q = activation("q", "8B,10,6"), k = OP(TRANSPOSE, IN(activation("k", "8B,10,6")), INTS(PERM, 0, 2, 1));
    fuse(op(CM_OP_MATMUL, IN(softmax(scaled(op(CM_OP_MATMUL, IN(q, k)))), activation("v", "8B,10,6"))), CM_FUSE_ALL);
    const cm_node *n = attention(3, 0);
    assert_int_equal(cm__attr_int(n, CM_ATTR_Q_NUM_HEADS, 0), 1);
    poly_is(n->flop, 0, 2.0 * H * S * S * D * 2, 0);
}

/* ---- masks ------------------------------------------------------------------------------------------------------ */

TEST(a_mask_that_is_fed_is_kept)
{
    int32_t fed = leaf("mask", CM_ROLE_INPUT, CM_FP32, "B,1,1,10"),
            bias = op(CM_OP_MUL, IN(op(CM_OP_SUB, IN(number(1), fed)), number(-1e9)));
    fuse(times_v(softmax(op(CM_OP_ADD, IN(scores(), as("bias", bias))))), CM_FUSE_ALL);
    assert_string_equal(cm__t(g, attention(4, 0)->inputs[3])->name, "bias");
}

TEST(a_condition_that_is_fed_is_kept)
{
    int32_t fed = leaf("mask", CM_ROLE_INPUT, CM_BOOL, "B,1,1,10");
    fuse(times_v(softmax(op(CM_OP_WHERE, IN(fed, scores(), number(-1e9))))), CM_FUSE_ALL);
    assert_string_equal(cm__t(g, attention(4, 0)->inputs[3])->name, "mask");
}

TEST(a_square_of_constants_is_the_causal_mask)
{
    int32_t triangle = leaf("mask", CM_ROLE_BUFFER, CM_BOOL, "1,1,10,10");
    fuse(times_v(softmax(op(CM_OP_WHERE, IN(triangle, scores(), number(-1e9))))), CM_FUSE_ALL);
    attention(3, 1);
    start_over();
    int32_t bias = leaf("bias", CM_ROLE_BUFFER, CM_FP32, "10,10");
    fuse(times_v(softmax(op(CM_OP_ADD, IN(scores(), bias)))), CM_FUSE_ALL);
    attention(3, 1);
}

TEST(compared_positions_are_the_causal_mask)
{
    static const int compare[] = {CM_OP_LESS, CM_OP_LESS_OR_EQUAL, CM_OP_GREATER, CM_OP_GREATER_OR_EQUAL};
    for (size_t i = 0; i < COUNT(compare); i++) {
        start_over();
        int32_t s = scores(), length = op(CM_OP_GATHER, IN(op(CM_OP_SHAPE, IN(s)), integer(-1)));
        int32_t row = op(CM_OP_RANGE, IN(integer(0), length, integer(1)));
        int32_t column = OP(UNSQUEEZE, IN(row), INTS(AXES, 1));
        fuse(times_v(softmax(op(CM_OP_WHERE, IN(op(compare[i], IN(row, column)), s, number(-1e9))))), CM_FUSE_ALL);
        attention(3, 1);
    }
    start_over();
    int32_t triangle = op(CM_OP_TRILU, IN(leaf("ones", CM_ROLE_BUFFER, CM_BOOL, "12,12")));
    triangle = OP(SLICE, IN(triangle), INTS(STARTS, 0, 0), INTS(ENDS, 10, 10));
    fuse(times_v(softmax(op(CM_OP_WHERE, IN(triangle, scores(), number(-1e9))))), CM_FUSE_ALL);
    attention(3, 1);
}

TEST(other_constant_masks_let_everything_through)
{
    int32_t open = leaf("mask", CM_ROLE_BUFFER, CM_FP32, "1,1,1,10");
    fuse(times_v(softmax(op(CM_OP_ADD, IN(scores(), open)))), CM_FUSE_ALL);
    attention(3, 0);
}

TEST(causal_and_fed_is_fed)
{
    int32_t fed = leaf("mask", CM_ROLE_INPUT, CM_BOOL, "B,1,1,10"),
            triangle = leaf("t", CM_ROLE_BUFFER, CM_BOOL, "10,10");
    fuse(times_v(softmax(op(CM_OP_WHERE, IN(op(CM_OP_AND, IN(fed, triangle)), scores(), number(-1e9))))), CM_FUSE_ALL);
    attention(4, 0);
}

TEST(a_trained_mask_is_left_alone)
{
    int32_t positions = op(CM_OP_GATHER,
                           IN(weight("relative", "32,8"), leaf("ids", CM_ROLE_BUFFER, CM_INT64, "10,10")));
    int32_t bias = OP(TRANSPOSE, IN(positions), INTS(PERM, 2, 0, 1));
    assert_int_equal(attentions(times_v(softmax(op(CM_OP_ADD, IN(scores(), bias)))), CM_FUSE_ALL), 0);
    assert_int_equal(count_type(g, "MatMul"), 2);
}

static int64_t mark_of(const char *name)
{
    return cm__attr_int(&g->nodes[cm__t(g, find_tensor(g, name))->producer], CM_ATTR_MATH, 0);
}

static int32_t trained_mask(void) { return op(CM_OP_MUL, IN(weight("relative", "1,8,10,10"), number(2))); }

/* With a trained mask PyTorch runs its attention operator by operator in fp32: all nodes from Q and K on. */
TEST(a_trained_mask_marks_pytorchs_attention)
{
    static const char *const inside[] = {"scaled q", "scaled k", "scores", "masked", "p", "dropped"};
    int32_t q = as("scaled q", scaled(activation("q", "B,8,10,6"))),
            k = as("scaled k", scaled(transposed(activation("k", "B,8,10,6"))));
    int32_t s = as("scores", op(CM_OP_MATMUL, IN(q, k))), masked = as("masked", op(CM_OP_ADD, IN(s, trained_mask())));
    int32_t p = as("dropped", op(CM_OP_DROPOUT, IN(softmax(masked), number(0.25))));
    assert_int_equal(attentions(times_v(p), CM_FUSE_EAGER), 0);
    for (size_t i = 0; i < COUNT(inside); i++) assert_int_equal(mark_of(inside[i]), 1);
    assert_int_equal(mark_of("y"), 2); /* the result */
    assert_int_equal(mark_of("q"), 0);
    assert_int_equal(mark_of("v"), 0);
}

TEST(a_trained_mask_by_hand_marks_nothing)
{
    int32_t masked = op(CM_OP_ADD, IN(scores(), trained_mask()));
    assert_int_equal(attentions(times_v(softmax(masked)), CM_FUSE_EAGER), 0);
    assert_int_equal(mark_of("p"), 0);
    assert_int_equal(mark_of("y"), 0);
}

TEST(two_masks_are_left_alone)
{
    int32_t a = leaf("a", CM_ROLE_INPUT, CM_FP32, "B,1,1,10"), b = leaf("b", CM_ROLE_INPUT, CM_FP32, "B,1,1,10");
    int32_t masked = op(CM_OP_ADD, IN(op(CM_OP_ADD, IN(scores(), a)), b));
    assert_int_equal(attentions(times_v(softmax(masked)), CM_FUSE_ALL), 0);
}

/* ---- what only looks like it ------------------------------------------------------------------------------------ */

TEST(three_dimensions_without_a_scale_are_left_alone)
{
    int32_t q = activation("q", "B,10,6"), k = OP(TRANSPOSE, IN(activation("k", "B,10,6")), INTS(PERM, 0, 2, 1));
    int32_t p = softmax(op(CM_OP_MATMUL, IN(q, k))); /* a non-local block */
    int32_t y = op(CM_OP_MATMUL, IN(p, activation("v", "B,10,6")));
    assert_int_equal(attentions(y, CM_FUSE_ALL), 0);
}

TEST(probabilities_that_are_read_elsewhere_stay)
{
    int32_t p = softmax(scores());
    cm__output(g, p);
    assert_int_equal(attentions(times_v(p), CM_FUSE_ALL), 0);
    start_over();
    p = softmax(scores());
    cm__output(g, op(CM_OP_RELU, IN(p)));
    assert_int_equal(attentions(times_v(p), CM_FUSE_ALL), 0);
}

TEST(other_products_are_left_alone)
{
    int32_t p = softmax(scores());
    assert_int_equal(attentions(op(CM_OP_MATMUL, IN(input("B,8,10,10"), p)), CM_FUSE_ALL), 0); /* V is first */
    start_over();
    int32_t k = activation("k", "B,1,10,6"); /* one head of keys */
    int32_t s = op(CM_OP_MATMUL, IN(activation("q", "B,8,10,6"), transposed(k)));
    assert_int_equal(attentions(times_v(softmax(s)), CM_FUSE_ALL), 0);
    start_over();
    assert_int_equal(attentions(times_v(op(CM_OP_SIGMOID, IN(scores()))), CM_FUSE_ALL), 0); /* no softmax */
    start_over();
    assert_int_equal(attentions(times_v(softmax(op(CM_OP_TANH, IN(scores())))), CM_FUSE_ALL), 0); /* soft-capped */
}

/* ---- levels ----------------------------------------------------------------------------------------------------- */

TEST(eager_takes_what_pytorch_ran_as_one_kernel)
{
    assert_int_equal(attentions(times_v(softmax(scores())), CM_FUSE_EAGER), 0); /* written by hand */
    start_over();
    int32_t q = scaled(activation("q", "B,8,10,6")), k = scaled(transposed(activation("k", "B,8,10,6")));
    assert_int_equal(attentions(times_v(softmax(op(CM_OP_MATMUL, IN(q, k)))), CM_FUSE_EAGER), 1);
    start_over();
    int32_t p = softmax(scores());
    assert_int_equal(attentions(times_v(op(CM_OP_WHERE, IN(op(CM_OP_IS_NAN, IN(p)), number(0), p))), CM_FUSE_EAGER), 1);
    start_over();
    assert_int_equal(attentions(times_v(softmax(scores())), CM_FUSE_NONE), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_products_and_a_softmax),
        cmocka_unit_test(both_factors_scaled),
        cmocka_unit_test(a_guard_against_rows_of_nan),
        cmocka_unit_test(dropout_of_probabilities),
        cmocka_unit_test(dropout_as_an_attribute),
        cmocka_unit_test(dropout_that_an_optimizer_took_out),
        cmocka_unit_test(dropout_that_was_never_there),
        cmocka_unit_test(grouped_queries),
        cmocka_unit_test(casts_on_the_way),
        cmocka_unit_test(cross_attention),
        cmocka_unit_test(keys_transposed_in_one_step),
        cmocka_unit_test(transposed_keys_that_are_read_elsewhere_stay),
        cmocka_unit_test(heads_folded_into_the_batch),
        cmocka_unit_test(a_mask_that_is_fed_is_kept),
        cmocka_unit_test(a_condition_that_is_fed_is_kept),
        cmocka_unit_test(a_square_of_constants_is_the_causal_mask),
        cmocka_unit_test(compared_positions_are_the_causal_mask),
        cmocka_unit_test(other_constant_masks_let_everything_through),
        cmocka_unit_test(causal_and_fed_is_fed),
        cmocka_unit_test(a_trained_mask_is_left_alone),
        cmocka_unit_test(a_trained_mask_marks_pytorchs_attention),
        cmocka_unit_test(a_trained_mask_by_hand_marks_nothing),
        cmocka_unit_test(two_masks_are_left_alone),
        cmocka_unit_test(three_dimensions_without_a_scale_are_left_alone),
        cmocka_unit_test(probabilities_that_are_read_elsewhere_stay),
        cmocka_unit_test(other_products_are_left_alone),
        cmocka_unit_test(eager_takes_what_pytorch_ran_as_one_kernel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
