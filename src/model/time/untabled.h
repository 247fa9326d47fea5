/* SPDX-License-Identifier: Apache-2.0 */
/*
 * untabled.h - calls whose time follows from how the kernel works, where tables and operator models do not reach.
 */
#ifndef CM_MODEL_UNTABLED_H
#define CM_MODEL_UNTABLED_H

#include <string.h>
#include "model/time/roofline.h"

static inline bool cm__in_32_bits(const cm__call *c)
{
    return strcmp(c->dtype, "fp32") == 0 || strcmp(c->dtype, "tf32") == 0;
}

/* Whether the call is a product of a matrix and a vector in 32 bits. Operator models and tables have none. */
bool   cm__is_vector_product(const cm__call *call);
/* Its time: it reads the matrix once. */
double cm__vector_product_time(const cm__limits *limits, const cm__call *call);
/* The time below which no GPU computes the call; 0: not known. One block computes a row of a layer norm, or the sums of
   a group; softmax reads long rows three times. */
double cm__least_time(const cm__limits *limits, const cm__call *call);
/* The time of a linear interpolation of signals, whose loops are those of the kernel, or of rows that are gathered or added
   by an index expanded over them; 0: another call. */
double cm__line_time(const cm__limits *limits, const cm__call *call);
/* The time above which no call is that adds gradients to the rows of few equal indices, or computes the gradient of
   depthwise filters of one small image; 0: another call. */
double cm__most_time(const cm__limits *limits, const cm__call *call);
/* The time that the memory's peak rate needs for what the cache does not hold, less than which no measured call takes;
   0: the call may read less than all of its operands. */
double cm__traffic_time(const cm__limits *limits, const cm__call *call);
double cm__traffic_time_of(const cm__limits *limits, const cm__call *call, double bytes); /* bytes: of the call */
/* The time of a convolution of volumes in 32 bits on another GPU than the tables': whole tiles at a share of its
   peak, beside the passes over the images; 0: another call. */
double cm__volume_time(const cm__limits *limits, const cm__call *call);
/* Whether the call convolves volumes of a single channel: cuDNN has no tiles for them, and tables have hardly any. */
bool   cm__is_volume_of_one_channel(const cm__call *call);

#endif
