/* SPDX-License-Identifier: Apache-2.0 */
/*
 * features.h - what of a call decides how far its time is from the roofline: sizes, alignments, how tiles fill cores.
 *
 * How fast that changes along each feature, and between tables, is in scales.def.
 */
#ifndef CM_MODEL_FEATURES_H
#define CM_MODEL_FEATURES_H

#include "model/time/roofline.h"

#define CM__FEATURES 32 /* at most */

/* Of an operator's calls; scale 0: the usual one. */
typedef struct cm__scales {
    double noise;                /* variance of a measured logarithm */
    double alike;                /* variance that all rows of a table share */
    double variant, dtype, pass; /* distance between tables that differ in it */
    float  scales[CM__FEATURES];
} cm__scales;

const cm__scales *cm__scales_of(int op);

/* Padded with zeros to a multiple of four. */
int cm__n_features(int op);

/* The features of a call on a device of these limits, over their scales. Returns its roofline, in seconds. */
double cm__features(const cm__call *call, const cm__limits *limits, float *features);

#endif
