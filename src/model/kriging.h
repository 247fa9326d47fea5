/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kriging.h - what is known of a call from measured ones near it: ordinary kriging over the nearest rows of a table.
 *
 * What is interpolated is the logarithm of time over roofline time, which changes slowly; how slowly along each feature
 * is in scales.def.
 */
#ifndef CM_MODEL_KRIGING_H
#define CM_MODEL_KRIGING_H

#include "model/roofline.h"

#define CM__FEATURES (CM__CALL_SIZES + 5)

/* The features of a call, over their scales; returns how many. */
int cm__features(const cm__call *call, double roofline_s, float *features);

typedef struct cm__kriged {
    double  value;    /* of the logarithm */
    double  unknown;  /* 0: as good as measured, 1: nothing near */
    double  nearest;  /* distance to the nearest row, in scales */
    int32_t row;      /* that row */
} cm__kriged;

/* From rows of `count` features each; `without` is left out (-1: none). There must be one row at least. */
cm__kriged cm__krige(int op, const float *rows, const float *values, int32_t n_rows, const float *features, int count,
                     int32_t without);

#endif
