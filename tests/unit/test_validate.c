/* SPDX-License-Identifier: Apache-2.0 */
/* test_validate.c - sets of results: what the papers print, and how far off the memory model may be. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "centimani.h"

static cm_validation *run(const char *set)
{
    cm_validation *v;
    cm_diag        diag = {0};
    if (cm_validation_run(set, &v, &diag) != CM_OK) fail_msg("%s", diag.reason);
    return v;
}

/* The paper says that it met 19 of 24 itself. */
static void test_table5(void **state)
{
    (void)state;
    cm_validation *v = run("centimani-table5");
    assert_int_equal(cm_validation_rows(v), 24);
    assert_int_equal(cm_validation_summaries(v), 3);
    assert_string_equal(cm_validation_summary_of(v, 1)->predictor, "paper");
    assert_int_equal(cm_validation_summary_of(v, 1)->equal, 19);
    assert_int_equal(cm_validation_summary_of(v, 2)->equal, 20); /* as the fit, made elsewhere, left it */
    assert_non_null(strstr(cm_validation_summary_of(v, 2)->what, "not a prediction"));
    assert_null(cm_validation_get_row(v, 24));
    cm_validation_free(v);
}

/* Mean 4 %, worst 10 %: what is asked of the memory model on real steps. */
static void test_memory(void **state)
{
    (void)state;
    cm_validation               *v = run("h200-memory");
    const cm_validation_summary *s = cm_validation_summary_of(v, 0);
    assert_int_equal(s->n, 51);
    assert_true(s->mape <= 0.04);
    assert_true(s->worst <= 0.10);
    cm_validation_free(v);
}

static void test_every_set(void **state)
{
    (void)state;
    for (int32_t i = 0; i < cm_validation_sets(); i++) {
        cm_validation *v = run(cm_validation_set(i));
        for (int32_t r = 0; r < cm_validation_rows(v); r++) assert_true(cm_validation_get_row(v, r)->measured > 0);
        cm_validation_free(v);
    }
    assert_null(cm_validation_set(cm_validation_sets()));
}

static void test_unknown(void **state)
{
    (void)state;
    cm_validation *v = NULL;
    cm_diag        diag = {0};
    assert_int_equal(cm_validation_run("table9", &v, &diag), CM_ERR_UNKNOWN);
    assert_non_null(strstr(diag.reason, "centimani-table5"));
    assert_null(v);
    cm_validation_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table5),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_every_set),
        cmocka_unit_test(test_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
