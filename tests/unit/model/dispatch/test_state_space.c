/* SPDX-License-Identifier: Apache-2.0 */
/* test_state_space.c - kernel calls of state-space layers. */
#include "dispatch_calls.h"

static void count(const char *text, const char *const *calls, const int *expected, int n)
{
    static listed got;
    cm_graph     *g, *step;
    cm__ctx      *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s: %s", diag.place, diag.reason);
    assert_int_equal(cm_graph_load(text, NULL, &g, &diag), CM_OK);
    step = step_of(g, CM_PRECISION_FP32, false);
    list(cm__dispatch_new(ctx, step, CM_LAYOUT_AUTO, CM_RUNTIME_TORCH_EAGER), 3, &got);
    for (int i = 0; i < n; i++) assert_int_equal(times(&got, calls[i]), expected[i]);
    cm_graph_free(step);
    cm_graph_free(g);
    cm__ctx_free(ctx);
}

/* 3 samples of 64 tokens in chunks of 16: 12 chunks of 8 heads. */
static void chunks_are_batched_products(void **state)
{
    static const char *const calls[] = {"gemm forward nn fp32 12,16,16,32", "gemm forward nn fp32 96,64,32,16",
                                        "gemm forward nn fp32 96,16,64,40", "gemm forward nn fp32 96,16,32,64",
                                        "gemm forward nn fp32 96,16,8,64", "gemm forward nn fp32 12,16,32,16"};
    (void)state;
    count("hybrid:layers=1,hidden=256,heads=4,seq=64,vocab=0,head=none,pattern=S,state_size=32,state_chunk=16", calls,
          (int[]){2, 3, 2, 2, 1, 2}, 6);
}

/* Without products there are only those of the four projections: 3 passes each. */
static void a_recurrence_has_no_products(void **state)
{
    static const char *const calls[] = {"gemm forward nn fp32 12", "gemm forward nn fp32 96"};
    (void)state;
    count("hybrid:layers=1,hidden=256,heads=4,seq=64,vocab=0,head=none,pattern=S,state_kind=mamba", calls, (int[]){0, 0},
          2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(chunks_are_batched_products),
                                       cmocka_unit_test(a_recurrence_has_no_products)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
