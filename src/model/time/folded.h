/* SPDX-License-Identifier: Apache-2.0 */
/*
 * folded.h - convolutions whose filter covers one dimension of the image, as convolutions of one row.
 *
 * Such a filter has one place along the dimension and sums over it as it does over channels. The features of the call
 * are those of a convolution of images of one row, with channels times rows channels: the same work, of which tables
 * have many rows.
 */
#ifndef CM_MODEL_FOLDED_H
#define CM_MODEL_FOLDED_H

#include "device/calls.h"

/* A window covers a dimension of this size. */
static inline bool cm__covers(int64_t size, int64_t window, int64_t pad)
{
    return window > 1 && window == size && pad == 0;
}

/* Changes the sizes of a convolution without groups whose filter covers one of two dimensions; true: it did. */
bool cm__fold_covered(int64_t sizes[]);

/* The call that features are computed of: the given one, or the folded one in *room. */
const cm__call *cm__with_folded(const cm__call *call, cm__call *room);

#endif
