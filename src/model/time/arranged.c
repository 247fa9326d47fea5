/* SPDX-License-Identifier: Apache-2.0 */
/* arranged.c - the rows of built-in kernel tables: stored values, order and boxes; features on demand. */
#include "model/time/arranged.h"

#include <pthread.h>
#include <string.h>
#include "device/row_sizes.h"
#include "model/time/features.h"

const cm__arranged *cm__arranged_find(const cm__kernel_table *t, const cm__limits *limits)
{
    const cm__arranged *a = t->built_in > 0 && t->built_in <= cm__n_arranged
                                ? &cm__all_arranged[t->built_in - 1]
                                : NULL;
    return a && memcmp(&cm__arranged_limits[a->limits], limits, sizeof *limits) == 0 ? a : NULL;
}

cm__rows cm__arranged_rows(const cm__arranged *a, const cm__kernel_table *t, _Atomic(float *) *blocks, float **unused)
{
    const uint16_t *number = cm__arranged_numbers + a->numbers;
    return (cm__rows){.values = cm__arranged_values + a->values, .number = number,
                      .boxes = number + t->n_rows, .count = t->n_rows, .pass = t->pass,
                      .source = {t, &cm__arranged_limits[a->limits], blocks, unused}};
}

/* A block of rows with sizes of more than 31 bits. */
static void fill_by_row(const cm__rows *r, const uint16_t *rows, int count, const float *work, float *to)
{
    cm__call c = cm__call_of_table(r->source.table);
    for (int i = 0; i < count; i++, work += CM__WORK_FEATURES) {
        float features[CM__FEATURES];
        cm__set_row(&c, r->source.table, rows[i]);
        cm__drop_shape(&c);
        cm__features_beside_work(&c, r->source.limits, work, features);
        for (int f = 0; f < cm__n_features(c.op); f++) to[f * CM__BLOCK + i] = features[f];
    }
}

_Static_assert(CM__ROWS_TOGETHER == CM__BLOCK, "rows of a block are unpacked together");

/* The last block is filled up with zeros, which no search returns. */
static void fill(const cm__rows *r, int32_t block, float *to)
{
    int32_t      sizes[CM__CALL_SIZES][CM__BLOCK];
    uint16_t     rows[CM__BLOCK];
    cm__call     c = cm__call_of_table(r->source.table);
    int32_t      first = block * CM__BLOCK, count = r->count - first < CM__BLOCK ? r->count - first : CM__BLOCK;
    const float *work = r->values + r->count + CM__WORK_FEATURES * (size_t)first;
    for (int i = 0; i < CM__BLOCK; i++) rows[i] = r->number[first + (i < count ? i : 0)];
    if (cm__rows_unpack(r->source.table, rows, sizes) && cm__drop_shapes(&c, sizes))
        cm__features_of_block(&c, sizes, r->source.limits, work, count, to);
    else fill_by_row(r, rows, count, work, to);
    for (int f = 0; count < CM__BLOCK && f < cm__n_features(c.op); f++)
        memset(to + f * CM__BLOCK + count, 0, (size_t)(CM__BLOCK - count) * sizeof *to);
}

static pthread_mutex_t filling = PTHREAD_MUTEX_INITIALIZER;

const float *cm__block_fill(const cm__rows *r, int32_t block)
{
    pthread_mutex_lock(&filling);
    float *features = atomic_load_explicit(&r->source.blocks[block], memory_order_relaxed);
    if (!features) {
        features = *r->source.unused;
        *r->source.unused += CM__BLOCK * (size_t)cm__n_features(r->source.table->op);
        fill(r, block, features);
        atomic_store_explicit(&r->source.blocks[block], features, memory_order_release);
    }
    pthread_mutex_unlock(&filling);
    return features;
}
