/* SPDX-License-Identifier: Apache-2.0 */
/* row_sizes.c - pack the sizes of kernel tables' rows, and find rows by their sizes. */
#include "device/row_sizes.h"

#include <string.h>

static int columns_of(const cm__kernel_table *t) { return cm__call_kinds[t->op].n_sizes; }

/* Most columns have one or two bytes. */
static inline uint64_t number_at(const uint8_t *from, int width)
{
    uint64_t number = from[0];
    for (int i = 1; i < width; i++) number |= (uint64_t)from[i] << 8 * i;
    return number;
}

void cm__row_unpack(const cm__kernel_table *t, int32_t row, int64_t *sizes)
{
    const uint8_t *from = t->sizes + (size_t)row * t->row_bytes;
    for (int i = 0, count = columns_of(t); i < count; from += t->widths[i++])
        sizes[i] = (int64_t)number_at(from, t->widths[i]);
}

static bool fits(uint64_t number, int width) { return width == sizeof number || number >> 8 * width == 0; }

bool cm__row_pack(const cm__kernel_table *t, const int64_t *sizes, uint8_t *row)
{
    for (int i = 0, count = columns_of(t); i < count; row += t->widths[i++]) {
        uint64_t number = (uint64_t)sizes[i];
        if (!fits(number, t->widths[i])) return false;
        for (int byte = 0; byte < t->widths[i]; byte++) row[byte] = (uint8_t)(number >> 8 * byte);
    }
    return true;
}

int32_t cm__row_find(const cm__kernel_table *t, const int64_t *sizes)
{
    uint8_t        wanted[CM__ROW_BYTES];
    const uint8_t *row = t->sizes;
    size_t         bytes = t->row_bytes;
    if (!cm__row_pack(t, sizes, wanted)) return -1;
    for (int32_t i = 0; i < t->n_rows; i++, row += bytes) /* the last byte rejects most rows, the call is slower */
        if (row[0] == wanted[0] && row[bytes - 1] == wanted[bytes - 1] && memcmp(row, wanted, bytes) == 0) return i;
    return -1;
}

static uint8_t width_of(uint64_t number)
{
    uint8_t width = 1;
    while (!fits(number, width)) width++;
    return width;
}

static void choose_widths(cm__kernel_table *t, const int64_t *sizes)
{
    int count = columns_of(t);
    t->row_bytes = 0;
    for (int i = 0; i < count; i++) {
        uint64_t all = 0; /* a bit that some size has */
        for (size_t row = 0; row < (size_t)t->n_rows; row++) all |= (uint64_t)sizes[row * (size_t)count + (size_t)i];
        t->widths[i] = width_of(all);
        t->row_bytes = (uint8_t)(t->row_bytes + t->widths[i]);
    }
}

_Static_assert(CM__ROW_BYTES <= UINT8_MAX, "cm__kernel_table.row_bytes");

void cm__rows_pack(cm__ctx *ctx, cm__kernel_table *t, const int64_t *sizes)
{
    size_t count = (size_t)columns_of(t);
    choose_widths(t, sizes);
    uint8_t *rows = cm__alloc_array(ctx, (size_t)t->n_rows, t->row_bytes);
    for (size_t row = 0; row < (size_t)t->n_rows; row++) cm__row_pack(t, sizes + row * count, rows + row * t->row_bytes);
    t->sizes = rows;
}
