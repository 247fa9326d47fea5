/* SPDX-License-Identifier: Apache-2.0 */
/* test_chance.c - the probability that a step fits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include "centimani.h"

#define GIB 1073741824.0

static cm_memory_use use_of(double peak, double capacity)
{
    cm_memory_use u = {.peak_bytes = peak, .reserved_bytes = peak, .least_bytes = peak, .n_levels = 1, .sure = true};
    u.levels[0] = (cm_level_use){0, capacity, peak};
    u.fits = peak <= capacity;
    u.shortfall_bytes = peak > capacity ? peak - capacity : 0;
    return u;
}

static double chance(double peak, double capacity, int32_t devices)
{
    cm_memory_use u = use_of(peak, capacity);
    return cm_memory_chance(&u, devices).probability;
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

static void test_interval_and_open_loss(void **state)
{
    (void)state;
    cm_memory_use u = use_of(90 * GIB, 80 * GIB);
    cm_chance     c = cm_memory_chance(&u, 1);
    assert_true(c.interval_bytes[0] < u.peak_bytes && u.peak_bytes < c.interval_bytes[1]);
    assert_true(fabs(c.interval_bytes[0] * c.interval_bytes[1] / u.peak_bytes / u.peak_bytes - 1) < 1e-9);
    u.sure = false;
    u.fits = true;
    u.least_bytes = 20 * GIB;
    u.shortfall_bytes = 0;
    cm_chance open = cm_memory_chance(&u, 1);
    assert_true(open.probability > c.probability && open.probability < 1);
    assert_true(open.interval_bytes[0] < 20 * GIB);
}

static void test_unknown_capacity(void **state)
{
    (void)state;
    cm_memory_use u = {.peak_bytes = GIB, .sure = true, .fits = true};
    assert_true(cm_memory_chance(&u, 1).probability == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_half_at_the_capacity), cmocka_unit_test(test_falls_with_the_peak),
        cmocka_unit_test(test_plans_have_their_own_error), cmocka_unit_test(test_interval_and_open_loss),
        cmocka_unit_test(test_unknown_capacity),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
