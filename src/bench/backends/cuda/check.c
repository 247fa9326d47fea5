/* SPDX-License-Identifier: Apache-2.0 */
/* check.c - compare a sample of results with a reference that the host computes in double precision. */
#include <math.h>

#include "bench/backends/cuda/cuda.h"

#define MOST_TERMS ((int64_t)1 << 19) /* takes the host about 10 ms */
#define LEAST 4

double cm__cuda_value(const cm__cuda_case *c, int operand, int64_t index)
{
    const cm__operand *o = &c->operands[operand];
    if (o->fill == FILL_ONE) return 1;
    if (o->fill == FILL_BYTE) return (double)(cm__cuda_hash(o->key, (uint64_t)index) >> 63);
    if (o->fill == FILL_ZERO) return 0;
    double value = cm__rounded(o->type, (double)(cm__cuda_random(o->key, (uint64_t)index) * o->scale));
    return o->fill == FILL_POSITIVE ? fabs(value) : value;
}

int64_t cm__cuda_index(const cm__cuda_case *c, int operand, int64_t index)
{
    const cm__operand *o = &c->operands[operand];
    return (int64_t)(cm__cuda_hash(o->key, (uint64_t)index) % (uint64_t)o->limit);
}

double cm__cuda_result(cm__cuda_case *c, int operand, int64_t index)
{
    double value;
    cm__cuda_read(c, operand, index, 1, &value);
    return value;
}

void cm__cuda_read(cm__cuda_case *c, int operand, int64_t first, int64_t count, double *values)
{
    unsigned char      small[8], *bytes = small;
    const cm__operand *o = &c->operands[operand];
    size_t             width = (size_t)cm__types[o->type].bytes;
    if (count > 1) bytes = cm__alloc_array(c->ctx, (size_t)count, width);
    CU(c, cuMemcpyDtoHAsync, bytes, cm__cuda_address(c, operand, 0) + (size_t)first * width, (size_t)count * width,
       c->cu->stream);
    cm__cuda_need(c->ctx, c->cu, c->cu->driver.cuStreamSynchronize(c->cu->stream), "cuMemcpyDtoHAsync");
    for (int64_t i = 0; i < count; i++) values[i] = cm__stored(o->type, bytes + (size_t)i * width);
}

int64_t cm__cuda_samples(int64_t terms, int64_t total)
{
    int64_t n = MOST_TERMS / (terms > 0 ? terms : 1);
    n = n < LEAST ? LEAST : n > CUDA_SAMPLES ? CUDA_SAMPLES : n;
    return n < total ? n : total;
}

int64_t cm__cuda_sample(const cm__cuda_case *c, int64_t i, int64_t n, int64_t total)
{
    int64_t first = (int64_t)((double)total / (double)n * (double)i), width = total / n;
    int64_t index = first +
                    (int64_t)(cm__cuda_hash(c->cu->seed ^ 0x5eed, (uint64_t)i) % (uint64_t)(width > 0 ? width : 1));
    if (i == n - 1) index = total - 1; /* always check the last one, where mistakes at edges show */
    return index < total ? index : total - 1;
}

int64_t cm__cuda_wrong(cm__type type, double got, double want, double slack)
{
    double rounded = cm__rounded(type, want);
    if (isinf(rounded)) return got != rounded;
    double allowed = 2 * cm__types[type].round_off * fabs(want) + slack + (type == TYPE_FP16 ? 0x1p-24 : 1e-30);
    return !(fabs(got - want) <= allowed);
}
