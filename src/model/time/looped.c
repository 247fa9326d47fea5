/* SPDX-License-Identifier: Apache-2.0 */
/* looped.c - depthwise convolutions with large filters, whose threads each go through a filter, and batch norms of many
   small images, whose blocks go through the images one after another. */
#include "model/time/looped.h"

#include <math.h>
#include <string.h>
#include "model/time/factors.h"
#include "model/time/groups.h"

#define LARGE_FILTER 128 /* numbers of a filter; tables have calls with smaller ones */
#define FIXED_STRIDE 2   /* up to which PyTorch compiles a kernel for each stride */

static double images_of(const cm__call *c) { return cm__size(c, CM__CONV_N) * cm__size(c, CM__CONV_C); }

static double places(const cm__call *c, int size, int window, int stride, int pad, int dilation)
{
    double span = cm__size(c, dilation) * (cm__size(c, window) - 1) + 1;
    return floor((cm__size(c, size) + 2 * cm__size(c, pad) - span) / cm__size(c, stride)) + 1;
}

/* Forward, a thread for each result. */
static double results(const cm__call *c)
{
    return images_of(c) * places(c, CM__CONV_H, CM__CONV_R, CM__CONV_STRIDE_H, CM__CONV_PAD_H, CM__CONV_DIL_H) *
           places(c, CM__CONV_W, CM__CONV_S, CM__CONV_STRIDE_W, CM__CONV_PAD_W, CM__CONV_DIL_W);
}

/* Backward, a thread for each number of the input tries all numbers of the filter, whatever the stride: by divisions it
   finds out whether a result has read the input there, first in height and, if so, in width. */
static double tried_cycles(const cm__call *c)
{
    const cm__factors *f = &cm__time_factors;
    bool fixed = c->sizes[CM__CONV_STRIDE_W] <= FIXED_STRIDE && c->sizes[CM__CONV_STRIDE_H] <= FIXED_STRIDE;
    return f->tap_cycles_backward + (fixed ? 0 : f->tap_divide_cycles / cm__size(c, CM__CONV_STRIDE_H));
}

double cm__looped_time(const cm__limits *l, const cm__call *c)
{
    if (c->op != CM__CALL_CONV || c->pass == CM__PASS_BWD_WEIGHT || l->clock_hz <= 0) return 0;
    double taps = cm__size(c, CM__CONV_R) * cm__size(c, CM__CONV_S), threads, cycles;
    if (taps <= LARGE_FILTER || cm__groups_kind_of(c) != CM__GROUPS_EACH_OWN) return 0;
    if (c->pass == CM__PASS_FORWARD) {
        if (c->sizes[CM__CONV_STRIDE_W] > FIXED_STRIDE) return 0; /* reads that lie apart */
        threads = results(c), cycles = cm__time_factors.tap_cycles;
    } else {
        threads = images_of(c) * cm__size(c, CM__CONV_H) * cm__size(c, CM__CONV_W), cycles = tried_cycles(c);
    }
    return l->floor_s + threads * taps * cycles / (l->cores * l->clock_hz);
}

#define WARP 32
/* Numbers of a channel up to which cuDNN's block has enough threads and registers to read them only once, forward and
   backward. */
#define READ_ONCE 32768
#define READ_ONCE_BACKWARD 16383

double cm__looped_least(const cm__limits *l, const cm__call *c)
{
    const cm__factors *f = &cm__time_factors;
    if (c->op != CM__CALL_BATCH_NORM || strcmp(c->variant, "nchw") != 0 || l->clock_hz <= 0) return 0;
    if (strcmp(c->dtype, "bf16") == 0) return 0; /* PyTorch's own kernels */
    double images = cm__size(c, CM__BATCH_NORM_N), numbers = cm__size(c, CM__BATCH_NORM_HW);
    bool   forward = c->pass == CM__PASS_FORWARD;
    if (images * numbers <= (forward ? READ_ONCE : READ_ONCE_BACKWARD) || numbers > 2 * WARP) return 0;
    double cycles = forward ? f->image_norm_cycles : f->image_norm_cycles_backward * ceil(numbers / WARP);
    return images * cycles / l->clock_hz;
}
