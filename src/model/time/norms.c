/* SPDX-License-Identifier: Apache-2.0 */
/* norms.c - norms of few long rows or groups, of rows that lie apart, and of groups of rows without positions. */
#include "model/time/norms.h"

#include <math.h>
#include "model/time/factors.h"

#define RESIDENT_THREADS 2048 /* of a multiprocessor */

/* Kernels whose threads each loop over numbers, one read after another: the time of a loop, times how often all
   multiprocessors are full of threads. */
double cm__loops_time(const cm__limits *l, double threads, double length, double cycles)
{
    return fmax(1, threads / (l->cores * RESIDENT_THREADS)) * length * cycles / l->clock_hz;
}

/* One block computes the sums of a group, number after number, and a second kernel normalises, which takes no time to
   speak of where the cache holds the image. */
double cm__group_norm_time(const cm__limits *l, const cm__call *c)
{
    double image = cm__size(c, CM__GROUP_NORM_N) * cm__size(c, CM__GROUP_NORM_C) * cm__size(c, CM__GROUP_NORM_HW);
    double row = cm__size(c, CM__GROUP_NORM_C) * cm__size(c, CM__GROUP_NORM_HW) / cm__size(c, CM__GROUP_NORM_GROUPS);
    double pass_s = image * cm__call_element(c, 0) / (cm__time_factors.reached_bandwidth * l->memory_bytes_s);
    if (image * cm__call_element(c, 0) <= l->cache_bytes)
        return row * cm__time_factors.group_norm_cycles_cached / l->clock_hz;
    return fmax(pass_s, row * cm__time_factors.group_norm_cycles / l->clock_hz) + 2 * pass_s;
}

double cm__layer_norm_time(const cm__limits *l, const cm__call *c)
{
    return cm__size(c, CM__LAYER_NORM_COLS) * cm__time_factors.norm_cycles / l->clock_hz;
}

#define APART_ROWS 16    /* of a channel that a block reads at once, a warp each */
#define APART_THREADS 512. /* of such a block */

/* The gradient of a batch norm of rows that lie apart (batch_norm_backward_reduce_kernel in
   ATen/native/cuda/Normalization.cuh): a block for each channel reads its numbers one after another. */
double cm__apart_norm_time(const cm__limits *l, const cm__call *c)
{
    double blocks = cm__size(c, CM__BATCH_NORM_C);
    return cm__loops_time(l, blocks * APART_THREADS, ceil(cm__size(c, CM__BATCH_NORM_N) / APART_ROWS),
                      cm__time_factors.apart_norm_cycles);
}

#define WARP 32
#define BLOCK 512         /* threads for each group of as many numbers or more, otherwise a warp */
#define BLOCK_LEAST 64    /* threads that a block counts for: a multiprocessor has at most 32 blocks */
#define KERNELS 2         /* the sums of the groups, and what becomes of each number */

/* Groups of rows without positions (GroupNorm1dForward and GroupNorm1dBackward in ATen/native/cuda/group_norm_kernel.cu):
   a block for each group, and a kernel that reads each group's sums beside its numbers. */
double cm__group_norm_rows_time(const cm__limits *l, const cm__call *c)
{
    const cm__factors *f = &cm__time_factors;
    if (c->sizes[CM__GROUP_NORM_HW] != 1 || l->clock_hz <= 0) return 0;
    bool   forward = c->pass == CM__PASS_FORWARD;
    double groups = cm__size(c, CM__GROUP_NORM_N) * cm__size(c, CM__GROUP_NORM_GROUPS);
    double numbers = cm__size(c, CM__GROUP_NORM_N) * cm__size(c, CM__GROUP_NORM_C), each = numbers / groups;
    double threads = each < BLOCK ? WARP : BLOCK, reads = ceil(each / threads);
    double cycles = forward ? f->group_cycles : f->group_cycles_backward + reads * f->group_cycles_read;
    double sums_s = cm__loops_time(l, groups * fmax(BLOCK_LEAST, threads), 1, cycles);
    return KERNELS * l->floor_s + sums_s + numbers * f->spread_cycles / (l->cores * l->clock_hz);
}
