/* SPDX-License-Identifier: Apache-2.0 */
/*
 * surfaces.h - products and convolutions timed by the surfaces in a device's profile.
 *
 * A surface is a small network, fitted to the public timings of a library, for the logarithm of time over roofline. Its
 * features are sizes, the filling of tiles and waves, pass, type and layout, and do not depend on the device's speeds:
 * these enter by the roofline. Features are cut to the fitted range, so beyond it the ratio stays constant.
 */
#ifndef CM_MODEL_SURFACES_H
#define CM_MODEL_SURFACES_H

#include "device/device.h"
#include "model/time/roofline.h"

/* Seconds; NAN: the device has no surface for the call. *error: expected relative error. */
double cm__surface_time(const cm_device *device, const cm__limits *limits, const cm__call *call, bool trains,
                        double *error);

#endif
