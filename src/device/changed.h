/* SPDX-License-Identifier: Apache-2.0 */
/* changed.h - a device that differs from another in some numbers, like a profile based on that device's profile. */
#ifndef CM_DEVICE_CHANGED_H
#define CM_DEVICE_CHANGED_H

#include "device/device.h"

/* A copy whose numbers may be modified. It shares everything else with the device, which must outlive it. Its kernel
   tables remain those of the measured device. */
cm_device *cm__device_copy(cm__ctx *ctx, const cm_device *device);

/* A copy without what was fitted to results of the device: corrections, operator models, surfaces. */
cm_device *cm__device_without_results(cm__ctx *ctx, const cm_device *device);

/* Multiply a number; an unknown number stays unknown. */
void cm__number_scale(cm_number *number, double factor);

/* The memories that limit kernels: the main memory, and the last-level cache; NULL: none. */
cm_memory *cm__device_main(cm_device *device);
cm_memory *cm__device_cache(cm_device *device);

#endif
