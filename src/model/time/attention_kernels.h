/* SPDX-License-Identifier: Apache-2.0 */
/* attention_kernels.h - attention with a kernel that the runtime does not choose today, where no table has it. */
#ifndef CM_MODEL_ATTENTION_KERNELS_H
#define CM_MODEL_ATTENTION_KERNELS_H

#include "device/calls.h"
#include "device/device.h"

/* True: the call's variant names a kernel ("flash1", "efficient-mask"). Fills in the same call without that name, and
   the time with the named kernel over that with the kernel that the runtime chooses. */
bool cm__attention_named(const cm_device *device, const cm__call *call, cm__call *usual, double *factor);

#endif
