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

/* The fullest expert-parallel device computes X times the experts' work of a balanced one, and the same of the rest. */
static void imbalanced(void **state)
{
    (void)state;
    cm__ctx *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s", diag.reason);
    static const char model[] = "mixtral:layers=2,hidden=64,heads=4,kv_heads=4,ffn=128,seq=64,vocab=512";
    cm_graph     *step = step_of(model, CM_RECOMPUTE_NONE);
    cm_plan       even = {.tp = 1, .ep = 4}, uneven = {.tp = 1, .ep = 4, .expert_imbalance = 1.5};
    cm__dispatch *a = cm__dispatch_shard(ctx, step, CM_LAYOUT_AUTO, CM_RUNTIME_MEGATRON, &even, true);
    cm__dispatch *b = cm__dispatch_shard(ctx, step, CM_LAYOUT_AUTO, CM_RUNTIME_MEGATRON, &uneven, true);
    double        routed = 2 * 64 * 2; /* two samples of 64 tokens, two experts each */
    double        experts = 2 * 3.0 * 3 * 2 * routed * 64 * 128; /* layers, products, passes, FLOP, tokens, sizes */
    is(flop_of(b) - flop_of(a), 0.5 * experts);
    cm_graph_free(step);
    cm__ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(divided),
        cmocka_unit_test(imbalanced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
