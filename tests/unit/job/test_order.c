/* SPDX-License-Identifier: Apache-2.0 */
/* test_order.c - order, limits and the Pareto front of entries. */
#include "job_case.h"

#define NEAR 1.02 /* as in src/job/order.c: what an earlier end may cost at one place */
#define DAY 86400.0

static void limits(void **state)
{
    (void)state;
    cm_job *all = job_of(GPT, h100(8));
    double  fastest = INFINITY;
    for (int32_t i = 0; i < cm_job_placed(all); i++) {
        const cm_job_entry *e = cm_job_get_entry(all, i);
        fastest = fmin(fastest, e->time_s);
        if (i) assert_true(cm_job_get_entry(all, i - 1)->cost_usd <= NEAR * e->cost_usd); /* by cost: prices are known */
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

/* All entries are of one place. The first is the fastest of those that cost at most 2 % more than the cheapest. */
static void near(void **state)
{
    (void)state;
    cm_job             *j = job_of(GPT, h100(8));
    const cm_job_entry *first = cm_job_get_entry(j, 0);
    double              least = INFINITY;
    assert_true(first->best_here && cm_job_placed(j) > 1);
    for (int32_t i = 0; i < cm_job_placed(j); i++) least = fmin(least, cm_job_get_entry(j, i)->cost_usd);
    assert_true(first->cost_usd <= NEAR * least);
    for (int32_t i = 1; i < cm_job_placed(j); i++) {
        const cm_job_entry *e = cm_job_get_entry(j, i);
        assert_true(e->cost_usd > NEAR * least || e->time_s >= first->time_s);
        assert_false(e->best_here);
    }
    cm_job_free(j);
}

/* Without a deadline, what would take more than 120 days is not ranked if something else is faster. */
static void longest(void **state)
{
    (void)state;
    cm_job_options o = h100(8);
    cm_job        *j = job_of(GPT, o);
    double         fast_s = INFINITY, slow_s = 0;
    assert_false(cm_job_get_info(j)->within_assumed);
    for (int32_t i = 0; i < cm_job_placed(j); i++) {
        fast_s = fmin(fast_s, cm_job_get_entry(j, i)->time_s);
        slow_s = fmax(slow_s, cm_job_get_entry(j, i)->time_s);
    }
    cm_job_free(j);
    o.rank.samples *= 120 * DAY / sqrt(fast_s * slow_s); /* the fastest takes less, the slowest more */
    j = job_of(GPT, o);
    assert_true(cm_job_get_info(j)->within_assumed && cm_job_get_info(j)->within_s == 120 * DAY);
    assert_true(cm_job_placed(j) > 0 && cm_job_placed(j) < cm_job_entries(j));
    for (int32_t i = 0; i < cm_job_placed(j); i++) assert_true(cm_job_get_entry(j, i)->time_s <= 120 * DAY);
    cm_job_free(j);
    o.within_s = 1e5 * DAY;
    j = job_of(GPT, o);
    assert_true(!cm_job_get_info(j)->within_assumed && cm_job_placed(j) == cm_job_entries(j));
    cm_job_free(j);
    o.within_s = 0;
    o.rank.samples *= 1e3; /* everything takes longer: nothing is assumed */
    j = job_of(GPT, o);
    assert_true(!cm_job_get_info(j)->within_assumed && cm_job_placed(j) == cm_job_entries(j));
    cm_job_free(j);
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
                                       cmocka_unit_test(near),
                                       cmocka_unit_test(longest),
                                       cmocka_unit_test(front),
                                       cmocka_unit_test(fewest)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
