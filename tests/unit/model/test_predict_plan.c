/* SPDX-License-Identifier: Apache-2.0 */
/* test_predict_plan.c - predictions of plans over several devices, and plans that are refused. */
#include "plan_case.h"

static void of_a_plan(void **state)
{
    (void)state;
    cm_device         *d = a100();
    cm_fabric         *f = fabric_of(d);
    cm_graph          *step = step_of(GPT, CM_RECOMPUTE_NONE);
    cm_prediction_info one = predicted(step, d, f, (cm_plan){.micro_batch = 2, .global_batch = 16});
    cm_plan            eight = {.tp = 2, .pp = 2, .dp = 2, .micro_batch = 2, .global_batch = 16};
    cm_prediction_info all = predicted(step, d, f, eight);
    assert_int_equal(one.plan.accumulate, 8);
    assert_int_equal(all.plan.accumulate, 4);
    assert_int_equal(all.devices, 8);
    assert_true(one.tensor_s == 0 && one.pipeline_s == 0 && one.data_s == 0 && one.bubble_s == 0);
    assert_true(all.tensor_s > 0 && all.pipeline_s > 0 && all.data_s > 0 && all.bubble_s > 0);
    assert_true(all.interval_s[0] < all.step_time_s && all.step_time_s < all.interval_s[1]);
    is(all.throughput_samples_s, 16 / all.step_time_s);
    /* twice the micro-batches: the time grows by theirs */
    eight.global_batch = 32;
    cm_prediction_info more = predicted(step, d, f, eight);
    is(more.bubble_s, all.bubble_s);
    is(more.tensor_s, 2 * all.tensor_s);
    cm_graph_free(step);
    cm_fabric_free(f);
    cm_device_free(d);
}

static void refused(void **state)
{
    (void)state;
    cm_device    *d = a100();
    cm_fabric    *f = fabric_of(d), *node;
    cm_graph     *step = step_of(GPT, CM_RECOMPUTE_NONE);
    cm_prediction *p;
    if (cm_fabric_new(d, "node=8", &node, &diag)) fail_msg("%s", diag.reason);
    const struct {
        cm_plan          plan;
        const cm_fabric *fabric;
    } bad[] = {{{.tp = 2, .pp = 2, .dp = 2, .devices = 9}, f},
               {{.dp = 4, .micro_batch = 3, .global_batch = 16}, f},
               {{.pp = 8, .micro_batch = 1, .global_batch = 8}, f},
               {{.dp = 2, .micro_batch = 1, .global_batch = 8}, NULL},
               {{.dp = 64, .micro_batch = 1, .global_batch = 64}, node},
               {{.tp = -1}, f}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        cm_predict_options o = {.runtime = CM_RUNTIME_MEGATRON, .plan = bad[i].plan, .fabric = bad[i].fabric};
        if (bad[i].plan.tp < 0) o.plan.dp = 2;
        if (cm_predict(step, d, &o, &p, &diag) != CM_ERR_ARGUMENT) fail_msg("plan %zu is taken", i);
    }
    cm_fabric_free(node);
    cm_graph_free(step);
    cm_fabric_free(f);
    cm_device_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_a_plan),
        cmocka_unit_test(refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
