/* SPDX-License-Identifier: Apache-2.0 */
/* rows.c - launch configuration of kernels that work on rows. */
#include <stdio.h>
#include <string.h>

#include "bench/backends/cuda/rows.h"

#define MOST_THREADS 512
#define MOST_ITEMS 4 /* more would not fit into registers */

cm__cuda_rows *cm__cuda_rows_start(cm__cuda_case *c)
{
    cm__cuda_rows *r = c->data = cm__alloc(c->ctx, sizeof *r);
    r->rows = c->call.dims[0];
    r->cols = c->call.dims[1];
    r->rms = strcmp(c->call.op, "rms_norm") == 0;
    r->log = strcmp(c->call.variant, "log") == 0;
    r->backward = strcmp(c->call.pass, "backward") == 0;
    return r;
}

cu_function cm__cuda_rows_kernel(cm__cuda_case *c, const char *name)
{
    char                 defines[160];
    const cm__cuda_rows *r = c->data;
    int                  pack = 16 / cm__types[c->type].bytes;
    snprintf(defines, sizeof defines, "-DTYPE_T=%s -DVECTOR=%d -DITEMS=%d -DWHAT=%d -DRMS=%d -DLOG=%d",
             cm__types[c->type].device, r->cols % pack ? 1 : pack, cm__cuda_rows_shape(c->type, r->cols).items,
             name[0] == 'n'   ? 0
             : name[0] == 's' ? 1
                              : 2,
             r->rms, r->log);
    return cm__cuda_kernel(c->ctx, c->cu, "rows.cu", name, defines);
}

cm__cuda_row_shape cm__cuda_rows_shape(cm__type type, int64_t cols)
{
    int                pack = 16 / cm__types[type].bytes;
    int64_t            work = cols % pack ? cols : cols / pack;
    cm__cuda_row_shape shape = {.block = 32, .items = 1};
    while (shape.block < work && shape.block < MOST_THREADS) shape.block *= 2;
    while (shape.items < MOST_ITEMS && shape.block * shape.items < work) shape.items *= 2;
    if (shape.block * shape.items < work) shape.items = 0;
    return shape;
}

cm__launch *cm__cuda_rows_launch(cm__cuda_case *c, const char *name)
{
    const cm__cuda_rows *r = c->data;
    return cm__cuda_add_launch(c, cm__cuda_rows_kernel(c, name), r->rows, 1,
                               cm__cuda_rows_shape(c->type, r->cols).block);
}
