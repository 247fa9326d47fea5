/* SPDX-License-Identifier: Apache-2.0 */
/* test_cells.c - numbers as table cells: prefixes, shared units, and a dash for unknown values. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "report/table.h"

static cm__ctx *ctx;

static int begin(void **state)
{
    (void)state;
    return (ctx = cm__ctx_new(NULL)) ? 0 : 1;
}

static int end(void **state)
{
    (void)state;
    cm__ctx_free(ctx);
    return 0;
}

static void test_numbers(void **state)
{
    (void)state;
    assert_string_equal(cm__cell_si(ctx, 4.09e9), "4.09 G");
    assert_string_equal(cm__cell_si(ctx, 12.5), "12.5  "); /* a number without prefix is as wide as one with it */
    assert_string_equal(cm__cell_si(ctx, NAN), "-  ");
    assert_string_equal(cm__cell_binary(ctx, 97.5 * 1024 * 1024), "97.5 Mi");
    assert_string_equal(cm__cell_binary(ctx, INFINITY), "-");
    assert_string_equal(cm__cell_count(ctx, 25557032), "25,557,032");
    assert_string_equal(cm__cell_ratio(ctx, 1.234), "1.23");
    assert_string_equal(cm__cell_ratio(ctx, 12.34), "12.3");
    assert_string_equal(cm__cell_ratio(ctx, 123.4), "123");
    assert_string_equal(cm__cell_ratio(ctx, NAN), "-");
}

static void test_shares(void **state)
{
    (void)state;
    assert_string_equal(cm__cell_percent(ctx, 1, 8), "12.5");
    assert_string_equal(cm__cell_percent(ctx, 1, 0), "-");
    assert_string_equal(cm__cell_percent(ctx, NAN, 1), "-");
}

/* A common unit is printed once. */
static void test_intervals(void **state)
{
    (void)state;
    assert_string_equal(cm__cell_interval(ctx, (double[]){1.5e-3, 2.5e-3}), "1.50-2.50 m");
    assert_string_equal(cm__cell_interval(ctx, (double[]){900e-6, 1.1e-3}), "900 u-1.10 m");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_numbers), cmocka_unit_test(test_shares),
                                       cmocka_unit_test(test_intervals)};
    return cmocka_run_group_tests(tests, begin, end);
}
