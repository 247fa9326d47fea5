/* SPDX-License-Identifier: Apache-2.0 */
/* test_sheet.c - lines are wrapped at $COLUMNS, keep their words and their indentation, and stay whole without it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "report/report.h"
#include "report/sheet.h"

static char *written(const char *text, const char *columns)
{
    char  *result;
    size_t size;
    FILE  *out = open_memstream(&result, &size);
    if (columns) setenv("COLUMNS", columns, 1);
    else unsetenv("COLUMNS");
    cm__write_wrapped(out, text);
    fclose(out);
    unsetenv("COLUMNS");
    return result;
}

static void lines_are_wrapped(void **state)
{
    (void)state;
    static const struct {
        const char *text, *columns, *wrapped;
    } cases[] = {
        {"one two three four five six\n", "20", "one two three four\nfive six\n"},
        {"one two three four five six", "20", "one two three four\nfive six"},
        {"label   one two three four\n", "20", "label   one two\n        three four\n"}, /* below the text */
        {"# one two three four five\n", "20", "# one two three four\n#   five\n"},
        {"  - one two three four five\n", "20", "  - one two three\n    four five\n"},
        {"/usr/share/models/onnx\n", "20", "/usr/share/models/\nonnx\n"}, /* a path, behind a slash */
        {"abcdefghijklmnopqrstuvwxyz\n", "20", "abcdefghijklmnopqrst\nuvwxyz\n"},
        {"ä ä ä ä ä ä ä ä ä ä ä\n", "20", "ä ä ä ä ä ä ä ä ä ä\nä\n"}, /* characters, not bytes */
        {"\033[1mone two three four\033[0m\n", "20", "\033[1mone two three four\033[0m\n"},
        {"one two three four five six\n", NULL, "one two three four five six\n"},
        {"one two three four five six\n", "0", "one two three four five six\n"},
        {"one two three four five six\n", "wide", "one two three four five six\n"},
        {"one two three four five\n", "3", "one two three four\nfive\n"}, /* no line is shorter than 20 */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *got = written(cases[i].text, cases[i].columns);
        assert_string_equal(got, cases[i].wrapped);
        free(got);
    }
}

static void a_failed_report_writes_nothing(void **state)
{
    (void)state;
    char   *result;
    size_t  size;
    FILE   *out = open_memstream(&result, &size);
    cm_diag diag;
    cm__ctx *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap) == 0) {
        fputs("half a report\n", cm__sheet_open(ctx, out));
        cm__fail(ctx, CM_ERR_MEMORY, "no more");
    }
    cm__ctx_abandon(ctx);
    fclose(out);
    assert_string_equal(result, "");
    assert_int_equal(cm__sheet_width(), SIZE_MAX); /* no sheet is left open */
    free(result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(lines_are_wrapped),
                                       cmocka_unit_test(a_failed_report_writes_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
