/* SPDX-License-Identifier: Apache-2.0 */
/* lookup.c - probe of random look-ups in a table of cross sections, as in Monte Carlo particle transport. */
#include "bench/backends/cuda/probes/probe.h"

#define COLUMNS 6  /* as in kernels/probe.cu */
#define LOOKUPS 16 /* per thread */

typedef struct probe {
    int64_t rows;
    int     from, to;
} probe;

static double drawn(uint64_t key, uint64_t index)
{
    return (double)(cm__cuda_hash(key, index) >> 11) * 0x1p-53;
}

static double cell(const cm__cuda_case *c, int64_t row, int column)
{
    const probe *p = c->data;
    return column ? drawn(c->operands[p->from].key, (uint64_t)(row * COLUMNS + column))
                  : ((double)row + 0.5) / (double)p->rows;
}

static double lookup_at(const cm__cuda_case *c, uint64_t index)
{
    const probe *p = c->data;
    double       energy = drawn(c->operands[p->to].key, index), total = 0;
    int64_t      low = 0, high = p->rows - 1;
    while (high - low > 1) {
        int64_t middle = (low + high) / 2;
        if (cell(c, middle, 0) > energy)
            high = middle;
        else
            low = middle;
    }
    double part = (energy - cell(c, low, 0)) / (cell(c, low + 1, 0) - cell(c, low, 0));
    for (int k = 1; k < COLUMNS; k++) total += cell(c, low, k) + (cell(c, low + 1, k) - cell(c, low, k)) * part;
    return total;
}

static int64_t check_lookup(cm__cuda_case *c)
{
    const probe *p = c->data;
    int64_t      wrong = 0, threads = c->operands[p->to].count;
    for (int64_t i = 0; i < CUDA_SAMPLES; i++) {
        int64_t thread = cm__cuda_sample(c, i, CUDA_SAMPLES, threads);
        double  want = 0;
        for (int64_t k = 0; k < LOOKUPS; k++) want += lookup_at(c, (uint64_t)(thread * LOOKUPS + k));
        wrong += cm__cuda_wrong(TYPE_FP64, cm__cuda_result(c, p->to, thread), want, 1e-6 * want);
    }
    return wrong;
}

void cm__cuda_make_lookup(cm__cuda_case *c, const cm_probe_request *r, double *work)
{
    probe  *p = c->data = cm__alloc(c->ctx, sizeof *p);
    int64_t blocks = c->cu->processors * 16;
    p->rows = r->bytes / (COLUMNS * 8);
    if (p->rows < 2) cm__fail(c->ctx, CM_ERR_ARGUMENT, "a table of %lld bytes", (long long)r->bytes);
    p->from = cm__cuda_operand(c, TYPE_FP64, p->rows * COLUMNS, FILL_NONE);
    p->to = cm__cuda_operand(c, TYPE_FP64, blocks * 256, FILL_ZERO);
    cm__cuda_place(c);
    cm__launch *l = cm__cuda_add_launch(c, cm__cuda_probe_kernel(c, "lookup_fill"), c->cu->processors * 8, 1, 256);
    cm__cuda_arg_operand(l, p->from);
    cm__cuda_arg_int(l, p->rows);
    cm__cuda_arg_int(l, (int64_t)c->operands[p->from].key);
    cm__cuda_probe_once(c);
    l = cm__cuda_add_launch(c, cm__cuda_probe_kernel(c, "lookup"), blocks, 1, 256);
    cm__cuda_arg_operand(l, p->from);
    cm__cuda_arg_int(l, p->rows);
    cm__cuda_arg_int(l, (int64_t)c->operands[p->to].key);
    cm__cuda_arg_int(l, LOOKUPS);
    cm__cuda_arg_operand(l, p->to);
    *work = (double)LOOKUPS * 256 * (double)blocks;
}

const cm__cuda_op cm__cuda_op_lookup = {.check = check_lookup};
