/* SPDX-License-Identifier: Apache-2.0 */
/* test_losses.c - losses over rows and over planes. */
#include "trace_calls.h"

/* Log-probabilities of 7 frames, a sample per batch and 5 classes, and 3 labels: 7 states, 4 of them blanks. At batch 2
   there are 14 frames, 98 states, 56 blanks and 70 classes. */
#define CTC(labels, states)                                                                                            \
    CAPTURE("[7,[1,0],5]", "[5]", "5",                                                                                 \
            TENSOR("[[1,0]," labels "]", "int64", "input") "," X("[[1,0]]") "," X("[[1,0],7," states "]"),             \
            STEP("aten::_ctc_loss", "[2,4]", "[5,6]", ""))

static void a_ctc_loss(void **state)
{
    (void)state;
    MAKES(CTC("3", "7"), FP32, 2, "elementwise forward copy int64 1,6", "ctc forward - fp32 2,7,5",
          "ctc backward beta fp32 2,7,5", "ctc backward labels fp32 2,7,5",
          "elementwise forward copy int64 1,2", "elementwise forward copy int64 1,2", "elementwise forward copy int64 1,2",
          "elementwise forward copy int64 1,2", "elementwise forward copy int64 1,2", "elementwise forward copy int64 1,2",
          "elementwise forward fill fp32 1,98", "elementwise forward fill fp32 1,70", "elementwise forward exp fp32 1,70",
          "elementwise forward add fp32 1,56", "reduce forward max fp32 14,4,1", "reduce forward sum fp32 14,4,1",
          "elementwise forward sub:col fp32 14,4", "elementwise forward exp fp32 1,56",
          "elementwise forward mul:col fp32 14,5");
    /* autocast computes it in fp32 */
    MAKES(CTC("3", "7"), AMP_BF16, 2, "ctc forward - fp32 2,7,5", "ctc backward beta fp32 2,7,5");
    /* 1,025 states: two loops of 1,024 threads, but one over 512 labels */
    MAKES(CTC("512", "1025"), FP32, 2, "ctc forward - fp32 2,14,5", "ctc backward beta fp32 2,14,5",
          "ctc backward labels fp32 2,7,5");
}

static void scores_of_pixels_are_planes(void **state)
{
    (void)state;
    static listed got;
    cm__ctx      *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s: %s", diag.place, diag.reason);
    cm_graph *step = step_of(read(ctx, "input x 3 8 8\nconv 5 1\n"), CM_PRECISION_FP32, false);
    list(cm__dispatch_new(ctx, step, CM_LAYOUT_AUTO, CM_RUNTIME_TORCH_EAGER), 2, &got);
    assert_int_equal(times(&got, "cross_entropy forward nchw fp32 128,5"), 1);
    assert_int_equal(times(&got, "cross_entropy backward nchw fp32 128,5"), 1);
    cm_graph_free(step);
    cm__ctx_free(ctx);
}

/* A recorded cross-entropy of 16-bit logits: log-softmax, a cast, and a likelihood that reads one number per label. */
static void autocast_casts_after_log_softmax(void **state)
{
    (void)state;
    static listed got;
    cm__ctx      *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s: %s", diag.place, diag.reason);
    cm_graph *g = read(ctx, "input x 8\nlinear 10\n");
    int32_t   labels = cm__leaf(g, "labels", CM_ROLE_INPUT, CM_INT64, 1, (cm_dim[]){{1, 0}});
    g->outputs[0] = cm__emit(g, CM_OP_CROSS_ENTROPY, "loss", (int32_t[]){g->outputs[0], labels}, 2, NULL, 0);
    g->typed = true;
    cm_graph *step = step_of(g, CM_PRECISION_AMP_BF16, false);
    list(cm__dispatch_new(ctx, step, CM_LAYOUT_AUTO, CM_RUNTIME_TORCH_EAGER), 4, &got);
    assert_int_equal(times(&got, "softmax forward log bf16 4,10"), 1);
    assert_int_equal(times(&got, "labels forward - fp32 1,4"), 1);
    assert_int_equal(times(&got, "labels backward - fp32 1,4"), 1);
    assert_int_equal(times(&got, "softmax backward log bf16 4,10"), 1);
    cm_graph_free(step);
    cm__ctx_free(ctx);
}

/* Calls of a function of [N, C, H, W] images with one attribute, and of its gradient. */
static void list_one(const char *images, int op, cm__attr *attrs, int32_t count, listed *got)
{
    cm__ctx *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s: %s", diag.place, diag.reason);
    cm_graph *g = read(ctx, images);
    g->outputs[0] = cm__emit(g, op, "f", &g->outputs[0], 1, attrs, count);
    cm_graph *step = step_of(g, CM_PRECISION_FP32, false);
    list(cm__dispatch_new(ctx, step, CM_LAYOUT_AUTO, CM_RUNTIME_TORCH_EAGER), 2, got);
    cm_graph_free(step);
    cm__ctx_free(ctx);
}

/* Over channels: 2 x 64 pixels have a thread each. Over rows of 80 before 8 numbers: one block for each of 2 x 5 planes. Over
   the last axis: 2 x 5 x 80 rows. */
static void softmax_over_planes_and_blocks(void **state)
{
    (void)state;
    static listed got;
    cm__attr      axis = CM__INTS(CM_ATTR_AXIS, 1);
    list_one("input x 3 80 8\nconv 5 1\n", CM_OP_SOFTMAX, &axis, 1, &got);
    assert_int_equal(times(&got, "softmax forward planes fp32 1280,5"), 1);
    assert_int_equal(times(&got, "softmax backward planes fp32 1280,5"), 1);
    axis.ints = (int64_t[]){2};
    list_one("input x 3 80 8\nconv 5 1\n", CM_OP_SOFTMAX, &axis, 1, &got);
    assert_int_equal(times(&got, "softmax forward blocks fp32 10,640"), 1);
    axis.ints = (int64_t[]){3};
    list_one("input x 3 80 8\nconv 5 1\n", CM_OP_SOFTMAX, &axis, 1, &got);
    assert_int_equal(times(&got, "softmax forward - fp32 800,8"), 1);
}

/* The scores' gradient is transposed: it is multiplied by the result in its own order, copied into rows, and summed by a
   kernel that moves as many bytes as a product of contiguous tensors. */
static void softmax_with_a_transposed_gradient(void **state)
{
    (void)state;
    MAKES(CAPTURE("[[1,0],64,32]", "[32]", "7", X("[[1,0],64,32]") "," X("[[1,0],32,64]") "," X("[[1,0],32,64]") ","
                  X("[[1,0],32,64]"),
                  STEP("aten::_softmax", "[2]", "[4]", "\"dim\":-1,\"half_to_float\":0") ","
                  STEP("aten::transpose.int", "[4]", "[5]", "\"dim0\":1,\"dim1\":2") ","
                  STEP("aten::clone", "[5]", "[6]", "\"memory_format\":\"contiguous_format\"") ","
                  STEP("aten::exp", "[6]", "[7]", "")),
          FP32, 2, "softmax forward - fp32 128,32", "elementwise forward mul:turned fp32 64,64",
          "elementwise forward copy:turned fp32 64,64", "elementwise forward mul fp32 1,4096",
          "elementwise forward mul fp32 1,4096", "elementwise forward mul fp32 1,4096"); /* of exp and of x * w too */
}

/* A maximum over channels with its place: zeros, and one number for each of 2 x 64 pixels. Without: all equal ones share the
   gradient, so they are found, counted and multiplied. */
static void gradients_of_maxima(void **state)
{
    (void)state;
    static listed got;
    cm__attr      attrs[] = {CM__INTS(CM_ATTR_AXES, 1), CM__INTS(CM_ATTR_PLACES, 1)};
    list_one("input x 3 8 8\nconv 5 1\n", CM_OP_REDUCE_MAX, attrs, 2, &got);
    assert_int_equal(times(&got, "reduce forward argmax fp32 2,5,64"), 1);
    assert_int_equal(times(&got, "elementwise forward fill fp32 1,640"), 1);
    assert_int_equal(times(&got, "elementwise forward copy:strided fp32 1,128"), 1);
    list_one("input x 3 8 8\nconv 5 1\n", CM_OP_REDUCE_MAX, attrs, 1, &got);
    assert_int_equal(times(&got, "reduce forward max fp32 2,5,64"), 1);
    assert_int_equal(times(&got, "elementwise forward compare:plane fp32>bool 10,64"), 1);
    assert_int_equal(times(&got, "elementwise forward copy bool>int64 1,640"), 1);
    assert_int_equal(times(&got, "reduce forward sum int64 2,5,64"), 1);
    assert_int_equal(times(&got, "elementwise forward mul:plane bool+fp32>fp32 10,64"), 1);
}

/* 2 x 16 tokens of 100 words: one pass over 16-bit logits forward, one backward, no cast. */
static void a_fused_loss_reads_logits_once_each_way(void **state)
{
    (void)state;
    static listed    got;
    cm_graph        *forward, *step;
    cm_train_options o = {.precision = CM_PRECISION_BF16, .loss_kernel = CM_LOSS_KERNEL_FUSED};
    cm__ctx         *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s: %s", diag.place, diag.reason);
    assert_int_equal(cm_graph_load("gpt:layers=1,hidden=64,heads=2,seq=16,vocab=100", NULL, &forward, NULL), CM_OK);
    assert_int_equal(cm_graph_train(forward, &o, &step, NULL), CM_OK);
    list(cm__dispatch_new(ctx, step, CM_LAYOUT_AUTO, CM_RUNTIME_TORCH_EAGER), 2, &got);
    assert_int_equal(times(&got, "reduce forward sum bf16 32,100,1"), 1);
    assert_int_equal(times(&got, "elementwise forward exp bf16 1,3200"), 1);
    assert_int_equal(times(&got, "cross_entropy forward - fp32 30,100"), 0);
    cm_graph_free(step);
    cm_graph_free(forward);
    cm__ctx_free(ctx);
}

/* Each metric casts 2 x 16 rows of 100 words from bf16 and computes their cross-entropy in fp32, without a gradient. */
static void metrics_read_the_logits_again(void **state)
{
    (void)state;
    static listed    got;
    cm_graph        *forward, *step;
    cm_train_options o = {.precision = CM_PRECISION_AMP_BF16, .loss_kernel = CM_LOSS_KERNEL_FUSED, .script.metrics = 2};
    cm__ctx         *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s: %s", diag.place, diag.reason);
    assert_int_equal(cm_graph_load("gpt:layers=1,hidden=64,heads=2,seq=16,vocab=100", NULL, &forward, NULL), CM_OK);
    assert_int_equal(cm_graph_train(forward, &o, &step, NULL), CM_OK);
    list(cm__dispatch_new(ctx, step, CM_LAYOUT_AUTO, CM_RUNTIME_TORCH_EAGER), 2, &got);
    assert_int_equal(times(&got, "reduce forward sum bf16 32,100,1"), 1);
    assert_int_equal(times(&got, "elementwise forward copy bf16>fp32 1,3200"), 2);
    assert_int_equal(times(&got, "cross_entropy forward - fp32 32,100"), 2);
    assert_int_equal(times(&got, "cross_entropy backward - fp32 32,100"), 0);
    cm_graph_free(step);
    cm_graph_free(forward);
    cm__ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_ctc_loss), cmocka_unit_test(scores_of_pixels_are_planes),
                                       cmocka_unit_test(autocast_casts_after_log_softmax),
                                       cmocka_unit_test(softmax_with_a_transposed_gradient),
                                       cmocka_unit_test(softmax_over_planes_and_blocks),
                                       cmocka_unit_test(gradients_of_maxima),
                                       cmocka_unit_test(a_fused_loss_reads_logits_once_each_way),
                                       cmocka_unit_test(metrics_read_the_logits_again)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
