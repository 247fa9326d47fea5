/* SPDX-License-Identifier: Apache-2.0 */
/* reduce.c - sums, means and maxima along one dimension. */
#include <math.h>
#include <string.h>
#include "bench/backends/cpu/cpu.h"
#include "bench/backends/cpu/kernels.h"

enum { FROM, TO, PARTS };

#define PARTS_MAX 256

typedef struct reduction {
    float *const *o;
    int64_t       outer, reduce, inner, parts;
    bool          max, mean;
} reduction;

static reduction reduction_of(const cm_call *call, float *const *o)
{
    return (reduction){o, call->dims[0], call->dims[1], call->dims[2], 1, strcmp(call->variant, "max") == 0,
                       strcmp(call->variant, "mean") == 0};
}

static bool takes_reduce(const cm__cpu *cpu, const cm_call *call)
{
    bool known = !strcmp(call->variant, "sum") || !strcmp(call->variant, "mean") || !strcmp(call->variant, "max");
    (void)cpu;
    return known && strcmp(call->dtype, "fp32") == 0 && call->dims[0] > 0 && call->dims[1] > 0 && call->dims[2] > 0;
}

static int operands_reduce(const cm_call *call, cm__operand *o)
{
    int64_t kept = call->dims[0] * call->dims[2];
    o[FROM] = (cm__operand){kept * call->dims[1], CM__FILL_RANDOM, 0};
    o[TO] = (cm__operand){kept, CM__FILL_RESULT, 0};
    o[PARTS] = (cm__operand){kept < PARTS_MAX ? kept * PARTS_MAX : 1, CM__FILL_RESULT, 0};
    return 3;
}

/* Reduce a contiguous row, eight elements at a time so that the compiler vectorizes it. */
static inline float fold_row(const float *x, int64_t n, bool max)
{
    float lanes[16], whole;
    if (n < 16) {
        whole = x[0];
        for (int64_t i = 1; i < n; i++) whole = max ? (x[i] > whole ? x[i] : whole) : whole + x[i];
        return whole;
    }
    memcpy(lanes, x, sizeof lanes);
    int64_t i = 16;
    for (; max && i + 16 <= n; i += 16)
        for (int l = 0; l < 16; l++) lanes[l] = x[i + l] > lanes[l] ? x[i + l] : lanes[l];
    for (; !max && i + 16 <= n; i += 16)
        for (int l = 0; l < 16; l++) lanes[l] += x[i + l];
    for (; i < n; i++) lanes[0] = max ? (x[i] > lanes[0] ? x[i] : lanes[0]) : lanes[0] + x[i];
    whole = lanes[0];
    for (int l = 1; l < 16; l++) whole = max ? (lanes[l] > whole ? lanes[l] : whole) : whole + lanes[l];
    return whole;
}

/* Reduce rows `from` to `to` - 1 into `inner` results. */
static inline void fold_columns(const reduction *r, const float *x, int64_t from, int64_t to, float *y)
{
    memcpy(y, x + from * r->inner, (size_t)r->inner * sizeof(float));
    for (int64_t k = from + 1; k < to; k++)
        for (int64_t j = 0; j < r->inner; j++) {
            float v = x[k * r->inner + j];
            y[j] = r->max ? (v > y[j] ? v : y[j]) : y[j] + v;
        }
}

CM__VECTORS static void reduce_outer(void *arg, int64_t first, int64_t last)
{
    const reduction *r = arg;
    for (int64_t i = first; i < last; i++) {
        const float *x = r->o[FROM] + i * r->reduce * r->inner;
        if (r->inner == 1) r->o[TO][i] = fold_row(x, r->reduce, r->max);
        else fold_columns(r, x, 0, r->reduce, r->o[TO] + i * r->inner);
    }
}

/* With few results, threads reduce parts of the reduced dimension, and the partial results are combined afterwards. */
CM__VECTORS static void reduce_parts(void *arg, int64_t first, int64_t last)
{
    const reduction *r = arg;
    for (int64_t p = first; p < last; p++) {
        int64_t from = r->reduce * p / r->parts, to = r->reduce * (p + 1) / r->parts;
        if (r->inner == 1) r->o[PARTS][p] = fold_row(r->o[FROM] + from, to - from, r->max);
        else fold_columns(r, r->o[FROM], from, to, r->o[PARTS] + p * r->inner);
    }
}

static void run_reduce(cm__cpu_case *c, float *const *o)
{
    reduction r = reduction_of(&c->call, o);
    int64_t   kept = r.outer * r.inner, each = r.reduce * r.inner;
    bool      cut = r.outer == 1 && kept < PARTS_MAX && r.reduce >= PARTS_MAX * 16;
    r.parts = cut ? cm__pool_threads(c->cpu->pool) : 1;
    if (r.parts > PARTS_MAX) r.parts = PARTS_MAX;
    if (cut) {
        cm__pool_run(c->cpu->pool, reduce_parts, &r, r.parts, 1);
        reduction last = {
            .o = (float *const[]){o[PARTS], o[TO]}, .outer = 1, .reduce = r.parts, .inner = r.inner, .max = r.max};
        reduce_outer(&last, 0, 1);
    } else cm__pool_run(c->cpu->pool, reduce_outer, &r, r.outer, each > 8192 ? 1 : 8192 / each);
    for (int64_t i = 0; r.mean && i < kept; i++) o[TO][i] /= (float)r.reduce;
}

/* Sum and maximum of n numbers that are `step` apart. */
typedef struct exact {
    double sum, most;
} exact;

static exact exact_of(const float *x, int64_t n, int64_t step)
{
    exact e = {0, -INFINITY};
    for (int64_t k = 0; k < n; k++) {
        e.sum += x[k * step];
        if (x[k * step] > e.most) e.most = x[k * step];
    }
    return e;
}

static int64_t check_reduce(cm__cpu_case *c, float *const *o, float *const *before)
{
    reduction r = reduction_of(&c->call, o);
    int64_t   wrong = 0, kept = r.outer * r.inner, places = kept < 31 ? kept : 31;
    double    count = r.mean ? (double)r.reduce : 1, size = r.max ? 1 : (double)r.reduce; /* operands are below one */
    (void)before;
    for (int64_t s = 0; s < places; s++) {
        int64_t at = places > 1 ? (int64_t)((double)s / (double)(places - 1) * (double)(kept - 1)) : 0;
        exact   e = exact_of(o[FROM] + at / r.inner * r.reduce * r.inner + at % r.inner, r.reduce, r.inner);
        wrong += cm__differs(o[TO][at], r.max ? e.most : e.sum / count, size / count);
    }
    return wrong;
}

const cm__cpu_op cm__cpu_ops_reduce[] = {
    {"reduce", "forward", takes_reduce, operands_reduce, NULL, NULL, run_reduce, check_reduce, 1},
    {0},
};
