/* SPDX-License-Identifier: Apache-2.0 */
/* transfer.c - scale each part of a call's time by the ratio of what it depends on. */
#include "model/time/transfer.h"

#include <math.h>
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
static double memory_time(const cm__limits *l, double bytes)
{
    double beyond = bytes * cm__from_memory(l->cache_bytes, bytes);
    return l->memory_bytes_s > 0 ? beyond / (cm__time_factors.reached_bandwidth * l->memory_bytes_s) : 0;
}

/* Each score of attention takes one exponential, in both passes, which the products of its tile wait for: the two
   times add up. Their sum over the time of the products; 1: the call has none, or their rate is not known. */
static double with_exponentials(const cm__limits *l, const cm__call *c, double products_s)
{
    if (c->op != CM__CALL_ATTENTION || l->exponentials_s <= 0 || products_s <= 0) return 1;
    return 1 + cm__attention_scores(c) / l->exponentials_s / products_s;
}

/* Sums in 32 bits take GeForce cards' matrix units twice as long: 8-bit products have four times the rate of 16-bit ones,
   not twice. Operands arrive as fast as elsewhere, so kernels wait for them half as long beside the arithmetic. */
static double waiting(const cm__limits *l)
{
    double half = l->peak[CM_ENGINE_MATRIX][CM_RATE_FP16], quarter = l->peak[CM_ENGINE_MATRIX][CM_RATE_INT8];
    return half > 0 && quarter > 0 ? fmin(1, 2 * half / quarter) : 1;
}

/* Time of the products, and of exponentials between them, at the highest rate that kernels reach. */
static double product_time(const cm__limits *l, const cm__call *c, double flop)
{
    if (cm__call_kinds[c->op].engine != CM_ENGINE_MATRIX) return 0;
    double reached = c->op == CM__CALL_ATTENTION ? cm__time_factors.reached_peak_attention
                                                 : cm__time_factors.reached_peak;
    double products_s = cm__product_time(l, c, flop);
    return products_s * with_exponentials(l, c, products_s) * (1 + (1 / reached - 1) * waiting(l));
}

/* How many cores a call keeps busy: batch norms of channels-first images give each channel to one core; time steps of
   recurrent layers run one after the other and are too small for all cores. */
static double cores_used(const cm__limits *l, const cm__call *c)
{
    if (c->op == CM__CALL_RNN) return 1;
    bool by_channel = c->op == CM__CALL_BATCH_NORM && c->variant == CM__V_NCHW;
    return by_channel ? fmin(l->cores, cm__size(c, CM__BATCH_NORM_C)) : l->cores;
}

/* How much of the other work of a call's kernels is shared by the cores. Kernels of large tiles and kernels that reduce
   wait for their loads and for each other most of the time: a core with more of their blocks takes little longer. */
static double shared_by_cores(const cm__call *c)
{
    bool backward = c->pass == CM__PASS_BACKWARD;
    switch (c->op) {
    case CM__CALL_CONV: return cm__size(c, CM__CONV_GROUPS) > 1 ? 1 : cm__time_factors.tiles_by_cores;
    case CM__CALL_ATTENTION: return backward ? cm__time_factors.tiles_by_cores : 1;
    case CM__CALL_REDUCE:
    case CM__CALL_CROSS_ENTROPY:
    case CM__CALL_OPTIMIZER: return cm__time_factors.sums_by_cores;
    case CM__CALL_LAYER_NORM:
    case CM__CALL_RMS_NORM:
    case CM__CALL_SOFTMAX:
    case CM__CALL_EMBEDDING: return backward ? cm__time_factors.sums_by_cores : 1;
    default: return 1;
    }
}

/* The parts of a known time, of which memory and products would take `at_most`. */
static parts parts_of(const cm__shortest *at_most, double time_s, double kernels)
{
    parts  p = {.memory_s = fmin(at_most->memory_s, time_s), .product_s = fmin(at_most->product_s, time_s)};
    double others = sqrt(fmax(0, squared(time_s) - squared(p.memory_s) - squared(p.product_s)));
    p.latency_s = fmin(others, kernels * cm__time_factors.kernel_latency_s);
    p.cores_s = others - p.latency_s;
    return p;
}

/* cuDNN's kernels for TF32 want channels last and convert other images. Two kinds of convolution are not converted:
   those with 1 x 1 filters, which are products, and those with one filter for each channel, which use no matrix
   units. */
static bool converts_layout(const cm__call *c)
{
    if (c->op != CM__CALL_CONV || c->variant != CM__V_NCHW || c->types != CM__ALL(CM__TF32)) return false;
    return c->sizes[CM__CONV_R] * c->sizes[CM__CONV_S] > 1 && c->sizes[CM__CONV_GROUPS] < c->sizes[CM__CONV_C];
}

/* PyTorch's multi-tensor optimizers are a chain of _foreach_ calls, each of which reads and writes its tensors
   (torch/optim/adam.py and sgd.py, _multi_tensor_adam() and _multi_tensor_sgd()): for AdamW mul_ 2 tensors, lerp_ 3,
   mul_ 2, addcmul_ 3, sqrt 2, div_ 2, add_ 2, addcdiv_ 4; Adam lacks the first; with momentum mul_ 2, add_ 3, add_ 3. One
   pass over weights, gradients and states moves `once` tensors. The counts agree with the H200's tables: at them all
   optimizers stream at 3.0 to 3.3 TB/s in bf16 and 3.7 to 3.8 TB/s in fp32. */
static const struct {
    cm__variant optimizer;
    double      moved, once;
} foreach_calls[] = {{CM__V_ADAMW, 20, 7}, {CM__V_ADAM, 18, 7}, {CM__V_MOMENTUM, 8, 5}};

static double passes_of(const cm__call *c)
{
    if (converts_layout(c)) return CM__LAYOUT_PASSES;
    for (size_t i = 0; c->op == CM__CALL_OPTIMIZER && i < sizeof foreach_calls / sizeof *foreach_calls; i++)
        if (c->variant == foreach_calls[i].optimizer) return foreach_calls[i].moved / foreach_calls[i].once;
    return 1;
}

cm__shortest cm__shortest_of(const cm__limits *l, const cm__call *c, double flop, double bytes)
{
    double passes = passes_of(c);
    return (cm__shortest){.memory_s = passes * memory_time(l, bytes), .product_s = product_time(l, c, flop)};
}

double cm__transferred(const cm__limits *to, const cm__limits *from, const cm__call *c, double time_s, double kernels)
{
    cm__known_time known = {.time_s = time_s, .kernels = kernels};
    cm__call_work(c, &known.flop, &known.bytes);
    known.shortest = cm__shortest_of(from, c, known.flop, known.bytes);
    return cm__transferred_known(to, from, c, &known);
}

/* The rate of exponentials counts if it is known of both devices. */
static cm__shortest without_exponentials(const cm__limits *l, const cm__limits *other, const cm__call *c, double flop,
                                         cm__shortest s)
{
    if (c->op == CM__CALL_ATTENTION && other->exponentials_s <= 0)
        s.product_s /= with_exponentials(l, c, cm__product_time(l, c, flop));
    return s;
}

double cm__transferred_known(const cm__limits *to, const cm__limits *from, const cm__call *c,
                             const cm__known_time *known)
{
    cm__shortest at = without_exponentials(from, to, c, known->flop, known->shortest);
    cm__shortest least = cm__shortest_of(to, c, known->flop, known->bytes);
    least = without_exponentials(to, from, c, known->flop, least);
    parts  there = parts_of(&at, known->time_s, known->kernels), here = {least.memory_s, least.product_s, 0, 0};
    double clocks = to->clock_hz > 0 ? from->clock_hz / to->clock_hz : 1;
    double cores = to->cores > 0 ? cores_used(from, c) / cores_used(to, c) : 1;
    if (at.memory_s > 0) here.memory_s *= there.memory_s / at.memory_s;
    if (at.product_s > 0) here.product_s *= there.product_s / at.product_s;
    double by_cores = shared_by_cores(c);
    here.cores_s = there.cores_s * (by_cores * cores + 1 - by_cores) * clocks;
    here.latency_s = there.latency_s * clocks;
    /* the parts of a known time that is shorter than the roofline would add up to more than it */
    return joined(&here) * known->time_s / fmax(joined(&there), 1e-12);
}
