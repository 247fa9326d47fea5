/* SPDX-License-Identifier: Apache-2.0 */
/* test_entries.c - time, cost, energy and CO2 of a job follow from its step; instances are paid for whole. */
#include "job_case.h"

static void numbers(void **state)
{
    (void)state;
    cm_job *j = job_of(GPT, h100(8));
    for (int32_t i = 0; i < cm_job_entries(j); i++) {
        const cm_job_entry *e = cm_job_get_entry(j, i);
        if (!e->at.fits) continue;
        is(e->time_s, 12800 / 64.0 * e->at.prediction.step_time_s);
        is(e->cost_usd, e->time_s / 3600 * 2 * e->n);
        is(e->interval_s[1], 200 * e->at.prediction.interval_s[1]);
        is(e->energy_j, e->at.power_w * e->time_s);
        is(e->co2_kg, e->energy_j / 3.6e6 * 0.473);
        assert_int_equal(e->at.prediction.plan.devices, e->n);
        assert_true(e->interval_s[0] < e->time_s && e->time_s < e->interval_s[1]);
    }
    cm_job_free(j);
}

/* A TPU v5p is sold in hosts of four chips. */
static void whole_instances(void **state)
{
    (void)state;
    cm_job *j = job_of(GPT, (cm_job_options){.max_devices = 8, .global_batch = 64,
                                             .rank = {.samples = 12800, .devices = "google-tpu-v5p"}});
    for (int32_t i = 0; i < cm_job_entries(j); i++) {
        assert_int_equal(cm_job_get_entry(j, i)->paid % 4, 0);
        assert_int_equal(cm_job_get_entry(j, i)->n % 4, 0);
    }
    cm_job_free(j);
}

static void interrupted(void **state)
{
    (void)state;
    cm_job_options o = {.max_devices = 8, .global_batch = 64,
                        .rank = {.samples = 12800, .provider = "Nebius", .price_basis = CM_BASIS_SPOT}};
    cm_job *j = job_of(GPT, o);
    assert_true(cm_job_placed(j) > 0);
    for (int32_t i = 0; i < cm_job_placed(j); i++) {
        const cm_job_entry *e = cm_job_get_entry(j, i);
        assert_true(e->overhead > 0 && e->checkpoint_s > 0);
        is(e->time_s, (1 + e->overhead) * 200 * e->at.prediction.step_time_s);
    }
    cm_job_free(j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(numbers),
                                       cmocka_unit_test(whole_instances),
                                       cmocka_unit_test(interrupted)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
