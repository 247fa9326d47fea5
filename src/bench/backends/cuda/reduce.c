/* SPDX-License-Identifier: Apache-2.0 */
/* reduce.c - sums, means and maxima along any axis; our own kernels. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/backends/cuda/ops.h"

#define THREADS 256
#define WARPS (THREADS / 32)
#define SHORT_ROW 1024
#define MOST_SHARES 512

typedef struct tensors {
    int64_t outer, length, inner, kept; /* `length` elements for each of `kept` results */
    bool    maximum, mean, planes;
    int     x, y, parts;
} tensors;

static cu_function kernel(cm__cuda_case *c, const char *name, int vector)
{
    char           defines[160];
    const tensors *t = c->data;
    snprintf(defines, sizeof defines, "-DTYPE_T=%s -DVECTOR=%d -DMAXIMUM=%d -DPLANES=%d -DATOMICS=%d -DRULE=%d",
             cm__types[c->type].device, vector, t->maximum, t->planes, 0, 0);
    return cm__cuda_kernel(c->ctx, c->cu, "tensors.cu", name, defines);
}

static int64_t at_most(int64_t value, int64_t most)
{
    return value < 1 ? 1 : value < most ? value : most;
}

void cm__cuda_reduce_declare(cm__cuda_case *c)
{
    tensors *t = c->data = cm__alloc(c->ctx, sizeof *t);
    t->outer = c->call.dims[0];
    t->inner = c->call.dims[2];
    t->planes = strcmp(c->call.variant, "sum:nchw") == 0;
    t->maximum = strcmp(c->call.variant, "max") == 0;
    t->mean = strcmp(c->call.variant, "mean") == 0;
    t->length = t->planes ? t->outer * t->inner : c->call.dims[1];
    t->kept = t->planes ? c->call.dims[1] : t->outer * t->inner;
    t->x = cm__cuda_operand(c, c->type, t->length * t->kept, FILL_RANDOM);
    t->y = cm__cuda_operand(c, c->type, t->kept, FILL_ZERO);
    t->parts = cm__cuda_operand(c, TYPE_FP32, c->cu->processors * 8 * THREADS + 2 * t->kept, FILL_NONE);
    c->operands[t->parts].shared = true;
}

static double factor_of(const tensors *t)
{
    return t->mean ? 1 / (double)t->length : 1;
}

static void plan_end(cm__cuda_case *c, int64_t shares)
{
    const tensors *t = c->data;
    bool           few = shares < 32;
    int64_t        blocks = few ? (t->kept + THREADS - 1) / THREADS : t->kept;
    cm__launch *l = cm__cuda_add_launch(c, kernel(c, few ? "reduce_end_few" : "reduce_end", 1), at_most(blocks, 65535),
                                        1, few ? THREADS : 64);
    OPERANDS(l, t->parts, t->y);
    cm__cuda_arg_int(l, t->kept);
    cm__cuda_arg_int(l, shares);
    cm__cuda_arg_real(l, factor_of(t));
}

/* If there are too few results, divide the reduced elements so that the blocks fill the device four times. */
static int64_t shares_for(const cm__cuda_case *c, int64_t blocks, int64_t least_work)
{
    const tensors *t = c->data;
    int64_t        wanted = c->cu->processors * 8 / (blocks > 0 ? blocks : 1), possible = t->length / least_work;
    return t->kept >= 65536 ? 1 : at_most(wanted < possible ? wanted : possible, MOST_SHARES);
}

static void plan_along(cm__cuda_case *c)
{
    const tensors *t = c->data;
    int            vector = cm__cuda_vector(c, t->planes ? t->inner : t->length);
    int64_t        shares = shares_for(c, t->kept, 4 * THREADS);
    cm__launch *l = cm__cuda_add_launch(c, kernel(c, "reduce_along", vector), shares, at_most(t->kept, 65535), THREADS);
    cm__cuda_arg_operand(l, t->x);
    cm__cuda_arg_operand(l, t->parts);
    cm__cuda_arg_operand(l, t->y);
    cm__cuda_arg_int(l, t->kept);
    cm__cuda_arg_int(l, t->length);
    cm__cuda_arg_int(l, t->inner);
    cm__cuda_arg_real(l, factor_of(t));
    if (shares > 1) plan_end(c, shares);
}

static void plan_short(cm__cuda_case *c)
{
    const tensors *t = c->data;
    cm__launch    *l = cm__cuda_add_launch(c, kernel(c, "reduce_short", 1),
                                           at_most((t->kept + WARPS - 1) / WARPS, INT32_MAX), 1, THREADS);
    cm__cuda_arg_operand(l, t->x);
    cm__cuda_arg_operand(l, t->y);
    cm__cuda_arg_int(l, t->kept);
    cm__cuda_arg_int(l, t->length);
    cm__cuda_arg_real(l, factor_of(t));
}

static void plan_across(cm__cuda_case *c)
{
    const tensors *t = c->data;
    int64_t        blocks = at_most((t->kept + THREADS - 1) / THREADS, 65535), shares = shares_for(c, blocks, 16);
    cm__launch    *l = cm__cuda_add_launch(c, kernel(c, "reduce_across", 1), blocks, shares, THREADS);
    cm__cuda_arg_operand(l, t->x);
    cm__cuda_arg_operand(l, t->parts);
    cm__cuda_arg_int(l, t->kept);
    cm__cuda_arg_int(l, t->length);
    cm__cuda_arg_int(l, t->inner);
    plan_end(c, shares);
}

void cm__cuda_reduce_setup(cm__cuda_case *c)
{
    const tensors *t = c->data;
    if (t->planes)
        plan_along(c);
    else if (t->inner > 1)
        plan_across(c);
    else if (t->length <= SHORT_ROW && t->kept > 1)
        plan_short(c);
    else
        plan_along(c);
}

static int64_t place(const tensors *t, int64_t k, int64_t i)
{
    if (t->planes) return (i / t->inner * t->kept + k) * t->inner + i % t->inner;
    return (k / t->inner * t->length + i) * t->inner + k % t->inner;
}

int64_t cm__cuda_reduce_check(cm__cuda_case *c)
{
    const tensors *t = c->data;
    int64_t        n = cm__cuda_samples(t->length, t->kept), wrong = 0;
    if (t->length > ((int64_t)1 << 24)) n = 1; /* with so many terms, one sample is enough */
    for (int64_t s = 0; s < n; s++) {
        int64_t k = cm__cuda_sample(c, s, n, t->kept);
        double  total = t->maximum ? -INFINITY : 0, size = 0;
        for (int64_t i = 0; i < t->length; i++) {
            double x = cm__cuda_value(c, t->x, place(t, k, i));
            total = t->maximum ? fmax(total, x) : total + x;
            size += x * x;
        }
        double slack = t->maximum ? 0 : 1e-5 * sqrt(size) * factor_of(t);
        wrong += cm__cuda_wrong(c->type, cm__cuda_result(c, t->y, k), total * factor_of(t), slack);
    }
    return wrong;
}
