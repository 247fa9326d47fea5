/* SPDX-License-Identifier: Apache-2.0 */
/* test_job.c - a job is the same in one and in several threads, and agrees with a prediction of its plan. */
#include "job_case.h"

static void threads(void **state)
{
    (void)state;
    cm_job_options o = {.max_devices = 8, .global_batch = 64, .rank = {.samples = 12800, .provider = "AWS", .threads = 1}};
    cm_job *one = job_of(GPT, o);
    o.rank.threads = 4;
    cm_job *four = job_of(GPT, o);
    assert_int_equal(cm_job_entries(one), cm_job_entries(four));
    for (int32_t i = 0; i < cm_job_placed(one); i++)
        assert_true(cm_job_get_entry(one, i)->time_s == cm_job_get_entry(four, i)->time_s);
    cm_job_free(one);
    cm_job_free(four);
}

static void same_as_step(void **state)
{
    (void)state;
    cm_job *j = job_of(GPT, h100(8));
    for (int32_t i = 0; i < cm_job_placed(j); i++) {
        const cm_job_entry *e = cm_job_get_entry(j, i);
        cm_device          *device;
        cm_fabric          *fabric;
        cm_step            *step;
        cm_prediction_info  info;
        assert_int_equal(cm_device_load("nvidia-h100", &device, &diag), CM_OK);
        assert_int_equal(cm_fabric_new(device, e->cluster, &fabric, &diag), CM_OK);
        cm_step_options o = {.plan = e->at.prediction.plan, .fabric = fabric};
        if (cm_step_new(GPT, device, &o, &step, &diag)) fail_msg("%s", diag.reason);
        if (cm_step_time(step, o.plan.micro_batch, &info, &diag)) fail_msg("%s", diag.reason);
        assert_true(info.step_time_s == e->at.prediction.step_time_s); /* to the last digit */
        cm_step_free(step);
        cm_fabric_free(fabric);
        cm_device_free(device);
    }
    cm_job_free(j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(threads),
                                       cmocka_unit_test(same_as_step)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
