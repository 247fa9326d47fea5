/* SPDX-License-Identifier: Apache-2.0 */
/* transfer.c - scale each part of a call's time by the ratio of what it depends on. */
#include "model/time/transfer.h"

#include <math.h>
#include <string.h>
#include "model/time/factors.h"

typedef struct parts {
    double memory_s, product_s, cores_s, latency_s;
} parts;

static double squared(double x) { return x * x; }

static double joined(const parts *p)
{
    return sqrt(squared(p->memory_s) + squared(p->product_s) + squared(p->cores_s + p->latency_s));
}

/* Time of the traffic that the cache does not hold. */
static double memory_time(const cm__limits *l, const cm__call *c)
{
    double flop, bytes;
    cm__call_work(c, &flop, &bytes);
    bytes *= cm__beyond_cache(l->cache_bytes, bytes);
    return l->memory_bytes_s > 0 ? bytes / (cm__time_factors.reached_bandwidth * l->memory_bytes_s) : 0;
}

/* Time of the products at the highest rate that kernels reach. */
static double product_time(const cm__limits *l, const cm__call *c)
{
    bool   matrix = cm__call_kinds[c->op].engine == CM_ENGINE_MATRIX;
    double reached = c->op == CM__CALL_ATTENTION ? cm__time_factors.reached_peak_attention : cm__time_factors.reached_peak;
    return matrix ? cm__product_time(l, c) / reached : 0;
}

/* How many cores a call keeps busy: batch norms of channels-first images give each channel to one core; time steps of
   recurrent layers run one after the other and are too small for all cores. */
static double cores_used(const cm__limits *l, const cm__call *c)
{
    if (c->op == CM__CALL_RNN) return 1;
    bool by_channel = c->op == CM__CALL_BATCH_NORM && strcmp(c->variant, "nchw") == 0;
    return by_channel ? fmin(l->cores, cm__size(c, CM__BATCH_NORM_C)) : l->cores;
}

static parts parts_of(const cm__limits *l, const cm__call *c, double time_s, double kernels)
{
    parts  p = {.memory_s = fmin(memory_time(l, c), time_s), .product_s = fmin(product_time(l, c), time_s)};
    double others = sqrt(fmax(0, squared(time_s) - squared(p.memory_s) - squared(p.product_s)));
    p.latency_s = fmin(others, kernels * cm__time_factors.kernel_latency_s);
    p.cores_s = others - p.latency_s;
    return p;
}

double cm__transferred(const cm__limits *to, const cm__limits *from, const cm__call *c, double time_s, double kernels)
{
    parts  there = parts_of(from, c, time_s, kernels), here = there;
    double product[2] = {product_time(from, c), product_time(to, c)};
    double memory[2] = {memory_time(from, c), memory_time(to, c)};
    double clocks = to->clock_hz > 0 ? from->clock_hz / to->clock_hz : 1;
    double cores = to->cores > 0 ? cores_used(from, c) / cores_used(to, c) : 1;
    here.memory_s = memory[0] > 0 ? there.memory_s * memory[1] / memory[0] : memory[1];
    here.product_s = product[0] > 0 ? there.product_s * product[1] / product[0] : product[1];
    here.cores_s *= cores * clocks;
    here.latency_s *= clocks;
    /* the parts of a known time that is shorter than the roofline would add up to more than it */
    return joined(&here) * time_s / fmax(joined(&there), 1e-12);
}
