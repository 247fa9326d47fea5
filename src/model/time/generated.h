/* SPDX-License-Identifier: Apache-2.0 */
/*
 * generated.h - what kernels of a compiler are looked up as.
 *
 * Each number that a generated kernel reads or writes takes the time of `access_bytes` more on the H200: the cores issue
 * its load, its conversion and its store. Tables therefore have kernels by counted bytes, those of fp32 numbers that take
 * as long. A call has the bytes that are really moved, because memory moves these on every device, while the cores of a
 * device with less bandwidth per core have time for the rest. Functions, random numbers and repeated accesses
 * (CM__WORK_FUNCTIONS to CM__WORK_COLLISIONS) take the time of further bytes on every device.
 */
#ifndef CM_MODEL_TIME_GENERATED_H
#define CM_MODEL_TIME_GENERATED_H

#include "device/calls.h"

/* The call with the bytes of its further work. */
cm__call cm__generated_priced(const cm__call *call);

/* Bytes that a call counts on the device of its table, where the cores are not ahead of memory. bytes: that it moves. */
double cm__generated_counted(const cm__call *call, double bytes);

/* The call by which tables know a generated kernel: with numbers of 4 bytes. Other calls are returned unchanged. */
cm__call cm__generated_as_tabled(const cm__call *call);

#endif
