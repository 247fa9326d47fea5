/* SPDX-License-Identifier: Apache-2.0 */
/* fit.h - fit operator models to timings, and evaluate models on timings. */
#ifndef CM_DEVICE_FIT_H
#define CM_DEVICE_FIT_H

#include "device/fits/timings.h"

typedef struct cm__fit_error {
    double  mape, bias, p90;
    int32_t n;
} cm__fit_error;

typedef struct cm__fit {
    const cm__form *form;
    double          parameters[48];
    cm__fit_error   error; /* cross-validated */
} cm__fit;

/* Fit one group's rows; the error is cross-validated. */
void cm__fit_group(cm__ctx *ctx, const cm__timings *t, int32_t group, const cm__ceilings *c, cm__fit *fit);

/* Evaluate a model on one group's rows. */
cm__fit_error cm__fit_check(cm__ctx *ctx, const cm__timings *t, int32_t group, const cm__ceilings *c,
                            const cm__form *form, const double *p);

/* Errors computed elsewhere, as a fitting with classes only. */
struct cm_fitting *cm__fitting_of(cm__ctx *ctx, const cm_fit_class *classes, int32_t count);

/* Ceilings estimated from the rows themselves, for devices without a known profile. */
cm__ceilings cm__ceilings_seen(const cm__timings *t, int32_t group);

#endif
