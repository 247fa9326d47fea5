/* SPDX-License-Identifier: Apache-2.0 */
/* row_sizes.c - pack the sizes of kernel tables' rows, and find rows by their sizes. */
#include "device/row_sizes.h"

#include <string.h>

static int columns_of(const cm__kernel_table *t) { return cm__call_kinds[t->op].n_sizes; }

static inline const uint8_t *row_at(const cm__kernel_table *t, int32_t row)
{
    return t->sizes + (size_t)(t->shapes ? t->shapes[row] : row) * t->row_bytes;
}

static inline uint32_t two_bytes(const uint8_t *from) { return (uint32_t)from[0] << 8 | from[1]; }

static inline uint64_t number_at(const uint8_t *from, int width)
{
    if (width == 1) return from[0]; /* most columns have one byte, most others two */
    uint64_t number = two_bytes(from);
    for (int i = 2; i < width; i++) number = number << 8 | from[i];
    return number;
}

void cm__row_unpack(const cm__kernel_table *t, int32_t row, int64_t *sizes)
{
    const uint8_t *from = row_at(t, row);
    for (int i = 0, count = columns_of(t); i < count; i++) {
        int width = t->widths[i];
        sizes[i] = (int64_t)number_at(from, width);
        from += width;
    }
}

static bool fits(uint64_t number, int width) { return width == sizeof number || number >> 8 * width == 0; }

bool cm__row_pack(const cm__kernel_table *t, const int64_t *sizes, uint8_t *row)
{
    for (int i = 0, count = columns_of(t); i < count; row += t->widths[i++]) {
        uint64_t number = (uint64_t)sizes[i];
        if (!fits(number, t->widths[i])) return false;
        for (int byte = t->widths[i] - 1; byte >= 0; byte--, number >>= 8) row[byte] = (uint8_t)number;
    }
    return true;
}

/* The first row that is not less than the wanted one. */
static int32_t bisect(const cm__kernel_table *t, const uint8_t *wanted)
{
    int32_t low = 0, high = t->n_rows;
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (memcmp(row_at(t, middle), wanted, t->row_bytes) < 0) low = middle + 1;
        else high = middle;
    }
    return low;
}

int32_t cm__row_find(const cm__kernel_table *t, const int64_t *sizes)
{
    uint8_t wanted[CM__ROW_BYTES];
    if (!t->n_rows || !cm__row_pack(t, sizes, wanted)) return -1;
    int32_t row = t->sorted ? bisect(t, wanted) : 0;
    while (!t->sorted && row < t->n_rows && memcmp(row_at(t, row), wanted, t->row_bytes) != 0) row++;
    return row < t->n_rows && memcmp(row_at(t, row), wanted, t->row_bytes) == 0 ? row : -1;
}

int32_t cm__row_with_product(const cm__kernel_table *t, int64_t wanted)
{
    int first = t->widths[0], second = t->widths[1];
    for (int32_t row = 0; row < t->n_rows; row++) {
        const uint8_t *from = row_at(t, row);
        int64_t        outer = (int64_t)number_at(from, first), inner = (int64_t)number_at(from + first, second);
        int64_t        product;
        if (outer > 0 && !__builtin_mul_overflow(outer, inner, &product) && product == wanted) return row;
    }
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
    for (size_t row = 0; row < (size_t)t->n_rows; row++)
        cm__row_pack(t, sizes + row * count, rows + row * t->row_bytes);
    t->sizes = rows;
    t->sorted = true;
    for (int32_t row = 1; row < t->n_rows; row++)
        t->sorted &= memcmp(row_at(t, row - 1), row_at(t, row), t->row_bytes) <= 0;
}
