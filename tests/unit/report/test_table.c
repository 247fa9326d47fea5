/* SPDX-License-Identifier: Apache-2.0 */
/* test_table.c - a table becomes narrower step by step until it fits, and keeps every value. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "report/sheet.h"
#include "report/table.h"

static const cm__column columns[] = {{"device"}, {"place", NULL, true}, {"speed", "B/s"}, {"count", ""}, {"", NULL, false, true}};
static const struct {
    const char *device, *place;
    double      speed;
    const char *bar;
} rows[] = {{"alpha", "the first place", 1.5e9, "################"}, {"beta", "the second place", 12e9, "########"}};

static char *printed(const char *width)
{
    char   *result;
    size_t  size;
    FILE   *out = open_memstream(&result, &size);
    cm__ctx *ctx = cm__ctx_new(NULL);
    if (width) setenv("COLUMNS", width, 1);
    cm__table table = cm__table_new(ctx, cm__sheet_open(ctx, out), columns, 5);
    for (int i = 0; i < 2; i++)
        cm__table_row(&table, (const char *[]){rows[i].device, rows[i].place, cm__cell_si(ctx, rows[i].speed), "7",
                                               rows[i].bar});
    cm__table_print(&table);
    cm__sheet_close();
    cm__ctx_free(ctx);
    fclose(out);
    unsetenv("COLUMNS");
    return result;
}

static void tables_by_width(void **state)
{
    (void)state;
    static const struct {
        const char *width, *text;
    } cases[] = {
        {NULL, "device  place             speed  count\n"
               "                           GB/s\n"
               "alpha   the first place    1.50      7  ################\n"
               "beta    the second place   12.0      7  ########\n"},
        {"49", "# in all rows: count 7\n" /* values that all rows share */
               "device  place             speed\n"
               "                           GB/s\n"
               "alpha   the first place    1.50  ################\n"
               "beta    the second place   12.0  ########\n"},
        {"41", "# in all rows: count 7\n" /* shorter bars */
               "device  place             speed\n"
               "                           GB/s\n"
               "alpha   the first place    1.50  ########\n"
               "beta    the second place   12.0  ####\n"},
        {"30", "# in all rows: count 7\n" /* records, if that is shorter than several tables */
               "device  alpha\n"
               "place   the first place\n"
               "speed   1.50 GB/s\n"
               "\n"
               "device  beta\n"
               "place   the second place\n"
               "speed   12.0 GB/s\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *got = printed(cases[i].width);
        assert_string_equal(got, cases[i].text);
        free(got);
    }
}

static void words_wrap_inside_their_column(void **state)
{
    (void)state;
    static const cm__column two[] = {{"name"}, {"title", NULL, true}};
    const char *const       row[] = {"gpt2", "a network with a title of many words"};
    char                   *result;
    size_t                  size;
    FILE                   *out = open_memstream(&result, &size);
    cm__ctx                *ctx = cm__ctx_new(NULL);
    setenv("COLUMNS", "26", 1);
    cm__table table = cm__table_new(ctx, cm__sheet_open(ctx, out), two, 2);
    cm__table_row(&table, row);
    cm__table_print(&table);
    cm__sheet_close();
    cm__ctx_free(ctx);
    fclose(out);
    unsetenv("COLUMNS");
    assert_string_equal(result, "name  title\ngpt2  a network with a\n      title of many words\n");
    free(result);
}

/* Many rows: the names of the rows are repeated. */
static void columns_continue_below(void **state)
{
    (void)state;
    static const cm__column four[] = {{"#", ""}, {"name"}, {"first value", "s"}, {"second value", "s"}};
    char                   *result;
    size_t                  size;
    FILE                   *out = open_memstream(&result, &size);
    cm__ctx                *ctx = cm__ctx_new(NULL);
    setenv("COLUMNS", "26", 1);
    cm__table table = cm__table_new(ctx, cm__sheet_open(ctx, out), four, 4);
    for (int i = 1; i <= 6; i++)
        cm__table_row(&table, (const char *[]){cm__format(ctx, "%d", i), cm__format(ctx, "row%d", i), cm__cell_si(ctx, i),
                                               cm__cell_si(ctx, 10 * i)});
    cm__table_print(&table);
    cm__sheet_close();
    cm__ctx_free(ctx);
    fclose(out);
    unsetenv("COLUMNS");
    assert_ptr_equal(strstr(result, "#  name  first value\n                   s\n1  row1            1\n"), result);
    assert_non_null(strstr(result, "\n\n#  name  second value\n                    s\n1  row1            10\n"));
    free(result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(tables_by_width),
                                       cmocka_unit_test(words_wrap_inside_their_column),
                                       cmocka_unit_test(columns_continue_below)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
