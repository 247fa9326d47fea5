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

/* Of an RNN call. */
cm__recurrent_kind cm__recurrent_kind_of(const cm__call *call);

/* Whether a narrow layer of many samples in 16 bits runs without matrix units, because cuDNN 9.19 uses them for a whole number
   of 8 samples only (RNN_blockPersist_bp_LSTM_FMA instead of _HMMA on the H200); `as`: the layer in 32 bits, which has kernels of
   the same kind. */
bool cm__recurrent_in_vectors(const cm__call *call, cm__call *as);

#endif
