/* SPDX-License-Identifier: Apache-2.0 */
/* roofline.c - a call's time from a device's ceilings. */
#include "model/time/roofline.h"

#include <math.h>
#include <string.h>
#include "device/device.h"
#include "device/number.h"
#include "model/time/factors.h"

#define SHORTEST 1e-9         /* s; lower bound for calls without work, whose logarithm is taken */
#define SPLIT_K_LEAST 256.0   /* inner size below which libraries do not split a product further */

/* The type whose peak replaces a missing one. */
static const cm_rate instead[CM_RATES] = {
    [CM_RATE_FP64] = CM_RATE_FP32, [CM_RATE_FP32] = CM_RATE_TF32, [CM_RATE_TF32] = CM_RATE_FP32,
    [CM_RATE_BF16] = CM_RATE_FP16, [CM_RATE_FP16] = CM_RATE_BF16, [CM_RATE_FP8] = CM_RATE_BF16,
    [CM_RATE_FP4] = CM_RATE_FP8,   [CM_RATE_INT8] = CM_RATE_BF16,
};

static void read_peaks(const cm_device *device, cm__limits *l)
{
    for (int e = 0; e < CM_ENGINES; e++)
        for (int r = 0; r < CM_RATES; r++)
            l->peak[e][r] = cm__value_or(cm_device_peak(device, (cm_engine)e, (cm_rate)r), 0);
    for (int r = 0; r < CM_RATES; r++) { /* plain fp32 products run on the vector units */
        if (!l->peak[CM_ENGINE_MATRIX][r]) l->peak[CM_ENGINE_MATRIX][r] = l->peak[CM_ENGINE_VECTOR][r];
        if (!l->peak[CM_ENGINE_VECTOR][r]) l->peak[CM_ENGINE_VECTOR][r] = l->peak[CM_ENGINE_VECTOR][CM_RATE_FP32];
    }
}

cm__limits cm__limits_of(const cm_device *device)
{
    cm__limits       l = {.cores = cm__value_or(cm_device_number(device, CM_CORES), 1),
                          .clock_hz = cm__value_or(cm_device_number(device, CM_CLOCK_HZ), 0),
                          .floor_s = cm__value_or(cm_device_number(device, CM_LAUNCH_S), 0),
                          .tile = device->tile};
    const cm_memory *main = cm_device_main_memory(device);
    l.exponentials_s = cm__value_or(cm_device_number(device, CM_EXPONENTIALS), 0) * l.cores * l.clock_hz;
    read_peaks(device, &l);
    if (main) l.memory_bytes_s = cm__value_or(main->bw_bytes_s, 0);
    for (int32_t i = 0; i < cm_device_memories(device); i++) {
        const cm_memory *m = cm_device_memory(device, i);
        if (m == main || m->place != CM_PLACE_ON_CHIP || m->per_core) continue;
        l.cache_bytes = cm__value_or(m->capacity_bytes, 0);
        l.cache_bytes_s = cm__value_or(m->bw_bytes_s, 0);
    }
    if (l.cache_bytes_s < l.memory_bytes_s) l.cache_bytes_s = l.memory_bytes_s;
    return l;
}

void cm__need_speed(cm__ctx *ctx, const cm_device *device)
{
    cm__limits l = cm__limits_of(device);
    bool       known = l.memory_bytes_s > 0 || device->kernels.count > 0 || device->built_in_kernels.count > 0;
    for (int e = 0; e < CM_ENGINES; e++)
        for (int r = 0; r < CM_RATES; r++) known |= l.peak[e][r] > 0;
    if (!known)
        cm__fail(ctx, CM_ERR_UNSUPPORTED,
                 "%s: its speed is unknown; 'centimani bench -o machine.json' measures a machine, and --device "
                 "machine.json uses the result",
                 device->info.id);
}

cm_rate cm__rate_available(const cm__limits *l, cm_engine engine, cm_rate rate)
{
    for (int tries = 0; l->peak[engine][rate] <= 0 && tries < 3; tries++) rate = instead[rate];
    return rate;
}

static double peak_at(const cm__limits *l, cm_engine engine, cm_rate rate)
{
    return l->peak[engine][cm__rate_available(l, engine, rate)];
}

static double peak_of(const cm__limits *l, const cm__call *c)
{
    return peak_at(l, cm__call_kinds[c->op].engine, cm__call_rate(c));
}

double cm__precision_peak(const cm__limits *l, cm_precision precision, bool or_nearest)
{
    static const cm_rate rates[CM_PRECISIONS] = {
        [CM_PRECISION_DEFAULT] = CM_RATE_BF16,  [CM_PRECISION_FP32] = CM_RATE_FP32, [CM_PRECISION_TF32] = CM_RATE_TF32,
        [CM_PRECISION_AMP_BF16] = CM_RATE_BF16, [CM_PRECISION_AMP_FP16] = CM_RATE_FP16,
        [CM_PRECISION_BF16] = CM_RATE_BF16,     [CM_PRECISION_FP16] = CM_RATE_FP16, [CM_PRECISION_FP8] = CM_RATE_FP8,
    };
    cm_rate rate = rates[precision];
    return or_nearest ? peak_at(l, CM_ENGINE_MATRIX, rate) : l->peak[CM_ENGINE_MATRIX][rate];
}

static void conv_product(const cm__call *c, double flop, double p[4])
{
    double groups = c->sizes[CM__CONV_GROUPS] > 0 ? cm__size(c, CM__CONV_GROUPS) : 1;
    double in = cm__size(c, CM__CONV_C) / groups, out = cm__size(c, CM__CONV_K) / groups,
           window = cm__size(c, CM__CONV_R) * cm__size(c, CM__CONV_S);
    double places = flop / (2 * groups * in * out * window);
    double forward[] = {groups, places, out, in * window}, by_weight[] = {groups, out, in * window, places},
           by_input[] = {groups, places, in, out * window};
    memcpy(p,
           c->pass == CM__PASS_BWD_WEIGHT  ? by_weight
           : c->pass == CM__PASS_BWD_INPUT ? by_input
                                           : forward,
           sizeof forward);
}

static bool product_of(const cm__call *c, double flop, double p[4])
{
    if (c->op == CM__CALL_GEMM)
        for (int i = 0; i < CM__GEMM_SIZES; i++) p[i] = cm__size(c, i);
    else if (c->op == CM__CALL_CONV) conv_product(c, flop, p);
    else return false;
    return true;
}

bool cm__as_product(const cm__call *c, double p[4])
{
    double flop, bytes;
    cm__call_work(c, &flop, &bytes);
    return product_of(c, flop, p);
}

/* Time over the time at full utilisation: tiles run in whole waves, and the inner size is split if there are too few
   tiles. */
static double idle_factor(const cm__limits *l, const double p[4])
{
    double high = ceil(p[1] / l->tile), wide = ceil(p[2] / l->tile), most = floor(p[3] / SPLIT_K_LEAST);
    double tiles = p[0] * high * wide, filled = p[1] / (high * l->tile) * (p[2] / (wide * l->tile));
    if (tiles < l->cores && most > 1) tiles *= fmin(most, floor(l->cores / tiles));
    double waves = ceil(tiles / l->cores) * l->cores / tiles;
    return waves / fmax(filled, 0.25);
}

double cm__product_time(const cm__limits *l, const cm__call *c, double flop)
{
    double p[4], peak = peak_of(l, c), compute = peak > 0 ? flop / peak : 0;
    if (product_of(c, flop, p) && p[1] >= 1 && p[2] >= 1) compute *= idle_factor(l, p);
    return compute;
}

/* The share of `bytes` that does not fit the cache. It changes slowly with the size, as the base of interpolations has
   to. */
static double beyond_cache(double cache_bytes, double bytes)
{
    double filling = cache_bytes > 0 ? bytes / cache_bytes : INFINITY;
    return 1 - 1 / (1 + filling * filling);
}

double cm__from_memory(double cache_bytes, double bytes)
{
    double filling = cache_bytes > 0 ? bytes / cache_bytes : INFINITY, square = filling * filling,
           fourth = square * square;
    return 1 - 1 / (1 + fourth * fourth);
}

double cm__roofline(const cm__limits *l, const cm__call *c)
{
    double flop, bytes;
    cm__call_work(c, &flop, &bytes);
    return cm__roofline_of(l, c, flop, bytes);
}

double cm__roofline_of(const cm__limits *l, const cm__call *c, double flop, double bytes)
{
    double compute = cm__product_time(l, c, flop);
    double cached = 1 - beyond_cache(l->cache_bytes, bytes);
    double traffic = l->memory_bytes_s > 0 ? bytes * ((1 - cached) / l->memory_bytes_s + cached / l->cache_bytes_s) : 0;
    double longer = fmax(fmax(compute, traffic), SHORTEST), shorter = fmin(compute, traffic);
    double ratio = shorter / longer, square = ratio * ratio;
    /* the corner is as sharp as that of fitted operator models */
    return l->floor_s + longer * sqrt(sqrt(1 + square * square));
}

/* True: the call may read less than all of its operands: some rows of a table, or windows with steps wider than
   themselves. */
static bool reads_a_part(const cm__call *c)
{
    int            axes = c->op == CM__CALL_CONV ? 2 : c->op == CM__CALL_CONV3D ? 3 : 0;
    const int64_t *window = c->sizes + 3 + axes, *stride = window + axes; /* after n, c, k and the image */
    for (int i = 0; i < axes; i++)
        if (stride[i] > window[i]) return true;
    return c->op == CM__CALL_EMBEDDING || c->op == CM__CALL_FFT;
}

double cm__arithmetic_time(const cm__limits *l, const cm__call *c)
{
    double flop, bytes, peak = l->peak[CM_ENGINE_MATRIX][cm__call_rate(c)];
    bool   product = c->op == CM__CALL_GEMM || c->op == CM__CALL_CONV;
    if (!product || cm__call_rate(c) == CM_RATE_FP32 || peak <= 0) return 0;
    cm__call_work(c, &flop, &bytes);
    return flop / (cm__time_factors.above_sheet * peak);
}

double cm__traffic_time(const cm__limits *l, const cm__call *c, double bytes)
{
    if (l->memory_bytes_s <= 0 || reads_a_part(c)) return 0;
    return bytes * cm__from_memory(l->cache_bytes, bytes) / l->memory_bytes_s;
}
