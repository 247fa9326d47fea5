/* SPDX-License-Identifier: Apache-2.0 */
/*
 * own_models.h - calls timed by the operator models that a device's profile holds (`fits`), or a sister's: the same
 * chip on another card.
 *
 * Used for plain fp32 on GPUs without tables. Libraries no longer tune these kernels for new GPUs, so that what an H200
 * reaches of its peak with them tells little of older ones: a model fitted to the device's own timings tells more.
 * What such a model takes for the host's launch, which its timings held, is left out.
 */
#ifndef CM_MODEL_OWN_MODELS_H
#define CM_MODEL_OWN_MODELS_H

#include "device/device.h"
#include "model/roofline.h"

typedef struct cm__own_models cm__own_models;

cm__own_models *cm__own_models_new(cm__ctx *ctx, const cm_device *device, const cm__limits *limits);
/* Seconds; NAN: no model tells of it. *error: expected, as a fraction. */
double          cm__own_models_time(cm__own_models *models, const cm__call *call, double *error);

#endif
