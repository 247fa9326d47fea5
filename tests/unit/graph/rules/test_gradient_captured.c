/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_gradient_captured.c - operators of captures: which inputs get a gradient, and which forward tensors it reads,
 * as in PyTorch's tools/autograd/derivatives.yaml. As in test_gradient.c, each is between h = x * w and a sum.
 */
#include <math.h>
#include <stdio.h>
#include "graph_builder.h"

static int32_t hidden(const char *shape, const char *last)
{
    return as("h", op(CM_OP_MUL, IN(input(shape), weight("w", last))));
}

static const cm_node *backward_of(int32_t y, const char *type)
{
    train(OP(REDUCE_SUM, IN(as("y", y)), INTS(KEEPDIMS, 0)));
    return find_back("y", type);
}

/* An operator whose output is recorded: a type, and the sizes of [B, size]. */
static int32_t recorded(int code, int32_t x, cm_dtype dtype, int64_t size, const cm__attr *further)
{
    int64_t  list[] = {dtype, 2, 1, 0, 0, size};
    cm__attr attrs[2] = {{.key = CM_ATTR_OUTPUTS, .count = 6, .ints = list}};
    if (further) attrs[1] = *further;
    return cm__emit_node(g, code, NULL, &x, 1, attrs, further ? 2 : 1, 1)->outputs[0];
}

TEST(linear_ones_keep_nothing)
{
    static const struct {
        int         op;
        const char *back;
        bool        holds; /* its input, of which backward reads the shape alone */
    } cases[] = {{CM_OP_RESAMPLE, "ResampleGrad", true}, {CM_OP_IM2COL, "ColumnsGrad", false},
                 {CM_OP_COLUMNS_TO_IMAGE, "ColumnsGrad", false}, {CM_OP_UNFOLD, "UnfoldGrad", false}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        start_over();
        const cm_node *n = backward_of(recorded(cases[i].op, hidden("B,4", "4"), CM_FP32, 6, NULL),
                                       cases[i].back);
        assert_int_equal(n->n_inputs, 1);
        assert_int_equal(is_kept("h"), cases[i].holds);
        assert_false(is_kept("y"));
        assert_true(gradient_for("w") >= 0);
    }
}

TEST(rolls_run_again)
{
    const cm_node *n = backward_of(OP(ROLL, IN(hidden("B,4", "4")), INTS(AXES, 0, 1)), "Roll");
    assert_int_equal(cm__attr_find(n, CM_ATTR_AXES)->count, 2);
    assert_false(is_kept("h"));
}

TEST(sums_of_products)
{
    int32_t a = weight("a", "4");
    backward_of(op(CM_OP_ADD_PRODUCT, IN(weight("c", "4"), a, hidden("B,4", "4"))), "ElementwiseGrad");
    assert_true(is_kept("h")); /* for the gradient of a */
    assert_true(gradient_for("w") >= 0 && gradient_for("a") >= 0 && gradient_for("c") >= 0);
}

/* All operands of an interpolation are kept for each other's gradients. A number as weight keeps none of them. */
TEST(interpolations)
{
    backward_of(op(CM_OP_LERP, IN(weight("a", "4"), hidden("B,4", "4"), weight("c", "4"))), "ElementwiseGrad");
    assert_true(is_kept("h") && gradient_for("w") >= 0 && gradient_for("a") >= 0 && gradient_for("c") >= 0);
    start_over();
    backward_of(op(CM_OP_LERP, IN(weight("a", "4"), hidden("B,4", "4"), KNOWN(1))), "ElementwiseGrad");
    assert_false(is_kept("h"));
    assert_true(gradient_for("w") >= 0 && gradient_for("a") >= 0);
}

TEST(cumulative_products_keep_both)
{
    backward_of(op(CM_OP_CUM_PROD, IN(hidden("B,4", "4"), KNOWN(1))), "CumulativeGrad");
    assert_true(is_kept("h") && is_kept("y"));
    start_over();
    backward_of(op(CM_OP_CUM_LOG_SUM_EXP, IN(hidden("B,4", "4"), KNOWN(1))), "CumulativeGrad");
    assert_true(is_kept("h") && is_kept("y"));
    start_over();
    backward_of(op(CM_OP_CUM_SUM, IN(hidden("B,4", "4"), KNOWN(1))), "CumulativeGrad");
    assert_false(is_kept("h") || is_kept("y"));
}

/* The part and the whole have gradients; what was written over has none from there. */
TEST(a_part_and_its_whole)
{
    const cm_node *n = backward_of(op(CM_OP_SLICE_WRITE, IN(op(CM_OP_MUL, IN(input("B,6"), weight("v", "6"))),
                                                            hidden("B,4", "4"))), "SliceWriteGrad");
    assert_int_equal(n->n_outputs, 2);
    assert_true(gradient_for("w") >= 0 && gradient_for("v") >= 0);
    assert_false(is_kept("h"));
}

/* A trained mask: the kernel also writes the gradient of all 2 x 3 x 3 scores of each sample, which are then added. */
TEST(a_bias_of_the_scores)
{
    int32_t        q = op(CM_OP_MUL, IN(input("B,2,3,4"), weight("w", "4")));
    const cm_node *n = backward_of(op(CM_OP_ATTENTION, IN(q, q, q, weight("bias", "1,2,3,3"))), "AttentionGrad");
    assert_int_equal(n->n_outputs, 4);
    assert_string_equal(cm__dims_text(step, cm__t(step, n->outputs[3])), "[B, 2, 3, 3]");
    assert_string_equal(gradient_made_by("bias"), "SumTo");
}

/* A transform of 6 real points has 4 complex ones; a filter of them is trained. Its gradient transforms 6 points:
   2.5 x 6 log2 6 FLOP forward for each sample, twice that backward. */
TEST(a_filter_of_a_spectrum)
{
    int32_t  filter = leaf("f", CM_ROLE_PARAMETER, CM_COMPLEX64, "4");
    cm__attr axes = INTS(AXES, 1);
    int32_t  spectrum = as("s", recorded(CM_OP_FFT, hidden("B,6", "6"), CM_COMPLEX64, 4, &axes));
    int32_t  filtered = op(CM_OP_MUL, IN(spectrum, filter));
    train(OP(REDUCE_SUM, IN(recorded(CM_OP_FFT, filtered, CM_FP32, 6, &axes)), INTS(KEEPDIMS, 0)));
    assert_true(gradient_for("w") >= 0 && gradient_for("f") >= 0);
    const cm_node *back = find_back("s", "FourierTransformGrad"), *forward = find_node(step, "FourierTransform");
    assert_true(fabs(forward->flop.c[1] - 2.5 * 6 * log2(6)) < 1e-9 && forward->flop.c[0] == 0);
    assert_true(fabs(back->flop.c[1] - 5 * 6 * log2(6)) < 1e-9);
    poly_is(forward->read_bytes, 0, 6 * 4, 0);
    poly_is(forward->write_bytes, 0, 4 * 8, 0);
}

/* 7 frames of B samples and 5 classes, 3 labels: 7 x 7 states of 25 FLOP. Backward computes as many, and 5 FLOP for each
   of 7 x 5 classes. It reads the gradient, 35 log-probabilities, 3 labels of 8 bytes, the loss and 49 states. */
TEST(a_ctc_loss)
{
    int64_t  list[] = {CM_FP32, 1, 1, 0, CM_FP32, 3, 1, 0, 0, 7, 0, 7};
    cm__attr outputs = {.key = CM_ATTR_OUTPUTS, .count = 12, .ints = list};
    int32_t  inputs[] = {hidden("7,B,5", "5"), typed(CM_INT64, "B,3")};
    int32_t  loss = as("y", cm__emit_node(g, CM_OP_CTC_LOSS, NULL, inputs, 2, &outputs, 1, 2)->outputs[0]);
    train(OP(REDUCE_SUM, IN(op(CM_OP_MUL, IN(loss, weight("v", "1")))), INTS(KEEPDIMS, 0)));
    const cm_node *back = find_back("y", "CTCLossGrad"), *forward = find_node(step, "CTCLoss");
    poly_is(forward->flop, 0, 7 * 7 * 25, 0);
    poly_is(forward->read_bytes, 0, 35 * 4 + 3 * 8, 0);
    poly_is(forward->write_bytes, 0, 4 + 49 * 4, 0);
    poly_is(back->flop, 0, 7 * 7 * 25 + 7 * 5 * 5, 0);
    poly_is(back->read_bytes, 0, 4 + 35 * 4 + 3 * 8 + 4 + 49 * 4, 0);
    poly_is(back->write_bytes, 0, 35 * 4, 0);
    assert_true(is_kept("h") && is_kept("y") && gradient_for("w") >= 0);
}

/* [B, 4, 1] * [1, 6]: PyTorch makes both gradients, of B x 4 x 6 numbers, before it sums the first of them. */
TEST(broadcast_operands_are_summed_last)
{
    int32_t last = -1, first = -1;
    int     made = 0;
    int32_t wide = op(CM_OP_MUL, IN(input("B,4,1"), weight("w", "1"))), row = weight("v", "1,6");
    train(OP(REDUCE_SUM, IN(as("y", op(CM_OP_MUL, IN(wide, row)))), INTS(KEEPDIMS, 0)));
    for (int32_t i = 0; i < step->n_nodes; i++) {
        const cm_node   *n = &step->nodes[i];
        const cm_tensor *y = n->n_outputs ? cm__t(step, n->outputs[0]) : NULL;
        bool             large = y && y->rank == 3 && cm__dim_is(y->dims[2], 6);
        if (n->op == CM_OP_ELEMENTWISE_GRAD && large) last = i, made++;
        if (n->op == CM_OP_SUM_TO && first < 0) first = i;
    }
    assert_int_equal(made, 2);
    assert_true(first > last);
}

/* Cells of 3 numbers. Autograd saves both products although the kernel does not read them. An LSTM's products share a
   gradient, its biases a sum; those of a GRU do not. */
TEST(cells_of_recurrent_layers)
{
    static const struct {
        int         op, read, made, sums;
        const char *wide;
    } cases[] = {{CM_OP_LSTM_CELL, 4, 2, 1, "12"}, /* gradient, both cells, gates -> gates, cell */
                 {CM_OP_GRU_CELL, 2, 3, 2, "9"}};  /* gradient, saved -> both gates, state */
    for (size_t i = 0; i < COUNT(cases); i++) {
        start_over();
        char rows[16];
        snprintf(rows, sizeof rows, "B,%s", cases[i].wide);
        int32_t first = as("p", op(CM_OP_MUL, IN(input(rows), weight("a", cases[i].wide)))),
                second = as("q", op(CM_OP_MUL, IN(input(rows), weight("b", cases[i].wide))));
        int32_t        y = op(cases[i].op, IN(first, second, hidden("B,3", "3"), weight("c", cases[i].wide),
                                              weight("d", cases[i].wide)));
        const cm_node *n = backward_of(y, "CellGrad");
        int            sums = 0;
        for (int32_t k = 0; k < step->n_nodes; k++)
            sums += step->nodes[k].op == CM_OP_SUM_TO && step->nodes[k].source == n->source;
        assert_int_equal(n->n_inputs, cases[i].read);
        assert_int_equal(n->n_outputs, cases[i].made);
        assert_int_equal(sums, cases[i].sums);
        assert_true(is_kept("p") && is_kept("q"));
        for (const char *name = "abcdw"; *name; name++) assert_true(gradient_for((char[]){*name, 0}) >= 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(linear_ones_keep_nothing), cmocka_unit_test(rolls_run_again),
        cmocka_unit_test(sums_of_products),         cmocka_unit_test(interpolations),
        cmocka_unit_test(cumulative_products_keep_both),
        cmocka_unit_test(a_part_and_its_whole),     cmocka_unit_test(a_bias_of_the_scores),
        cmocka_unit_test(a_filter_of_a_spectrum),   cmocka_unit_test(broadcast_operands_are_summed_last),
        cmocka_unit_test(cells_of_recurrent_layers),
        cmocka_unit_test(a_ctc_loss),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
