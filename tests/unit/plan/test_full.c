/* SPDX-License-Identifier: Apache-2.0 */
/* test_full.c - plans predicted on several threads have the numbers of plans predicted one by one. */
#include "plan_case.h"
#include "plan/search.h"

#define PLANS 7

static void same(void **state)
{
    (void)state;
    cm__ctx *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s", diag.reason);
    cm_device *d = a100();
    cm_fabric *f = fabric_of(d);
    cm_graph  *forward = loaded(GPT);
    cm_search_options o = on_four_devices(f);
    cm__model  *m = cm__model_for(ctx, forward, d, &o, cm__plan_shared_new(ctx));
    cm__finding finding = {.ctx = ctx, .o = &o, .forward = forward, .device = d, .m = m, .iterations = 1, .usd_s = 3,
                           .watts = 5};
    for (int32_t threads = 1; threads <= 3; threads++) {
        cm__tried tried[PLANS] = {{.how = CM__TRY_NONE}}, *all[PLANS];
        for (int i = 0; i < PLANS; i++) {
            int64_t batch = i == 5 ? 1 << 20 : 1 << i % 3; /* one of them does not fit */
            all[i] = &tried[i];
            tried[i].plan = (cm_plan){.devices = 4, .tp = 1 + i % 2, .cp = 1, .ep = 1, .pp = 1, .dp = i % 2 ? 2 : 4,
                                      .interleave = 1, .micro_batch = batch, .accumulate = 1,
                                      .global_batch = batch * (i % 2 ? 2 : 4)};
        }
        cm__try_plans(&finding, all, PLANS, threads);
        for (int i = 0; i < PLANS; i++) {
            cm__outcome out;
            bool        fits = cm__find_plan(&finding, &tried[i].plan, NULL, &out);
            assert_int_equal(fits, i != 5);
            assert_int_equal(tried[i].how, fits ? CM__TRY_FITS : CM__TRY_EXCEEDS);
            if (fits) assert_true(tried[i].out.found.step_time_s == out.found.step_time_s);
            if (fits) assert_true(tried[i].out.found.peak_bytes == out.found.peak_bytes);
        }
    }
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
