/* SPDX-License-Identifier: Apache-2.0 */
/* test_backward.c - which tensors need a gradient, summation of gradients, and recomputation. */
#include "graph_builder.h"

static int32_t linear(const char *name, int32_t x, int32_t w) { return as(name, op(CM_OP_GEMM, IN(x, w))); }
static int32_t sum(int32_t x) { return OP(REDUCE_SUM, IN(x), INTS(KEEPDIMS, 0)); }

static int32_t back_adds(void)
{
    int32_t count = 0;
    for (int32_t i = 0; i < step->n_nodes; i++)
        count += step->nodes[i].phase == CM_BACKWARD && step->nodes[i].op == CM_OP_ADD;
    return count;
}

static double matrix_flop(cm_phase phase)
{
    cm_totals totals;
    cm_graph_totals(step, 1, &totals);
    return cm_totals_matrix_flop(&totals, phase);
}

static double peak(void)
{
    cm_totals totals;
    cm_graph_totals(step, 8, &totals);
    return totals.peak_bytes;
}

/* ---- gradients -------------------------------------------------------------------------------------------------- */

TEST(every_further_use_adds_once)
{
    int32_t h = linear("h", input("B,4"), weight("w", "4,4"));
    int32_t y = op(CM_OP_SUM, IN(op(CM_OP_RELU, IN(h)), op(CM_OP_TANH, IN(h)), op(CM_OP_SIGMOID, IN(h))));
    train(sum(y));
    assert_int_equal(back_adds(), 2);
    assert_int_equal(count_type(step, "GemmGradWeight"), 1);
}

TEST(a_residual_adds_where_it_leaves)
{
    int32_t x = linear("in", input("B,4"), weight("w0", "4,4"));
    for (int i = 0; i < 3; i++) x = op(CM_OP_ADD, IN(x, op(CM_OP_RELU, IN(linear("f", x, weight("w", "4,4"))))));
    train(sum(x));
    assert_int_equal(back_adds(), 3);
}

TEST(tied_weights_have_one_summed_gradient)
{
    int32_t w = weight("w", "4,4"), h = linear("first", input("B,4"), w);
    train(sum(linear("second", op(CM_OP_RELU, IN(h)), w)));
    const cm_node *update = find_node(step, "Update");
    assert_int_equal(count_type(step, "GemmGradWeight"), 2);
    assert_int_equal(back_adds(), 1);
    assert_string_equal(gradient_made_by("w"), "Add");
    assert_int_equal(update->n_inputs, 2);
}

TEST(tied_embeddings)
{
    int32_t table = weight("table", "50,8"), x = op(CM_OP_GATHER, IN(table, typed(CM_INT64, "B,7")));
    train(OP(GEMM, IN(op(CM_OP_RELU, IN(x)), table), INTS(TRANS_B, 1)));
    assert_int_equal(count_type(step, "GatherGrad"), 1);
    assert_int_equal(count_type(step, "GemmGradWeight"), 1);
    assert_string_equal(gradient_made_by("table"), "Add");
}

TEST(what_leads_to_no_parameter_has_no_backward)
{
    int32_t fed = op(CM_OP_TANH, IN(op(CM_OP_EXP, IN(input("B,4")))));
    int32_t kept = op(CM_OP_MUL, IN(fed, leaf("mask", CM_ROLE_BUFFER, CM_FP32, "4")));
    train(sum(linear("y", kept, weight("w", "4,4"))));
    assert_int_equal(count_type(step, "ElementwiseGrad"), 0);
    assert_int_equal(count_type(step, "GemmGradInput"), 0);
    assert_int_equal(gradient_for("mask"), -1);
}

TEST(unused_parameters_are_not_updated)
{
    int32_t w = weight("w", "4,4"), dead = weight("dead", "4,4"), x = input("B,4");
    op(CM_OP_MATMUL, IN(x, dead));
    int32_t stopped = op(CM_OP_FLOOR, IN(weight("stopped", "4")));
    train(sum(op(CM_OP_ADD, IN(linear("y", x, w), stopped))));
    assert_int_equal(find_node(step, "Update")->n_inputs, 2);
    assert_int_equal(gradient_for("stopped"), -1);
}

TEST(broadcasts_are_summed_away)
{
    int32_t h = linear("h", input("B,7,4"), weight("w", "4,4"));
    train(sum(op(CM_OP_RELU, IN(op(CM_OP_ADD, IN(h, weight("position", "1,7,4")))))));
    const cm_tensor *gradient = cm__t(step, gradient_for("position"));
    assert_string_equal(cm__dims_text(step, gradient), "[1, 7, 4]");
    assert_string_equal(gradient_made_by("position"), "SumTo");
}

TEST(a_missing_dimension_of_one_is_a_view)
{
    int32_t p = op(CM_OP_RELU, IN(weight("p", "7,4"))), x = input("1,7,4");
    train(sum(op(CM_OP_RELU, IN(op(CM_OP_ADD, IN(x, p))))));
    assert_int_equal(count_type(step, "SumTo"), 0);
}

TEST(gradients_know_what_they_belong_to)
{
    g->block = 3;
    int32_t h = linear("h", input("B,4"), weight("w", "4,4"));
    g->block = -1;
    train(sum(op(CM_OP_RELU, IN(h))));
    const cm_node *dw = find_back("h", "GemmGradWeight");
    assert_int_equal(dw->block, 3);
    assert_string_equal(step->nodes[dw->source].name, "h");
    assert_int_equal(step->nodes[dw->source].phase, CM_FORWARD);
    assert_int_equal(cm__t(step, dw->outputs[0])->role, CM_ROLE_PARAMETER_GRADIENT);
    assert_int_equal(cm__t(step, find_back("Relu", "ElementwiseGrad")->outputs[0])->role, CM_ROLE_GRADIENT);
}

TEST(backward_runs_in_reverse)
{
    int32_t h = op(CM_OP_RELU, IN(linear("first", input("B,4"), weight("w1", "4,4"))));
    train(sum(linear("second", h, weight("w2", "4,4"))));
    assert_true(find_back("second", "GemmGradWeight") < find_back("first", "GemmGradWeight"));
    for (int32_t i = 1; i < step->n_nodes; i++) assert_true(step->nodes[i].phase >= step->nodes[i - 1].phase);
    assert_int_equal(step->nodes[step->n_nodes - 1].phase, CM_UPDATE);
}

/* Without a loss every output is trained; its gradient is an input. */
TEST(without_a_loss_outputs_are_given_gradients)
{
    int32_t h = linear("h", input("B,4"), weight("w", "4,4"));
    cm__output(g, op(CM_OP_RELU, IN(h)));
    train_with(op(CM_OP_TANH, IN(h)), (cm_train_options){.precision = CM_PRECISION_FP32, .loss = CM_LOSS_NONE});
    const cm_tensor *given = cm__t(step, find_tensor(step, "Relu.grad"));
    assert_int_equal(given->role, CM_ROLE_GRADIENT);
    assert_int_equal(given->producer, -1);
    assert_string_equal(cm__dims_text(step, given), "[B, 4]");
    assert_int_equal(back_adds(), 1);
}

/* ---- recomputation ---------------------------------------------------------------------------------------------- */

enum { LAYERS = 4, WIDTH = 32, INNER = 4 * WIDTH };

/* x + W2 gelu(W1 norm(x)), LAYERS times, over 16 rows a sample. */
static int32_t layers(bool named)
{
    int32_t x = linear("in", input("B,16,32"), weight("w0", "32,32"));
    for (int i = 0; i < LAYERS; i++) {
        g->block = named ? i : -1;
        int32_t h = op(CM_OP_LAYER_NORM, IN(x, weight("s", "32")));
        h = op(CM_OP_GELU, IN(linear("up", h, weight("w1", "32,128"))));
        x = op(CM_OP_ADD, IN(x, linear("down", h, weight("w2", "128,32"))));
    }
    g->block = -1;
    return linear("out", x, weight("w3", "32,10"));
}

static void recompute(int32_t y, cm_recompute how)
{
    train_with(y, (cm_train_options){.precision = CM_PRECISION_FP32, .optimizer = CM_OPTIMIZER_SGD, .recompute = how});
}

TEST(nothing_is_recomputed_by_default)
{
    recompute(layers(true), CM_RECOMPUTE_NONE);
    assert_int_equal(count_phase(step, CM_RECOMPUTE), 0);
}

TEST(layers_are_recomputed)
{
    const double up = 2.0 * 16 * WIDTH * INNER;
    recompute(layers(true), CM_RECOMPUTE_NONE);
    double forward = matrix_flop(CM_FORWARD), backward = matrix_flop(CM_BACKWARD), without = peak();
    start_over();
    recompute(layers(true), CM_RECOMPUTE_FULL);
    assert_true(matrix_flop(CM_FORWARD) == forward && matrix_flop(CM_BACKWARD) == backward);
    assert_true(matrix_flop(CM_RECOMPUTE) >= LAYERS * up && matrix_flop(CM_RECOMPUTE) <= 2 * LAYERS * up);
    assert_true(peak() < without);
}

TEST(recomputed_tensors_are_not_kept)
{
    recompute(layers(true), CM_RECOMPUTE_FULL);
    for (int32_t i = 0; i < step->n_nodes && step->nodes[i].phase == CM_FORWARD; i++) {
        const cm_node *n = &step->nodes[i];
        if (n->op != CM_OP_GELU) continue;
        assert_int_equal(step->nodes[cm__t(step, n->inputs[0])->dies].phase, CM_FORWARD);
        assert_int_equal(step->nodes[cm__t(step, n->outputs[0])->dies].phase, CM_FORWARD);
    }
    const cm_node *again = NULL;
    for (int32_t i = 0; i < step->n_nodes; i++)
        if (step->nodes[i].phase == CM_RECOMPUTE && step->nodes[i].op == CM_OP_GELU) again = &step->nodes[i];
    assert_non_null(again);
    assert_int_equal(step->nodes[again->source].op, CM_OP_GELU);
    assert_int_equal(step->nodes[again->source].phase, CM_FORWARD);
}

TEST(recomputed_nodes_belong_to_their_own_layer)
{
    recompute(layers(true), CM_RECOMPUTE_FULL);
    for (int32_t i = 0; i < step->n_nodes; i++) {
        const cm_node *n = &step->nodes[i];
        if (n->phase == CM_RECOMPUTE) assert_int_equal(n->block, step->nodes[n->source].block);
    }
}

/* The input of a layer is kept, not recomputed. The last product of a layer is not needed again. */
TEST(what_layers_pass_on_is_kept)
{
    recompute(layers(true), CM_RECOMPUTE_FULL);
    assert_true(matrix_flop(CM_RECOMPUTE) == LAYERS * 2.0 * 16 * WIDTH * INNER);
    for (int32_t i = 0; i < step->n_nodes; i++)
        assert_false(step->nodes[i].phase == CM_RECOMPUTE && step->nodes[i].op == CM_OP_ADD);
}

TEST(a_model_without_layers_is_cut_in_stretches)
{
    recompute(layers(false), CM_RECOMPUTE_NONE);
    double forward = matrix_flop(CM_FORWARD), without = peak();
    start_over();
    recompute(layers(false), CM_RECOMPUTE_FULL);
    assert_true(matrix_flop(CM_RECOMPUTE) > 0 && matrix_flop(CM_RECOMPUTE) <= forward);
    assert_true(peak() < without);
}

static int32_t attention_layer(void)
{
    int32_t x = input("B,8,16,4"), q = linear("q", x, weight("wq", "4,4")), k = linear("k", x, weight("wk", "4,4"));
    int32_t y = op(CM_OP_ATTENTION, IN(q, k, linear("v", x, weight("wv", "4,4"))));
    return sum(op(CM_OP_GELU, IN(linear("out", y, weight("wo", "4,4")))));
}

TEST(selective_recomputes_attention_alone)
{
    recompute(attention_layer(), CM_RECOMPUTE_SELECTIVE);
    assert_int_equal(count_phase(step, CM_RECOMPUTE), 1);
    assert_int_equal(count_type(step, "Attention"), 2);
    assert_true(matrix_flop(CM_RECOMPUTE) == 2.0 * 8 * 16 * 16 * (4 + 4));
}

TEST(selective_recomputes_attention_written_out)
{
    int32_t x = input("B,8,16,4"), q = linear("q", x, weight("wq", "4,4")), k = linear("k", x, weight("wk", "4,4"));
    int32_t scores = op(CM_OP_MATMUL, IN(q, OP(TRANSPOSE, IN(k), INTS(PERM, 0, 1, 3, 2))));
    int32_t p = op(CM_OP_SOFTMAX, IN(op(CM_OP_MUL, IN(as("scores", scores), number(0.5)))));
    recompute(sum(op(CM_OP_MATMUL, IN(p, linear("v", x, weight("wv", "4,4"))))), CM_RECOMPUTE_SELECTIVE);
    const cm_tensor *probabilities = cm__t(step, find_tensor(step, "Softmax"));
    assert_int_equal(step->nodes[probabilities->dies].phase, CM_FORWARD);
    assert_true(matrix_flop(CM_RECOMPUTE) == 2.0 * 8 * 16 * 16 * 4); /* the scores, not the product with V */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_further_use_adds_once),
        cmocka_unit_test(a_residual_adds_where_it_leaves),
        cmocka_unit_test(tied_weights_have_one_summed_gradient),
        cmocka_unit_test(tied_embeddings),
        cmocka_unit_test(what_leads_to_no_parameter_has_no_backward),
        cmocka_unit_test(unused_parameters_are_not_updated),
        cmocka_unit_test(broadcasts_are_summed_away),
        cmocka_unit_test(a_missing_dimension_of_one_is_a_view),
        cmocka_unit_test(gradients_know_what_they_belong_to),
        cmocka_unit_test(backward_runs_in_reverse),
        cmocka_unit_test(without_a_loss_outputs_are_given_gradients),
        cmocka_unit_test(nothing_is_recomputed_by_default),
        cmocka_unit_test(layers_are_recomputed),
        cmocka_unit_test(recomputed_tensors_are_not_kept),
        cmocka_unit_test(recomputed_nodes_belong_to_their_own_layer),
        cmocka_unit_test(what_layers_pass_on_is_kept),
        cmocka_unit_test(a_model_without_layers_is_cut_in_stretches),
        cmocka_unit_test(selective_recomputes_attention_alone),
        cmocka_unit_test(selective_recomputes_attention_written_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
