/* SPDX-License-Identifier: Apache-2.0 */
/* test_train.c - a whole training step: options and their defaults, inference, single operators, totals. */
#include "graph_builder.h"

static int32_t image_model(void)
{
    int32_t h = op(CM_OP_CONV, IN(input("B,3,8,8"), weight("conv", "4,3,3,3")));
    h = op(CM_OP_DROPOUT, IN(op(CM_OP_RELU, IN(h))));
    h = OP(MAX_POOL, IN(h), INTS(KERNEL_SHAPE, 2, 2), INTS(STRIDES, 2, 2));
    return op(CM_OP_GEMM, IN(op(CM_OP_FLATTEN, IN(h)), weight("fc", "36,10"), weight("bias", "10")));
}

static void defaults(int32_t y) { train_with(y, (cm_train_options){0}); }

TEST(zeroed_options_are_the_usual_ones)
{
    defaults(image_model());
    assert_int_equal(cm_graph_precision(step), CM_PRECISION_AMP_BF16);
    assert_int_equal(cm_graph_optimizer(step), CM_OPTIMIZER_MOMENTUM); /* a convolutional network */
    assert_int_equal(cm_graph_loss(step), CM_LOSS_CROSS_ENTROPY);
    assert_int_equal(count_phase(step, CM_RECOMPUTE), 0);
    start_over();
    cm__output(g, image_model());
    cm__finish(g, CM_FUSE_NONE);
    assert_int_equal(cm_graph_train(g, NULL, &step, NULL), CM_OK);
    assert_int_equal(cm_graph_precision(step), CM_PRECISION_AMP_BF16);
}

TEST(other_networks_use_adamw)
{
    defaults(op(CM_OP_GEMM, IN(input("B,8"), weight("w", "8,10"))));
    assert_int_equal(cm_graph_optimizer(step), CM_OPTIMIZER_ADAMW);
    start_over();
    int32_t patches = OP(RESHAPE, IN(op(CM_OP_CONV, IN(input("B,3,8,8"), weight("w", "8,3,4,4")))),
                         INTS(SHAPE, 0, 2, 4, 25));
    defaults(op(CM_OP_ATTENTION, IN(patches, patches, patches)));
    assert_int_equal(cm_graph_optimizer(step), CM_OPTIMIZER_ADAMW); /* patches by convolution: a transformer */
}

TEST(options_out_of_range_are_refused)
{
    cm_train_options bad[] = {
        {.precision = CM_PRECISIONS}, {.optimizer = CM_OPTIMIZERS}, {.loss = CM_LOSSES}, {.recompute = CM_RECOMPUTES}};
    cm__output(g, image_model());
    cm__finish(g, CM_FUSE_NONE);
    for (size_t i = 0; i < COUNT(bad); i++) {
        assert_int_equal(cm_graph_train(g, &bad[i], &step, &diag), CM_ERR_ARGUMENT);
        assert_string_equal(diag.reason, "an option is out of range");
        assert_string_equal(diag.file, "test");
        assert_null(step);
    }
}

TEST(the_step_stands_alone)
{
    g->description = "a description";
    g->nodes_read = 77;
    cm__warn(g, "a warning");
    cm__not_supported(g, "an operator");
    train(image_model());
    assert_string_equal(cm_graph_description(step), "a description");
    assert_true(step->description != g->description);
    assert_string_equal(cm_graph_warning(step, 0), "a warning");
    assert_string_equal(cm_graph_unsupported_op(step, 0), "an operator");
    assert_int_equal(cm_graph_nodes_read(step), 77);
    assert_true(step->ctx != g->ctx);
    cm__check(step);
}

/* The forward graph may be freed before the step: `calibrate` frees it, and read the freed bounds of a slice. */
TEST(the_step_has_constants_of_its_own)
{
    int32_t starts = cm__constant_ints(g, "starts", 1, (int64_t[]){0}), ends = cm__constant_ints(g, "ends", 1, (int64_t[]){4}),
            axes = cm__constant_ints(g, "axes", 1, (int64_t[]){1});
    train(op(CM_OP_GEMM, IN(op(CM_OP_SLICE, IN(input("B,8"), starts, ends, axes)), weight("w", "4,10"))));
    int32_t found = 0;
    for (int32_t i = 0; i < step->n_tensors; i++)
        for (int32_t k = starts; cm__t(step, i)->value && k <= axes; k++) {
            assert_true(cm__t(step, i)->value != cm__t(g, k)->value);
            found += cm__t(step, i)->value->i.fixed == cm__t(g, k)->value->i.fixed;
        }
    assert_true(found >= 3);
}

TEST(parameters_without_a_gradient_are_warned_about)
{
    int32_t x = input("B,8");
    cm__output(g, op(CM_OP_GEMM, IN(x, weight("head", "8,10"))));
    train(op(CM_OP_GEMM, IN(x, weight("second", "8,10"))));
    assert_int_equal(step->n_warnings, 1);
    assert_non_null(strstr(step->warnings[0], "1 parameters get no gradient"));
    assert_true(gradient_for("head") >= 0);
}

TEST(what_the_model_returns_is_held)
{
    train(as("y", image_model()));
    assert_int_equal(cm__t(step, find_tensor(step, "y"))->dies, step->n_nodes);
    assert_int_equal(cm__t(step, find_tensor(step, "x"))->dies, step->n_nodes);
}

TEST(parameters_stay_the_same)
{
    static const cm_precision precisions[] = {CM_PRECISION_FP32, CM_PRECISION_AMP_BF16, CM_PRECISION_FP8};
    for (size_t i = 0; i < COUNT(precisions); i++) {
        cm_totals totals;
        start_over();
        train_with(image_model(), (cm_train_options){.precision = precisions[i]});
        cm_graph_totals(step, 1, &totals);
        assert_int_equal(totals.parameters, 4 * 3 * 3 * 3 + 36 * 10 + 10);
    }
}

/* Convolution and product forward; both weights and the product's input backward. */
TEST(training_flop_are_those_of_products)
{
    cm_totals    totals;
    const double conv = 2 * (4 * 6 * 6) * (3 * 3 * 3), fc = 2 * 36 * 10;
    train(image_model());
    cm_graph_totals(step, 5, &totals);
    assert_true(cm_totals_matrix_flop(&totals, CM_FORWARD) == 5 * (conv + fc));
    assert_true(cm_totals_matrix_flop(&totals, CM_BACKWARD) == 5 * (conv + 2 * fc));
    assert_true(cm_totals_matrix_flop(&totals, CM_UPDATE) == 0);
    assert_true(totals.flop[CM_UPDATE][CM_CLASS_UPDATE] == 2 * totals.parameters);
    assert_int_equal(totals.nodes[CM_UPDATE], 1);
}

TEST(inference_is_forward_alone)
{
    train_with(image_model(), (cm_train_options){.precision = CM_PRECISION_FP16, .inference = true});
    assert_int_equal(count_phase(step, CM_FORWARD), step->n_nodes);
    assert_int_equal(count_type(step, "Dropout"), 0);
    assert_int_equal(count_type(step, "SoftmaxCrossEntropyLoss"), 0);
    assert_int_equal(count_type(step, "Update"), 0);
    assert_string_equal(cm__dims_text(step, cm__t(step, step->outputs[0])), "[B, 10]");
    assert_int_equal(cm__t(step, find_tensor(step, "conv"))->dtype, CM_FP16);
    cm_totals totals;
    cm_graph_totals(step, 1, &totals);
    assert_true(cm_totals_matrix_flop(&totals, CM_BACKWARD) == 0);
}

TEST(inference_frees_activations)
{
    cm_totals training, inference;
    train(image_model());
    cm_graph_totals(step, 64, &training);
    start_over();
    train_with(image_model(), (cm_train_options){.precision = CM_PRECISION_FP32, .inference = true});
    cm_graph_totals(step, 64, &inference);
    assert_true(inference.peak_bytes < training.peak_bytes);
}

/* ---- single operators ------------------------------------------------------------------------------------------- */

TEST(a_single_operator_returns_its_gradients)
{
    g->bare_operator = true;
    int32_t a = leaf("a", CM_ROLE_ACTIVATION, CM_FP32, "64,32"), b = leaf("b", CM_ROLE_ACTIVATION, CM_FP32, "32,16");
    defaults(op(CM_OP_GEMM, IN(a, b)));
    assert_int_equal(count_type(step, "Update"), 0);
    assert_int_equal(cm_graph_loss(step), CM_LOSS_NONE);
    assert_int_equal(count_type(step, "GemmGradInput"), 1);
    assert_int_equal(count_type(step, "GemmGradWeight"), 1);
    assert_int_equal(step->n_outputs, 1 + 2);
    assert_string_equal(cm__dims_text(step, cm__t(step, step->outputs[1])), "[64, 32]");
    assert_string_equal(cm__dims_text(step, cm__t(step, step->outputs[2])), "[32, 16]");
    cm_totals totals;
    cm_graph_totals(step, 1, &totals);
    assert_true(cm_totals_matrix_flop(&totals, CM_BACKWARD) == 2 * (2.0 * 64 * 32 * 16));
    assert_int_equal(totals.parameters, 0);
}

/* ---- memory ----------------------------------------------------------------------------------------------------- */

/* x [B, 4] -> h = x W -> a = relu(h) -> the mean of (a - target)^2, fp32 and plain gradient descent. The script
   keeps x, the target and a in memory, and the loss once it is computed. The gradient of the loss is a scalar and
   not counted. */
TEST(memory_of_a_small_step)
{
    enum { A = 4 * 4, W = 4 * 4 * 4, NUMBER = 4 };
    int32_t h = as("h", op(CM_OP_MATMUL, IN(input("B,4"), weight("w", "4,4"))));
    train_with(as("a", op(CM_OP_RELU, IN(h))),
               (cm_train_options){.precision = CM_PRECISION_FP32, .optimizer = CM_OPTIMIZER_SGD, .loss = CM_LOSS_MSE});
    static const char *const order[] = {"MatMul",          "Relu",       "MSELoss", "LossGrad",
                                        "ElementwiseGrad", "MatMulGrad", "Update"};
    static const struct {
        double weights, activations, numbers;
    } alive[] = {
        {1, 3, 0}, /* x, h, target */
        {1, 4, 0}, /* x, h, a, target */
        {1, 3, 1}, /* x, a, target; the loss */
        {1, 4, 1}, /* x, a, target, da */
        {1, 5, 1}, /* x, a, target, da, dh */
        {2, 4, 1}, /* x, a, target, dh; dW */
        {2, 3, 1}, /* x, a, target; W, dW */
    };
    assert_int_equal(step->n_nodes, (int)COUNT(order));
    for (size_t i = 0; i < COUNT(order); i++) {
        assert_string_equal(cm_node_type(&step->nodes[i]), order[i]);
        poly_is(cm__alive_bytes(step->ctx, step)[i], alive[i].weights * W + alive[i].numbers * NUMBER, alive[i].activations * A, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zeroed_options_are_the_usual_ones),
        cmocka_unit_test(other_networks_use_adamw),
        cmocka_unit_test(options_out_of_range_are_refused),
        cmocka_unit_test(the_step_stands_alone),
        cmocka_unit_test(the_step_has_constants_of_its_own),
        cmocka_unit_test(parameters_without_a_gradient_are_warned_about),
        cmocka_unit_test(what_the_model_returns_is_held),
        cmocka_unit_test(parameters_stay_the_same),
        cmocka_unit_test(training_flop_are_those_of_products),
        cmocka_unit_test(inference_is_forward_alone),
        cmocka_unit_test(inference_frees_activations),
        cmocka_unit_test(a_single_operator_returns_its_gradients),
        cmocka_unit_test(memory_of_a_small_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
