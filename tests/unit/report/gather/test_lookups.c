/* SPDX-License-Identifier: Apache-2.0 */
/* test_lookups.c - all devices are listed, the fastest first, and those without a prediction have a reason. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "report/report.h"

static cm_diag diag;

static void all(void **state)
{
    (void)state;
    cm__lookups_report *r;
    assert_int_equal(cm__lookups_report_new(&(cm__lookups_request){0}, &r, &diag), CM_OK);
    assert_int_equal(r->n_rows, cm_devices());
    assert_in_range(r->n_rated, 1, r->n_rows - 1);
    for (int32_t i = 0; i < r->n_rows; i++) assert_true(!r->rows[i].reason == (i < r->n_rated));
    for (int32_t i = 1; i < r->n_rated; i++) assert_true(r->rows[i].rate.lookups_s <= r->rows[i - 1].rate.lookups_s);
    cm__lookups_report_free(r);
}

static void one(void **state)
{
    (void)state;
    cm__lookups_report *r;
    assert_int_equal(cm__lookups_report_new(&(cm__lookups_request){.device = "nvidia-h200"}, &r, &diag), CM_OK);
    assert_int_equal(r->n_rows, 1);
    assert_string_equal(r->rows[0].id, "nvidia-h200");
    cm__lookups_report_free(r);
    cm__lookups_request unknown = {.device = "nvidia-h20x"};
    assert_int_equal(cm__lookups_report_new(&unknown, &r, &diag), CM_ERR_UNKNOWN);
    assert_int_equal(cm__lookups_report_new(&(cm__lookups_request){.options.bits = 16}, &r, &diag), CM_ERR_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all), cmocka_unit_test(one)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
