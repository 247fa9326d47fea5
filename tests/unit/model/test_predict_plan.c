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

/* Copies on a device that skips zeros sum the gradients of the weights that remain; on another, all gradients. */
static void pruned_weights_are_not_summed(void **state)
{
    (void)state;
    const char *devices[] = {"cerebras-cs2-wafer", "graphcore-gc200"};
    cm_graph   *step = step_of("mlp:in=4000,hidden=4000,out=4000", CM_RECOMPUTE_NONE);
    for (int i = 0; i < 2; i++) {
        cm_device *d;
        if (cm_device_load(devices[i], &d, &diag)) fail_msg("%s", diag.reason);
        cm_fabric *f = fabric_of(d);
        double     sum_s[2];
        for (int sparse = 0; sparse < 2; sparse++) {
            cm_predict_options o = {.batch = 8, .plan = {.dp = 2, .devices = 2}, .fabric = f,
                                    .sparsity.pruned = 0.9 * sparse};
            cm_prediction     *p;
            if (cm_predict(step, d, &o, &p, &diag)) fail_msg("%s", diag.reason);
            sum_s[sparse] = cm_prediction_get_info(p)->data_s;
            cm_prediction_free(p);
        }
        assert_true(sum_s[0] > 0);
        if (i == 0) assert_true(sum_s[1] < 0.2 * sum_s[0]); /* biases are not pruned, and a sum has a latency */
        else is(sum_s[1], sum_s[0]);
        cm_fabric_free(f);
        cm_device_free(d);
    }
    cm_graph_free(step);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_a_plan),
        cmocka_unit_test(refused),
        cmocka_unit_test(pruned_weights_are_not_summed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
