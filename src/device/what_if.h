/* SPDX-License-Identifier: Apache-2.0 */
/* what_if.h - hypothetical devices: "nvidia-h200?bandwidth=2x&memory=1.5x" is an H200 with changed numbers. */
#ifndef CM_DEVICE_WHAT_IF_H
#define CM_DEVICE_WHAT_IF_H

#include "device/device.h"

#define CM__WHAT_IF '?' /* between the name of a device and its changes */

/* A copy of the device with these changes, "KEY=FACTORx", separated by '&' or ','. Fails with the reason if a key is
   unknown, a factor is not one, or the device has no such number. */
cm_device *cm__device_what_if(cm__ctx *ctx, const cm_device *device, const char *changes);

#endif
