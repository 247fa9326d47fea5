/* SPDX-License-Identifier: Apache-2.0 */
/* test_layers.c - the parts of a step, with the host time of their collectives. */
#include "plan_case.h"

/* The host launches two all-reduces forward and two backward per layer, prepares each micro-batch, and uses a
   buffer. */
static void megatron_host(void **state)
{
    (void)state;
    cm__ctx *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s", diag.reason);
    cm_device         *d = a100();
    cm_fabric         *f = fabric_of(d);
    cm_graph          *step = step_of(GPT, CM_RECOMPUTE_NONE);
    double             host[2];
    for (int shared = 0; shared < 2; shared++) {
        cm_predict_options options = {.runtime = CM_RUNTIME_MEGATRON, .plan = {.tp = shared ? 2 : 1, .ep = 1}};
        cm__step_model     m = cm__step_model_new(ctx, step, d, &options, NULL);
        cm__timed         *timed = cm__alloc_array(ctx, (size_t)m.calls->n_calls, sizeof *timed);
        cm__parts          parts = cm__parts_new(ctx, &m, f, 1, 1, timed);
        host[shared] = parts.all[2].host_s;
        assert_true(parts.buffered && parts.accumulate_s > 0 && parts.batch_host_s == m.host_batch_s);
        if (shared) is(host[1] - host[0], 4 * m.host_collective_s);
    }
    cm_graph_free(step);
    cm__ctx_free(ctx);
    cm_fabric_free(f);
    cm_device_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(megatron_host),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
