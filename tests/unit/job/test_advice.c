/* SPDX-License-Identifier: Apache-2.0 */
/* test_advice.c - which limit to relax: with the relaxed limit something is ranked. */
#include "job_case.h"

static void check(cm_job_options o, int32_t expected)
{
    cm_job *j = job_of(GPT, o);
    assert_int_equal(cm_job_placed(j), 0);
    assert_int_equal(cm_job_advices(j), expected);
    for (int32_t i = 0; i < cm_job_advices(j); i++) {
        const cm_job_advice *a = cm_job_get_advice(j, i);
        cm_job_options       relaxed = o;
        if (!isnan(a->within_s)) relaxed.within_s = a->within_s;
        if (!isnan(a->budget_usd)) relaxed.budget_usd = a->budget_usd;
        cm_job *again = job_of(GPT, relaxed);
        assert_true(cm_job_placed(again) > 0);
        cm_job_free(again);
    }
    cm_job_free(j);
}

static void relaxed(void **state)
{
    (void)state;
    cm_job_options o = h100(8);
    o.within_s = 1e-3;
    check(o, 1);
    o.budget_usd = 1e-6;
    check(o, 1); /* neither limit alone is enough: both are relaxed */
    o.within_s = 1e9;
    check(o, 1);
    cm_job *j = job_of(GPT, h100(8));
    assert_int_equal(cm_job_advices(j), 0);
    cm_job_free(j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(relaxed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
