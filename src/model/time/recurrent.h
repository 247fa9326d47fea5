/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recurrent.h - which of cuDNN's algorithms PyTorch chooses for a recurrent layer (get_algo() in
 * aten/src/ATen/native/cudnn/RNN.cpp). They launch different kernels, so rows of another algorithm say little about a
 * call: the algorithm is a feature.
 */
#ifndef CM_MODEL_RECURRENT_H
#define CM_MODEL_RECURRENT_H

#include "device/calls.h"

typedef enum cm__recurrent_kind {
    CM__RECURRENT_STEPS,   /* a product and a kernel for the gates in each time step */
    CM__RECURRENT_NARROW,  /* one kernel for all time steps, of layers with few numbers */
    CM__RECURRENT_PERSIST, /* one kernel that keeps the weights on the chip: single layers in fp16 */
} cm__recurrent_kind;

/* For an RNN call. */
cm__recurrent_kind cm__recurrent_kind_of(const cm__call *call);

#endif
