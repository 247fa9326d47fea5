/* SPDX-License-Identifier: Apache-2.0 */
/* test_stats.c - medians and spreads of known numbers. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "bench/stats.h"

static void near_to(double got, double want)
{
    if (fabs(got - want) > 1e-12 * (1 + fabs(want))) fail_msg("%.17g is not %.17g", got, want);
}

static void odd_and_even_counts(void **state)
{
    double odd[] = {5, 1, 3}, even[] = {4, 1, 3, 2};
    (void)state;
    near_to(cm__stats_of(odd, 3).median, 3);
    near_to(cm__stats_of(even, 4).median, 2.5);
    near_to(cm__stats_of(even, 4).least, 1);
}

static void spread_is_between_the_quartiles(void **state)
{
    double values[] = {1, 2, 3, 4, 5}; /* quartiles 2 and 4, median 3 */
    (void)state;
    near_to(cm__stats_of(values, 5).spread, 2.0 / 3);
}

static void a_few_disturbed_samples_do_not_move_it(void **state)
{
    double values[21];
    (void)state;
    for (int i = 0; i < 21; i++) values[i] = i % 7 == 0 ? 100 : 1;
    cm__stats s = cm__stats_of(values, 21);
    near_to(s.median, 1);
    near_to(s.spread, 0);
}

static void certainty_grows_with_the_root_of_the_count(void **state)
{
    double few[20], many[80];
    (void)state;
    for (int i = 0; i < 20; i++) few[i] = 10 + i % 4;
    for (int i = 0; i < 80; i++) many[i] = 10 + i % 4;
    cm__stats a = cm__stats_of(few, 20), b = cm__stats_of(many, 80);
    assert_true(a.uncertainty > 0);
    assert_true(fabs(a.uncertainty / b.uncertainty - 2) < 0.1);
}

static void nothing_is_known_of_too_few(void **state)
{
    double two[] = {1, 1};
    (void)state;
    assert_true(isinf(cm__stats_of(two, 2).uncertainty));
    assert_true(isnan(cm__stats_of(NULL, 0).median));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(odd_and_even_counts),
        cmocka_unit_test(spread_is_between_the_quartiles),
        cmocka_unit_test(a_few_disturbed_samples_do_not_move_it),
        cmocka_unit_test(certainty_grows_with_the_root_of_the_count),
        cmocka_unit_test(nothing_is_known_of_too_few),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
