/* SPDX-License-Identifier: Apache-2.0 */
/* test_tensor_parallel.c - the part of each layer that one device runs. */
#include "plan_case.h"

/* Every product is divided exactly once, forward and backward, by columns, rows or heads. */
static void divided(void **state)
{
    (void)state;
    cm__ctx *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s", diag.reason);
    static const char *const models[] = {GPT, "llama:layers=3,hidden=256,heads=8,kv_heads=8,seq=64,vocab=512"};
    for (int m = 0; m < 2; m++) {
        cm_graph     *step = step_of(models[m], CM_RECOMPUTE_FULL);
        cm__dispatch *whole = cm__dispatch_new(ctx, step, CM_LAYOUT_AUTO, CM_RUNTIME_MEGATRON);
        for (int tp = 2; tp <= 8; tp *= 2) {
            cm_plan       plan = {.tp = tp, .ep = 1};
            cm__dispatch *part = cm__dispatch_shard(ctx, step, CM_LAYOUT_AUTO, CM_RUNTIME_MEGATRON, &plan, true);
            is(flop_of(part) * tp, flop_of(whole));
            assert_int_equal(part->n_of, whole->n_of);
        }
        cm_graph_free(step);
    }
    cm__ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(divided),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
