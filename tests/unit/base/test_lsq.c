/* SPDX-License-Identifier: Apache-2.0 */
/* test_lsq.c - fits recover known parameters, also with noise and outliers. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/lsq.h"

#define ROWS 200
#define PARAMETERS 3

/* t = exp(a) + exp(b) x + exp(c) x^2: an overhead and two rates, as logarithms. */
typedef struct samples {
    double x[ROWS], t[ROWS];
} samples;

static const double known[PARAMETERS] = {-1, 0.5, -2};

static cm__ctx *ctx;
static cm_diag  diag;

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

static double curve(const double *p, double x) { return exp(p[0]) + exp(p[1]) * x + exp(p[2]) * x * x; }

static void residuals(const double *p, double *r, void *data)
{
    const samples *s = data;
    for (int i = 0; i < ROWS; i++) r[i] = log(curve(p, s->x[i]) / s->t[i]);
}

/* Uniform in -1 to 1, from a fixed seed. */
static double noise(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (double)(*seed >> 8) / (1 << 23) - 1;
}

static void sample(samples *s, double spread, int outlier_every, double outlier)
{
    uint32_t seed = 7;
    for (int i = 0; i < ROWS; i++) {
        s->x[i] = pow(10, -2 + 4.0 * i / ROWS);
        s->t[i] = curve(known, s->x[i]) * exp(spread * noise(&seed));
        if (outlier_every && i % outlier_every == 0) s->t[i] *= outlier;
    }
}

static double solve(samples *s, double scale, double *x)
{
    cm__lsq q = {.parameters = PARAMETERS, .rows = ROWS, .iterations = 100, .scale = scale, .residuals = residuals, .data = s};
    return cm__lsq_solve(ctx, &q, x);
}

static double furthest_from_known(const double *x)
{
    double most = 0;
    for (int i = 0; i < PARAMETERS; i++) most = fmax(most, fabs(x[i] - known[i]));
    return most;
}

static void exact_data_give_the_parameters(void **state)
{
    (void)state;
    static samples s;
    double         x[PARAMETERS] = {0};
    sample(&s, 0, 0, 1);
    assert_true(solve(&s, 0.1, x) < 1e-9);
    assert_true(furthest_from_known(x) < 1e-3);
}

/* The standard error is spread/sqrt(3 rows) per row, and a few times that per parameter. */
static void noise_and_outliers_move_them_little(void **state)
{
    (void)state;
    static samples s;
    double         x[PARAMETERS] = {0};
    sample(&s, 0.05, 10, 5);
    solve(&s, 0.05, x);
    assert_true(furthest_from_known(x) < 0.05);
}

/* The same outliers under a loss that is quadratic everywhere: a tenth of the rows dominates the fit. */
static void the_scale_is_what_makes_it_robust(void **state)
{
    (void)state;
    static samples s;
    double         robust[PARAMETERS] = {0}, quadratic[PARAMETERS] = {0};
    sample(&s, 0.05, 10, 5);
    solve(&s, 0.05, robust);
    solve(&s, 1e6, quadratic);
    assert_true(furthest_from_known(quadratic) > 3 * furthest_from_known(robust));
}

static void far_starts_arrive_too(void **state)
{
    (void)state;
    static samples s;
    double         x[PARAMETERS] = {4, -5, 3};
    sample(&s, 0, 0, 1);
    solve(&s, 0.1, x);
    assert_true(furthest_from_known(x) < 1e-2);
}

/* Soft-L1 of a residual z in units of the scale s: 2 s^2 (sqrt(1 + z^2) - 1); the mean is returned. */
static void the_loss_is_returned(void **state)
{
    (void)state;
    static samples s;
    double         x[PARAMETERS], r[ROWS], sum = 0, scale = 0.1;
    sample(&s, 0.05, 10, 5);
    memcpy(x, known, sizeof x);
    double loss = solve(&s, scale, x);
    residuals(x, r, &s);
    for (int i = 0; i < ROWS; i++) sum += 2 * scale * scale * (sqrt(1 + r[i] * r[i] / (scale * scale)) - 1);
    assert_true(fabs(loss - sum / ROWS) < 1e-12);
}

static void a_start_is_never_made_worse(void **state)
{
    (void)state;
    static samples s;
    double         x[PARAMETERS];
    sample(&s, 0, 0, 1);
    memcpy(x, known, sizeof x);
    assert_true(solve(&s, 0.1, x) < 1e-20);
    assert_true(furthest_from_known(x) < 1e-9);
}

/* A parameter without effect has no derivative: damping keeps the equations solvable. */
static void first_alone(const double *p, double *r, void *data)
{
    const samples *s = data;
    for (int i = 0; i < ROWS; i++) r[i] = p[0] - s->x[0];
}

static void idle_parameters_stay(void **state)
{
    (void)state;
    samples s = {.x = {1.5}};
    double  x[PARAMETERS] = {0, 3, -3};
    cm__lsq q = {.parameters = PARAMETERS, .rows = ROWS, .iterations = 50, .scale = 1, .residuals = first_alone, .data = &s};
    cm__lsq_solve(ctx, &q, x);
    assert_true(fabs(x[0] - 1.5) < 1e-3 && x[1] == 3 && x[2] == -3);
}

/* A step to a point with NaN residuals is not taken. */
static void cliff(const double *p, double *r, void *data)
{
    (void)data;
    r[0] = p[0] > 1 ? NAN : p[0] - 2;
}

static void it_does_not_step_off_cliffs(void **state)
{
    (void)state;
    double  x[1] = {0};
    cm__lsq q = {.parameters = 1, .rows = 1, .iterations = 50, .scale = 1, .residuals = cliff};
    assert_true(isfinite(cm__lsq_solve(ctx, &q, x)));
    assert_true(x[0] > 0 && x[0] <= 1);
}

static void sizes_are_checked(void **state)
{
    (void)state;
    static const int bad[][2] = {{0, 5}, {CM__LSQ_MAX + 1, 5}, {1, 0}, {-1, 5}};
    for (volatile size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        double  x[1] = {0};
        cm__lsq q = {.parameters = bad[i][0], .rows = bad[i][1], .iterations = 1, .scale = 1, .residuals = cliff};
        if (setjmp(ctx->trap)) assert_int_equal(ctx->status, CM_ERR_ARGUMENT);
        else {
            cm__lsq_solve(ctx, &q, x);
            fail_msg("%d parameters, %d rows", bad[i][0], bad[i][1]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact_data_give_the_parameters),
        cmocka_unit_test(noise_and_outliers_move_them_little),
        cmocka_unit_test(the_scale_is_what_makes_it_robust),
        cmocka_unit_test(far_starts_arrive_too),
        cmocka_unit_test(the_loss_is_returned),
        cmocka_unit_test(a_start_is_never_made_worse),
        cmocka_unit_test(idle_parameters_stay),
        cmocka_unit_test(it_does_not_step_off_cliffs),
        cmocka_unit_test(sizes_are_checked),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
