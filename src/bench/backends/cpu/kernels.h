/* SPDX-License-Identifier: Apache-2.0 */
/* kernels.h - loops over rows and elements that more than one operator uses. */
#ifndef CM_BENCH_CPU_KERNELS_H
#define CM_BENCH_CPU_KERNELS_H

#include "bench/backends/cpu/pool.h"

/* Compiled once for each generation of x86 vectors, chosen when the program starts. Sanitizers also instrument the
   function that chooses, which then crashes: it runs before their libraries are loaded. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) &&               \
    !defined(__SANITIZE_THREAD__)
#define CM__VECTORS __attribute__((target_clones("arch=skylake-avx512", "arch=haswell", "default")))
#else
#define CM__VECTORS
#endif

void cm__spread_row(cm__pool *pool, float *to, const float *row, int64_t rows, int64_t columns);
/* `causal`: row i sees the columns up to i, shifted where there are more columns than rows. */
void cm__softmax_rows(cm__pool *pool, float *to, const float *from, int64_t rows, int64_t columns, bool causal,
                      bool log);
/* to = gradient of the input; y: the softmax's result. `to` may be `gradient`. */
void cm__softmax_rows_backward(cm__pool *pool, float *to, const float *y, const float *gradient, int64_t rows,
                               int64_t columns, bool log);

#endif
