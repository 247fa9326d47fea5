/* SPDX-License-Identifier: Apache-2.0 */
/* test_lines.c - tables of tab-separated cells: comments, line ends, wrong counts and numbers. */
#include "job_case.h"

static void rows(void **state)
{
    (void)state;
    cm__ctx *ctx = context();
    if (setjmp(ctx->trap)) fail_msg("%s", diag.reason);
    cm__lines   in = {.ctx = ctx, .at = "# a comment\n\na\t1\r\nb\t2.5", .name = "t", .columns = 2};
    const char *c[CM__CELLS_MAX];
    assert_true(cm__lines_next(&in, c));
    assert_string_equal(c[0], "a");
    assert_string_equal(c[1], "1");
    assert_true(cm__lines_next(&in, c));
    is(cm__lines_number(&in, c[1]), 2.5);
    assert_false(cm__lines_next(&in, c));
    cm__ctx_free(ctx);
}

static void refused(void **state)
{
    (void)state;
    cm__ctx    *ctx = context();
    cm__lines   in = {.ctx = ctx, .at = "a\t1\t2\n", .name = "t", .columns = 2};
    const char *c[CM__CELLS_MAX];
    REFUSES_IN(ctx, FORMAT, "t, line 1: 3 cells", cm__lines_next(&in, c));
    REFUSES_IN(ctx, FORMAT, "'-2' is not a number above 0", cm__lines_number(&in, "-2"));
    REFUSES_IN(ctx, FORMAT, "'x' is not a number above 0", cm__lines_number(&in, "x"));
    cm__ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows),
                                       cmocka_unit_test(refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
