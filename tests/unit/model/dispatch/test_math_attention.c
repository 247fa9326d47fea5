/* SPDX-License-Identifier: Apache-2.0 */
/* test_math_attention.c - attention that PyTorch runs as separate operators, and that of wide heads. */
#include "graph/releases.h"
#include "trace_calls.h"

/* scaled_dot_product_attention over [B, 2, 4, 8] with a trained mask, in exported form. */
static cm_graph *attention_with_trained_mask(cm__ctx *ctx)
{
    cm_graph *g = cm__graph_new(ctx, "test", "test");
    cm_dim    dims[] = {{1, 0}, {0, 2}, {0, 4}, {0, 8}};
    cm__attr  perm = CM__INTS(CM_ATTR_PERM, 0, 1, 3, 2);
    int32_t   x = cm__leaf(g, "x", CM_ROLE_INPUT, CM_FP32, 4, dims), root = cm__constant_scalar(g, "r", CM_FP32, 0.6);
    int32_t   q = projected(g, x, "q"), k = projected(g, x, "k"), v = projected(g, x, "v"),
            mask = cm__parameter(g, "mask", 4, (int64_t[]){1, 2, 4, 4});
    k = cm__emit(g, CM_OP_TRANSPOSE, NULL, &k, 1, &perm, 1);
    int32_t s = two(g, CM_OP_MATMUL, two(g, CM_OP_MUL, q, root), two(g, CM_OP_MUL, k, root));
    s = two(g, CM_OP_ADD, s, mask);
    cm__output(g, two(g, CM_OP_MATMUL, cm__emit(g, CM_OP_SOFTMAX, NULL, &s, 1, NULL, 0), v));
    cm__finish(g, CM_FUSE_EAGER);
    return g;
}

static void attention_with_a_trained_mask(void **state)
{
    (void)state;
    static listed got;
    for (int low = 0; low < 2; low++) {
        cm__ctx *ctx = cm__ctx_new(&diag);
        if (setjmp(ctx->trap)) fail_msg("%s: %s", diag.place, diag.reason);
        cm_precision precision = low ? CM_PRECISION_AMP_BF16 : CM_PRECISION_TF32;
        cm_graph    *step = step_of(attention_with_trained_mask(ctx), precision, true);
        list(cm__dispatch_new(ctx, step, CM_LAYOUT_AUTO, CM_RUNTIME_TORCH_EAGER), 3, &got);
        assert_int_equal(times(&got, "copy bf16>fp32 1,192"), low ? 3 : 0);     /* Q, K, V */
        assert_int_equal(times(&got, "copy fp32>bf16 1,192"), low ? 3 + 1 : 0); /* x for each of them; the result */
        assert_int_equal(times(&got, "copy fp32>bf16 1,32"), low);              /* the mask */
        assert_int_equal(times(&got, low ? "fp32 6,4,4,8" : "tf32 6,4,4,8"), 1);
        assert_int_equal(times(&got, low ? "fp32 6,4,8,4" : "tf32 6,4,8,4"), 1);
        assert_int_equal(times(&got, "softmax forward - fp32 24,4"), 1);
        /* which elements are masked, fully masked rows, zeros for these */
        assert_int_equal(times(&got, "copy fp32>bool 1,96"), 1);
        assert_int_equal(times(&got, "reduce forward sum fp32 24,4,1"), 1);
        assert_int_equal(times(&got, "where:col fp32 24,4"), 1);
        assert_int_equal(times(&got, "copy fp32>bf16 1,96"), low); /* probabilities are returned, too */
        cm_graph_free(step);
        cm__ctx_free(ctx);
    }
}

/* PyTorch's flash kernels and cuDNN's take heads of at most 256 numbers in 16 bits; the kernel in fp32 has no limit. */
static void wide_heads(void **state)
{
    (void)state;
#define SAME_OPERANDS(width)                                                                                           \
    CAPTURE("[[1,0],2,8," width "]", "[" width "]", "4", X("[[1,0],2,8," width "]"),                                    \
            STEP("aten::scaled_dot_product_attention", "[2,2,2]", "[4]", ""))
    MAKES(SAME_OPERANDS("384"), BF16, 2, "attention forward efficient bf16 2,8,8,2,2,384,0",
          "attention backward efficient bf16 2,8,8,2,2,384,0");
    MAKES(SAME_OPERANDS("256"), BF16, 2, "attention forward - bf16 2,8,8,2,2,256,0");
    MAKES(SAME_OPERANDS("384"), FP32, 2, "attention forward - fp32 2,8,8,2,2,384,0");
}

/* Two heads of queries read one of keys. Only kernels with enable_gqa do so; else the keys are broadcast,
   which the operators can do. A capture without the word is taken to allow it. */
static void one_head_of_keys(void **state)
{
    (void)state;
#define ONE_HEAD(attrs)                                                                                                \
    CAPTURE("[[1,0],2,8,16]", "[16]", "4", X("[[1,0],2,8,16]") "," X("[[1,0],1,8,16]"),                                \
            STEP("aten::slice.Tensor", "[2]", "[5]", "\"dim\":1,\"start\":0,\"end\":1") ","                            \
                STEP("aten::scaled_dot_product_attention", "[2,5,5]", "[4]", attrs))
    MAKES(ONE_HEAD("\"enable_gqa\":0"), BF16, 2, "softmax forward - fp32 32,8", "softmax backward - fp32 32,8");
    MAKES(ONE_HEAD("\"enable_gqa\":1"), BF16, 2, "attention forward - bf16 2,8,8,2,1,16,0");
    MAKES(ONE_HEAD(""), BF16, 2, "attention forward - bf16 2,8,8,2,1,16,0");
}

/* No fused kernel takes heads that are 25 numbers wide in fp32, so PyTorch runs attention operator by operator. It scales
   queries and keys, forward and backward (four kernels), looks for rows of scores in which every key is masked, and sets
   these rows to zero. 2 samples with 2 heads of 16 tokens have 2 x 2 x 16 x 16 = 1,024 scores. */
static void heads_that_are_not_aligned(void **state)
{
    (void)state;
#define SCALED "elementwise forward scale fp32 1,800"
    MAKES(SAME_OPERANDS("25"), FP32, 2, "gemm forward nn fp32 4,8,25,8", "gemm forward nn fp32 4,8,25,8", SCALED, SCALED,
          SCALED, SCALED, "softmax forward - fp32 32,8", "elementwise forward copy fp32>bool 1,256",
          "reduce forward sum fp32 32,8,1", "elementwise forward where:col fp32 32,8", "softmax backward - fp32 32,8");
    MAKES(SAME_OPERANDS("25"), BF16, 2, "attention forward - bf16 2,8,8,2,2,25,0"); /* padded */
}

/* Before PyTorch 2.0 models wrote softmax(q k) v themselves, and autocast runs the softmax in fp32 between products in 16
   bits. PyTorch's own function, asked not to fuse, computes the softmax in the type of its operands. 2 samples with 2
   heads of 16 tokens have 2 x 2 x 16 x 16 = 1,024 scores. */
static void written_by_the_model(void **state)
{
    (void)state;
    static listed got;
    for (int old = 0; old < 2; old++) {
        cm__ctx *ctx = cm__ctx_new(&diag);
        if (setjmp(ctx->trap)) fail_msg("%s: %s", diag.place, diag.reason);
        cm_graph *step = step_of(read(ctx, "input x 16,16\nlinear 16 as q\nlinear 16 from x as k\nlinear 16 from x as v\nattention q k v heads=2\n"), CM_PRECISION_AMP_FP16, false);
        step->asked.attention = CM_ATTENTION_MATH;
        step->asked.software = cm__software_of_year(old ? 2022 : 0);
        list(cm__dispatch_new(ctx, step, CM_LAYOUT_AUTO, CM_RUNTIME_TORCH_EAGER), 2, &got);
        for (int backward = 0; backward < 2; backward++) {
            assert_int_equal(times(&got, backward ? "softmax backward - fp32 64,16" : "softmax forward - fp32 64,16"), old);
            assert_int_equal(times(&got, backward ? "softmax backward - fp16 64,16" : "softmax forward - fp16 64,16"), !old);
        }
        assert_int_equal(times(&got, "copy fp16>fp32 1,1024"), old ? 2 : 0); /* scores; the gradient of the probabilities */
        assert_int_equal(times(&got, "copy fp32>fp16 1,1024"), old ? 2 : 0); /* probabilities; the gradient of the scores */
        cm_graph_free(step);
        cm__ctx_free(ctx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(attention_with_a_trained_mask), cmocka_unit_test(wide_heads),
                                       cmocka_unit_test(one_head_of_keys), cmocka_unit_test(heads_that_are_not_aligned),
                                       cmocka_unit_test(written_by_the_model)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
