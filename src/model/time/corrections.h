/* SPDX-License-Identifier: Apache-2.0 */
/*
 * corrections.h - factors on transferred times, by kind of call, that were fitted to results of the device.
 */
#ifndef CM_MODEL_CORRECTIONS_H
#define CM_MODEL_CORRECTIONS_H

#include "device/calls.h"
#include "device/device.h"

/* The kind of a call with this work; CM__CORRECTIONS: it is not corrected. */
cm__correction cm__correction_of_work(const cm__call *call, double flop, double bytes);
/* The factor of a call of this kind; 1: the device has none. *known: whether it has one. */
double         cm__correction_factor(const cm_device *device, cm__correction kind, const cm__call *call, bool *known);
/* Whether the factor refers to the time of the call's memory traffic instead of its transferred time. */
bool           cm__correction_of_traffic(const cm_device *device, cm__correction kind);
/* A card whose streaming kernels are corrected has a slower or faster memory than its peak suggests: its bandwidth over
   that of other devices. */
double         cm__correction_of_streaming(const cm_device *device);

#endif
