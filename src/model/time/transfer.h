/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transfer.h - the time of a call on a device, from its time on another one.
 *
 * The time of a call has four parts: memory traffic, arithmetic of the matrix units, other work of the cores, and the
 * latency of its kernels. The first two follow from the call's bytes and FLOP. The last two are what the known time
 * exceeds them by. Each part scales by its own ratio between the devices: memory bandwidth, peak, cores x clock, and
 * clock. Parts of a kernel overlap, so the parts are joined by their root of squares. docs/results/transfer.md has the
 * measurements.
 */
#ifndef CM_MODEL_TRANSFER_H
#define CM_MODEL_TRANSFER_H

#include "model/time/roofline.h"

/* Passes over images with channels first in TF32: conversion to channels last, convolution, conversion of the result */
#define CM__LAYOUT_PASSES 3

/* Times of a call's traffic and products on a device at the highest rates that kernels reach. */
typedef struct cm__shortest {
    double memory_s, product_s;
} cm__shortest;

cm__shortest cm__shortest_of(const cm__limits *limits, const cm__call *call, double flop, double bytes);

/* The time of a call's kernels on a device. */
typedef struct cm__known_time {
    double       time_s, kernels;
    double       flop, bytes; /* work of the call */
    cm__shortest shortest;    /* what the call takes at least on the device whose time is known */
} cm__known_time;

/* The time, on a device with limits `to`, of a call whose time is known on one with limits `from`. */
double cm__transferred_known(const cm__limits *to, const cm__limits *from, const cm__call *call,
                             const cm__known_time *known);
/* The same if only the time and the number of kernels are known. */
double cm__transferred(const cm__limits *to, const cm__limits *from, const cm__call *call, double time_s,
                       double kernels);

#endif
