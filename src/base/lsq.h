/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lsq.h - robust non-linear least squares: the Levenberg-Marquardt method on a soft-L1 loss.
 *
 * Minimises the sum over rows of s^2 rho((r/s)^2), rho(z) = 2 (sqrt(1 + z) - 1). The loss is quadratic for residuals
 * well below the scale s and linear above it, which limits the influence of outliers. Derivatives are finite
 * differences.
 */
#ifndef CM_BASE_LSQ_H
#define CM_BASE_LSQ_H

#include "base/ctx.h"

#define CM__LSQ_MAX 48 /* most parameters */

/* Residuals of all rows at the point x. */
typedef void cm__residuals(const double *x, double *r, void *data);

typedef struct cm__lsq {
    int            parameters, rows, iterations;
    double         scale; /* s */
    cm__residuals *residuals;
    void          *data;
} cm__lsq;

/* Moves x to a local minimum; returns the mean loss there. */
double cm__lsq_solve(cm__ctx *ctx, const cm__lsq *problem, double *x);

#endif
