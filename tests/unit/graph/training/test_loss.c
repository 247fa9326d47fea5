/* SPDX-License-Identifier: Apache-2.0 */
/* test_loss.c - the loss of a model by the shape of its output, or by name. */
#include "graph_builder.h"

/* A trained tensor of some shape as the model's output. */
static void train_output(const char *shape, cm_loss loss)
{
    int32_t y = as("y", op(CM_OP_MUL, IN(input(shape), weight("w", "1"))));
    train_with(y, (cm_train_options){.precision = CM_PRECISION_FP32, .loss = loss});
}

static const char *target_shape(void)
{
    const cm_node *loss = &step->nodes[cm__t(step, step->outputs[1])->producer];
    return cm__dims_text(step, cm__t(step, loss->inputs[1]));
}

TEST(the_loss_goes_by_the_outputs_shape)
{
    static const struct {
        const char *shape, *type, *target;
        cm_loss     loss;
    } cases[] = {
        {"B,1000", "SoftmaxCrossEntropyLoss", "[B]", CM_LOSS_CROSS_ENTROPY},
        {"B,7,50", "SoftmaxCrossEntropyLoss", "[7B]", CM_LOSS_CROSS_ENTROPY},        /* a class per position */
        {"B,21,8,9", "SoftmaxCrossEntropyLoss", "[B, 8, 9]", CM_LOSS_CROSS_ENTROPY}, /* a class per pixel */
        {"B,1", "MSELoss", "[B, 1]", CM_LOSS_MSE},
        {"B", "MSELoss", "[B]", CM_LOSS_MSE},
        {"B,7,1", "MSELoss", "[B, 7, 1]", CM_LOSS_MSE},
        {"B,1,8,8", "BCEWithLogitsLoss", "[B, 1, 8, 8]", CM_LOSS_BCE},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        start_over();
        train_output(cases[i].shape, CM_LOSS_AUTO);
        assert_int_equal(count_type(step, cases[i].type), 1);
        assert_int_equal(cm_graph_loss(step), cases[i].loss);
        assert_string_equal(target_shape(), cases[i].target);
        assert_int_equal(step->n_outputs, 2); /* the model's output is still an output */
        assert_string_equal(cm__t(step, step->outputs[0])->name, "y");
        assert_int_equal(cm__t(step, step->outputs[1])->rank, 0);
        assert_int_equal(cm__t(step, step->inputs[step->n_inputs - 1])->role, CM_ROLE_INPUT); /* targets are inputs */
    }
}

TEST(the_loss_goes_by_its_name)
{
    train_output("B,10", CM_LOSS_MSE);
    assert_int_equal(count_type(step, "MSELoss"), 1);
    start_over();
    train_output("B,10", CM_LOSS_BCE);
    assert_int_equal(count_type(step, "BCEWithLogitsLoss"), 1);
    assert_string_equal(target_shape(), "[B, 10]");
    start_over();
    train_output("B,1,8,8", CM_LOSS_CROSS_ENTROPY);
    assert_string_equal(target_shape(), "[B, 8, 8]");
}

/* A fused kernel reads the logits of all positions in their own type; backward is one kernel. */
TEST(a_fused_loss_is_one_kernel_each_way)
{
    int32_t y = as("y", op(CM_OP_MUL, IN(input("B,7,50"), weight("w", "1"))));
    train_with(y, (cm_train_options){.precision = CM_PRECISION_BF16, .loss_kernel = CM_LOSS_KERNEL_FUSED});
    assert_int_equal(count_type(step, "FusedCrossEntropy"), 1);
    assert_int_equal(count_type(step, "SoftmaxCrossEntropyLoss"), 0);
    assert_int_equal(count_type(step, "LossGrad"), 1);
    assert_int_equal(count_type(step, "SoftmaxGrad"), 0);
    const cm_node *loss = &step->nodes[cm__t(step, step->outputs[1])->producer];
    assert_int_equal(cm__t(step, loss->inputs[0])->dtype, CM_BF16);
    assert_string_equal(target_shape(), "[7B]");
    assert_int_equal(cm__t(step, step->outputs[1])->dtype, CM_FP32);
}

/* There is no fused kernel for planes of pixels, and the user is told that the option has no effect. */
TEST(a_fused_loss_is_for_rows)
{
    int32_t y = op(CM_OP_MUL, IN(input("B,21,8,9"), weight("w", "1")));
    train_with(y, (cm_train_options){.precision = CM_PRECISION_FP32, .loss_kernel = CM_LOSS_KERNEL_CHUNKED});
    assert_int_equal(count_type(step, "SoftmaxCrossEntropyLoss"), 1);
    assert_int_equal(cm_graph_warnings(step), 1);
    assert_non_null(strstr(cm_graph_warning(step, 0), "--loss-kernel chunked has no effect"));
}

/* A causal model of 7 positions and 50 words. */
static void train_words(cm_precision precision, cm_loss_kernel kernel, cm_logits logits)
{
    start_over();
    int32_t  x = op(CM_OP_MUL, IN(input("B,1,7,50"), weight("w", "1")));
    cm__attr causal = CM__INTS(CM_ATTR_CAUSAL, 1);
    x = cm__emit(g, CM_OP_ATTENTION, "attention", (int32_t[]){x, x, x}, 3, &causal, 1);
    const cm_tensor *t = cm__t(g, x);
    cm_dim           dims[] = {t->dims[0], t->dims[2], t->dims[3]};
    cm_node         *rows = cm__emit_node(g, CM_OP_VIEW, "rows", &x, 1, NULL, 0, 0);
    cm__set_output(g, rows, 0, CM_FP32, 3, dims);
    x = op(CM_OP_MUL, IN(rows->outputs[0], weight("v", "1")));
    train_with(as("y", x), (cm_train_options){.precision = precision, .loss_kernel = kernel, .script.logits = logits});
}

static int32_t dies(const char *name) { return cm__t(step, cm__t(step, find_tensor(step, name))->storage)->dies; }

/* The shifted copy is in memory of its own; the logits are dropped when the loss is known, not at the end. */
TEST(copies_of_logits)
{
    static const struct {
        cm_logits logits;
        cm_dtype  copy;
        bool      kept; /* the 16-bit logits, until the loss is known */
    } cases[] = {{CM_LOGITS_OWN, CM_BF16, true}, {CM_LOGITS_FP32, CM_FP32, false}, {CM_LOGITS_BOTH, CM_FP32, true}};
    for (size_t i = 0; i < COUNT(cases); i++)
        for (cm_loss_kernel kernel = CM_LOSS_KERNEL_PLAIN; kernel <= CM_LOSS_KERNEL_FUSED; kernel++) {
            train_words(CM_PRECISION_BF16, kernel, cases[i].logits);
            int32_t        loss = cm__t(step, step->outputs[1])->producer;
            const cm_node *n = &step->nodes[loss];
            assert_int_equal(count_type(step, "Copy"), 1);
            assert_int_equal(cm__t(step, n->inputs[0])->dtype, cases[i].copy);
            assert_string_equal(cm__dims_text(step, cm__t(step, n->inputs[0])), "[6B, 50]");
            assert_int_equal(dies("y") == loss, cases[i].kept);
            assert_true(dies("y") <= loss);
        }
    train_words(CM_PRECISION_BF16, CM_LOSS_KERNEL_PLAIN, CM_LOGITS_AUTO);
    assert_int_equal(dies("y"), step->n_nodes);
}

/* cross_entropy() runs in fp32 under autocast. */
TEST(autocast_computes_the_loss_in_fp32)
{
    train_words(CM_PRECISION_AMP_BF16, CM_LOSS_KERNEL_PLAIN, CM_LOGITS_OWN);
    const cm_node *loss = &step->nodes[cm__t(step, step->outputs[1])->producer];
    assert_int_equal(cm__t(step, loss->inputs[0])->dtype, CM_FP32);
}

TEST(copies_need_logits)
{
    train_words(CM_PRECISION_BF16, CM_LOSS_KERNEL_CHUNKED, CM_LOGITS_FP32);
    assert_int_equal(count_type(step, "Copy"), 0);
    assert_non_null(strstr(cm_graph_warning(step, cm_graph_warnings(step) - 1), "--logits fp32 has no effect"));
}

TEST(none_adds_nothing)
{
    train_output("B,10", CM_LOSS_NONE);
    assert_int_equal(count_type(step, "SoftmaxCrossEntropyLoss"), 0);
    assert_string_equal(cm__t(step, step->outputs[0])->name, "y");
    assert_true(gradient_for("w") >= 0);
}

TEST(a_model_that_returns_one_number_has_its_loss)
{
    int32_t y = op(CM_OP_MUL, IN(input("B,10"), weight("w", "1")));
    train(as("own", op(CM_OP_MSE_LOSS, IN(y, input("B,10")))));
    assert_int_equal(count_type(step, "MSELoss"), 1);
    assert_string_equal(cm__t(step, step->outputs[0])->name, "own");
    assert_int_equal(cm_graph_loss(step), CM_LOSS_NONE);
    assert_int_equal(cm__t(step, find_back("own", "LossGrad")->inputs[0])->role,
                     CM_ROLE_CONSTANT); /* its gradient is 1 */
}

TEST(labels_among_the_outputs_are_passed_over)
{
    int32_t y = op(CM_OP_MUL, IN(input("B,10"), weight("w", "1")));
    cm__output(g, OP(ARG_MAX, IN(y), INTS(AXIS, 1)));
    train(y);
    assert_int_equal(count_type(step, "SoftmaxCrossEntropyLoss"), 1);
    assert_true(gradient_for("w") >= 0);
}

static cm_status try_training(int32_t y, cm_loss loss)
{
    cm_train_options o = {.precision = CM_PRECISION_FP32, .loss = loss};
    cm__output(g, y);
    cm__finish(g, CM_FUSE_NONE);
    return cm_graph_train(g, &o, &step, &diag);
}

TEST(without_real_numbers_nothing_is_trained)
{
    int32_t y = OP(ARG_MAX, IN(op(CM_OP_MUL, IN(input("B,10"), weight("w", "1")))), INTS(AXIS, 1));
    train(y);
    assert_int_equal(count_phase(step, CM_BACKWARD), 0);
    assert_non_null(strstr(step->warnings[0], "nothing is trained"));
}

TEST(losses_that_do_not_fit_are_refused)
{
    int32_t y = OP(ARG_MAX, IN(op(CM_OP_MUL, IN(input("B,10"), weight("w", "1")))), INTS(AXIS, 1));
    assert_int_equal(try_training(as("labels", y), CM_LOSS_MSE), CM_ERR_UNSUPPORTED);
    assert_non_null(strstr(diag.reason, "'labels'"));
    assert_non_null(strstr(diag.reason, "--loss none"));
    assert_null(step);
    start_over();
    assert_int_equal(try_training(op(CM_OP_MUL, IN(input("B"), weight("w", "1"))), CM_LOSS_CROSS_ENTROPY),
                     CM_ERR_ARGUMENT);
    assert_non_null(strstr(diag.reason, "cross-entropy needs classes; the output is [B]"));
}

/* Sequences become rows without a copy. */
TEST(rows_are_a_view)
{
    train_output("B,7,50", CM_LOSS_AUTO);
    const cm_node *loss = find_node(step, "SoftmaxCrossEntropyLoss");
    assert_string_equal(cm__dims_text(step, cm__t(step, loss->inputs[0])), "[7B, 50]");
    assert_int_equal(cm__t(step, loss->inputs[0])->storage, find_tensor(step, "y"));
    assert_string_equal(cm__dims_text(step, cm__t(step, loss->outputs[1])), "[7B, 50]");
}

/* Keys and values that the model returns stay until the loss is known. */
TEST(returned_keys_stay_until_the_loss)
{
    for (int use = 0; use < 2; use++) {
        start_over();
        int32_t  x = op(CM_OP_MUL, IN(input("B,1,7,50"), weight("w", "1")));
        cm__attr causal = CM__INTS(CM_ATTR_CAUSAL, 1);
        int32_t  y = cm__emit(g, CM_OP_ATTENTION, "attention", (int32_t[]){x, x, x}, 3, &causal, 1);
        train_with(as("y", y), (cm_train_options){.precision = CM_PRECISION_FP32, .script.use_cache = use});
        int32_t until = cm__t(step, find_node(step, "Attention")->inputs[1])->until;
        assert_int_equal(until >= 0, use);
        if (use) assert_int_equal(cm__t(step, until)->producer, cm__t(step, step->outputs[1])->producer);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_loss_goes_by_the_outputs_shape),
        cmocka_unit_test(the_loss_goes_by_its_name),
        cmocka_unit_test(a_fused_loss_is_one_kernel_each_way),
        cmocka_unit_test(a_fused_loss_is_for_rows),
        cmocka_unit_test(copies_of_logits),
        cmocka_unit_test(autocast_computes_the_loss_in_fp32),
        cmocka_unit_test(copies_need_logits),
        cmocka_unit_test(none_adds_nothing),
        cmocka_unit_test(a_model_that_returns_one_number_has_its_loss),
        cmocka_unit_test(labels_among_the_outputs_are_passed_over),
        cmocka_unit_test(without_real_numbers_nothing_is_trained),
        cmocka_unit_test(losses_that_do_not_fit_are_refused),
        cmocka_unit_test(rows_are_a_view),
        cmocka_unit_test(returned_keys_stay_until_the_loss),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
