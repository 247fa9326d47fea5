/* SPDX-License-Identifier: Apache-2.0 */
/* test_validate.c - sets of results: the numbers in the papers; no row is lost or predicted from a fit that used it. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "centimani.h"

static cm_scoreboard *run(const char *set)
{
    cm_scoreboard *b;
    cm_diag        diag = {0};
    if (cm_scoreboard_run(set, false, &b, &diag) != CM_OK) fail_msg("%s", diag.reason);
    return b;
}

static const cm_validation *named(const cm_scoreboard *b, const char *set)
{
    for (int32_t i = 0; i < cm_scoreboard_sets(b); i++)
        if (strcmp(cm_validation_get_info(cm_scoreboard_set(b, i)).set, set) == 0) return cm_scoreboard_set(b, i);
    return NULL;
}

/* The paper reports that its own method meets 19 of 24. */
static void test_table5(void **state)
{
    (void)state;
    cm_scoreboard       *b = run("centimani-table5");
    const cm_validation *v = cm_scoreboard_set(b, 0);
    assert_int_equal(cm_scoreboard_sets(b), 1);
    assert_null(cm_scoreboard_set(b, 1));
    assert_int_equal(cm_validation_rows(v), 24);
    assert_int_equal(cm_validation_summaries(v), 4);
    /* the table is closer to a throughput's knee than to a memory's limit */
    assert_true(cm_validation_get_summary(v, 0)->within_two > cm_validation_get_summary(v, 1)->within_two);
    assert_string_equal(cm_validation_get_summary(v, 2)->predictor, "paper");
    assert_int_equal(cm_validation_get_summary(v, 2)->equal, 19);
    assert_int_equal(cm_validation_get_summary(v, 3)->equal, 20); /* the result of the fit, which was made elsewhere */
    assert_non_null(strstr(cm_validation_get_summary(v, 3)->what, "not a prediction"));
    assert_null(cm_validation_get_row(v, 24));
    cm_scoreboard_free(b);
}

/* Required of the memory model on real steps: mean error 4 %, maximum 10 %. */
static void test_memory(void **state)
{
    (void)state;
    cm_scoreboard               *b = run("h200-memory");
    const cm_validation_summary *s = cm_validation_get_summary(cm_scoreboard_set(b, 0), 0);
    assert_int_equal(s->n, 51);
    assert_true(s->mape <= 0.04);
    assert_true(s->worst <= 0.10);
    cm_scoreboard_free(b);
}

static void check_row(const cm_validation *v, const cm_validation_row *r)
{
    bool orders = r->kind == CM_ROW_ORDER, fits = r->kind == CM_ROW_FITS;
    assert_non_null(r->where);
    assert_true(r->measured > 0 || fits);
    assert_true(isnan(r->predicted[0]) == (r->reason != NULL));
    for (int32_t p = 0; p < cm_validation_summaries(v); p++) {
        assert_true(isnan(r->predicted[p]) || r->predicted[p] > 0 || orders || fits);
        assert_true(!orders || isnan(r->predicted[p]) || r->predicted[p] <= r->measured);
    }
    if (!isnan(r->interval[0])) assert_true(r->interval[0] <= r->predicted[0] && r->predicted[0] <= r->interval[1]);
}

static void test_every_set(void **state)
{
    (void)state;
    static const char *const expected[] = {
        "alcf2023", "calibration-styles", "centimani-figures", "centimani-kernels", "centimani-table2",
        "centimani-table5", "emani2022-applications", "emani2022-benchmarks", "emani2022-collectives",
        "emani2022-inference", "emani2022-kernels", "emani2024", "nasari2022", "cpu"};
    const size_t   n = sizeof expected / sizeof *expected;
    cm_scoreboard *b = run(NULL);
    for (size_t i = 0; i < n; i++) assert_non_null(named(b, expected[i]));
    for (int32_t i = 0; i < cm_scoreboard_sets(b); i++) {
        const cm_validation *v = cm_scoreboard_set(b, i);
        assert_true(cm_validation_rows(v) > 0);
        for (int32_t r = 0; r < cm_validation_rows(v); r++) check_row(v, cm_validation_get_row(v, r));
    }
    assert_null(named(b, "left-out-styles"));
    cm_scoreboard_free(b);
}

/* No row is predicted with a profile that was fitted to its model. */
static void test_left_out(void **state)
{
    (void)state;
    cm_scoreboard       *b = run("calibration-styles");
    const cm_validation *v = cm_scoreboard_set(b, 0);
    int32_t              left_out = 0;
    for (int32_t i = 0; i < cm_validation_rows(v); i++) {
        const cm_validation_row *r = cm_validation_get_row(v, i);
        assert_true(r->reason || r->evidence == CM_EVIDENCE_LEFT_OUT);
        left_out += r->evidence == CM_EVIDENCE_LEFT_OUT;
    }
    assert_true(left_out > 60);
    cm_scoreboard_free(b);
}

/* Fitted rows are listed, but do not count in the summary. */
static void test_fitted(void **state)
{
    (void)state;
    cm_scoreboard       *b = run("h200-steps");
    const cm_validation *v = cm_scoreboard_set(b, 0);
    int32_t              fitted = 0;
    for (int32_t i = 0; i < cm_validation_rows(v); i++)
        fitted += cm_validation_get_row(v, i)->evidence == CM_EVIDENCE_FITTED;
    assert_int_equal(cm_validation_rows(v), 128);
    assert_int_equal(fitted, 65); /* host-bound steps */
    assert_int_equal(cm_validation_get_summary(v, 0)->n, 128 - 65);
    cm_scoreboard_free(b);
}

/* A set with its own machine: every row is predicted with that profile, and by every baseline. */
static void test_own_machine(void **state)
{
    (void)state;
    cm_scoreboard       *b = run("cpu");
    const cm_validation *v = cm_scoreboard_set(b, 0);
    for (int32_t i = 0; i < cm_validation_rows(v); i++) {
        const cm_validation_row *r = cm_validation_get_row(v, i);
        assert_null(r->reason);
        for (int32_t p = 0; p < cm_validation_summaries(v); p++) assert_true(r->predicted[p] > 0);
    }
    for (int32_t p = 1; p < cm_validation_summaries(v); p++) {
        const cm_validation_summary *s = cm_validation_get_summary(v, p);
        assert_true(s->own_accuracy > s->shared_accuracy);
    }
    cm_scoreboard_free(b);
}

static const cm_validation_row *row_on(const cm_validation *v, const char *device)
{
    for (int32_t i = 0; i < cm_validation_rows(v); i++)
        if (strcmp(cm_validation_get_row(v, i)->device, device) == 0) return cm_validation_get_row(v, i);
    return NULL;
}

/* Without its results, a GPU loses its corrections, and the device of the tables has no prediction. */
static void test_device_left_out(void **state)
{
    (void)state;
    cm_scoreboard *with = run("published-gpus"), *without, *reference;
    cm_diag        diag = {0};
    assert_int_equal(cm_scoreboard_run("published-gpus", true, &without, &diag), CM_OK);
    assert_int_equal(cm_scoreboard_run("h200-fresh", true, &reference, &diag), CM_OK);
    assert_false(cm_scoreboard_leaves_out(with));
    assert_true(cm_scoreboard_leaves_out(without));
    const cm_validation_row *own = row_on(cm_scoreboard_set(with, 0), "nvidia-rtx3090"),
                            *left = row_on(cm_scoreboard_set(without, 0), "nvidia-rtx3090");
    assert_true(own->predicted[0] > 0 && left->predicted[0] > 0);
    assert_true(own->predicted[0] != left->predicted[0]); /* its profile has corrections */
    assert_int_equal(left->evidence, CM_EVIDENCE_LEFT_OUT);
    assert_int_equal(cm_validation_get_summary(cm_scoreboard_set(reference, 0), 0)->n, 0);
    assert_non_null(strstr(cm_validation_get_row(cm_scoreboard_set(reference, 0), 0)->reason, "kernel tables"));
    cm_scoreboard_free(with);
    cm_scoreboard_free(without);
    cm_scoreboard_free(reference);
}

static void test_unknown(void **state)
{
    (void)state;
    cm_scoreboard *b = NULL;
    cm_diag        diag = {0};
    assert_int_equal(cm_scoreboard_run("table9", false, &b, &diag), CM_ERR_UNKNOWN);
    assert_non_null(strstr(diag.reason, "centimani-table5"));
    assert_null(strstr(diag.reason, "left-out-styles"));
    assert_null(b);
    assert_int_equal(cm_scoreboard_run("all", false, NULL, &diag), CM_ERR_ARGUMENT);
    cm_scoreboard_free(NULL);
    assert_string_equal(cm_evidence_name(CM_EVIDENCE_LEFT_OUT), "left out");
    assert_null(cm_evidence_name(CM_EVIDENCES));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table5),   cmocka_unit_test(test_memory), cmocka_unit_test(test_every_set),
        cmocka_unit_test(test_left_out), cmocka_unit_test(test_fitted), cmocka_unit_test(test_unknown),
        cmocka_unit_test(test_own_machine), cmocka_unit_test(test_device_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
