/* SPDX-License-Identifier: Apache-2.0 */
/*
 * roofline.h - the least time a call can take on a device, from its ceilings alone: arithmetic or traffic, whichever is
 * longer, with the cache for what fits into it, and whole waves of tiles for products.
 */
#ifndef CM_MODEL_ROOFLINE_H
#define CM_MODEL_ROOFLINE_H

#include "device/calls.h"

typedef struct cm__limits {
    double peak[CM_ENGINES][CM_RATES]; /* FLOP/s; 0: none */
    double memory_bytes_s, cache_bytes_s, cache_bytes, cores, clock_hz, floor_s;
    double tile; /* rows and columns of a product that one core works on at a time */
} cm__limits;

cm__limits cm__limits_of(const cm_device *device);
/* Refuse a device of which neither a rate nor a bandwidth nor a timed call is known: any time would be none. */
void       cm__need_speed(cm__ctx *ctx, const cm_device *device);
/* Of matrix units in the type a step's products are computed in, or, if asked, the nearest there is; 0: none. */
double     cm__precision_peak(const cm__limits *limits, cm_precision precision, bool or_nearest);
/* The type whose peak stands for that of `rate`, itself where it has one. */
cm_rate    cm__rate_there(const cm__limits *limits, cm_engine engine, cm_rate rate);
double     cm__roofline(const cm__limits *limits, const cm__call *call);
/* Of a call of this work. */
double     cm__roofline_of(const cm__limits *limits, const cm__call *call, double flop, double bytes);

/* Of so many bytes, the part that the cache does not hold. */
double     cm__beyond_cache(double cache_bytes, double bytes);

/* The sizes of the product a call amounts to: batch, m, n, k. False: it is none. */
bool cm__as_product(const cm__call *call, double sizes[4]);

#endif
