/* SPDX-License-Identifier: Apache-2.0 */
/* fit.h - operator models from timings, and models held against timings. */
#ifndef CM_DEVICE_FIT_H
#define CM_DEVICE_FIT_H

#include "device/timings.h"

typedef struct cm__fit_error {
    double  mape, bias, p90;
    int32_t n;
} cm__fit_error;

typedef struct cm__fit {
    const cm__form *form;
    double          parameters[48];
    cm__fit_error   error; /* cross-validated */
} cm__fit;

/* Fit one group's rows; its error is over rows left out in turn. */
void cm__fit_group(cm__ctx *ctx, const cm__timings *t, int32_t group, const cm__ceilings *c, cm__fit *fit);

/* A model against one group's rows. */
cm__fit_error cm__fit_check(cm__ctx *ctx, const cm__timings *t, int32_t group, const cm__ceilings *c,
                            const cm__form *form, const double *p);

/* Errors found elsewhere, as a fitting of which only the classes are known. */
struct cm_fitting *cm__fitting_of(cm__ctx *ctx, const cm_fit_class *classes, int32_t count);

/* What the rows themselves show to be possible, for devices of which nothing else is known. */
cm__ceilings cm__ceilings_seen(const cm__timings *t, int32_t group);

#endif
