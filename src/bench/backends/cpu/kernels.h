/* SPDX-License-Identifier: Apache-2.0 */
/* kernels.h - loops over rows and elements that several operators use. */
#ifndef CM_BENCH_CPU_KERNELS_H
#define CM_BENCH_CPU_KERNELS_H

#include "bench/backends/cpu/pool.h"

/* Compiles a function for several x86 vector extensions; the program loader chooses one at start-up. Disabled with
   sanitizers: they instrument the resolver function, which runs before their libraries are loaded and would crash. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) &&               \
    !defined(__SANITIZE_THREAD__)
#define CM__VECTORS __attribute__((target_clones("arch=skylake-avx512", "arch=haswell", "default")))
#else
#define CM__VECTORS
#endif

void cm__spread_row(cm__pool *pool, float *to, const float *row, int64_t rows, int64_t columns);
/* `causal`: row i covers the columns up to i + columns - rows. */
void cm__softmax_rows(cm__pool *pool, float *to, const float *from, int64_t rows, int64_t columns, bool causal,
                      bool log);
/* `to` receives the gradient of the input; `y` is the softmax's result. `to` and `gradient` may be the same buffer. */
void cm__softmax_rows_backward(cm__pool *pool, float *to, const float *y, const float *gradient, int64_t rows,
                               int64_t columns, bool log);

#endif
