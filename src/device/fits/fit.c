/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fit.c - fit a form's parameters to timings of one operator.
 *
 * Residuals are log(predicted / measured), so that short and long times have the same weight. The reported and stored
 * error is cross-validated: FOLDS models, each evaluated on rows it was not fitted to.
 */
#include "device/fits/fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/lsq.h"

#define FOLDS 4
#define ROWS_FITTED_MAX 3000 /* more rows cost time without improving the fit */
#define TRIAL_ITERATIONS 12  /* of each starting point */
#define ITERATIONS 60        /* of the best one */
#define SCALE 0.1            /* residuals above a tenth count linearly */
#define CORES_ASSUMED 100

typedef struct problem {
    const cm__form     *form;
    const cm__ceilings *c;
    const cm__timing  **rows;
    int32_t             n;
} problem;

static void residuals(const double *x, double *r, void *data)
{
    const problem *q = data;
    double         p[CM__LSQ_MAX];
    cm__form_from_free(q->form, x, p);
    for (int32_t i = 0; i < q->n; i++) r[i] = log(q->form->time(p, &q->rows[i]->work, q->c) / q->rows[i]->time_s);
}

/* A fixed pseudo-random order of the rows: sorted by a hash of their index. */
static uint32_t scrambled(uint32_t i)
{
    i = (i ^ 61) ^ (i >> 16);
    i *= 9;
    i ^= i >> 4;
    i *= 0x27d4eb2d;
    return i ^ (i >> 15);
}

static const cm__timing **rows_of(cm__ctx *ctx, const cm__timings *t, int32_t group, int32_t *n)
{
    const cm__timing **rows = cm__alloc_array(ctx, (size_t)t->groups[group].rows, sizeof *rows);
    *n = 0;
    for (int32_t i = 0; i < t->n_rows; i++)
        if (t->rows[i].group == group) rows[(*n)++] = &t->rows[i];
    for (int32_t i = *n - 1; i > 0; i--) {
        int32_t           j = (int32_t)(scrambled((uint32_t)i) % (uint32_t)(i + 1));
        const cm__timing *other = rows[j];
        rows[j] = rows[i];
        rows[i] = other;
    }
    return rows;
}

/* Run a few iterations from each of several points; the best one becomes the starting point. */
static void best_start(cm__ctx *ctx, const cm__lsq *q, const cm__form *form, double *x)
{
    static const double shifts[] = {0, -1.2, 1.2}; /* of the overheads' and rates' logarithms */
    double              best = INFINITY, p[CM__LSQ_MAX], y[CM__LSQ_MAX] = {0};
    cm__form_first(form, p);
    cm__form_to_free(form, p, x);
    for (size_t s = 0; s < sizeof shifts / sizeof *shifts; s++) {
        cm__form_to_free(form, p, y);
        for (int i = 0; i < q->parameters; i++) y[i] += shifts[s];
        double loss = cm__lsq_solve(ctx, q, y);
        if (loss >= best) continue;
        best = loss;
        memcpy(x, y, sizeof y);
    }
}

static void solve(cm__ctx *ctx, const problem *all, int32_t fold, double *p)
{
    problem some = {.form = all->form, .c = all->c, .rows = cm__alloc_array(ctx, (size_t)all->n, sizeof *some.rows)};
    double  x[CM__LSQ_MAX];
    for (int32_t i = 0; i < all->n && some.n < ROWS_FITTED_MAX; i++)
        if (fold < 0 || i % FOLDS != fold) some.rows[some.n++] = all->rows[i];
    cm__lsq q = {.parameters = cm__form_size(all->form),
                 .rows = some.n,
                 .iterations = TRIAL_ITERATIONS,
                 .scale = SCALE,
                 .residuals = residuals,
                 .data = &some};
    best_start(ctx, &q, all->form, x);
    q.iterations = ITERATIONS;
    cm__lsq_solve(ctx, &q, x);
    cm__form_from_free(all->form, x, p);
}

static int by_size(const void *a, const void *b)
{
    double x = fabs(*(const double *)a), y = fabs(*(const double *)b);
    return (x > y) - (x < y);
}

static cm__fit_error summary(double *errors, int32_t n)
{
    cm__fit_error e = {.n = n};
    for (int32_t i = 0; i < n; i++) {
        e.mape += fabs(errors[i]) / n;
        e.bias += errors[i] / n;
    }
    qsort(errors, (size_t)n, sizeof *errors, by_size);
    if (n) e.p90 = fabs(errors[(int32_t)(0.9 * (n - 1))]);
    return e;
}

static double error_of(const problem *q, const double *p, int32_t row)
{
    return q->form->time(p, &q->rows[row]->work, q->c) / q->rows[row]->time_s - 1;
}

void cm__fit_group(cm__ctx *ctx, const cm__timings *t, int32_t group, const cm__ceilings *c, cm__fit *fit)
{
    problem q = {.form = t->groups[group].form, .c = c};
    double  p[CM__LSQ_MAX];
    q.rows = rows_of(ctx, t, group, &q.n);
    if (q.n < 2 * FOLDS)
        cm__fail(ctx, CM_ERR_ARGUMENT, "%s %s: %d rows, at least %d are needed", t->groups[group].op,
                 t->groups[group].dtype, q.n, 2 * FOLDS);
    double *errors = cm__alloc_array(ctx, (size_t)q.n, sizeof *errors);
    for (int32_t fold = 0; fold < FOLDS; fold++) {
        solve(ctx, &q, fold, p);
        for (int32_t i = fold; i < q.n; i += FOLDS) errors[i] = error_of(&q, p, i);
    }
    fit->form = q.form;
    fit->error = summary(errors, q.n);
    solve(ctx, &q, -1, fit->parameters);
}

cm__fit_error cm__fit_check(cm__ctx *ctx, const cm__timings *t, int32_t group, const cm__ceilings *c,
                            const cm__form *form, const double *p)
{
    problem q = {.form = form, .c = c};
    q.rows = rows_of(ctx, t, group, &q.n);
    double *errors = cm__alloc_array(ctx, (size_t)q.n, sizeof *errors);
    for (int32_t i = 0; i < q.n; i++) errors[i] = error_of(&q, p, i);
    return summary(errors, q.n);
}

cm__ceilings cm__ceilings_seen(const cm__timings *t, int32_t group)
{
    cm__ceilings c = {.cores = CORES_ASSUMED, .cache_bytes = 1 << 25};
    for (int32_t i = 0; i < t->n_rows; i++) {
        if (t->rows[i].group != group) continue;
        c.peak_flop_s = fmax(c.peak_flop_s, t->rows[i].work.flop / t->rows[i].time_s);
        c.bandwidth_bytes_s = fmax(c.bandwidth_bytes_s, t->rows[i].work.bytes / t->rows[i].time_s);
    }
    return c;
}
