/* SPDX-License-Identifier: Apache-2.0 */
/* places.c - samples of images, deformed convolutions, pools of volumes: how long threads loop over channels or windows. */
#include "model/time/places.h"

#include <math.h>
#include <string.h>
#include "model/time/factors.h"

/* Bilinear samples of images at places that lie next to each other as the results do, as those of warps and transforms
   (grid_sampler_2d_kernel in ATen/native/cuda/GridSampler.cu): a thread for each place loops over channels. Tables have
   places at random, which neither caches nor neighbours share. */
double cm__samples_time(const cm__limits *l, const cm__call *c)
{
    const cm__factors *f = &cm__time_factors;
    double places = cm__size(c, CM__RESIZE_OUT_H) * cm__size(c, CM__RESIZE_OUT_W);
    double threads = cm__size(c, CM__RESIZE_N) * places, channels = cm__size(c, CM__RESIZE_C) + f->sample_channels;
    bool   adds = c->pass == CM__PASS_BACKWARD, low = adds && cm__call_element(c, 0) < 4;
    double cycles = low ? f->sample_add_cycles_low : adds ? f->sample_add_cycles : f->sample_cycles;
    double loop = low ? f->sample_add_loop_cycles_low : adds ? f->sample_add_loop_cycles : f->sample_loop_cycles;
    return l->floor_s + channels * fmax(loop, threads * cycles / l->cores) / l->clock_hz;
}

/* More places add to each pixel than find it free, so that additions wait for each other. */
bool cm__samples_wait(const cm__call *c)
{
    double places = cm__size(c, CM__RESIZE_OUT_H) * cm__size(c, CM__RESIZE_OUT_W);
    double pixels = cm__size(c, CM__RESIZE_H) * cm__size(c, CM__RESIZE_W);
    return c->pass == CM__PASS_BACKWARD && places > cm__time_factors.samples_most * pixels;
}

/* The columns of a deformed convolution: a thread for each channel and place copies a window (deformable_im2col_kernel). */
static double columns_time(const cm__limits *l, const cm__call *c)
{
    const cm__factors *f = &cm__time_factors;
    double cycles = f->deform_thread_cycles + cm__size(c, CM__REDUCE_REDUCE) * f->deform_cycles;
    return l->floor_s + cm__size(c, CM__REDUCE_OUTER) * cycles / (l->cores * l->clock_hz);
}

#define PLACE_THREADS 512. /* of a block */

/* Gradients of the places of a deformed convolution (deformable_col2im_coord_kernel in torchvision/csrc/ops/cuda/
   deform_conv2d_kernel.cu): a thread for each coordinate loops over channels. The blocks of a multiprocessor take turns. */
static double places_time(const cm__limits *l, const cm__call *c)
{
    const cm__factors *f = &cm__time_factors;
    double blocks = ceil(ceil(cm__size(c, CM__REDUCE_OUTER) / PLACE_THREADS) / l->cores);
    double cycles = fmax(f->deform_place_loop_cycles, blocks * PLACE_THREADS * f->deform_place_cycles);
    return cm__size(c, CM__REDUCE_REDUCE) * cycles / l->clock_hz;
}

double cm__deformed_time(const cm__limits *l, const cm__call *c)
{
    return (strcmp(c->variant, "deform_columns") == 0 ? columns_time : places_time)(l, c);
}

/* Pools of volumes: cycles of a thread, and of each number of its window. */
double cm__volume_pool_time(const cm__limits *l, const cm__call *c)
{
    const cm__factors *f = &cm__time_factors;
    const struct {
        const char *variant;
        double      thread, number;
    } rows[] = {{"max_pool3d", f->pool3d_cycles, f->pool3d_window_cycles},
                {"avg_pool3d", f->pool3d_cycles_average, f->pool3d_window_cycles},
                {"max_pool3d_grad", f->pool3d_cycles_maximum, 0},
                {"avg_pool3d_grad", f->pool3d_cycles, f->pool3d_window_cycles},
                {"avg_pool3d_add", f->pool3d_cycles, f->pool3d_window_cycles_add}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strcmp(c->variant, rows[i].variant) != 0) continue;
        double cycles = rows[i].thread + cm__size(c, CM__REDUCE_REDUCE) * rows[i].number;
        return l->floor_s + cm__size(c, CM__REDUCE_OUTER) * cycles / (l->cores * l->clock_hz);
    }
    return 0;
}
