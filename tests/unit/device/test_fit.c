/* SPDX-License-Identifier: Apache-2.0 */
/* test_fit.c - a form's own times are fitted to within a percent, whatever a tenth of the rows says. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "device/fit.h"

#define ROWS 160
#define SPREAD 0.5 /* of the known parameters about where fitting begins, as logarithms */

static const cm__ceilings ceilings = {.cores = 108, .peak_flop_s = 312e12, .bandwidth_bytes_s = 2e12, .cache_bytes = 4e7};

static cm__ctx *ctx;
static cm_diag  diag;
static uint32_t seed;

static int start(void **state)
{
    (void)state;
    ctx = cm__ctx_new(&diag);
    return ctx ? 0 : -1;
}

static int stop(void **state)
{
    (void)state;
    cm__ctx_free(ctx);
    return 0;
}

static double uniform(void)
{
    seed = seed * 1664525u + 1013904223u;
    return (double)(seed >> 8) / (1 << 24);
}

static double size_between(double least, double most) { return floor(least * exp(uniform() * log(most / least))); }

/* ---- rows of known origin --------------------------------------------------------------------------------------- */

static cm__work random_work(const cm__form *form)
{
    if (strcmp(form->name, "tiles") == 0) {
        double m = size_between(16, 8192), n = size_between(16, 8192), k = size_between(32, 8192);
        return (cm__work){.batch = 1, .m = m, .n = n, .k = k, .flop = 2 * m * n * k, .bytes = 2 * (m * k + k * n + m * n)};
    }
    if (strcmp(form->name, "attention") == 0) {
        double batch = size_between(1, 32), heads = size_between(1, 64), s = size_between(64, 8192);
        return (cm__work){.batch = batch, .heads = heads, .queries = s, .keys = s, .width = 128, .causal = uniform() < 0.5, .m = 1, .n = 1,
                          .k = 1, .flop = 4 * batch * heads * s * s * 128, .bytes = 2 * batch * heads * s * 128 * 4};
    }
    double m = size_between(16, 65536), n = size_between(16, 8192);
    return (cm__work){.batch = 1, .m = m, .n = n, .k = 1, .flop = m * n, .bytes = 4 * m * n};
}

static void known_parameters(const cm__form *form, double *p)
{
    double x[48];
    cm__form_first(form, p);
    cm__form_to_free(form, p, x);
    for (int i = 0; i < cm__form_size(form); i++) x[i] += SPREAD * (2 * uniform() - 1);
    cm__form_from_free(form, x, p);
}

static cm__timings *rows_of(const char *name, int32_t rows, double *p)
{
    cm__timings *t = cm__alloc(ctx, sizeof *t);
    seed = 11;
    t->groups = cm__alloc(ctx, sizeof *t->groups);
    t->groups[0] = (cm__timing_group){.device = "x", .library = "", .op = name, .pass = "forward", .dtype = "bf16",
                                      .form = cm__form_find(name), .rows = rows};
    t->rows = cm__alloc_array(ctx, (size_t)rows, sizeof *t->rows);
    t->n_groups = 1;
    t->n_rows = rows;
    known_parameters(t->groups[0].form, p);
    for (int32_t i = 0; i < rows; i++) {
        t->rows[i].work = random_work(t->groups[0].form);
        t->rows[i].time_s = t->groups[0].form->time(p, &t->rows[i].work, &ceilings);
    }
    return t;
}

/* ---- fitting ---------------------------------------------------------------------------------------------------- */

static void a_form_fits_itself(const char *name, double limit)
{
    double       p[48];
    cm__fit      fit;
    cm__timings *t = rows_of(name, ROWS, p);
    cm__fit_group(ctx, t, 0, &ceilings, &fit);
    assert_ptr_equal(fit.form, cm__form_find(name));
    assert_int_equal(fit.error.n, ROWS);
    if (fit.error.mape >= limit) fail_msg("%s: %g", name, fit.error.mape);
    assert_true(fabs(fit.error.bias) <= fit.error.mape);
    assert_true(cm__fit_check(ctx, t, 0, &ceilings, fit.form, fit.parameters).mape < limit);
}

static void products_fit_themselves(void **state) { (void)state; a_form_fits_itself("tiles", 0.01); }
static void attention_fits_itself(void **state) { (void)state; a_form_fits_itself("attention", 0.01); }
static void streams_fit_themselves(void **state) { (void)state; a_form_fits_itself("stream", 0.01); }
static void rows_fit_themselves(void **state) { (void)state; a_form_fits_itself("rows", 0.01); }

/* A tenth of the rows took five times as long; the others are predicted as if they had not. */
static void outliers_do_not_spoil_it(void **state)
{
    (void)state;
    double       p[48];
    cm__fit      fit;
    cm__timings *t = rows_of("stream", ROWS, p);
    for (int32_t i = 0; i < ROWS; i += 10) t->rows[i].time_s *= 5;
    cm__fit_group(ctx, t, 0, &ceilings, &fit);
    for (int32_t i = 0; i < ROWS; i += 10) t->rows[i].time_s /= 5;
    assert_true(cm__fit_check(ctx, t, 0, &ceilings, fit.form, fit.parameters).mape < 0.02);
}

/* On an outlier of five times, any good model is off by 4/5: a tenth of them is 8 % of mean error, and shown. */
static void outliers_are_not_hidden(void **state)
{
    (void)state;
    double       p[48];
    cm__fit      fit;
    cm__timings *t = rows_of("stream", ROWS, p);
    for (int32_t i = 0; i < ROWS; i += 10) t->rows[i].time_s *= 5;
    cm__fit_group(ctx, t, 0, &ceilings, &fit);
    assert_true(fabs(fit.error.mape - 0.08) < 0.02);
}

static void the_same_rows_give_the_same_fit(void **state)
{
    (void)state;
    double       p[48];
    cm__fit      a, b;
    cm__timings *t = rows_of("rows", 48, p);
    cm__fit_group(ctx, t, 0, &ceilings, &a);
    cm__fit_group(ctx, t, 0, &ceilings, &b);
    assert_memory_equal(a.parameters, b.parameters, (size_t)cm__form_size(a.form) * sizeof *a.parameters);
    assert_memory_equal(&a.error, &b.error, sizeof a.error);
}

static void too_few_rows_are_refused(void **state)
{
    (void)state;
    double                p[48];
    cm__fit               fit;
    cm__timings *volatile t = rows_of("stream", 7, p);
    if (setjmp(ctx->trap)) {
        assert_int_equal(ctx->status, CM_ERR_ARGUMENT);
        assert_non_null(strstr(diag.reason, "7 rows, at least 8"));
        return;
    }
    cm__fit_group(ctx, t, 0, &ceilings, &fit);
    fail_msg("seven rows were fitted");
}

static void eight_rows_are_enough(void **state)
{
    (void)state;
    double       p[48];
    cm__fit      fit;
    cm__timings *t = rows_of("stream", 8, p);
    cm__fit_group(ctx, t, 0, &ceilings, &fit);
    assert_true(fit.error.n == 8 && isfinite(fit.error.mape));
}

static void other_groups_are_not_looked_at(void **state)
{
    (void)state;
    double       p[48];
    cm__fit      alone, beside;
    cm__timings *t = rows_of("stream", 64, p);
    cm__fit_group(ctx, t, 0, &ceilings, &alone);
    cm__timing_group *groups = cm__alloc_array(ctx, 2, sizeof *groups);
    cm__timing       *rows = cm__alloc_array(ctx, 128, sizeof *rows);
    groups[0] = groups[1] = t->groups[0];
    for (int i = 0; i < 64; i++) {
        rows[2 * i] = rows[2 * i + 1] = t->rows[i];
        rows[2 * i + 1].group = 1;
        rows[2 * i + 1].time_s *= 1 + i;
    }
    cm__timings two = {.rows = rows, .groups = groups, .n_rows = 128, .n_groups = 2};
    cm__fit_group(ctx, &two, 0, &ceilings, &beside);
    assert_true(beside.error.mape == alone.error.mape && beside.error.n == 64);
}

/* ---- errors ----------------------------------------------------------------------------------------------------- */

/* Predictions are t, measurements t / (1 + e): relative errors of e, known in advance. */
static void errors_are_relative_to_the_measurement(void **state)
{
    (void)state;
    double       p[48];
    cm__timings *t = rows_of("stream", 100, p);
    for (int i = 0; i < 100; i++) t->rows[i].time_s /= 1 + (i < 80 ? 0.1 : -0.2);
    cm__fit_error e = cm__fit_check(ctx, t, 0, &ceilings, t->groups[0].form, p);
    assert_int_equal(e.n, 100);
    assert_true(fabs(e.mape - (80 * 0.1 + 20 * 0.2) / 100) < 1e-9);
    assert_true(fabs(e.bias - (80 * 0.1 - 20 * 0.2) / 100) < 1e-9);
    assert_true(fabs(e.p90 - 0.2) < 1e-9);
}

static void a_model_that_is_right_has_no_error(void **state)
{
    (void)state;
    double        p[48];
    cm__timings  *t = rows_of("tiles", 100, p);
    cm__fit_error e = cm__fit_check(ctx, t, 0, &ceilings, t->groups[0].form, p);
    assert_true(e.mape == 0 && e.bias == 0 && e.p90 == 0);
}

/* ---- ceilings --------------------------------------------------------------------------------------------------- */

static void the_best_rows_are_the_ceilings(void **state)
{
    (void)state;
    cm__timing   rows[] = {{.work = {.flop = 1e12, .bytes = 1e9}, .time_s = 1e-2}, {.work = {.flop = 1e9, .bytes = 5e9}, .time_s = 5e-3},
                           {.group = 1, .work = {.flop = 1e18, .bytes = 1e18}, .time_s = 1}};
    cm__timings  t = {.rows = rows, .n_rows = 3};
    cm__ceilings c = cm__ceilings_seen(&t, 0);
    assert_true(fabs(c.peak_flop_s / 1e14 - 1) < 1e-12 && fabs(c.bandwidth_bytes_s / 1e12 - 1) < 1e-12);
    assert_true(c.cores >= 1 && c.cache_bytes > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_fit_themselves),
        cmocka_unit_test(attention_fits_itself),
        cmocka_unit_test(streams_fit_themselves),
        cmocka_unit_test(rows_fit_themselves),
        cmocka_unit_test(outliers_do_not_spoil_it),
        cmocka_unit_test(outliers_are_not_hidden),
        cmocka_unit_test(the_same_rows_give_the_same_fit),
        cmocka_unit_test(too_few_rows_are_refused),
        cmocka_unit_test(eight_rows_are_enough),
        cmocka_unit_test(other_groups_are_not_looked_at),
        cmocka_unit_test(errors_are_relative_to_the_measurement),
        cmocka_unit_test(a_model_that_is_right_has_no_error),
        cmocka_unit_test(the_best_rows_are_the_ceilings),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
