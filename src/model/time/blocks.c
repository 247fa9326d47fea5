/* SPDX-License-Identifier: Apache-2.0 */
/* blocks.c - sort table rows into blocks of near rows. */
#include "model/time/blocks.h"

#include <math.h>
#include <string.h>
#include "model/time/features.h"
#include "model/time/four.h"

/* ---- order ------------------------------------------------------------------------------------------------------ */

typedef struct sorting {
    const float *features;
    int          count;
    uint16_t    *number;
} sorting;

static const float *row_of(const sorting *s, size_t at)
{
    return s->features + (size_t)s->number[at] * (size_t)s->count;
}

static void swap(uint16_t *a, uint16_t *b)
{
    uint16_t kept = *a;
    *a = *b;
    *b = kept;
}

/* Moves the rows with the smallest values of a feature before `middle` (Hoare's selection). */
static void divide(const sorting *s, size_t from, size_t to, size_t middle, int feature)
{
    while (to - from > 1) {
        float  pivot = row_of(s, from + (to - from - 1) / 2)[feature];
        size_t low = from, high = to - 1;
        for (;;) {
            while (row_of(s, low)[feature] < pivot) low++;
            while (row_of(s, high)[feature] > pivot) high--;
            if (low >= high) break;
            swap(&s->number[low++], &s->number[high--]);
        }
        if (middle <= high) to = high + 1;
        else from = high + 1;
        if (from == middle) return;
    }
}

static void extend(cm__four low[], cm__four high[], const float *row, int count)
{
    for (int i = 0; i < count / 4; i++) {
        cm__four x = cm__four_at(row + 4 * i);
        low[i] = cm__four_least(low[i], x);
        high[i] = cm__four_most(high[i], x);
    }
}

/* The least and the largest value of each feature. */
static void bounds(const sorting *s, size_t from, size_t to, cm__four low[], cm__four high[])
{
    for (int i = 0; i < s->count / 4; i++) low[i] = high[i] = cm__four_at(row_of(s, from) + 4 * i);
    for (size_t at = from + 1; at < to; at++) extend(low, high, row_of(s, at), s->count);
}

static int widest(const sorting *s, size_t from, size_t to)
{
    cm__four low[CM__FEATURES / 4], high[CM__FEATURES / 4];
    float    most = -1;
    int      found = 0;
    bounds(s, from, to, low, high);
    for (int i = 0; i < s->count; i++) {
        float width = high[i / 4][i % 4] - low[i / 4][i % 4];
        if (width > most) most = width, found = i;
    }
    return found;
}

static void sort(const sorting *s, size_t from, size_t to)
{
    size_t blocks = cm__blocks(to - from), middle = from + blocks / 2 * CM__BLOCK;
    if (blocks < 2) return;
    divide(s, from, to, middle, widest(s, from, to));
    sort(s, from, middle);
    sort(s, middle, to);
}

/* ---- storage ---------------------------------------------------------------------------------------------------- */

/* The last block is filled up with zeros, which no search returns. */
static void store_features(const sorting *s, size_t rows, float *to)
{
    memset(to, 0, cm__features_floats(rows, s->count) * sizeof *to);
    for (size_t i = 0; i < rows; i++) {
        float *first = to + i / CM__BLOCK * CM__BLOCK * (size_t)s->count + i % CM__BLOCK;
        for (int f = 0; f < s->count; f++) first[f * CM__BLOCK] = row_of(s, i)[f];
    }
}

static uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static uint16_t smaller_magnitude(float x) { return (uint16_t)(bits_of(x) >> 16); }
static uint16_t larger_magnitude(float x) { return (uint16_t)((bits_of(x) + 0xffff) >> 16); }

uint16_t cm__bound_down(float x) { return signbit(x) ? larger_magnitude(x) : smaller_magnitude(x); }
uint16_t cm__bound_up(float x) { return signbit(x) ? smaller_magnitude(x) : larger_magnitude(x); }

/* Writes the least and the largest values of rows, each `apart` numbers from the next one. */
static void store_box(const sorting *s, size_t from, size_t to, uint16_t *least, uint16_t *largest, int apart)
{
    cm__four low[CM__FEATURES / 4], high[CM__FEATURES / 4];
    bounds(s, from, to, low, high);
    for (int f = 0; f < s->count; f++) {
        least[f * apart] = cm__bound_down(low[f / 4][f % 4]);
        largest[f * apart] = cm__bound_up(high[f / 4][f % 4]);
    }
}

/* The last group is filled up with boxes that are infinitely far away. */
static void store_boxes(const sorting *s, size_t rows, uint16_t *boxes)
{
    for (size_t i = 0; i < cm__boxes_bounds(rows, s->count); i++) boxes[i] = cm__bound_up(INFINITY);
    if (rows) store_box(s, 0, rows, boxes, boxes + s->count, 1);
    boxes += 2 * s->count;
    for (size_t block = 0; block < cm__blocks(rows); block++) {
        size_t from = block * CM__BLOCK, to = from + CM__BLOCK < rows ? from + CM__BLOCK : rows;
        uint16_t *least = boxes + block / CM__BOXES * CM__BOXES * 2 * (size_t)s->count + block % CM__BOXES;
        store_box(s, from, to, least, least + CM__BOXES, 2 * CM__BOXES);
    }
}

cm__rows cm__rows_arrange(const float *features, const float *values, int count, size_t rows, float *floats,
                          uint16_t *numbers)
{
    float        *stored_values = floats + cm__features_floats(rows, count);
    uint16_t     *number = numbers, *boxes = number + rows;
    const sorting s = {features, count, number};
    for (size_t i = 0; i < rows; i++) number[i] = (uint16_t)i;
    sort(&s, 0, rows);
    for (size_t i = 0; i < rows; i++) stored_values[i] = values[number[i]];
    store_features(&s, rows, floats);
    store_boxes(&s, rows, boxes);
    return (cm__rows){.features = floats, .values = stored_values, .boxes = boxes, .number = number,
                      .count = (int32_t)rows};
}

int32_t cm__row_numbered(const cm__rows *rows, int32_t number)
{
    int32_t row = 0;
    while (rows->number[row] != number) row++;
    return row;
}

void cm__row_features(const cm__rows *rows, int32_t row, int count, float *features, size_t apart)
{
    const float *from = cm__block_at(rows, row / CM__BLOCK, count) + row % CM__BLOCK;
    for (int f = 0; f < count; f += 4, from += 4 * CM__BLOCK, features += 4 * apart) {
        features[0] = from[0];
        features[apart] = from[CM__BLOCK];
        features[2 * apart] = from[2 * CM__BLOCK];
        features[3 * apart] = from[3 * CM__BLOCK];
    }
}
