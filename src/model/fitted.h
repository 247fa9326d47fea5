/* SPDX-License-Identifier: Apache-2.0 */
/* fitted.h - the time of calls by the operator models of a device's profile, or of its siblings' (docs/fitting.md). */
#ifndef CM_MODEL_FITTED_H
#define CM_MODEL_FITTED_H

#include "device/device.h"
#include "model/roofline.h"

typedef struct cm__fits cm__fits;

/* The device must outlive them. */
cm__fits *cm__fits_new(cm__ctx *ctx, const cm_device *device);
/* False: no model is for such a call. error: of the model, as a fraction. */
bool      cm__fits_time(const cm__fits *fits, const cm__call *call, double *time_s, double *error);

#endif
