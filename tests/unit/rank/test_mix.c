/* SPDX-License-Identifier: Apache-2.0 */
/* test_mix.c - several networks in one ranking: sums with weights, their limits, the baseline, and what is refused. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "centimani.h"

#define SMALL "gpt:layers=2,hidden=128,heads=4,seq=64,vocab=512"
#define LARGE "gpt:layers=4,hidden=256,heads=4,seq=64,vocab=512"
#define HUGE  "gpt:layers=96,hidden=12288,heads=96,seq=2048,vocab=50257"
#define FEW   "nvidia-h200,nvidia-a100-40g,nvidia-t4"
#define MOST  4

static cm_diag diag;

static void near(double got, double wanted) { assert_true(fabs(got - wanted) <= 1e-9 * fabs(wanted)); }

/* Networks that differ in their weights only. */
static void networks_of(cm_network *n, const char *const *models, const double *weights, int count, cm_rank_options o)
{
    for (int i = 0; i < count; i++) n[i] = (cm_network){.model = models[i], .weight = weights[i], .options = o};
}

static cm_mix *mix_of(const cm_network *n, int count, cm_rank_options o)
{
    cm_mix *m;
    if (cm_mix_run(n, count, &o, &m, &diag)) fail_msg("%s: %s", diag.place, diag.reason);
    return m;
}

static const cm_mix_entry *of(const cm_mix *m, const char *id)
{
    for (int32_t i = 0; i < cm_mix_entries(m); i++)
        if (strcmp(cm_device_get_info(cm_mix_get_entry(m, i)->total.device)->id, id) == 0) return cm_mix_get_entry(m, i);
    fail_msg("%s is not there", id);
    return NULL;
}

static const char *const two[] = {SMALL, LARGE};
static const double      weights[] = {3, 0.5};

/* Each network counts as its own ranking says, times its weight; the ends of the intervals add up. */
static void sums(void **state)
{
    const cm_rank_options o = {.devices = FEW, .samples = 1e6, .objective = CM_OBJECTIVE_TIME};
    cm_network            n[MOST];
    (void)state;
    networks_of(n, two, weights, 2, o);
    cm_mix *m = mix_of(n, 2, o);
    assert_int_equal(cm_mix_networks(m), 2);
    assert_int_equal(cm_mix_placed(m), 3);
    assert_null(cm_mix_baseline(m));
    for (int32_t k = 0; k < 3; k++) {
        const cm_mix_entry *e = cm_mix_get_entry(m, k);
        double              hours = 0, usd = 0, kwh = 0, ends[2] = {0};
        for (int i = 0; i < 2; i++) {
            cm_rank_options one = o;
            cm_ranking     *alone;
            one.devices = cm_device_get_info(e->total.device)->id;
            assert_int_equal(cm_rank(two[i], &one, &alone, &diag), CM_OK);
            const cm_rank_entry *a = cm_ranking_entry(alone, 0);
            near(e->parts[i]->hours, a->hours);
            hours += weights[i] * a->hours, usd += weights[i] * a->usd, kwh += weights[i] * a->kwh;
            for (int side = 0; side < 2; side++) ends[side] += weights[i] * a->interval[side];
            cm_ranking_free(alone);
        }
        near(e->total.hours, hours);
        near(e->total.value, hours);
        near(e->total.usd, usd);
        near(e->total.kwh, kwh);
        for (int side = 0; side < 2; side++) near(e->total.interval[side], ends[side]);
        near(e->total.prediction.interval_s[1], 3600 * ends[1]);
        assert_true(k == 0 || e->total.value >= cm_mix_get_entry(m, k - 1)->total.value);
    }
    cm_mix_free(m);
}

/* Speeds of different networks do not add up, so other objectives become a time or a cost. */
static void objectives(void **state)
{
    static const cm_objective asked[] = {CM_OBJECTIVE_THROUGHPUT, CM_OBJECTIVE_TIME, CM_OBJECTIVE_PRICE, CM_OBJECTIVE_COST,
                                         CM_OBJECTIVE_ENERGY};
    static const cm_objective got[] = {CM_OBJECTIVE_TIME, CM_OBJECTIVE_TIME, CM_OBJECTIVE_COST, CM_OBJECTIVE_COST,
                                       CM_OBJECTIVE_ENERGY};
    (void)state;
    for (int i = 0; i < 5; i++) {
        const cm_rank_options o = {.devices = FEW, .samples = 1e6, .objective = asked[i]};
        cm_network            n[MOST];
        networks_of(n, two, weights, 2, o);
        cm_mix              *m = mix_of(n, 2, o);
        const cm_rank_entry *best = &cm_mix_get_entry(m, 0)->total;
        assert_int_equal(cm_mix_objective(m), got[i]);
        near(best->value, got[i] == CM_OBJECTIVE_COST ? best->usd : got[i] == CM_OBJECTIVE_ENERGY ? best->kwh : best->hours);
        cm_mix_free(m);
    }
}

/* A limit is one of the sum: each network alone would meet it. */
static void limits(void **state)
{
    cm_rank_options o = {.devices = FEW, .samples = 1e6, .objective = CM_OBJECTIVE_TIME};
    cm_network      n[MOST];
    (void)state;
    networks_of(n, two, weights, 2, o);
    cm_mix *m = mix_of(n, 2, o);
    double  fastest = cm_mix_get_entry(m, 0)->total.hours, second = cm_mix_get_entry(m, 1)->total.hours;
    double  cheapest = fmin(cm_mix_get_entry(m, 0)->total.usd, fmin(cm_mix_get_entry(m, 1)->total.usd, cm_mix_get_entry(m, 2)->total.usd));
    cm_mix_free(m);
    o.max_hours = sqrt(fastest * second);
    m = mix_of(n, 2, o);
    assert_int_equal(cm_mix_placed(m), 1);
    assert_int_equal(cm_mix_get_entry(m, 1)->total.state, CM_RANK_OVER);
    assert_non_null(strstr(cm_mix_get_entry(m, 1)->total.reason, " h, more than"));
    cm_mix_free(m);
    o.max_hours = 0;
    o.max_usd = cheapest * 0.99;
    m = mix_of(n, 2, o);
    assert_int_equal(cm_mix_placed(m), 0);
    assert_non_null(strstr(cm_mix_get_entry(m, 0)->total.reason, " USD, more than"));
    cm_mix_free(m);
}

/* A device that cannot run one of them has no place, and says which. */
static void one_too_large(void **state)
{
    static const char *const both[] = {SMALL, HUGE};
    const cm_rank_options    o = {.devices = FEW, .samples = 1e6};
    cm_network               n[MOST];
    (void)state;
    networks_of(n, both, weights, 2, o);
    cm_mix *m = mix_of(n, 2, o);
    assert_int_equal(cm_mix_placed(m), 0);
    const cm_rank_entry *e = &of(m, "nvidia-t4")->total;
    assert_false(e->fits);
    assert_int_equal(e->state, CM_RANK_NO_FIT);
    assert_ptr_equal(strstr(e->reason, HUGE ": "), e->reason);
    cm_mix_free(m);
}

/* The baseline is compared though it is not ranked; porting costs once, and pays after as many jobs as it takes. */
static void baseline(void **state)
{
    cm_rank_options o = {.devices = "nvidia-h200,nvidia-t4", .samples = 1e9, .objective = CM_OBJECTIVE_COST,
                         .baseline = "nvidia-a100-40g"};
    cm_network      n[MOST];
    (void)state;
    networks_of(n, two, weights, 2, o);
    cm_mix              *m = mix_of(n, 2, o);
    const cm_rank_entry *base = &cm_mix_baseline(m)->total, *h200 = &of(m, "nvidia-h200")->total;
    double               before = h200->value;
    assert_int_equal(cm_mix_entries(m), 2);
    near(h200->relative, base->value / h200->value);
    near(h200->relative_interval[0], base->value / h200->interval[1]);
    near(h200->break_even_price_hour * h200->hours, base->usd);
    cm_mix_free(m);
    o.port_hours = 2;
    o.port_usd_hour = 50;
    o.devices = "nvidia-h200,nvidia-t4,nvidia-a100-40g";
    networks_of(n, two, weights, 2, o);
    m = mix_of(n, 2, o);
    base = &cm_mix_baseline(m)->total;
    for (int32_t k = 0; k < 3; k++) {
        const cm_rank_entry *e = &cm_mix_get_entry(m, k)->total;
        bool                 itself = strcmp(cm_device_get_info(e->device)->id, "nvidia-a100-40g") == 0;
        near(e->port_usd, itself ? 0 : 100);
        near(e->value, e->usd + e->port_usd);
        if (itself) near(e->relative, 1);
        else if (e->usd < base->usd) near(e->break_even_hours / base->hours * (base->usd - e->usd), 100);
        else assert_true(isinf(e->break_even_hours));
    }
    near(of(m, "nvidia-h200")->total.value, before + 100);
    cm_mix_free(m);
}

static void refused(void **state)
{
    const cm_rank_options o = {.devices = FEW, .samples = 1e6};
    cm_network            n[MOST];
    cm_mix               *m;
    (void)state;
    networks_of(n, two, weights, 2, o);
    assert_int_equal(cm_mix_run(NULL, 1, &o, &m, &diag), CM_ERR_ARGUMENT);
    assert_int_equal(cm_mix_run(n, 0, &o, &m, &diag), CM_ERR_ARGUMENT);
    assert_int_equal(cm_mix_run(n, 2, NULL, &m, &diag), CM_ERR_ARGUMENT);
    for (int i = 0; i < 4; i++) {
        static const double wrong[] = {0, -1, INFINITY, NAN};
        n[1].weight = wrong[i];
        assert_int_equal(cm_mix_run(n, 2, &o, &m, &diag), CM_ERR_ARGUMENT);
        assert_non_null(strstr(diag.reason, "above 0"));
    }
    n[1].weight = 1;
    n[1].model = "no-such-model";
    diag = (cm_diag){0};
    assert_int_equal(cm_mix_run(n, 2, &o, &m, &diag), CM_ERR_UNKNOWN);
    cm_mix_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sums),          cmocka_unit_test(objectives),
                                       cmocka_unit_test(limits),        cmocka_unit_test(one_too_large),
                                       cmocka_unit_test(baseline),      cmocka_unit_test(refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
