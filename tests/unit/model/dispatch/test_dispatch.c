/* SPDX-License-Identifier: Apache-2.0 */
/* test_dispatch.c - the calls of whole steps, their layout and their number of runs. */
#include "dispatch_calls.h"

#define LINEAR "input x 32\nlinear 10\n"

/* Operands are cast, the loss is cast back, and so are the gradients of parameters. */
static void autocast(void **state)
{
    (void)state;
    TRAIN(LINEAR, AMP_BF16, AUTO, 4, "elementwise forward copy fp32>bf16 1,128",
          "elementwise forward copy fp32>bf16 1,320", "elementwise forward copy fp32>bf16 1,10",
          "gemm forward nt-bias bf16 1,4,10,32", "elementwise forward copy bf16>fp32 1,40",
          "cross_entropy forward - fp32 4,10", "cross_entropy backward - fp32 4,10",
          "elementwise forward copy fp32>bf16 1,40", "gemm forward tn bf16 1,10,32,4", "reduce forward sum bf16 1,4,10",
          "elementwise forward copy bf16>fp32 1,320", "elementwise forward copy bf16>fp32 1,10",
          "optimizer update sgd fp32 2,330");
}

static void channels_last_for_colour_in_16_bits(void **state)
{
    static const struct {
        const char  *net;
        cm_precision precision;
        bool         last;
    } cases[] = {{"input x 3 8 8\nconv 4 1\n", CM_PRECISION_AMP_BF16, true},
                 {"input x 3 8 8\nconv 4 1\n", CM_PRECISION_FP32, false},
                 {"input x 3 8 8\nconv 4 1\n", CM_PRECISION_TF32, false},
                 {"input x 3 8 8\nconv 4 1\n", CM_PRECISION_FP16, true},
                 {"input x 1 8 8\nconv 4 1\n", CM_PRECISION_AMP_BF16, false},
                 {LINEAR, CM_PRECISION_AMP_BF16, false}};
    (void)state;
    for (volatile size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cm__ctx *ctx = cm__ctx_new(&diag);
        if (setjmp(ctx->trap)) fail_msg("%s", diag.reason);
        cm_graph *step = step_of(read(ctx, cases[i].net), cases[i].precision, false);
        assert_int_equal(cm__channels_last(step), cases[i].last);
        assert_int_equal(cm__dispatch_new(ctx, step, CM_LAYOUT_AUTO, CM_RUNTIME_TORCH_EAGER)->nhwc, cases[i].last);
        assert_true(cm__dispatch_new(ctx, step, CM_LAYOUT_NHWC, CM_RUNTIME_TORCH_EAGER)->nhwc);
        assert_false(cm__dispatch_new(ctx, step, CM_LAYOUT_NCHW, CM_RUNTIME_TORCH_EAGER)->nhwc);
        cm_graph_free(step);
        cm__ctx_free(ctx);
    }
}

/* A generator's output is compared with colour images, but the generator has no image input. */
static void targets_do_not_choose_the_layout(void **state)
{
    (void)state;
    cm__ctx *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s", diag.reason);
    cm_graph        *step;
    cm_train_options o = {.precision = CM_PRECISION_AMP_BF16, .optimizer = CM_OPTIMIZER_SGD, .loss = CM_LOSS_MSE};
    assert_int_equal(cm_graph_train(read(ctx, "input x 4 8 8\nconv 3 1\n"), &o, &step, &diag), CM_OK);
    assert_false(cm__channels_last(step));
    cm_graph_free(step);
    assert_int_equal(cm_graph_train(read(ctx, "input x 3 8 8\nconv 3 1\n"), &o, &step, &diag), CM_OK);
    assert_true(cm__channels_last(step));
    cm_graph_free(step);
    cm__ctx_free(ctx);
}

/* 53 convolutions and as many batch norms; 161 tensors of 25,557,032 parameters; the image has no gradient. */
static void resnet50(void **state)
{
    (void)state;
    model m = load("resnet50", CM_PRECISION_AMP_BF16, CM_OPTIMIZER_MOMENTUM);
    assert_true(m.d->nhwc);
    assert_int_equal(runs_of(&m, 8, "conv forward nhwc bf16"), 53);
    assert_int_equal(runs_of(&m, 8, "conv bwd_weight nhwc bf16"), 53);
    assert_int_equal(runs_of(&m, 8, "conv bwd_input nhwc bf16"), 52);
    assert_int_equal(runs_of(&m, 8, "batch_norm forward nhwc bf16"), 53);
    assert_int_equal(runs_of(&m, 8, "batch_norm backward nhwc bf16"), 53);
    assert_int_equal(runs_of(&m, 8, "elementwise forward scale int64 1,1"), 53);
    assert_int_equal(runs_of(&m, 8, "elementwise forward relu bf16"), 49);
    assert_int_equal(runs_of(&m, 8, "elementwise forward relu_grad bf16"), 48);
    /* the gradient of the mean is stored channels first, the activation that relu saved channels last */
    assert_int_equal(runs_of(&m, 8, "elementwise forward relu_grad:turned bf16"), 1);
    assert_int_equal(runs_of(&m, 8, "pool forward max:nhwc bf16 8,64,112,112,3,2,1"), 1);
    assert_int_equal(runs_of(&m, 8, "cross_entropy forward - fp32 8,1000"), 1);
    assert_int_equal(runs_of(&m, 8, "cross_entropy backward - fp32 8,1000"), 1);
    assert_int_equal(runs_of(&m, 8, "optimizer update momentum fp32 161,25557032"), 1);
    assert_int_equal(runs_of(&m, 8, "optimizer"), 1);
    release(&m);
}

/* 12 layers of 4 linear layers, attention and 2 norms; 148 tensors of 124,439,808 parameters: the logits share one. */
static void gpt2(void **state)
{
    (void)state;
    model m = load("gpt2", CM_PRECISION_FP32, CM_OPTIMIZER_ADAMW);
    assert_int_equal(runs_of(&m, 2, "attention forward"), 12);
    assert_int_equal(runs_of(&m, 2, "attention backward"), 12);
    assert_int_equal(runs_of(&m, 2, "layer_norm forward - fp32 2048,768"), 25);
    assert_int_equal(runs_of(&m, 2, "layer_norm backward - fp32 2048,768"), 25);
    assert_int_equal(runs_of(&m, 2, "gemm"), 3 * (12 * 4 + 1));
    assert_int_equal(runs_of(&m, 2, "reduce forward sum fp32 1,2048,768"),
                     12 * 2); /* biases of 768: after attention, after the MLP */
    assert_int_equal(runs_of(&m, 2, "embedding forward - fp32 2048,50257,768"), 1);
    assert_int_equal(runs_of(&m, 2, "embedding backward - fp32 2048,50257,768"), 1);
    assert_int_equal(runs_of(&m, 2, "optimizer update adamw fp32 148,124439808"), 1);
    release(&m);
}

static void gpt2_inference(void **state)
{
    (void)state;
    model            m = load("gpt2", CM_PRECISION_FP32, CM_OPTIMIZER_ADAMW);
    cm_train_options o = {.precision = CM_PRECISION_FP32, .inference = true};
    assert_int_equal(runs_of(&m, 2, "attention forward dropout"), 12);
    release(&m);
    m = load("gpt2", CM_PRECISION_FP32, CM_OPTIMIZER_ADAMW);
    cm_graph_free(m.step);
    assert_int_equal(cm_graph_train(m.forward, &o, &m.step, &diag), CM_OK);
    m.d = cm__dispatch_new(m.ctx, m.step, CM_LAYOUT_AUTO, CM_RUNTIME_TORCH_EAGER);
    assert_int_equal(runs_of(&m, 2, "attention forward - fp32 2,1024,1024,12,12,64,1"), 12);
    release(&m);
}

/* Every node that is not a view makes one call. A few make one more, and the softmax of a cross-entropy is part of
   its loss. */
static void a_call_for_each_node(void **state)
{
    (void)state;
    model m = load("resnet18", CM_PRECISION_FP32, CM_OPTIMIZER_SGD);
    int   nodes = 0, softmax = 0;
    for (int32_t i = 0; i < m.step->n_nodes; i++) {
        nodes += !m.step->nodes[i].view;
        softmax += m.step->nodes[i].op == CM_OP_SOFTMAX_GRAD;
    }
    assert_int_equal(m.d->n_of, nodes - softmax + 20); /* 20 batch norms count their batches */
    int sum = 0;
    for (int32_t i = 0; i < m.d->n_calls; i++) sum += m.d->runs[i];
    assert_int_equal(sum, m.d->n_of);
    for (int32_t i = 0; i < m.d->n_calls; i++)
        for (int32_t j = 0; j < i; j++) assert_memory_not_equal(&m.d->calls[i], &m.d->calls[j], sizeof *m.d->calls);
    release(&m);
}

/* Sizes are functions of the batch: one dispatch is valid for every batch size. */
static void any_batch(void **state)
{
    (void)state;
    model m = load("resnet18", CM_PRECISION_FP32, CM_OPTIMIZER_SGD);
    for (int batch = 1; batch <= 512; batch *= 8) {
        char text[TEXT];
        snprintf(text, sizeof text, "conv forward nchw fp32 %d,3,64,224,224,7,7,2,2,3,3,1,1,1", batch);
        assert_int_equal(runs_of(&m, batch, text), 1);
        snprintf(text, sizeof text, "gemm forward nt-bias fp32 1,%d,1000,512", batch);
        assert_int_equal(runs_of(&m, batch, text), 1);
    }
    release(&m);
}

/* Recomputation makes the same calls as forward. */
static void recomputation_is_forward(void **state)
{
    (void)state;
    static listed got[2];
    static const cm_recompute modes[2] = {CM_RECOMPUTE_NONE, CM_RECOMPUTE_FULL};
    for (int i = 0; i < 2; i++) {
        cm__ctx         *ctx = cm__ctx_new(&diag);
        cm_train_options o = {.precision = CM_PRECISION_FP32, .recompute = modes[i]};
        cm_graph        *step;
        if (setjmp(ctx->trap)) fail_msg("%s: %s", diag.place, diag.reason);
        cm_graph *g = read(ctx, "input x 32\nln\nlinear 32\nln\nlinear 32\nln\nlinear 10\n");
        if (cm_graph_train(g, &o, &step, &diag)) fail_msg("%s: %s", diag.place, diag.reason);
        list(cm__dispatch_new(ctx, step, CM_LAYOUT_AUTO, CM_RUNTIME_TORCH_EAGER), 3, &got[i]);
        cm_graph_free(step);
        cm__ctx_free(ctx);
    }
    assert_int_equal(times(&got[0], "layer_norm forward"), 3);
    assert_in_range(times(&got[1], "layer_norm forward"), 4, 6);
    assert_int_equal(times(&got[0], "layer_norm backward"), 2); /* the first norm reads the input */
    assert_int_equal(times(&got[1], "layer_norm backward"), 2); /* the first norm reads the input */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(autocast),
                                       cmocka_unit_test(channels_last_for_colour_in_16_bits),
                                       cmocka_unit_test(targets_do_not_choose_the_layout),
                                       cmocka_unit_test(resnet50),
                                       cmocka_unit_test(gpt2),
                                       cmocka_unit_test(gpt2_inference),
                                       cmocka_unit_test(a_call_for_each_node),
                                       cmocka_unit_test(any_batch),
                                       cmocka_unit_test(recomputation_is_forward)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
