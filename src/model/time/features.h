/* SPDX-License-Identifier: Apache-2.0 */
/*
 * features.h - properties of a call that determine how far its time is from the roofline: sizes, alignments, and how
 * well tiles fill the cores.
 *
 * scales.def has the length scale of each feature, and the distances between tables.
 */
#ifndef CM_MODEL_FEATURES_H
#define CM_MODEL_FEATURES_H

#include "model/time/roofline.h"

#define CM__FEATURES 32 /* maximum */

/* Scales of an operator's calls; 0: the default scale. */
typedef struct cm__scales {
    double noise;                /* variance of a measured log ratio */
    double alike;                /* variance shared by all rows of a table */
    double variant, dtype, pass; /* distance between tables that differ in it */
    float  scales[CM__FEATURES];
} cm__scales;

const cm__scales *cm__scales_of(int op);

/* The number of features, padded with zeros to a multiple of four. */
int cm__n_features(int op);

/* Fills in the scaled features of a call on a device with these limits. Returns the call's roofline time in seconds. */
double cm__features(const cm__call *call, const cm__limits *limits, float *features);

#endif
