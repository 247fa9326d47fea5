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

static void same_dispatch(const cm__dispatch *taken, const cm__dispatch *again)
{
    assert_int_equal(taken->n_calls, again->n_calls);
    assert_int_equal(taken->n_of, again->n_of);
    assert_int_equal(taken->calls_before, again->calls_before);
    assert_int_equal(taken->of_before, again->of_before);
    assert_memory_equal(taken->calls, again->calls, (size_t)again->n_calls * sizeof *again->calls);
    assert_memory_equal(taken->runs, again->runs, (size_t)again->n_calls * sizeof *again->runs);
    assert_memory_equal(taken->of, again->of, (size_t)again->n_of * sizeof *again->of);
    assert_memory_equal(taken->node, again->node, (size_t)again->n_of * sizeof *again->node);
    is(taken->shards.update, again->shards.update);
}

/* A plan with another update: the same calls whether the layers are dispatched again or taken over. */
static void like(void **state)
{
    (void)state;
    cm__ctx *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s", diag.reason);
    static const cm_runtime runtimes[] = {CM_RUNTIME_TORCH_EAGER, CM_RUNTIME_MEGATRON};
    cm_graph *small = step_of(GPT, CM_RECOMPUTE_NONE), *large = step_of("efficientnet-b4", CM_RECOMPUTE_NONE);
    for (int i = 0; i < 6; i++) {
        cm_graph     *step = i < 4 ? small : large; /* of more than 512 calls */
        cm_runtime    runtime = runtimes[i % 2];
        cm_plan       layers = {.tp = i < 4 ? 1 + i / 2 : 1, .ep = 1, .cp = 1}, plan = layers;
        cm__dispatch *first = cm__dispatch_shard(ctx, step, CM_LAYOUT_AUTO, runtime, &layers, false);
        plan.pp = 3, plan.dp = 4, plan.zero = 1;
        cm__dispatch *again = cm__dispatch_shard(ctx, step, CM_LAYOUT_AUTO, runtime, &plan, false);
        cm__dispatch *taken = cm__dispatch_like(ctx, first, &plan);
        same_dispatch(taken, again);
    }
    cm__dispatch *fused = cm__dispatch_new(ctx, small, CM_LAYOUT_AUTO, CM_RUNTIME_TORCH_COMPILE);
    assert_null(cm__dispatch_like(ctx, fused, &(cm_plan){.tp = 1}));
    cm_graph_free(small);
    cm_graph_free(large);
    cm__ctx_free(ctx);
}

/* A plan that divides layers in another way: the same calls whether the rules make them again, or the calls of another
   plan are divided anew. Each dispatch is made from the one before it. */
static void divided_again(void **state)
{
    static const cm_plan plans[] = {{.tp = 1, .ep = 1, .cp = 1}, {.tp = 2, .ep = 1, .cp = 1},
                                    {.tp = 4, .ep = 1, .cp = 2, .sequence_parallel = true},
                                    {.tp = 2, .ep = 4, .cp = 2, .pp = 2, .dp = 8, .zero = 1},
                                    {.tp = 1, .ep = 2, .cp = 4}, {.tp = 4, .ep = 8, .cp = 1}};
    static const cm_runtime runtimes[] = {CM_RUNTIME_TORCH_EAGER, CM_RUNTIME_MEGATRON};
    static const char model[] = "mixtral:layers=3,hidden=64,heads=4,kv_heads=4,ffn=128,seq=64,vocab=512";
    (void)state;
    cm__ctx *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s", diag.reason);
    cm_graph *step = step_of(model, CM_RECOMPUTE_FULL);
    for (int i = 0; i < 4; i++) {
        bool                math = i / 2;
        const cm__dispatch *last = NULL;
        for (size_t p = 0; p < sizeof plans / sizeof *plans; p++) {
            cm__dispatch *again = cm__dispatch_shard(ctx, step, CM_LAYOUT_AUTO, runtimes[i % 2], &plans[p], math);
            last = cm__dispatch_twins(ctx, step, CM_LAYOUT_AUTO, runtimes[i % 2], &plans[p], math, NULL, last);
            same_dispatch(last, again);
        }
    }
    cm_graph_free(step);
    cm__ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(divided),
        cmocka_unit_test(imbalanced),
        cmocka_unit_test(like),
        cmocka_unit_test(divided_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
