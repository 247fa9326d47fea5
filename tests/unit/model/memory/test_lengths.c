/* SPDX-License-Identifier: Apache-2.0 */
/* test_lengths.c - the distribution of lengths has its mean, and known moments in two cases. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "model/memory/lengths.h"

static void near(double a, double b, double relative) { assert_true(fabs(a - b) <= relative * fabs(b)); }

static void test_mean(void **state)
{
    static const double means[] = {5, 100, 300, 499, 500, 501, 700, 990};
    (void)state;
    for (int i = 0; i < 8; i++) {
        cm__lengths l = cm__lengths_of(means[i], 1000);
        double      sum = 0, before = 0;
        for (int k = 0; k < 20000; k++) {
            double x = cm__length_at(&l, (k + 0.5) / 20000);
            assert_true(x >= before && x <= 1000);
            sum += before = x;
        }
        near(sum / 20000, means[i], 1e-3);
        near(cm__longest_of(&l, 1), means[i], 1e-2);
    }
}

/* Half of the longest: every length is as likely. The longest of n uniform numbers is n / (n + 1) in the mean. */
static void test_uniform(void **state)
{
    cm__lengths l = cm__lengths_of(500, 1000);
    (void)state;
    near(cm__length_deviation(&l), 1000 / sqrt(12), 1e-4);
    for (int n = 1; n <= 64; n *= 4) near(cm__longest_of(&l, n), 1000.0 * n / (n + 1), 1e-3);
}

/* Far below the longest it is exponential: the deviation is the mean, and the longer of two is 3/2 of it. */
static void test_exponential(void **state)
{
    cm__lengths l = cm__lengths_of(10, 1000);
    (void)state;
    near(cm__length_deviation(&l), 10, 1e-3);
    near(cm__longest_of(&l, 2), 15, 1e-2);
}

/* The larger of two standard normal numbers is 1 / sqrt(pi) in the mean. */
static void test_busiest(void **state)
{
    cm__lengths l = cm__lengths_of(500, 1000);
    (void)state;
    near(cm__busiest_of(&l, 1, 4), 500, 1e-3);
    near(cm__busiest_of(&l, 2, 4), 500 + cm__length_deviation(&l) / 2 / sqrt(acos(-1)), 1e-3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_mean), cmocka_unit_test(test_uniform),
                                       cmocka_unit_test(test_exponential), cmocka_unit_test(test_busiest)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
