/* SPDX-License-Identifier: Apache-2.0 */
/* untabled.c - products with a vector, norms of few long rows, convolutions of volumes in 32 bits. */
#include "model/time/untabled.h"

#include <math.h>
#include <string.h>
#include "model/time/factors.h"

static bool in_32_bits(const cm__call *c) { return strcmp(c->dtype, "fp32") == 0 || strcmp(c->dtype, "tf32") == 0; }

bool cm__is_vector_product(const cm__call *c)
{
    if (c->op != CM__CALL_GEMM || c->sizes[CM__GEMM_BATCH] != 1 || !in_32_bits(c)) return false;
    return c->sizes[CM__GEMM_M] == 1 || c->sizes[CM__GEMM_N] == 1;
}

double cm__vector_product_time(const cm__limits *l, const cm__call *c)
{
    double flop, bytes;
    cm__call_work(c, &flop, &bytes);
    return l->floor_s + bytes / (cm__time_factors.reached_bandwidth * l->memory_bytes_s);
}

#define SOFTMAX_PASSES 4 /* over a long row: for its maximum, for the sum, and to read and write the results */

/* A block reads a long row three times. If the rows of all blocks do not fit into the cache, memory has to deliver each. */
static double softmax_time(const cm__limits *l, const cm__call *c)
{
    double row = cm__size(c, CM__SOFTMAX_COLS) * cm__call_element(c, 0), rows = cm__size(c, CM__SOFTMAX_ROWS);
    if (row * fmin(rows, l->cores) <= l->cache_bytes || l->memory_bytes_s <= 0) return 0;
    return SOFTMAX_PASSES * row * rows / (cm__time_factors.reached_bandwidth * l->memory_bytes_s);
}

double cm__least_time(const cm__limits *l, const cm__call *c)
{
    if (c->pass != CM__PASS_FORWARD) return 0;
    if (c->op == CM__CALL_SOFTMAX) return softmax_time(l, c);
    if (c->op != CM__CALL_LAYER_NORM || l->clock_hz <= 0) return 0;
    return cm__size(c, CM__LAYER_NORM_COLS) * cm__time_factors.norm_cycles / l->clock_hz;
}

double cm__far_factor(const cm__call *c)
{
    return c->op == CM__CALL_CONV3D && in_32_bits(c) ? cm__time_factors.far_volume : 1;
}
