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

/* The time, on a device with limits `to`, of a call whose `kernels` take `time_s` on one with limits `from`. */
/* flop, bytes: the call's work. */
double cm__transferred_work(const cm__limits *to, const cm__limits *from, const cm__call *call, double flop,
                            double bytes, double time_s, double kernels);
double cm__transferred(const cm__limits *to, const cm__limits *from, const cm__call *call, double time_s,
                       double kernels);

#endif
