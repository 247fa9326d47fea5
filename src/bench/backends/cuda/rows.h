/* SPDX-License-Identifier: Apache-2.0 */
/* rows.h - functions shared by calls that work on rows. */
#ifndef CM_BENCH_CUDA_ROWS_H
#define CM_BENCH_CUDA_ROWS_H

#include "bench/backends/cuda/ops.h"

typedef struct cm__cuda_rows {
    int64_t rows, cols;
    bool    rms, log, backward;
    int     x, gain, bias, y, dy, dx, mean, scale, parts, d_gain, d_bias, target, loss;
} cm__cuda_rows;

/* One block per row, with as many threads as the row needs. items: 16-byte packs that a thread keeps in registers;
   0: too many. */
typedef struct cm__cuda_row_shape {
    int block, items;
} cm__cuda_row_shape;

cm__cuda_row_shape cm__cuda_rows_shape(cm__type type, int64_t cols);
cm__cuda_rows   *cm__cuda_rows_start(cm__cuda_case *c); /* reads the sizes of the call */
cu_function cm__cuda_rows_kernel(cm__cuda_case *c, const char *name);
cm__launch *cm__cuda_rows_launch(cm__cuda_case *c, const char *name);

#endif
