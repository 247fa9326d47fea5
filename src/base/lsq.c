/* SPDX-License-Identifier: Apache-2.0 */
/* lsq.c - the Levenberg-Marquardt method: damped normal equations, solved by Cholesky decomposition. */
#include "base/lsq.h"

#include <math.h>
#include <string.h>

#define DIFFERENCE 1e-3   /* step for finite differences; not smaller, since models have kinks */
#define DAMPING_FIRST 1e-2
#define DAMPING_MAX 1e8
#define STEP_MAX 2.0      /* largest change of a parameter per iteration; parameters are logarithms */
#define IMPROVEMENT 1e-5  /* relative; stop after a few iterations that gain less */
#define PATIENCE 3

typedef struct work {
    const cm__lsq *q;
    double        *r, *shifted, *jacobian; /* jacobian: one row per parameter */
    double         matrix[CM__LSQ_MAX][CM__LSQ_MAX], gradient[CM__LSQ_MAX], step[CM__LSQ_MAX];
} work;

static double loss(const cm__lsq *q, const double *r)
{
    double sum = 0;
    for (int i = 0; i < q->rows; i++) {
        double z = r[i] / q->scale;
        sum += 2 * (sqrt(1 + z * z) - 1);
    }
    return isfinite(sum) ? sum * q->scale * q->scale / q->rows : INFINITY;
}

static void differentiate(work *w, double *x)
{
    const cm__lsq *q = w->q;
    for (int p = 0; p < q->parameters; p++) {
        double at = x[p], *column = w->jacobian + (size_t)p * (size_t)q->rows;
        x[p] = at + DIFFERENCE;
        q->residuals(x, w->shifted, q->data);
        for (int i = 0; i < q->rows; i++) column[i] = (w->shifted[i] - w->r[i]) / DIFFERENCE;
        x[p] = at;
    }
}

/* Normal equations, with each row weighted by rho's derivative. */
static void assemble(work *w)
{
    const cm__lsq *q = w->q;
    memset(w->matrix, 0, sizeof w->matrix);
    memset(w->gradient, 0, sizeof w->gradient);
    for (int i = 0; i < q->rows; i++) {
        double z = w->r[i] / q->scale, weight = 1 / sqrt(1 + z * z);
        for (int a = 0; a < q->parameters; a++) {
            double ja = w->jacobian[(size_t)a * (size_t)q->rows + (size_t)i] * weight;
            w->gradient[a] += ja * w->r[i];
            for (int b = 0; b <= a; b++) w->matrix[a][b] += ja * w->jacobian[(size_t)b * (size_t)q->rows + (size_t)i];
        }
    }
}

/* Solve (matrix + damping diagonal) step = -gradient; false: not positive definite. */
static bool solve(work *w, double damping)
{
    double l[CM__LSQ_MAX][CM__LSQ_MAX];
    int    n = w->q->parameters;
    for (int a = 0; a < n; a++)
        for (int b = 0; b <= a; b++) {
            double sum = w->matrix[a][b];
            if (a == b) sum += damping * (w->matrix[a][a] + 1e-6);
            for (int k = 0; k < b; k++) sum -= l[a][k] * l[b][k];
            if (a != b) l[a][b] = sum / l[b][b];
            else if (sum <= 0 || !isfinite(sum)) return false;
            else l[a][a] = sqrt(sum);
        }
    for (int a = 0; a < n; a++) {
        double sum = -w->gradient[a];
        for (int k = 0; k < a; k++) sum -= l[a][k] * w->step[k];
        w->step[a] = sum / l[a][a];
    }
    for (int a = n - 1; a >= 0; a--) {
        double sum = w->step[a];
        for (int k = a + 1; k < n; k++) sum -= l[k][a] * w->step[k];
        w->step[a] = sum / l[a][a];
    }
    return true;
}

static void take_step(const work *w, const double *x, double *next)
{
    for (int p = 0; p < w->q->parameters; p++) next[p] = x[p] + fmax(-STEP_MAX, fmin(STEP_MAX, w->step[p]));
}

double cm__lsq_solve(cm__ctx *ctx, const cm__lsq *q, double *x)
{
    if (q->parameters < 1 || q->parameters > CM__LSQ_MAX || q->rows < 1)
        cm__fail(ctx, CM_ERR_ARGUMENT, "%d parameters for %d rows", q->parameters, q->rows);
    work  *w = cm__alloc(ctx, sizeof *w);
    double next[CM__LSQ_MAX], damping = DAMPING_FIRST;
    w->q = q;
    w->r = cm__alloc_array(ctx, (size_t)q->rows, sizeof *w->r);
    w->shifted = cm__alloc_array(ctx, (size_t)q->rows, sizeof *w->shifted);
    w->jacobian = cm__alloc_array(ctx, (size_t)q->rows * (size_t)q->parameters, sizeof *w->jacobian);
    q->residuals(x, w->r, q->data);
    double best = loss(q, w->r);
    for (int i = 0, idle = 0; i < q->iterations && idle < PATIENCE && damping < DAMPING_MAX; i++) {
        differentiate(w, x);
        assemble(w);
        double before = best;
        for (; damping < DAMPING_MAX; damping *= 4) {
            if (!solve(w, damping)) continue;
            take_step(w, x, next);
            q->residuals(next, w->shifted, q->data);
            double now = loss(q, w->shifted);
            if (now >= best) continue;
            best = now;
            memcpy(x, next, (size_t)q->parameters * sizeof *x);
            memcpy(w->r, w->shifted, (size_t)q->rows * sizeof *w->r);
            damping /= 10;
            break;
        }
        idle = before - best < IMPROVEMENT * before ? idle + 1 : 0;
    }
    return best;
}
