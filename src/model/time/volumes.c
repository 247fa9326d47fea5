/* SPDX-License-Identifier: Apache-2.0 */
/* volumes.c - convolutions of volumes in 32 bits, of which tables have few. */
#include "model/time/untabled.h"

#include <math.h>
#include <string.h>
#include "model/time/factors.h"
#include "model/time/transfer.h"

static double padded(double channels, double tile) { return ceil(channels / tile) * tile / channels; }

#define FEW_CHANNELS 8  /* of the input, as of a first layer: kernels with tiles of their own */
#define FEW_TILE 32.

/* Kernels of volumes compute whole tiles: the work over the FLOP, by the channels of the result and those summed. */
static double volume_padding(const cm__call *c, bool tf32)
{
    static const struct {
        double result, summed;
    } tiles[2][CM__PASSES] = {
        {[CM__PASS_FORWARD] = {32, 1}, [CM__PASS_BWD_INPUT] = {8, 32}, [CM__PASS_BWD_WEIGHT] = {128, 8}},
        {[CM__PASS_FORWARD] = {64, 16}, [CM__PASS_BWD_INPUT] = {64, 32}, [CM__PASS_BWD_WEIGHT] = {128, 8}},
    };
    double groups = cm__size(c, CM__CONV3D_GROUPS);
    double in = cm__size(c, CM__CONV3D_C) / groups, out = cm__size(c, CM__CONV3D_K) / groups;
    double result = c->pass == CM__PASS_BWD_INPUT ? in : out, summed = in + out - result;
    double tile = c->pass == CM__PASS_FORWARD && in <= FEW_CHANNELS ? FEW_TILE : tiles[tf32][c->pass].result;
    return padded(result, tile) * padded(summed, tiles[tf32][c->pass].summed);
}

bool cm__is_volume_of_one_channel(const cm__call *c)
{
    return c->op == CM__CALL_CONV3D && c->sizes[CM__CONV3D_C] == 1 && c->sizes[CM__CONV3D_K] == 1;
}

/* Time of the work of such a convolution by kernels for TF32 or fp32; 0: the device has none. */
static double volume_work_time(const cm__limits *l, const cm__call *c, double flop, bool tf32)
{
    const cm__factors *f = &cm__time_factors;
    double vector = l->peak[CM_ENGINE_VECTOR][CM_RATE_FP32], matrix = l->peak[CM_ENGINE_MATRIX][CM_RATE_TF32];
    double share = c->pass == CM__PASS_FORWARD ? f->volume_share : f->volume_share_gradient;
    double rate = tf32 ? share * matrix : f->volume_share_plain * vector;
    if (rate <= 0) return 0;
    double tiles_s = flop * volume_padding(c, tf32) / rate;
    bool dense = c->sizes[CM__CONV3D_GROUPS] == 1 && !cm__is_volume_of_one_channel(c);
    if (dense || vector <= 0) return tiles_s;
    return fmin(tiles_s, flop / (f->volume_share_direct * vector));
}

/* fp32 kernels are no faster than those for TF32, though the vector units' peak may be close. */
double cm__volume_time(const cm__limits *l, const cm__call *c)
{
    double flop, bytes;
    if (c->op != CM__CALL_CONV3D || !cm__in_32_bits(c) || l->memory_bytes_s <= 0) return 0;
    cm__call_work(c, &flop, &bytes);
    double work_s = volume_work_time(l, c, flop, true);
    if (work_s <= 0 || cm__call_rate(c) == CM_RATE_FP32) work_s = fmax(work_s, volume_work_time(l, c, flop, false));
    if (work_s <= 0) return 0;
    double passes = strcmp(c->variant, "nhwc") == 0 ? 1 : CM__LAYOUT_PASSES;
    return l->floor_s + hypot(work_s, passes * bytes / (cm__time_factors.reached_bandwidth * l->memory_bytes_s));
}
