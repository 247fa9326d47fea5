/* SPDX-License-Identifier: Apache-2.0 */
/*
 * groups.h - which kernels run a convolution with groups. Rows of other kernels say little about a call, so the kind is
 * a feature, and groups of several channels are described by the channels of one group.
 */
#ifndef CM_MODEL_GROUPS_H
#define CM_MODEL_GROUPS_H

#include "model/time/roofline.h"

typedef enum cm__groups_kind {
    CM__GROUPS_NONE,
    CM__GROUPS_EACH_OWN,   /* one filter for each channel: PyTorch's own kernels */
    CM__GROUPS_EACH_LAST,  /* the same by cuDNN, channels last */
    CM__GROUPS_EACH_FIRST, /* the same by cuDNN, channels first */
    CM__GROUPS_EACH_ODD,   /* the same, see cm__groups_odd() */
    CM__GROUPS_SEVERAL,    /* several filters for each channel: cuDNN has no kernels of their own */
    CM__GROUPS_KERNEL,     /* wide groups for which cuDNN has kernels */
    CM__GROUPS_SLICES,     /* other wide groups: cuDNN pads them, or cuts them out and convolves one after the other */
} cm__groups_kind;

/* For a convolution over two dimensions. */
cm__groups_kind cm__groups_kind_of(const cm__call *call);

/* Whether groups have several channels each. */
static inline bool cm__groups_wide(cm__groups_kind kind) { return kind >= CM__GROUPS_KERNEL; }

/* Time of groups for which cuDNN has no kernel, by the roofline: it takes the faster of two ways. It cuts out the groups
   and convolves one after the other, or pads all of them to a power of two and runs the kernel for that width. */
double cm__groups_composed(const cm__limits *limits, const cm__call *call);

/* True: a depthwise convolution with channels last in 32 bits whose number of channels is no multiple of 4. Its kernels
   load 16 bytes, 4 numbers, at once, and other numbers of channels run much slower ones: the gradient of 38 filters took
   1.7 ms on the H200, that of 36 filters 0.03 ms. */
bool cm__groups_odd(const cm__call *call, int64_t channels);

#endif
