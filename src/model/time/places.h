/* SPDX-License-Identifier: Apache-2.0 */
/* places.h - kernels that read and write images at places that other tensors give, and pools of volumes. */
#ifndef CM_MODEL_PLACES_H
#define CM_MODEL_PLACES_H

#include "model/time/roofline.h"

/* The time of samples of an image at neighbouring places, or of its gradient. */
double cm__samples_time(const cm__limits *limits, const cm__call *call);
/* So many places of each pixel add to its gradient that they wait for each other: it takes longer. */
bool   cm__samples_wait(const cm__call *call);
/* The columns of a deformed convolution, or the gradient of its places. */
double cm__deformed_time(const cm__limits *limits, const cm__call *call);
/* Pools of volumes; 0: another call. */
double cm__volume_pool_time(const cm__limits *limits, const cm__call *call);

#endif
