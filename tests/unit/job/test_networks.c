/* SPDX-License-Identifier: Apache-2.0 */
/* test_networks.c - a whole job of several networks: sums of their jobs on the same devices, limits of the sum, and what keeps
   an entry from its place. */
#include "job_case.h"

#define OTHER "gpt:layers=2,hidden=128,heads=4,seq=64,vocab=512"
#define HUGE  "gpt:layers=96,hidden=12288,heads=96,seq=2048,vocab=50257"

static cm_job *job_of_both(const char *second, cm_job_options o)
{
    const cm_network n[] = {{.model = GPT, .weight = 2, .options = o.rank}, {.model = second, .weight = 0.5, .options = o.rank}};
    cm_job          *j;
    if (cm_job_run_all(n, 2, &o, &j, &diag)) fail_msg("%s: %s", diag.place, diag.reason);
    return j;
}

static void sums(void **state)
{
    (void)state;
    cm_job *one = job_of(GPT, h100(8)), *other = job_of(OTHER, h100(8)), *both = job_of_both(OTHER, h100(8));
    assert_int_equal(cm_job_networks(one), 0);
    assert_int_equal(cm_job_networks(both), 2);
    assert_string_equal(cm_job_get_info(both)->model, GPT "*2 " OTHER "*0.5");
    assert_int_equal(cm_job_entries(both), cm_job_entries(one));
    assert_int_equal(cm_job_placed(both), cm_job_placed(one));
    for (int32_t i = 0; i < cm_job_entries(both); i++) {
        const cm_job_entry *e = cm_job_get_entry(both, i), *a = cm_job_part(both, i, 0), *b = cm_job_part(both, i, 1);
        const cm_job_entry *x = NULL, *y = NULL;
        for (int32_t k = 0; k < cm_job_entries(one); k++) {
            if (cm_job_get_entry(one, k)->n == e->n) x = cm_job_get_entry(one, k);
            if (cm_job_get_entry(other, k)->n == e->n) y = cm_job_get_entry(other, k);
        }
        is(a->time_s, x->time_s);
        is(b->time_s, y->time_s);
        is(e->time_s, 2 * x->time_s + 0.5 * y->time_s);
        is(e->cost_usd, 2 * x->cost_usd + 0.5 * y->cost_usd);
        is(e->energy_j, 2 * x->energy_j + 0.5 * y->energy_j);
        is(e->co2_kg, 2 * x->co2_kg + 0.5 * y->co2_kg);
        is(e->interval_s[1], 2 * x->interval_s[1] + 0.5 * y->interval_s[1]);
        is(e->at.hours, e->time_s / 3600);
        is(e->at.peak_bytes, fmax(x->at.peak_bytes, y->at.peak_bytes));
        assert_int_equal(e->jobs, 1);
    }
    assert_null(cm_job_part(both, -1, 0));
    assert_null(cm_job_part(both, 0, 2));
    assert_null(cm_job_network(one, 0));
    cm_job_free(one);
    cm_job_free(other);
    cm_job_free(both);
}

/* A deadline is of all networks: as they run one after the other, it is met by the sum or not. */
static void limits(void **state)
{
    (void)state;
    cm_job_options o = h100(8);
    o.rank.objective = CM_OBJECTIVE_TIME;
    cm_job *free_one = job_of_both(OTHER, o);
    double  fastest = cm_job_get_entry(free_one, 0)->time_s;
    cm_job_free(free_one);
    o.within_s = 1.001 * fastest;
    cm_job *met = job_of_both(OTHER, o);
    assert_true(cm_job_placed(met) >= 1);
    assert_int_equal(cm_job_advices(met), 0);
    cm_job_free(met);
    o.within_s = 0.999 * fastest;
    cm_job *missed = job_of_both(OTHER, o);
    assert_int_equal(cm_job_placed(missed), 0);
    assert_int_equal(cm_job_advices(missed), 1);
    is(cm_job_get_advice(missed, 0)->within_s, fastest);
    cm_job_free(missed);
}

static void one_too_large(void **state)
{
    (void)state;
    cm_job *j = job_of_both(HUGE, h100(4));
    assert_int_equal(cm_job_placed(j), 0);
    for (int32_t i = 0; i < cm_job_entries(j); i++) {
        const cm_job_entry *e = cm_job_get_entry(j, i);
        assert_false(e->at.fits);
        assert_ptr_equal(strstr(e->at.reason, HUGE ": "), e->at.reason);
    }
    assert_int_equal(cm_job_advices(j), 0); /* no deadline helps */
    cm_job_free(j);
}

/* Energy is that of all networks, and costs replace samples per dollar. */
static void objectives(void **state)
{
    (void)state;
    cm_job_options o = h100(4);
    o.rank.objective = CM_OBJECTIVE_ENERGY;
    cm_job *j = job_of_both(OTHER, o);
    is(cm_job_get_entry(j, 0)->at.value, cm_job_get_entry(j, 0)->at.kwh);
    cm_job_free(j);
    o.rank.objective = CM_OBJECTIVE_PRICE;
    j = job_of_both(OTHER, o);
    assert_int_equal(cm_job_get_info(j)->objective, CM_OBJECTIVE_COST);
    is(cm_job_get_entry(j, 0)->at.value, cm_job_get_entry(j, 0)->cost_usd);
    cm_job_free(j);
}

static void refused(void **state)
{
    (void)state;
    cm_job_options o = h100(4);
    cm_network     n[] = {{.model = GPT, .weight = 1, .options = o.rank}, {.model = "resnet18", .weight = 1, .options = o.rank}};
    cm_job        *j;
    assert_int_equal(cm_job_run_all(NULL, 1, &o, &j, &diag), CM_ERR_ARGUMENT);
    assert_int_equal(cm_job_run_all(n, 0, &o, &j, &diag), CM_ERR_ARGUMENT);
    n[1].weight = 0;
    assert_int_equal(cm_job_run_all(n, 2, &o, &j, &diag), CM_ERR_ARGUMENT);
    assert_non_null(strstr(diag.reason, "above 0"));
    n[1].weight = 1;
    n[1].options.samples = 0;
    n[1].options.tokens = 1e6; /* images are not tokens */
    diag = (cm_diag){0};
    assert_int_equal(cm_job_run_all(n, 2, &o, &j, &diag), CM_ERR_ARGUMENT);
    assert_non_null(strstr(diag.place, "resnet18"));
    n[1].options.samples = 1000; /* both: each network takes the one that it has */
    assert_int_equal(cm_job_run_all(n, 2, &o, &j, &diag), CM_OK);
    is(cm_job_get_info(cm_job_of_network(j, 1))->samples, 1000);
    cm_job_free(j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sums), cmocka_unit_test(limits), cmocka_unit_test(one_too_large),
                                       cmocka_unit_test(objectives), cmocka_unit_test(refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
