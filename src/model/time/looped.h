/* SPDX-License-Identifier: Apache-2.0 */
/*
 * looped.h - calls whose threads or blocks each go through many numbers one after another.
 */
#ifndef CM_MODEL_LOOPED_H
#define CM_MODEL_LOOPED_H

#include "model/time/roofline.h"

/* The time of a depthwise convolution by PyTorch's own kernels (ATen/native/cuda/DepthwiseConv2d.cu) with filters larger
   than those in tables, or of its gradient of the input; 0: another call. */
double cm__looped_time(const cm__limits *limits, const cm__call *call);
/* The time below which cuDNN computes no batch norm of many small images, or its gradient: a block of one warp for each
   channel goes from image to image; 0: another call. */
double cm__looped_least(const cm__limits *limits, const cm__call *call);

#endif
