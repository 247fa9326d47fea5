/* SPDX-License-Identifier: Apache-2.0 */
/* test_counts.c - the best plan in common use for several numbers of devices. */
#include "plan_case.h"
#include "plan/search.h"

/* For each count the search of all plans finds nothing much better, and nothing is offloaded. */
static void best(void **state)
{
    (void)state;
    cm__ctx *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s", diag.reason);
    cm_device *d = a100();
    cm_fabric *f = fabric_of(d);
    cm_graph  *forward = loaded(GPT);
    cm_search_options o = {.global_batch = 64, .runtime = CM_RUNTIME_MEGATRON, .fabric = f, .threads = 1,
                           .train = {.precision = CM_PRECISION_FP16, .master = true}};
    cm__count counts[] = {{.devices = 1}, {.devices = 4}, {.devices = 16}, {.devices = 7}};
    cm__search_counts(ctx, forward, d, &o, cm__plan_shared_new(ctx), counts, 4);
    for (int i = 0; i < 3; i++) {
        const cm_plan *p = &counts[i].best.found.plan;
        cm_search     *all;
        assert_true(counts[i].fits);
        assert_int_equal(p->tp * p->cp * p->pp * p->dp, counts[i].devices);
        assert_true(p->tp <= 8 && p->zero <= 1 && !p->offload_optimizer && !p->offload_activations && !p->gpipe);
        o.devices = counts[i].devices;
        if (cm_search_run(forward, d, &o, &all, &diag)) fail_msg("%s", diag.reason);
        double least = cm_search_plan(all, 0)->step_time_s, got = counts[i].best.found.step_time_s;
        if (!(got >= least && got < 1.25 * least)) fail_msg("%d devices: %g s, all plans: %g s", o.devices, got, least);
        cm_search_free(all);
    }
    assert_false(counts[3].fits); /* 7 divides neither the batch nor the heads */
    assert_non_null(strstr(counts[3].reason, "among 7 devices"));
    cm_graph_free(forward);
    cm__ctx_free(ctx);
    cm_fabric_free(f);
    cm_device_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(best)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
