/* SPDX-License-Identifier: Apache-2.0 */
/* arranged.c - the rows of built-in kernel tables: stored values, order and boxes; features on demand. */
#include "model/time/arranged.h"

#include <pthread.h>
#include <string.h>
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
    return (cm__rows){.number = number, .boxes = number + t->n_rows, .count = t->n_rows, .pass = t->pass,
                      .source = {t, &cm__arranged_limits[a->limits], cm__arranged_values + a->values, blocks, unused}};
}

/* The last block is filled up with zeros, which no search returns. */
static void fill(const cm__rows *r, int32_t block, float *to)
{
    cm__call       c = cm__call_of_table(r->source.table);
    int32_t        first = block * CM__BLOCK, count = r->count - first < CM__BLOCK ? r->count - first : CM__BLOCK;
    int            n = cm__n_features(c.op);
    const int16_t *prepared = r->source.prepared + r->count + CM__WORK_FEATURES * (size_t)first;
    if (count < CM__BLOCK) memset(to, 0, (size_t)(CM__BLOCK * n) * sizeof *to);
    for (int i = 0; i < count; i++, prepared += CM__WORK_FEATURES) {
        float features[CM__FEATURES], work[CM__WORK_FEATURES];
        for (int f = 0; f < CM__WORK_FEATURES; f++) work[f] = (float)prepared[f] / CM__WORK_STEPS;
        cm__set_row(&c, r->source.table, r->number[first + i]);
        cm__drop_shape(&c);
        cm__features_beside_work(&c, r->source.limits, work, features);
        for (int f = 0; f < n; f++) to[f * CM__BLOCK + i] = features[f];
    }
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
