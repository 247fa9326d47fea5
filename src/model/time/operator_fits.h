/* SPDX-License-Identifier: Apache-2.0 */
/*
 * operator_fits.h - calls timed by the operator models in a device's profile (`fits`, docs/dev/fitting.md), or in that
 * of a related device: the same chip on another card and, for Megatron-LM, any built-in device of the same base.
 *
 * Operator models are used in three cases. The first is plain fp32 on GPUs without tables: libraries no longer tune
 * these kernels for new GPUs, so the fraction of peak on an H200 says little about older GPUs. The second is
 * Megatron-LM, whose kernels were not timed one by one: products, also in 16 bits, and kernels fused into one stream.
 * The third are products in 16 bits under any runtime, where the timer joins them with the transferred time. A model
 * uses the ceilings of the predicted device. The device's launch overhead replaces the one that was included in the
 * model's timings.
 */
#ifndef CM_MODEL_OPERATOR_FITS_H
#define CM_MODEL_OPERATOR_FITS_H

#include "device/device.h"
#include "model/time/roofline.h"

typedef struct cm__operator_fits cm__operator_fits;

/* plain, megatron: which calls to predict. The device must outlive the models. */
cm__operator_fits *cm__operator_fits_new(cm__ctx *ctx, const cm_device *device, const cm__limits *limits, bool plain,
                                         bool megatron);
/* Seconds; NAN: no model applies. *error: expected relative error. */
double             cm__operator_fits_time(cm__operator_fits *models, const cm__call *call, double *error);
/* The same of a product in 16 bits, for any runtime, by models of the device and its chip. */
double             cm__operator_fits_product(cm__operator_fits *models, const cm__call *call, double *error);

#endif
