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
    assert_string_equal(cm__cell_si(ctx, NAN), "-");
    assert_string_equal(cm__cell_binary(ctx, INFINITY), "-");
    assert_string_equal(cm__cell_interval(ctx, (double[]){1, NAN}), "-");
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

/* The numbers of a column have one prefix, which becomes a part of the unit. */
static void test_prefixes(void **state)
{
    (void)state;
    static const struct {
        double      numbers[3];
        const char *unit, *texts[3], *scaled;
    } cases[] = {
        {{4.09e9, 32e9, 0}, "B/s", {"4.09", "32.0", "0"}, "GB/s"},
        {{217e-6, 0.04, 1.5}, "s", {"0.217", "40.0", "1500"}, "ms"}, /* no number begins with many zeros */
        {{1e15, 2e12, 5e9}, "FLOP", {"1000", "2.00", "0.0050"}, "TFLOP"},
        {{32821, 173e3, 90e3}, "1/s", {"32.8", "173", "90.0"}, "k/s"},
        {{1, 12, 4096}, "", {"1", "12", "4096"}, ""}, /* whole numbers */
        {{NAN, 12.5, 1e-6}, "s", {"-", "12,500", "0.0010"}, "ms"},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const char *cells[3];
        for (int i = 0; i < 3; i++) cells[i] = cm__cell_si(ctx, cases[c].numbers[i]);
        assert_string_equal(cm__cells_scale(ctx, cells, 3, cases[c].unit), cases[c].scaled);
        for (int i = 0; i < 3; i++) assert_string_equal(cells[i], cases[c].texts[i]);
    }
}

static void test_other_quantities(void **state)
{
    (void)state;
    const char *binary[] = {cm__cell_binary(ctx, 97.5 * 1024 * 1024), cm__cell_binary(ctx, 1024.0 * 1024)};
    assert_string_equal(cm__cells_scale(ctx, binary, 2, "B"), "MiB");
    assert_string_equal(binary[0], "97.5");
    assert_string_equal(binary[1], "1.00");
    const char *ranges[] = {cm__cell_interval(ctx, (double[]){900e-6, 1.1e-3}), "never"}; /* texts stay */
    assert_string_equal(cm__cells_scale(ctx, ranges, 2, "s"), "ms");
    assert_string_equal(ranges[0], "0.900-1.10");
    assert_string_equal(ranges[1], "never");
    const char *plain[] = {cm__cell_number(ctx, 173500.4), cm__cell_number(ctx, 0.04)}; /* money has no prefix */
    assert_string_equal(cm__cells_scale(ctx, plain, 2, "USD"), "USD");
    assert_string_equal(plain[0], "173,500");
    assert_string_equal(plain[1], "0.040");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_numbers), cmocka_unit_test(test_shares),
                                       cmocka_unit_test(test_prefixes), cmocka_unit_test(test_other_quantities)};
    return cmocka_run_group_tests(tests, begin, end);
}
