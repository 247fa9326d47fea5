/* SPDX-License-Identifier: Apache-2.0 */
/* test_statistics.c - errors, accuracy, choices and orders of a few rows, computed by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "validate/validate.h"

#define NEAR(a, b) assert_true(fabs((a) - (b)) < 1e-12)

/* Two predictors; the second has no answer on the third row. */
static const double one[] = {110, 90}, two[] = {100, 50}, three[] = {90, NAN}, far[] = {900, 300};

static cm_validation_row row(const char *device, double measured, const double *predicted, const char *compare)
{
    return (cm_validation_row){.device = device, .measured = measured, .predicted = predicted, .compare = compare,
                               .better = 1, .interval = {NAN, NAN}, .fits = -1, .ran = true};
}

static void test_errors(void **state)
{
    (void)state;
    cm__ctx          *ctx = cm__ctx_new(NULL);
    cm_validation_row rows[] = {row("a", 100, one, NULL), row("b", 200, two, NULL), row("a", 100, three, NULL),
                                row("a", 100, far, NULL)};
    rows[0].interval[0] = 95;
    rows[0].interval[1] = 120;
    cm_validation_summary s = cm__summarise(ctx, rows, 4, 0, NULL);
    assert_int_equal(s.n, 4); /* errors 10, -50, -10 and 800 % */
    NEAR(s.mape, (0.1 + 0.5 + 0.1 + 8) / 4);
    NEAR(s.bias, (0.1 - 0.5 - 0.1 + 8) / 4);
    NEAR(s.accuracy, (0.9 + 0.5 + 0.9 + 0) / 4);
    NEAR(s.worst, 8);
    NEAR(s.median_factor, sqrt(100.0 / 90 * 2)); /* median of the factors 1.1, 1.11, 2 and 9 */
    assert_int_equal(s.within_two, 3);
    assert_true(isnan(cm__summarise(ctx, rows, 4, 0, "c").median_factor));
    assert_int_equal(s.intervals, 1);
    assert_int_equal(s.inside, 1);
    assert_int_equal(cm__summarise(ctx, rows, 4, 0, "a").n, 3);
    cm_validation_summary other = cm__summarise(ctx, rows, 4, 1, NULL);
    assert_int_equal(other.n, 3);
    assert_int_equal(other.shared, 3); /* rows 1, 2 and 4 */
    NEAR(other.shared_accuracy, (0.9 + 0.25 + 0) / 3);
    NEAR(other.own_accuracy, (0.9 + 0.5 + 0) / 3);
    rows[3].evidence = CM_EVIDENCE_FITTED;
    assert_int_equal(cm__summarise(ctx, rows, 4, 0, NULL).n, 3);
    cm__ctx_free(ctx);
}

/* Rows of classes that are no evidence for other models do not count, unless a set has no others. */
static void test_evidence(void **state)
{
    (void)state;
    cm__ctx          *ctx = cm__ctx_new(NULL);
    cm_validation_row rows[] = {row("a", 100, one, NULL), row("b", 200, two, NULL), row("a", 100, far, NULL)};
    rows[1].evidence = CM_EVIDENCE_SIBLING;
    rows[2].evidence = CM_EVIDENCE_LOOKUP;
    cm_validation_summary s = cm__summarise(ctx, rows, 3, 0, NULL), rest = cm__summarise(ctx, rows + 1, 2, 0, NULL);
    assert_true(s.headline);
    assert_int_equal(s.n, 1);
    NEAR(s.mape, 0.1);
    assert_false(rest.headline);
    assert_int_equal(rest.n, 2);
    NEAR(rest.mape, (0.5 + 8) / 2);
    rows[0].evidence = CM_EVIDENCE_FIRST_SIGHT;
    assert_int_equal(cm__summarise(ctx, rows, 3, 0, NULL).n, 1);
    cm__ctx_free(ctx);
}

/* A refusal of what ran is an error of 100 % and never the choice; other predictors are not charged with it. */
static void test_refusals(void **state)
{
    (void)state;
    static const double none[] = {NAN, 80}, order[] = {NAN};
    cm__ctx            *ctx = cm__ctx_new(NULL);
    cm_validation_row   rows[] = {row("a", 100, one, "x"), row("b", 200, none, "x"), row("c", 4, order, NULL)};
    rows[1].reason = rows[2].reason = "does not fit";
    rows[2].kind = CM_ROW_ORDER;
    cm_validation_summary s = cm__summarise(ctx, rows, 2, 0, NULL);
    assert_int_equal(s.n, 1); /* a row whose run is not described is not counted */
    rows[1].refused = rows[2].refused = true;
    s = cm__summarise(ctx, rows, 3, 0, NULL);
    assert_int_equal(s.n, 2);
    assert_int_equal(s.refused, 1);
    NEAR(s.mape, (0.1 + 1) / 2);
    NEAR(s.accuracy, 0.9 / 2);
    assert_int_equal(s.pairs, 4);
    assert_int_equal(s.pairs_right, 0);
    NEAR(s.top1, 0); /* the refused device is the better one */
    NEAR(s.regret, 0.5);
    cm_validation_summary other = cm__summarise(ctx, rows, 2, 1, NULL);
    assert_int_equal(other.refused, 0);
    NEAR(other.shared_accuracy, (0.9 + 0.4) / 2);
    NEAR(other.own_accuracy, 0.9 / 2);
    cm__ctx_free(ctx);
}

/* Measured 300, 200, 100; predicted 10, 30, 20: the second is chosen, and one pair of three is in order. */
static void test_decisions(void **state)
{
    (void)state;
    static const double p[][1] = {{10}, {30}, {20}, {5}, {4}};
    cm__ctx            *ctx = cm__ctx_new(NULL);
    cm_validation_row   rows[] = {row("a", 300, p[0], "x"), row("b", 200, p[1], "x"), row("c", 100, p[2], "x"),
                                  row("a", 1, p[3], "y"), row("b", 2, p[4], NULL)};
    cm_validation_summary s = cm__summarise(ctx, rows, 5, 0, NULL);
    assert_int_equal(s.decisions, 1);
    NEAR(s.top1, 0);
    NEAR(s.regret, 1 - 200.0 / 300);
    NEAR(s.tau, (1.0 - 2) / 3);
    for (int i = 0; i < 3; i++) rows[i].better = -1; /* less is better: the first is chosen, the third is best */
    s = cm__summarise(ctx, rows, 5, 0, NULL);
    NEAR(s.top1, 0);
    NEAR(s.regret, 1 - 100.0 / 300);
    cm__ctx_free(ctx);
}

static void test_orders_and_memory(void **state)
{
    (void)state;
    static const double right[] = {2}, fits[] = {1};
    cm__ctx            *ctx = cm__ctx_new(NULL);
    cm_validation_row   rows[] = {row("a", 3, right, NULL), row("b", 0, fits, NULL), row("c", 100, right, NULL)};
    rows[0].kind = CM_ROW_ORDER;
    rows[1].kind = CM_ROW_FITS;
    rows[1].fits = 1;
    rows[1].ran = false;
    rows[2].fits = 0;
    cm_validation_summary s = cm__summarise(ctx, rows, 3, 0, NULL);
    assert_int_equal(s.n, 1); /* neither an order nor a fits row has an error */
    assert_int_equal(s.pairs, 3);
    assert_int_equal(s.pairs_right, 2);
    assert_int_equal(s.missed_oom, 1);
    assert_int_equal(s.false_oom, 1);
    assert_true(isnan(s.tau));
    cm__ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_evidence),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_decisions),
        cmocka_unit_test(test_orders_and_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
