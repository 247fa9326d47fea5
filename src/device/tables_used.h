/* SPDX-License-Identifier: Apache-2.0 */
/* tables_used.h - which questions about a device use its kernel tables. */
#ifndef CM_DEVICE_TABLES_USED_H
#define CM_DEVICE_TABLES_USED_H

#include "device/device.h"

/* Fills in the uses of a checked profile; refuses a profile whose tables no question uses. */
void cm__tables_used(cm__ctx *ctx, const cm_device *device, const cm__origin *origin, cm_profile_summary *summary);

#endif
