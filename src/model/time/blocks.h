/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blocks.h - the rows of a kernel table, stored for a search that compares several rows at a time.
 *
 * Near rows are together: the table is halved along its widest feature until a part has CM__BLOCK rows. A block stores
 * the first feature of all its rows, then the second one, and so on. A box is the least and the largest value of each
 * feature: of the table, and of each block.
 */
#ifndef CM_MODEL_BLOCKS_H
#define CM_MODEL_BLOCKS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define CM__BLOCK 16 /* rows */
#define CM__BOXES 4  /* blocks whose boxes are stored together: for each feature four least values, then four largest */

struct cm__kernel_table;
struct cm__limits;

/* The source of features that are computed when a search first reads their block. */
typedef struct cm__row_source {
    const struct cm__kernel_table *table;
    const struct cm__limits       *limits;
    const int16_t                 *prepared; /* log ratios in steps, then the features of work */
    _Atomic(float *)              *blocks; /* the features of each block, NULL if they are not computed yet */
    float                        **unused; /* memory for the next block of any table that shares it */
} cm__row_source;

/* A table's rows as features and log ratios. */
typedef struct cm__rows {
    const float    *features; /* of all blocks; NULL: they are computed from the source */
    const float    *values;   /* NULL: they are prepared */
    const uint16_t *boxes;  /* of the table: the least values, then the largest; then those of the blocks */
    const uint16_t *number; /* a row's index in the table */
    int32_t         count;
    int32_t         variant, dtype, pass; /* indices, equal if the names are equal */
    cm__row_source  source;
} cm__rows;

#define CM__ROWS_MOST UINT16_MAX /* of a table */

/* Number of blocks of a table with this many rows. */
static inline size_t cm__blocks(size_t rows) { return (rows + CM__BLOCK - 1) / CM__BLOCK; }

/* Floats of the features of all blocks, and bounds of all boxes. */
static inline size_t cm__features_floats(size_t rows, int count)
{
    return cm__blocks(rows) * CM__BLOCK * (size_t)count;
}
static inline size_t cm__boxes_bounds(size_t rows, int count)
{
    return (2 + (cm__blocks(rows) + CM__BOXES - 1) / CM__BOXES * CM__BOXES * 2) * (size_t)count;
}

/* Floats and 16-bit numbers that cm__rows_arrange() needs. */
static inline size_t cm__rows_floats(size_t rows, int count) { return cm__features_floats(rows, count) + rows; }
static inline size_t cm__rows_numbers(size_t rows, int count) { return rows + cm__boxes_bounds(rows, count); }

/* A bound of a box in 16 bits: the upper half of a float, rounded down or up so that the box contains its rows. */
uint16_t cm__bound_down(float x);
uint16_t cm__bound_up(float x);

static inline float cm__bound(uint16_t stored)
{
    uint32_t bits = (uint32_t)stored << 16;
    float    x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Computes the features of a block (arranged.c). */
const float *cm__block_fill(const cm__rows *rows, int32_t block);

/* The features of a block: feature f of its row r is at [f * CM__BLOCK + r]. Several threads may call this at once. */
static inline const float *cm__block_at(const cm__rows *rows, int32_t block, int count)
{
    if (rows->features) return rows->features + (size_t)block * CM__BLOCK * (size_t)count;
    const float *features = atomic_load_explicit(&rows->source.blocks[block], memory_order_acquire);
    return features ? features : cm__block_fill(rows, block);
}

#define CM__VALUE_STEPS 2048 /* of prepared log ratios, in a unit */
static inline float cm__row_value(const cm__rows *rows, int32_t row)
{
    return rows->values ? rows->values[row] : (float)rows->source.prepared[row] / CM__VALUE_STEPS;
}

/* The boxes of CM__BOXES blocks: the least value of feature f in block b is at [2 * f * CM__BOXES + b]. */
static inline const uint16_t *cm__boxes_at(const cm__rows *rows, int32_t group, int count)
{
    return rows->boxes + (2 + (size_t)group * CM__BOXES * 2) * (size_t)count;
}

/* The row with this index in the table; it is searched for from the first one on. */
int32_t cm__row_numbered(const cm__rows *rows, int32_t number);

/* Copies the features of one row to features[0], features[apart], features[2 * apart] ... */
void cm__row_features(const cm__rows *rows, int32_t row, int count, float *features, size_t apart);

/* Stores at most CM__ROWS_MOST rows with `count` features each, a multiple of four. */
cm__rows cm__rows_arrange(const float *features, const float *values, int count, size_t rows, float *floats,
                          uint16_t *numbers);

#endif
