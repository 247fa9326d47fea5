/* SPDX-License-Identifier: Apache-2.0 */
/* test_objective.c - each choice accepts its own objectives, as the header and the help texts list them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "centimani.h"

/* Rows: objectives. Columns: batch sizes, devices, plans. */
static const struct {
    const char  *name;
    cm_objective objective;
    bool         applies[CM_CHOICES], less;
} rows[] = {
    {"throughput", CM_OBJECTIVE_THROUGHPUT, {true, true, true}, false},
    {"memory", CM_OBJECTIVE_MEMORY, {true, false, false}, true},
    {"price", CM_OBJECTIVE_PRICE, {false, true, false}, false}, /* samples per dollar: more is better */
    {"cost", CM_OBJECTIVE_COST, {false, true, true}, true},
    {"energy", CM_OBJECTIVE_ENERGY, {false, true, true}, true},
    {"time", CM_OBJECTIVE_TIME, {false, true, false}, true},
    {"devices", CM_OBJECTIVE_DEVICES, {false, false, true}, true},
    {"knee", CM_OBJECTIVE_KNEE, {true, false, false}, false},
};
#define ROWS (sizeof rows / sizeof *rows)

static void test_each_choice(void **state)
{
    (void)state;
    assert_int_equal(ROWS, CM_OBJECTIVES);
    for (size_t i = 0; i < ROWS; i++) {
        assert_string_equal(cm_objective_name(rows[i].objective), rows[i].name);
        assert_int_equal(cm_objective_is_less(rows[i].objective), rows[i].less);
        for (cm_choice c = 0; c < CM_CHOICES; c++) {
            cm_objective got = CM_OBJECTIVES;
            cm_status    status = cm_objective_parse(rows[i].name, c, &got, NULL);
            assert_int_equal(cm_objective_applies(rows[i].objective, c), rows[i].applies[c]);
            assert_int_equal(status, rows[i].applies[c] ? CM_OK : CM_ERR_UNKNOWN);
            assert_int_equal(got, rows[i].applies[c] ? rows[i].objective : CM_OBJECTIVES);
        }
    }
}

/* A zeroed options struct means the default, so the first objective of every choice is 0. */
static void test_default(void **state)
{
    (void)state;
    for (cm_choice c = 0; c < CM_CHOICES; c++) {
        int32_t count = 0;
        for (size_t i = 0; i < ROWS; i++) count += rows[i].applies[c];
        assert_int_equal(cm_choice_objectives(c), count);
        assert_int_equal(cm_choice_objective(c, 0), 0);
        for (int32_t i = 0; i < count; i++) assert_true(cm_objective_applies(cm_choice_objective(c, i), c));
    }
    assert_false(cm_objective_applies(CM_OBJECTIVES, CM_CHOICE_PLAN));
    assert_false(cm_objective_applies((cm_objective)-1, CM_CHOICE_PLAN));
}

/* The message lists the objectives of this choice only, and suggests a near one. */
static void test_message(void **state)
{
    (void)state;
    cm_objective got;
    cm_diag      diag = {0};
    assert_int_equal(cm_objective_parse("costs", CM_CHOICE_PLAN, &got, &diag), CM_ERR_UNKNOWN);
    assert_non_null(strstr(diag.reason, "did you mean 'cost'?"));
    assert_non_null(strstr(diag.reason, "known: throughput, cost, energy, devices"));
    assert_int_equal(cm_objective_parse("devices", CM_CHOICE_BATCH, &got, &diag), CM_ERR_UNKNOWN);
    assert_non_null(strstr(diag.reason, "known: throughput, memory"));
    assert_null(strstr(diag.reason, "energy"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_each_choice), cmocka_unit_test(test_default),
                                       cmocka_unit_test(test_message)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
