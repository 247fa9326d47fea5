/* SPDX-License-Identifier: Apache-2.0 */
/* test_inlined.c - results that the kernels that read them compute. */
#include "trace_calls.h"

/* Two look-ups in a negated tensor: each negates the rows that it reads, and no kernel writes all of them. If the model
   also returns the negated tensor, a kernel writes it. */
static int32_t kernels(bool returned)
{
    static listed got;
    cm__ctx      *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s: %s", diag.place, diag.reason);
    cm_graph *g = cm__graph_new(ctx, "net", "test");
    int32_t   x = cm__leaf(g, "x", CM_ROLE_INPUT, CM_FP32, 2, (cm_dim[]){{.per_batch = 64}, {.fixed = 128}});
    int32_t   i = cm__leaf(g, "i", CM_ROLE_INPUT, CM_INT64, 1, (cm_dim[]){{.per_batch = 16}});
    int32_t   j = cm__leaf(g, "j", CM_ROLE_INPUT, CM_INT64, 1, (cm_dim[]){{.per_batch = 32}});
    int32_t   y = cm__emit(g, CM_OP_NEG, "y", &x, 1, NULL, 0);
    cm__output(g, cm__emit(g, CM_OP_GATHER, "a", (int32_t[]){y, i}, 2, NULL, 0));
    cm__output(g, cm__emit(g, CM_OP_GATHER, "b", (int32_t[]){y, j}, 2, NULL, 0));
    if (returned) cm__output(g, y);
    cm__finish(g, CM_FUSE_NONE);
    cm_graph *step = step_of(g, CM_PRECISION_FP32, true);
    list(cm__dispatch_new(ctx, step, CM_LAYOUT_NCHW, CM_RUNTIME_TORCH_COMPILE), 2, &got);
    int32_t count = got.count;
    cm_graph_free(step);
    cm__ctx_free(ctx);
    return count;
}

static void readers_compute_what_nothing_else_needs(void **state)
{
    (void)state;
    assert_int_equal(kernels(false), 2);
    assert_int_equal(kernels(true), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(readers_compute_what_nothing_else_needs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
