/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kriging.h - predict a call from measured calls with similar features: ordinary kriging over the nearest table rows.
 *
 * The interpolated value is the logarithm of time over roofline time, less its trend (trend.h), which changes slowly. A
 * call's own table has most weight. Tables of the same operator in other variants, types and passes contribute at an
 * added distance.
 */
#ifndef CM_MODEL_KRIGING_H
#define CM_MODEL_KRIGING_H

#include "model/time/features.h"
#include "model/time/nearest.h"

typedef struct cm__kriged {
    double  value;   /* the predicted log ratio */
    double  unknown; /* its variance, without measurement noise; the call's spread: no row is near */
    double  nearest; /* distance to the nearest row of the call's own table, in scales */
    int32_t row;     /* index of that row */
} cm__kriged;

/* Predicts a call with these `count` features that belongs to table `home`. Row `without` of that table is left out
   (-1: none). There must be at least one other row. */
cm__kriged cm__krige(const cm__scales *scales, const cm__rows *tables, int32_t n_tables, int32_t home,
                     const float *features, int count, int32_t without);

#endif
