/* SPDX-License-Identifier: Apache-2.0 */
/* test_found.c - a plan predicted in full has the numbers of a prediction with that plan. */
#include "plan_case.h"
#include "plan/search.h"

static void same(void **state)
{
    (void)state;
    cm__ctx *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s", diag.reason);
    cm_device *d = a100();
    cm_fabric *f = fabric_of(d);
    cm_graph  *forward = loaded(GPT);
    cm_search_options o = on_four_devices(f);
    cm_plan     plan = {.devices = 4, .tp = 2, .cp = 1, .ep = 1, .pp = 1, .dp = 2, .interleave = 1, .micro_batch = 4,
                        .accumulate = 2, .global_batch = 16};
    cm__finding finding = {.ctx = ctx, .o = &o, .forward = forward, .device = d, .m = cm__model_for(ctx, forward, d, &o, NULL),
                           .iterations = 10, .usd_s = 3, .watts = 5};
    cm__outcome out;
    assert_true(cm__find_plan(&finding, &plan, NULL, &out));
    cm_graph          *step = step_of(GPT, CM_RECOMPUTE_NONE);
    cm_prediction_info info = predicted(step, d, f, plan);
    assert_true(out.info.step_time_s == info.step_time_s);
    is(out.found.cost_usd, info.step_time_s * 10 * 4 * 3);
    assert_int_equal(out.found.plan.devices, 4);
    finding.slowest_s = info.step_time_s; /* as fast as this: not wanted */
    assert_false(cm__find_plan(&finding, &plan, NULL, &out));
    finding.slowest_s = 1.001 * info.step_time_s;
    assert_true(cm__find_plan(&finding, &plan, NULL, &out));
    assert_true(out.info.step_time_s == info.step_time_s && out.use.fits);
    cm_graph_free(step);
    cm_graph_free(forward);
    cm_fabric_free(f);
    cm__ctx_free(ctx);
    cm_device_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(same)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
