/* SPDX-License-Identifier: Apache-2.0 */
/* arranged.c - the rows of built-in kernel tables: stored values, order and boxes; features on demand. */
#include "model/time/arranged.h"

#include <math.h>
#include <pthread.h>
#include <string.h>
#include "model/time/features.h"

/* ---- bounds ------------------------------------------------------------------------------------------------------ */

static uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* Away from zero, so that the magnitude is not less than that of x. */
static uint16_t larger_magnitude(float x) { return (uint16_t)((bits_of(x) + 0xffff) >> 16); }
static uint16_t smaller_magnitude(float x) { return (uint16_t)(bits_of(x) >> 16); }

uint16_t cm__bound_down(float x) { return signbit(x) ? larger_magnitude(x) : smaller_magnitude(x); }
uint16_t cm__bound_up(float x) { return signbit(x) ? smaller_magnitude(x) : larger_magnitude(x); }

float cm__bound(uint16_t stored)
{
    uint32_t bits = (uint32_t)stored << 16;
    float    x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

const cm__arranged *cm__arranged_find(const cm__kernel_table *t, const cm__limits *limits)
{
    const cm__arranged *a = t->built_in > 0 && t->built_in <= cm__n_arranged ? &cm__all_arranged[t->built_in - 1] : NULL;
    return a && memcmp(&cm__arranged_limits[a->limits], limits, sizeof *limits) == 0 ? a : NULL;
}

size_t cm__arranged_bytes(size_t rows, int count)
{
    size_t bytes = (cm__features_floats(rows, count) + cm__boxes_floats(rows, count)) * sizeof(float) +
                   2 * rows * sizeof(int32_t) + cm__blocks(rows) * sizeof(atomic_bool);
    return (bytes + sizeof(float) - 1) / sizeof(float) * sizeof(float);
}

cm__rows cm__arranged_rows(const cm__arranged *a, const cm__kernel_table *t, void *memory)
{
    int             count = cm__n_features(t->op);
    size_t          rows = (size_t)t->n_rows, n_boxes = cm__boxes_floats(rows, count);
    const uint16_t *numbers = cm__arranged_numbers + a->numbers;
    float          *features = memory, *boxes = features + cm__features_floats(rows, count);
    int32_t        *number = (int32_t *)(boxes + n_boxes), *place = number + rows;
    atomic_bool    *filled = (atomic_bool *)(place + rows);
    for (size_t i = 0; i < n_boxes; i++) boxes[i] = cm__bound(numbers[rows + i]);
    for (size_t i = 0; i < rows; i++) {
        number[i] = numbers[i];
        place[number[i]] = (int32_t)i;
    }
    memset(filled, 0, cm__blocks(rows) * sizeof *filled);
    return (cm__rows){.features = features, .values = cm__arranged_values + a->values, .boxes = boxes, .number = number,
                      .place = place, .count = t->n_rows, .pass = t->pass,
                      .source = {t, &cm__arranged_limits[a->limits], filled}};
}

/* ---- features ---------------------------------------------------------------------------------------------------- */

/* The last block is filled up with zeros, which no search returns. */
static void fill(const cm__rows *r, int32_t block)
{
    cm__call c = cm__call_of_table(r->source.table);
    int      count = cm__n_features(c.op);
    float   *to = r->features + (size_t)block * CM__BLOCK * (size_t)count, features[CM__FEATURES];
    memset(to, 0, CM__BLOCK * (size_t)count * sizeof *to);
    for (int i = 0; i < CM__BLOCK && block * CM__BLOCK + i < r->count; i++) {
        cm__set_row(&c, r->source.table, r->number[block * CM__BLOCK + i]);
        cm__drop_shape(&c);
        cm__features(&c, r->source.limits, features);
        for (int f = 0; f < count; f++) to[f * CM__BLOCK + i] = features[f];
    }
}

static pthread_mutex_t filling = PTHREAD_MUTEX_INITIALIZER;

void cm__block_fill(const cm__rows *r, int32_t block)
{
    pthread_mutex_lock(&filling);
    if (!atomic_load_explicit(&r->source.filled[block], memory_order_relaxed)) {
        fill(r, block);
        atomic_store_explicit(&r->source.filled[block], true, memory_order_release);
    }
    pthread_mutex_unlock(&filling);
}
