/* SPDX-License-Identifier: Apache-2.0 */
/* assumed.h - numbers that a profile does not state and that a prediction needs: derived from those that it states. */
#ifndef CM_DEVICE_ASSUMED_H
#define CM_DEVICE_ASSUMED_H

#include "device/device.h"

#define CM__ASSUMED_CACHE "assumed cache"

/* Fills in what the profile lacks, with kind "assumed", and lists it in device->assumed. The rules are rows of a table
   in assumed.c; their constants are rows of data/class-defaults.tsv, so a class without these rows has no rules. */
void cm__device_assume(cm_device *device);

#endif
