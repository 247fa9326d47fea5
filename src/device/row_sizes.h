/* SPDX-License-Identifier: Apache-2.0 */
/*
 * row_sizes.h - the sizes of a kernel table's rows, in as few bytes as they need.
 *
 * Rows follow each other. A column has the number of bytes that its largest size needs, the most significant byte
 * first, so that the bytes of two rows compare as their sizes do. tools/embed.py writes built-in tables in this form;
 * cm__rows_pack() packs those of profiles. Many calls were measured in several types and passes: the built-in tables of
 * an operator share its shapes, if this takes fewer bytes, and have the number of a shape in each row.
 */
#ifndef CM_DEVICE_ROW_SIZES_H
#define CM_DEVICE_ROW_SIZES_H

#include "device/kernels.h"

#define CM__ROW_BYTES (CM__CALL_SIZES * (int)sizeof(int64_t)) /* of the longest row */

/* The sizes of one row. */
void cm__row_unpack(const cm__kernel_table *table, int32_t row, int64_t *sizes);

/* Writes sizes as a row of a table. Returns false if one of them has more bytes than its column: no row is equal. */
bool cm__row_pack(const cm__kernel_table *table, const int64_t *sizes, uint8_t *row);

/* The first row with these sizes; -1: none. Rows of sorted tables are found by bisection. */
int32_t cm__row_find(const cm__kernel_table *table, const int64_t *sizes);

/* The first row whose first size is positive and whose first two sizes have this product; -1: none. */
int32_t cm__row_with_product(const cm__kernel_table *table, int64_t product);

/* Stores the sizes of all rows, none of them negative. The table's operator and number of rows are given. */
void cm__rows_pack(cm__ctx *ctx, cm__kernel_table *table, const int64_t *sizes);

#endif
