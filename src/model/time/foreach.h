/* SPDX-License-Identifier: Apache-2.0 */
/*
 * foreach.h - the time of an optimizer's update from its list of tensors.
 *
 * PyTorch's foreach optimizers are a chain of functions, each of which runs over the whole list in a few launches of one
 * kernel (ATen/native/cuda/MultiTensorApply.cuh). A launch has a block of threads for each chunk of a tensor, so that few
 * or small tensors occupy few multiprocessors: their number and elements alone do not give the time.
 */
#ifndef CM_MODEL_FOREACH_H
#define CM_MODEL_FOREACH_H

#include "model/time/roofline.h"

/* The tensors of an update. Those of one type follow each other, and launches have tensors of one type only. A complex
   element is two numbers. */
typedef struct cm__update_list {
    const double *numbers; /* of each tensor */
    const bool   *begins;  /* whether it is the first of its type */
    int32_t       count;
    double        elements; /* of all tensors */
} cm__update_list;

/* The time of the update `call` of this list on a GPU; 0: the call has other tensors, or its optimizer no such chain.
   *launches: of kernels. */
double cm__foreach_time(const cm__limits *limits, const cm__update_list *list, const cm__call *call, double *launches);

#endif
