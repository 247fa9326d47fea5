/* SPDX-License-Identifier: Apache-2.0 */
/*
 * roofline.h - the minimum time of a call on a device, from its ceilings alone: the longer of arithmetic and traffic,
 * with the cache for data that fits it, and whole waves of tiles for products.
 */
#ifndef CM_MODEL_ROOFLINE_H
#define CM_MODEL_ROOFLINE_H

#include "device/calls.h"

typedef struct cm__limits {
    double peak[CM_ENGINES][CM_RATES]; /* FLOP/s; 0: none */
    double memory_bytes_s, cache_bytes_s, cache_bytes, cores, clock_hz, floor_s;
    double exponentials_s; /* exponentials per second of all cores; 0: unknown */
    double tile; /* rows and columns of a product that one core computes at a time */
} cm__limits;

cm__limits cm__limits_of(const cm_device *device);
/* Fails if the device has neither a peak nor a bandwidth nor a measured call: its times would be meaningless. */
void       cm__need_speed(cm__ctx *ctx, const cm_device *device);
/* Peak of the matrix units in the type of a step's products or, if `or_nearest`, in the nearest type; 0: none. */
double     cm__precision_peak(const cm__limits *limits, cm_precision precision, bool or_nearest);
/* The type whose peak is used for `rate`: `rate` itself if its peak is known. */
cm_rate    cm__rate_available(const cm__limits *limits, cm_engine engine, cm_rate rate);
double     cm__roofline(const cm__limits *limits, const cm__call *call);
/* The roofline time of a call with this work. */
double     cm__roofline_of(const cm__limits *limits, const cm__call *call, double flop, double bytes);

/* The time of the call's arithmetic, for products in whole waves of tiles. */
double     cm__product_time(const cm__limits *limits, const cm__call *call, double flop);

/* The share of `bytes` that memory delivers. It is nearly 0 below the cache's size and nearly 1 above 1.3 of it: the
   power of 8 is that of bandwidths against working sets on A100, H100 and H200 (gpu-benches, gpu-l2-cache; 8.5 fits
   them best with an error of 5 %, 2 has one of 21 %; an L40 changes faster still). */
double     cm__from_memory(double cache_bytes, double bytes);

/* The time that the memory's peak rate needs for what the cache does not hold of a call's bytes, less than which no measured
   call takes; 0: the call may read less than all of its operands. */
double cm__traffic_time(const cm__limits *limits, const cm__call *call, double bytes);

/* The time that the matrix units' rate at a card's highest clock needs for a product or convolution; 0: others, and fp32, of which vector
   units can save multiplications (Winograd). */
double cm__arithmetic_time(const cm__limits *limits, const cm__call *call);

/* Sizes of the matrix product that a call is equivalent to: batch, m, n, k. False: it is not a product. */
bool cm__as_product(const cm__call *call, double sizes[4]);

#endif
