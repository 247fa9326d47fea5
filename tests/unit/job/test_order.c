/* SPDX-License-Identifier: Apache-2.0 */
/* test_order.c - order, limits and the Pareto front of entries. */
#include "job_case.h"

static void limits(void **state)
{
    (void)state;
    cm_job *all = job_of(GPT, h100(8));
    double  fastest = INFINITY;
    for (int32_t i = 0; i < cm_job_placed(all); i++) {
        const cm_job_entry *e = cm_job_get_entry(all, i);
        fastest = fmin(fastest, e->time_s);
        if (i) assert_true(cm_job_get_entry(all, i - 1)->cost_usd <= e->cost_usd); /* by cost: prices are known */
    }
    cm_job_options o = h100(8);
    o.within_s = fastest * 1.0001;
    cm_job *timely = job_of(GPT, o);
    assert_in_range(cm_job_placed(timely), 1, cm_job_placed(all) - 1);
    for (int32_t i = 0; i < cm_job_entries(timely); i++) {
        const cm_job_entry *e = cm_job_get_entry(timely, i);
        assert_true(e->at.state == CM_RANK_PLACED ? e->time_s <= o.within_s : e->at.reason != NULL);
    }
    cm_job_free(timely);
    cm_job_free(all);
}

/* An entry is on the front if no other one is at least as good in both and better in one. */
static void front(void **state)
{
    (void)state;
    cm_job *j = job_of(GPT, h100(8));
    for (int32_t i = 0; i < cm_job_placed(j); i++) {
        const cm_job_entry *e = cm_job_get_entry(j, i);
        bool                beaten = false;
        for (int32_t k = 0; k < cm_job_placed(j); k++) {
            const cm_job_entry *o = cm_job_get_entry(j, k);
            beaten |= o->time_s <= e->time_s && o->cost_usd <= e->cost_usd && (o->time_s < e->time_s || o->cost_usd < e->cost_usd);
        }
        assert_int_equal(e->at.pareto, !beaten);
        is(e->at.break_even_price_hour * e->paid * e->at.hours, cm_job_get_entry(j, 0)->cost_usd);
    }
    cm_job_free(j);
}

static void fewest(void **state)
{
    (void)state;
    cm_job_options o = h100(8);
    o.rank.objective = CM_OBJECTIVE_DEVICES;
    cm_job *j = job_of(GPT, o);
    for (int32_t i = 1; i < cm_job_placed(j); i++)
        assert_true(cm_job_get_entry(j, i - 1)->n <= cm_job_get_entry(j, i)->n);
    cm_job_free(j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(limits),
                                       cmocka_unit_test(front),
                                       cmocka_unit_test(fewest)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
