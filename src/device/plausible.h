/* SPDX-License-Identifier: Apache-2.0 */
/* plausible.h - numbers of a profile that no known device comes near: wrong units, prefixes that are missing. */
#ifndef CM_DEVICE_PLAUSIBLE_H
#define CM_DEVICE_PLAUSIBLE_H

#include "device/device.h"

/* Writes warnings into `warnings` and returns their number, CM_PROFILE_WARNINGS at most. */
int32_t cm__device_doubts(cm__ctx *ctx, const cm_device *device, char warnings[][CM_PROFILE_WARNING_SIZE]);

#endif
