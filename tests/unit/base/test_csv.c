/* SPDX-License-Identifier: Apache-2.0 */
/* test_csv.c - columns in any order, quotes, blank lines, and refusals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/csv.h"

static const char *const names[] = {"model", "batch"};

static cm_status read_all(const char *text, char *out, size_t size, cm_diag *diag)
{
    cm__ctx *ctx = cm__ctx_new(diag);
    cm__span fields[2];
    if (setjmp(ctx->trap)) return cm__ctx_abandon(ctx);
    cm__csv in = cm__csv_open(ctx, text, strlen(text), names, 2);
    snprintf(out, size, "%d%d", in.found[0], in.found[1]);
    while (cm__csv_row(&in, fields)) {
        size_t used = strlen(out);
        snprintf(out + used, size - used, "|%d:%.*s,%.*s", in.line, (int)fields[0].length, fields[0].text,
                 (int)fields[1].length, fields[1].text);
    }
    cm__ctx_free(ctx);
    return CM_OK;
}

static void assert_rows(const char *text, const char *rows)
{
    char    out[256];
    cm_diag diag = {0};
    assert_int_equal(read_all(text, out, sizeof out, &diag), CM_OK);
    assert_string_equal(out, rows);
}

static void assert_refused(const char *text, cm_status status, const char *reason)
{
    char    out[256];
    cm_diag diag = {0};
    assert_int_equal(read_all(text, out, sizeof out, &diag), status);
    assert_non_null(strstr(diag.reason, reason));
}

static void columns_stand_in_any_order(void **state)
{
    (void)state;
    assert_rows("batch,other,model\n8,x,vgg\n", "11|2:vgg,8");
    assert_rows("model\nvgg", "10|2:vgg,");
    assert_rows("", "00");
}

static void quotes_hold_commas_and_lines(void **state)
{
    (void)state;
    assert_rows("model,batch\n\"gpt:layers=2,hidden=8\",4\r\n\"a\nb\",5", "11|2:gpt:layers=2,hidden=8,4|3:a\nb,5");
}

static void blank_lines_are_skipped(void **state)
{
    (void)state;
    assert_rows("model,batch\n\n\r\nvgg,1\n\n", "11|4:vgg,1");
}

static void bad_lines_are_refused(void **state)
{
    (void)state;
    assert_refused("model,batch\nvgg\n", CM_ERR_FORMAT, "line 2: 1 fields, the header has 2");
    assert_refused("model,batch\n\"vgg,1\n", CM_ERR_FORMAT, "line 2: a quote is not closed");
    assert_refused("model,batch\n\"vgg\"x,1\n", CM_ERR_FORMAT, "line 2: text after a closing quote");
    char wide[200];
    memset(wide, ',', sizeof wide - 1);
    wide[sizeof wide - 1] = 0;
    assert_refused(wide, CM_ERR_FORMAT, "more than 64 columns");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_stand_in_any_order),
        cmocka_unit_test(quotes_hold_commas_and_lines),
        cmocka_unit_test(blank_lines_are_skipped),
        cmocka_unit_test(bad_lines_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
