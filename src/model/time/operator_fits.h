/* SPDX-License-Identifier: Apache-2.0 */
/*
 * own_models.h - calls timed by the operator models that a device's profile holds (`fits`, docs/fitting.md), or those
 * of its kin: the same chip on another card and, for Megatron-LM, any built-in device of the same base.
 *
 * In plain fp32 on GPUs without tables: libraries no longer tune these kernels for new GPUs, so that what an H200
 * reaches of its peak with them tells little of older ones. For Megatron-LM, whose kernels nobody timed one by one:
 * products, also in 16 bits, and what is fused into one stream. A model reads the ceilings of the device that asks.
 * What it takes for the host's launch, which its timings held, is replaced by the device's.
 */
#ifndef CM_MODEL_OWN_MODELS_H
#define CM_MODEL_OWN_MODELS_H

#include "device/device.h"
#include "model/time/roofline.h"

typedef struct cm__own_models cm__own_models;

/* For calls in plain fp32, for Megatron-LM's, or both. The device must outlive them. */
cm__own_models *cm__own_models_new(cm__ctx *ctx, const cm_device *device, const cm__limits *limits, bool plain,
                                   bool megatron);
/* Seconds; NAN: no model tells of it. *error: expected, as a fraction. */
double          cm__own_models_time(cm__own_models *models, const cm__call *call, double *error);

#endif
