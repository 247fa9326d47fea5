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
    assert_ptr_not_equal(cm__shared_memory(s, g, a, CM_RUNTIME_MEGATRON, &one),
                         cm__shared_memory(s, g, a, CM_RUNTIME_MEGATRON, &other));
    other.tp = 1;
    assert_ptr_not_equal(calls, cm__shared_common(s, g, a, CM_RUNTIME_MEGATRON, &other));
    assert_non_null(cm__shared_lean(s, g));
    cm__ctx_free(ctx);
    cm_graph_free(forward);
    cm_device_free(a);
    cm_device_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(shared)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
