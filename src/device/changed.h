/* SPDX-License-Identifier: Apache-2.0 */
/* changed.h - a device that differs from another in some of its numbers, as a profile based on that other would. */
#ifndef CM_DEVICE_CHANGED_H
#define CM_DEVICE_CHANGED_H

#include "device/device.h"

/* A copy whose numbers may be changed. It shares all else with the device, which must outlive it. Kernel tables stay
   those of the device that was measured. */
cm_device *cm__device_copy(cm__ctx *ctx, const cm_device *device);

/* Multiply a number; an unknown one stays unknown. */
void cm__number_scale(cm_number *number, double factor);

/* The memories that limit kernels, among those of the device: the main one, and the cache before it; NULL: none. */
cm_memory *cm__device_main(cm_device *device);
cm_memory *cm__device_cache(cm_device *device);

#endif
