/* SPDX-License-Identifier: Apache-2.0 */
/* test_rows.c - norms, pooling, stacks and bags. */
#include "trace_calls.h"

/* A batch norm in training counts its batches. */
static void a_batch_norm(void **state)
{
    (void)state;
    TRAIN("input x 3 8 8\nconv 4 3 stride=2 pad=1 bias=off\nbn\ngap\nflatten\n", FP32, NHWC, 2,
          "conv forward nhwc fp32 2,3,4,8,8,3,3,2,2,1,1,1,1,1", "batch_norm forward nhwc fp32 2,4,16",
          "elementwise forward scale int64 1,1", "reduce forward mean fp32 2,16,4", "cross_entropy forward - fp32 2,4",
          "cross_entropy backward - fp32 2,4", "elementwise forward scale:strided fp32 1,128",
          "elementwise forward copy:turned fp32 16,8", /* the mean's gradient has channels first: 2 blocks of 16 x 4 */
          "batch_norm backward nhwc fp32 2,4,16", "conv bwd_weight nhwc fp32 2,3,4,8,8,3,3,2,2,1,1,1,1,1",
          "optimizer update sgd fp32 3,116");
    /* inference scales 2 x 4 x 64 numbers by stored statistics */
    INFER("input x 4 8 8\nbn\n", FP32, NCHW, 2, "elementwise forward scale fp32 1,512");
}

/* Instance norms, and norms of weights, compute their statistics in inference too. */
static void a_batch_norm_without_statistics(void **state)
{
    (void)state;
    static listed got;
    cm__ctx      *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s: %s", diag.place, diag.reason);
    cm_graph *g = read(ctx, "input x 4 8 8\nbn\n");
    for (int i = 3; i < 5; i++) cm__t(g, g->nodes[0].inputs[i])->role = CM_ROLE_CONSTANT;
    cm_graph *step = step_of(g, CM_PRECISION_FP32, true);
    list(cm__dispatch_new(ctx, step, CM_LAYOUT_NCHW, CM_RUNTIME_TORCH_EAGER), 2, &got);
    assert_int_equal(got.count, 1);
    assert_string_equal(got.texts[0], "batch_norm forward nchw fp32 2,4,64");
    cm_graph_free(step);
    cm__ctx_free(ctx);
}

/* Without a shift PyTorch does not call cuDNN; in bf16 it never does. */
static void a_batch_norm_without_shift(void **state)
{
    (void)state;
    static listed      got;
    const cm_precision precisions[] = {CM_PRECISION_FP32, CM_PRECISION_FP16, CM_PRECISION_BF16};
    const char *const  calls[] = {"batch_norm forward plain fp32 2,4,64", "batch_norm forward plain fp16 2,4,64",
                                  "batch_norm forward nchw bf16 2,4,64"};
    for (int i = 0; i < 3; i++) {
        cm__ctx *ctx = cm__ctx_new(&diag);
        if (setjmp(ctx->trap)) fail_msg("%s: %s", diag.place, diag.reason);
        cm_graph *g = read(ctx, "input x 4 8 8\nbn\ngap\nflatten\n");
        cm__t(g, g->nodes[0].inputs[2])->role = CM_ROLE_CONSTANT;
        cm_graph *step = step_of(g, precisions[i], false);
        list(cm__dispatch_new(ctx, step, CM_LAYOUT_NCHW, CM_RUNTIME_TORCH_EAGER), 2, &got);
        assert_int_equal(times(&got, calls[i]), 1);
        cm_graph_free(step);
        cm__ctx_free(ctx);
    }
}

/* [N, C] has kernels of its own in every type. */
static void a_batch_norm_of_rows(void **state)
{
    (void)state;
    static listed      got;
    const cm_precision precisions[] = {CM_PRECISION_FP32, CM_PRECISION_BF16};
    const char *const  calls[][2] = {{"batch_norm forward rows fp32 2,6,1", "batch_norm backward rows fp32 2,6,1"},
                                     {"batch_norm forward rows bf16 2,6,1", "batch_norm backward rows bf16 2,6,1"}};
    for (int i = 0; i < 2; i++) {
        cm__ctx *ctx = cm__ctx_new(&diag);
        if (setjmp(ctx->trap)) fail_msg("%s: %s", diag.place, diag.reason);
        cm_graph *step = step_of(read(ctx, "input x 4\nlinear 6\nbn\nlinear 3\n"), precisions[i], false);
        list(cm__dispatch_new(ctx, step, CM_LAYOUT_AUTO, CM_RUNTIME_TORCH_EAGER), 2, &got);
        for (int k = 0; k < 2; k++) assert_int_equal(times(&got, calls[i][k]), 1);
        cm_graph_free(step);
        cm__ctx_free(ctx);
    }
}

/* The gradient of a part of a concatenation is a slice: rows of 6 of 12 numbers. */
static void a_batch_norm_of_a_part(void **state)
{
    (void)state;
    MAKES(CAPTURE("[[1,0],6]", "[6]", "7", X("[[1,0],6]") "," X("[6]") "," X("[6]") "," X("[[1,0],12]"),
                  STEP("aten::native_batch_norm", "[2]", "[4,5,6]", "\"training\":1,\"momentum\":0.1,\"eps\":1e-5") ","
                  STEP("aten::cat", "[4,2]", "[7]", "\"dim\":1")),
          FP32, 2, "batch_norm backward apart fp32 2,6,1");
}

/* In bf16 PyTorch's own kernels read the mean's gradient without a copy. */
static void a_batch_norm_with_another_layout(void **state)
{
    (void)state;
    static listed got;
    cm__ctx      *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s: %s", diag.place, diag.reason);
    cm_graph *step = step_of(read(ctx, "input x 3 8 8\nconv 4 3 stride=2 pad=1 bias=off\nbn\ngap\nflatten\n"),
                             CM_PRECISION_BF16, false);
    list(cm__dispatch_new(ctx, step, CM_LAYOUT_NHWC, CM_RUNTIME_TORCH_EAGER), 2, &got);
    assert_int_equal(times(&got, "batch_norm forward nhwc bf16 2,4,16"), 1);
    assert_int_equal(times(&got, "batch_norm backward mixed bf16 2,4,16"), 1);
    assert_int_equal(times(&got, "copy:turned"), 0);
    cm_graph_free(step);
    cm__ctx_free(ctx);
}

/* PyTorch's group norm runs on contiguous planes: it copies 2 images of 8 channels, 64 pixels each. */
static void a_group_norm(void **state)
{
    (void)state;
    static listed got;
    cm__ctx      *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s: %s", diag.place, diag.reason);
    for (int last = 0; last < 2; last++) {
        cm_graph *g = read(ctx, "input x 4 8 8\nconv 8 3 pad=1 bias=off\n");
        cm__attr  groups = CM__INTS(CM_ATTR_NUM_GROUPS, 2);
        g->outputs[0] = cm__emit(g, CM_OP_GROUP_NORM, "norm", (int32_t[]){g->outputs[0]}, 1, &groups, 1);
        cm_graph *step = step_of(g, CM_PRECISION_FP32, true);
        list(cm__dispatch_new(ctx, step, last ? CM_LAYOUT_NHWC : CM_LAYOUT_NCHW, CM_RUNTIME_TORCH_EAGER), 2, &got);
        assert_int_equal(times(&got, "group_norm forward nchw fp32 2,8,64,2"), 1);
        assert_int_equal(times(&got, "elementwise forward copy:turned fp32 8,128"), last);
        cm_graph_free(step);
    }
    cm__ctx_free(ctx);
}

static void pools(void **state)
{
    (void)state;
    INFER("input x 4 8 8\nmaxpool 3 stride=2 pad=1\navgpool 2\n", FP32, NHWC, 2,
          "pool forward max:nhwc fp32 2,4,8,8,3,2,1", "pool forward avg:nhwc fp32 2,4,4,4,2,2,0");
}

/* Two images [3, 20, 4, 4], channels last, are stacked as 40 channels of 48 pixels. Behind the last dimension they are joined
   number by number. */
static void stacks_of_views(void **state)
{
    (void)state;
#define STACKED(dim, stacked)                                                                                          \
    CAPTURE("[3,4,4,20]", "[1]", "5", X("[3,20,4,4]") "," X(stacked),                                                  \
            STEP("aten::permute", "[2]", "[4]", "\"dims\":[0,3,1,2]") ","                                              \
                STEP("aten::stack", "[4,4]", "[5]", "\"dim\":" dim))
    MAKES(STACKED("1", "[3,2,20,4,4]"), FP32, 2, "elementwise forward cat:nhwc fp32 48,40");
    MAKES(STACKED("4", "[3,20,4,4,2]"), FP32, 2, "elementwise forward cat:part fp32 960,2");
}

/* The kernel that looks the rows of bags up also adds them. */
static void sums_of_bags(void **state)
{
    (void)state;
    MAKES(CAPTURE("[9,4]", "[4]", "6",
                  TENSOR("[[3,0]]", "int64", "input") "," TENSOR("[[1,0]]", "int64", "input") "," X("[[1,0],4]"),
                  STEP("aten::_embedding_bag", "[2,4,5]", "[6]", "")),
          FP32, 8, "embedding forward - fp32 24,9,4", "reduce forward sum fp32 1,32,1");
}

/* v[6, 5] by rows, with a length for each. */
static void weights_of_given_length(void **state)
{
    (void)state;
    MAKES(CAPTURE("[6,5]", "[5]", "5", TENSOR("[6,1]", "fp32", "parameter") "," X("[6,5]") "," X("[6,1]"),
                  STEP("aten::_weight_norm_interface", "[2,4]", "[5,6]", "")),
          FP32, 2, "rms_norm forward weight fp32 6,5", "rms_norm backward weight fp32 6,5");
}

/* The first norm reads the model's input, which needs no gradient: PyTorch runs the kernel for scale and shift alone, which
   adds up the columns of the input and of the gradient. */
static void a_norm_of_the_input(void **state)
{
    (void)state;
    const listed *got = step_calls(CM_RUNTIME_TORCH_EAGER, "input x 16 32\nln\nlinear 32\nln\n", CM_PRECISION_FP32,
                                   CM_LAYOUT_AUTO, 4);
    assert_int_equal(times(got, "layer_norm forward - fp32 64,32"), 2);
    assert_int_equal(times(got, "layer_norm backward - fp32 64,32"), 1);
    assert_int_equal(times(got, "reduce forward sum fp32 1,64,64"), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_batch_norm), cmocka_unit_test(a_batch_norm_without_statistics),
        cmocka_unit_test(a_batch_norm_without_shift), cmocka_unit_test(a_batch_norm_of_rows),
        cmocka_unit_test(a_batch_norm_of_a_part), cmocka_unit_test(a_batch_norm_with_another_layout),
        cmocka_unit_test(a_group_norm), cmocka_unit_test(pools), cmocka_unit_test(stacks_of_views),
        cmocka_unit_test(sums_of_bags), cmocka_unit_test(weights_of_given_length),
        cmocka_unit_test(a_norm_of_the_input)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
