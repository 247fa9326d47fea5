/* SPDX-License-Identifier: Apache-2.0 */
/* folded.c - fold a covered dimension of a convolution into its channels. */
#include "model/time/folded.h"

static bool covers_rows(const int64_t *sizes)
{
    return cm__covers(sizes[CM__CONV_H], sizes[CM__CONV_R], sizes[CM__CONV_PAD_H]);
}

static bool covers_columns(const int64_t *sizes)
{
    return cm__covers(sizes[CM__CONV_W], sizes[CM__CONV_S], sizes[CM__CONV_PAD_W]);
}

bool cm__fold_covered(int64_t sizes[])
{
    bool    rows = covers_rows(sizes);
    int     image = rows ? CM__CONV_H : CM__CONV_W, window = rows ? CM__CONV_R : CM__CONV_S,
        stride = rows ? CM__CONV_STRIDE_H : CM__CONV_STRIDE_W, other = rows ? CM__CONV_W : CM__CONV_H;
    int64_t channels;
    if (rows == covers_columns(sizes) || sizes[CM__CONV_GROUPS] > 1 || sizes[other] <= 1) return false;
    if (__builtin_mul_overflow(sizes[CM__CONV_C], sizes[image], &channels) || channels > INT32_MAX) return false;
    sizes[CM__CONV_C] = channels;
    sizes[image] = sizes[window] = sizes[stride] = 1;
    return true;
}

const cm__call *cm__with_folded(const cm__call *c, cm__call *room)
{
    if (c->op != CM__CALL_CONV || covers_rows(c->sizes) == covers_columns(c->sizes)) return c;
    *room = *c;
    return cm__fold_covered(room->sizes) ? room : c;
}
