/* SPDX-License-Identifier: Apache-2.0 */
/* test_einsum.c - Einstein sums. */
#include "dispatch_calls.h"

static int32_t einsum(cm_graph *g, const char *equation, int32_t a, int32_t b)
{
    int64_t  text[32];
    int32_t  length = (int32_t)strlen(equation);
    cm__attr attr = {.key = CM_ATTR_EQUATION, .count = length, .ints = text};
    for (int32_t i = 0; i < length; i++) text[i] = equation[i];
    return cm__emit(g, CM_OP_EINSUM, NULL, (int32_t[]){a, b}, 2, &attr, 1);
}

/* torch.einsum runs batched products. Heads that are not adjacent to the batch are copied, in forward only. */
static void einstein_sums_are_stacks_of_products(void **state)
{
    static listed got;
    cm_dim        dims[] = {{1, 0}, {0, 4}, {0, 2}, {0, 8}};
    cm__ctx      *ctx = cm__ctx_new(&diag);
    (void)state;
    if (setjmp(ctx->trap)) fail_msg("%s: %s", diag.place, diag.reason);
    cm_graph *g = cm__graph_new(ctx, "test", "test");
    int32_t   x = cm__leaf(g, "x", CM_ROLE_INPUT, CM_FP32, 4, dims);
    cm__output(g, einsum(g, "bqhd,bkhd->bhqk", projected(g, x, "q"), projected(g, x, "k")));
    cm__finish(g, CM_FUSE_EAGER);
    cm_graph *step = step_of(g, CM_PRECISION_FP32, false);
    list(cm__dispatch_new(ctx, step, CM_LAYOUT_AUTO, CM_RUNTIME_TORCH_EAGER), 3, &got);
    assert_int_equal(times(&got, "gemm forward nn fp32 6,4,4,8"), 1); /* 3 samples, 2 heads */
    assert_int_equal(times(&got, "gemm forward nt fp32 6,4,8,4"), 1); /* gradient of q */
    assert_int_equal(times(&got, "gemm forward tn fp32 6,8,4,4"), 1); /* gradient of k, transposed */
    assert_int_equal(times(&got, "elementwise forward copy:"), 2);
    cm_graph_free(step);
    cm__ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(einstein_sums_are_stacks_of_products)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
