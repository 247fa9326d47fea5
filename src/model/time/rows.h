/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rows.h - prepare the rows of kernel tables for kriging, once for all predictions that share a shelf.
 *
 * Several threads may use a shelf at once. The rows are a function of the tables and of the limits of the device on
 * which they were measured.
 */
#ifndef CM_MODEL_ROWS_H
#define CM_MODEL_ROWS_H

#include "device/kernels.h"
#include "model/time/blocks.h"
#include "model/time/roofline.h"

/* The tables of one operator and kind. */
typedef struct cm__tables {
    const cm__kernel_table *const *all;
    int32_t                        count;
} cm__tables;

/* The shape does not matter to a kernel over contiguous data: its calls are compared as one row. */
bool cm__shapeless(const cm__call *call);
void cm__drop_shape(cm__call *call);

cm__call cm__call_of_table(const cm__kernel_table *table);
void     cm__set_row(cm__call *call, const cm__kernel_table *table, int32_t row);

typedef struct cm__shelf cm__shelf;

cm__shelf *cm__shelf_new(cm__ctx *ctx); /* lives as long as the context */

/* The rows of each table. shelf: NULL for none; then the rows belong to the context. */
const cm__rows *cm__rows_of(cm__ctx *ctx, cm__shelf *shelf, cm__tables tables, const cm__limits *limits);

/* Kernels differ between bf16 and fp16 in batch norms only: PyTorch takes cuDNN's in fp16 and its own in bf16. */
bool cm__alike_in_16_bits(int op);

#endif
