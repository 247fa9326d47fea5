/* SPDX-License-Identifier: Apache-2.0 */
/* probes.c - one repetition of each probe: read, copy, multiply in registers, wake the threads. */
#include <stdlib.h>
#include <string.h>
#include "bench/backends/cpu/cpu.h"
#include "bench/backends/cpu/kernels.h"
#include "bench/backends/cpu/vector.h"

#define LAUNCHES  100
#define BYTES_MIN (4 << 20) /* fewest bytes that a thread reads per repetition; smaller sets are read several times */

static int64_t turns_of(const cm__cpu_probe *p)
{
    int64_t turns = (int64_t)BYTES_MIN * p->threads / (p->request.bytes > 0 ? p->request.bytes : 1);
    return turns > 1 ? turns : 1;
}

/* ---- reading and copying ----------------------------------------------------------------------------------------- */

#if defined(__x86_64__)
#define LANES 8
#else
#define LANES 4
#endif
typedef float lanes __attribute__((vector_size(4 * LANES), aligned(4)));

#define CHAINS 12 /* independent sums, so that additions do not wait for each other */
#define STEP   (CHAINS * LANES)

CM__VECTORS static float sum_of(const float *x, int64_t n)
{
    lanes   sums[CHAINS] = {{0}};
    float   sum = 0;
    int64_t i = 0;
    for (; i + STEP <= n; i += STEP)
#pragma GCC unroll 12
        for (int c = 0; c < CHAINS; c++) sums[c] += *(const lanes *)(x + i + LANES * c);
    for (; i < n; i++) sum += x[i];
    for (int c = 0; c < CHAINS; c++)
        for (int l = 0; l < LANES; l++) sum += sums[c][l];
    return sum;
}

static void read_parts(void *arg, int64_t first, int64_t last)
{
    cm__cpu_probe *p = arg;
    for (int64_t t = first; t < last; t++) {
        int64_t from = p->elements * t / p->threads, to = p->elements * (t + 1) / p->threads;
        for (int64_t turn = 0; turn < p->turns; turn++) {
            p->results[8 * t] = sum_of(p->buffer + from, to - from);
            __asm__ volatile("" ::: "memory"); /* forces the next turn to read again */
        }
    }
}

static void copy_parts(void *arg, int64_t first, int64_t last)
{
    cm__cpu_probe *p = arg;
    for (int64_t t = first; t < last; t++) {
        int64_t from = p->elements * t / p->threads, to = p->elements * (t + 1) / p->threads;
        for (int64_t turn = 0; turn < p->turns; turn++) {
            memcpy(p->second + from, p->buffer + from, (size_t)(to - from) * sizeof(float));
            __asm__ volatile("" ::: "memory");
        }
    }
}

/* ---- other probes ------------------------------------------------------------------------------------------------ */

static void vector_parts(void *arg, int64_t first, int64_t last)
{
    cm__cpu_probe *p = arg;
    for (int64_t t = first; t < last; t++) p->results[8 * t] = cm__vector_work();
}

static void nothing(void *arg, int64_t first, int64_t last) { (void)arg, (void)first, (void)last; }

void cm__probe_once(cm__cpu_probe *p)
{
    cm__pool *pool = p->cpu->pool;
    p->turns = turns_of(p);
    switch (p->request.probe) {
    case CM_PROBE_READ: cm__pool_run(pool, read_parts, p, p->threads, 0); break;
    case CM_PROBE_COPY: cm__pool_run(pool, copy_parts, p, p->threads, 0); break;
    case CM_PROBE_VECTOR: cm__pool_run(pool, vector_parts, p, p->threads, 0); break;
    case CM_PROBE_LOOKUP: cm__lookup_once(p); break;
    default:
        for (int i = 0; i < LAUNCHES; i++) cm__pool_run(pool, nothing, p, p->threads, 0);
    }
}

double cm__probe_work(const cm__cpu_probe *p)
{
    switch (p->request.probe) {
    case CM_PROBE_READ: return (double)(p->elements * (int64_t)sizeof(float)) * (double)turns_of(p);
    case CM_PROBE_COPY: return (double)(2 * p->elements * (int64_t)sizeof(float)) * (double)turns_of(p);
    case CM_PROBE_VECTOR: return cm__vector_flop() * p->threads;
    case CM_PROBE_LOOKUP: return CM__LOOKUPS;
    default: return LAUNCHES;
    }
}
