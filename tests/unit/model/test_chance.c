/* SPDX-License-Identifier: Apache-2.0 */
/* test_chance.c - the probability that a step fits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include "model/chance.h"

#define GIB 1073741824.0

static cm_memory_use use_of(double peak, double capacity)
{
    cm_memory_use u = {.peak_bytes = peak, .reserved_bytes = peak, .n_levels = 1, .sure = true};
    u.levels[0] = (cm_level_use){0, capacity, peak};
    u.fits = peak <= capacity;
    u.shortfall_bytes = peak > capacity ? peak - capacity : 0;
    return u;
}

static double chance(double peak, double capacity, int32_t devices)
{
    cm_memory_use u = use_of(peak, capacity);
    u.plan_devices = devices;
    return cm_memory_chance(&u).probability;
}

static void test_half_at_the_capacity(void **state)
{
    (void)state;
    assert_true(fabs(chance(80 * GIB, 80 * GIB, 1) - 0.5) < 1e-12);
    assert_true(chance(20 * GIB, 80 * GIB, 1) > 0.999);
    assert_true(chance(200 * GIB, 80 * GIB, 1) < 0.001);
}

static void test_falls_with_the_peak(void **state)
{
    (void)state;
    double last = 1;
    for (double peak = 40; peak < 160; peak += 5) {
        double here = chance(peak * GIB, 80 * GIB, 1);
        assert_true(here <= last);
        last = here;
    }
}

static void test_plans_have_their_own_error(void **state)
{
    (void)state;
    assert_true(chance(70 * GIB, 80 * GIB, 8) > 0.5 && chance(70 * GIB, 80 * GIB, 8) < 1);
    assert_true(chance(90 * GIB, 80 * GIB, 8) < 0.5 && chance(90 * GIB, 80 * GIB, 8) > 0);
    assert_true(chance(70 * GIB, 80 * GIB, 8) != chance(70 * GIB, 80 * GIB, 1)); /* a deviation of its own */
}

static void test_interval(void **state)
{
    (void)state;
    cm_memory_use u = use_of(90 * GIB, 80 * GIB);
    cm_chance     c = cm_memory_chance(&u);
    assert_true(c.interval_bytes[0] < u.peak_bytes && u.peak_bytes < c.interval_bytes[1]);
    assert_true(fabs(c.interval_bytes[0] * c.interval_bytes[1] / u.peak_bytes / u.peak_bytes - 1) < 1e-9);
}

static void test_verdicts(void **state)
{
    (void)state;
    for (double peak = 10; peak < 300; peak += 7) {
        cm_memory_use u = use_of(peak * GIB, 80 * GIB);
        cm_chance     c = cm_memory_chance(&u);
        assert_int_equal(c.verdict == CM_FITS, c.probability >= 0.9);
        assert_int_equal(c.verdict == CM_DOES_NOT_FIT, c.probability <= 0.1);
        assert_int_equal(u.fits, c.probability >= 0.5);
    }
    assert_string_equal(cm_verdict_name(CM_FITS), "fits");
    assert_string_equal(cm_verdict_name(CM_UNSURE), "unsure");
    assert_string_equal(cm_verdict_name(CM_DOES_NOT_FIT), "does not fit");
}

/* Each kind of script has the probability that it has alone, and no mean of two is printed. */
static void test_alternatives(void **state)
{
    (void)state;
    cm_memory_use plain = use_of(200 * GIB, 80 * GIB), fused = use_of(20 * GIB, 80 * GIB), open = plain;
    cm__add_alternative(&open, CM_OPEN_LOSS, "plain loss", "fused loss", &fused);
    assert_int_equal(open.n_alternatives, 2);
    assert_true(cm_alternative_chance(&open, 0).probability == cm_memory_chance(&plain).probability);
    assert_true(cm_alternative_chance(&open, 1).probability == cm_memory_chance(&fused).probability);
    cm_chance c = cm_memory_chance(&open);
    assert_int_equal(c.verdict, CM_UNSURE);
    assert_true(c.probability == cm_memory_chance(&plain).probability);
    assert_true(c.interval_bytes[0] == cm_memory_chance(&plain).interval_bytes[0]);
    cm_memory_use large = use_of(190 * GIB, 80 * GIB), none = plain;
    cm__add_alternative(&none, CM_OPEN_LOSS, "plain loss", "fused loss", &large);
    assert_int_equal(cm_memory_chance(&none).verdict, CM_DOES_NOT_FIT); /* all agree */
}

static void test_bytes_beside(void **state)
{
    (void)state;
    cm_memory_use u = use_of(40 * GIB, 80 * GIB), whole = use_of(90 * GIB, 80 * GIB);
    cm_memory_add(&u, 50 * GIB);
    assert_true(!u.fits && u.shortfall_bytes == 10 * GIB);
    assert_true(fabs(cm_memory_chance(&u).probability - cm_memory_chance(&whole).probability) < 1e-12);
    cm_memory_use plain = use_of(100 * GIB, 80 * GIB), fused = use_of(20 * GIB, 80 * GIB);
    cm__add_alternative(&plain, CM_OPEN_LOSS, "plain loss", "fused loss", &fused);
    plain.fits = true;
    cm_memory_add(&plain, 10 * GIB);
    assert_true(plain.fits);
    cm_memory_add(&plain, 80 * GIB);
    assert_true(!plain.fits);
}

/* A lack of blocks is a lack, however few bytes are missing, and a refusal for another reason is sure. */
static void test_lacking(void **state)
{
    (void)state;
    cm_memory_use u = use_of(40 * GIB, 80 * GIB);
    u.fits = false;
    assert_true(cm_memory_chance(&u).probability == 0);
    u.shortfall_bytes = GIB;
    assert_true(cm_memory_chance(&u).probability < 0.5 && cm__fullness(&u) > 1);
    assert_true(cm__hopeless(&(cm_memory_use){.n_levels = 1, .levels = {{0, GIB, 100 * GIB}}}, 50 * GIB));
    assert_false(cm__hopeless(&(cm_memory_use){.n_levels = 1, .levels = {{0, GIB, 100 * GIB}}}, 99.5 * GIB));
}

static void test_unknown_capacity(void **state)
{
    (void)state;
    cm_memory_use u = {.peak_bytes = GIB, .sure = true, .fits = true};
    assert_true(cm_memory_chance(&u).probability == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_half_at_the_capacity), cmocka_unit_test(test_falls_with_the_peak),
        cmocka_unit_test(test_plans_have_their_own_error), cmocka_unit_test(test_interval), cmocka_unit_test(test_verdicts),
        cmocka_unit_test(test_alternatives), cmocka_unit_test(test_bytes_beside), cmocka_unit_test(test_lacking),
        cmocka_unit_test(test_unknown_capacity),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
