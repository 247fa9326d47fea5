/* SPDX-License-Identifier: Apache-2.0 */
/* test_shared.c - searches share graphs, calls and memory if everything that decides them is equal. */
#include "plan_case.h"
#include "plan/search.h"

static void shared(void **state)
{
    (void)state;
    cm__ctx *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s", diag.reason);
    cm__plan_shared *s = cm__plan_shared_new(ctx);
    cm_device       *a = a100(), *b;
    if (cm_device_load("nvidia-a100-40g", &b, &diag)) fail_msg("%s", diag.reason);
    cm_graph        *forward = loaded(GPT);
    cm_train_options fp16 = {.precision = CM_PRECISION_FP16}, bf16 = {.precision = CM_PRECISION_BF16};
    const cm_graph  *g = cm__shared_graph(s, forward, &fp16);
    assert_ptr_equal(g, cm__shared_graph(s, forward, &fp16));
    assert_ptr_not_equal(g, cm__shared_graph(s, forward, &bf16));
    cm_plan           one = {.devices = 2, .tp = 2, .cp = 1, .ep = 1, .pp = 1, .dp = 1, .micro_batch = 2}, other = one;
    const cm__common *calls = cm__shared_common(s, g, a, CM_RUNTIME_MEGATRON, &one);
    other.micro_batch = 4; /* does not divide a layer */
    assert_ptr_equal(calls, cm__shared_common(s, g, b, CM_RUNTIME_MEGATRON, &other));
    const cm_footprint *memory = cm__shared_memory(s, g, a, CM_RUNTIME_MEGATRON, &one);
    assert_ptr_equal(memory, cm__shared_memory(s, g, a, CM_RUNTIME_MEGATRON, &other)); /* without stages */
    other.accumulate = 2; /* gradients outlive backward */
    assert_ptr_not_equal(memory, cm__shared_memory(s, g, a, CM_RUNTIME_MEGATRON, &other));
    other.tp = 1;
    assert_ptr_not_equal(calls, cm__shared_common(s, g, a, CM_RUNTIME_MEGATRON, &other));
    assert_non_null(cm__shared_script(s, g));
    cm__ctx_free(ctx);
    cm_graph_free(forward);
    cm_device_free(a);
    cm_device_free(b);
}

/* A plan that takes the pieces of another plan's step has the memory that it has alone. */
static void divided_alike(void **state)
{
    (void)state;
    cm__ctx *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s", diag.reason);
    cm__plan_shared *s = cm__plan_shared_new(ctx);
    cm_device       *a = a100();
    cm_graph        *forward = loaded(GPT);
    const cm_graph  *step = cm__shared_graph(s, forward, &(cm_train_options){.precision = CM_PRECISION_FP16,
                                                                             .master = true});
    for (int i = 0; i < 8; i++) {
        cm_plan plan = {.devices = 8, .tp = i % 2 ? 2 : 1, .cp = 1, .ep = 1, .pp = 1, .dp = i % 2 ? 4 : 8, .zero = i / 2,
                        .micro_batch = 2, .accumulate = 1 + i % 3};
        const cm_memory_options options = {.runtime = CM_RUNTIME_TORCH_EAGER, .plan = plan, .layout = a->layout};
        const cm_footprint     *with = cm__shared_memory(s, step, a, CM_RUNTIME_TORCH_EAGER, &plan);
        cm_footprint           *alone;
        cm_memory_use           use[2];
        if (cm_footprint_new(step, a, &options, &alone, &diag)) fail_msg("%s", diag.reason);
        cm_footprint_at(with, 2, &use[0]);
        cm_footprint_at(alone, 2, &use[1]);
        assert_true(use[0].peak_bytes == use[1].peak_bytes);
        for (int c = 0; c < CM_CATEGORIES; c++) assert_true(use[0].categories[c] == use[1].categories[c]);
        if (cm_footprint_simulate(with, 2, &use[0], &diag) || cm_footprint_simulate(alone, 2, &use[1], &diag))
            fail_msg("%s", diag.reason);
        assert_true(use[0].peak_bytes == use[1].peak_bytes && use[0].reserved_bytes == use[1].reserved_bytes);
        cm_footprint_free(alone);
    }
    cm__ctx_free(ctx);
    cm_graph_free(forward);
    cm_device_free(a);
}

/* Costs are not kept for a graph that the search made itself: when it is freed, another graph may get its address. */
static void of_own_graphs(void **state)
{
    (void)state;
    cm__ctx *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s", diag.reason);
    cm__plan_shared *s = cm__plan_shared_new(ctx);
    cm_device       *a = a100();
    cm_graph        *step = step_of(GPT, CM_RECOMPUTE_NONE);
    cm_plan          plan = {.devices = 2, .tp = 2, .cp = 1, .ep = 1, .pp = 1, .dp = 1, .micro_batch = 2};
    assert_null(cm__shared_model(s, step, CM_RUNTIME_TORCH_EAGER));
    assert_null(cm__shared_memory(s, step, a, CM_RUNTIME_TORCH_EAGER, &plan));
    assert_null(cm__shared_common(s, step, a, CM_RUNTIME_TORCH_EAGER, &plan));
    assert_null(cm__shared_layers(s, step, a, CM_RUNTIME_TORCH_EAGER, &plan));
    cm__ctx_free(ctx);
    cm_graph_free(step);
    cm_device_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(shared), cmocka_unit_test(divided_alike),
                                       cmocka_unit_test(of_own_graphs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
