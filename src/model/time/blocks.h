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

#define CM__BLOCK 16 /* rows */
#define CM__BOXES 4  /* blocks whose boxes are stored together: for each feature four least values, then four largest */

struct cm__kernel_table;
struct cm__limits;

/* Where the features of rows come from that are computed when a search first reads their block. */
typedef struct cm__row_source {
    const struct cm__kernel_table *table;
    const struct cm__limits       *limits;
    atomic_bool                   *filled; /* by block; NULL: all features are there */
} cm__row_source;

/* A table's rows as features and log ratios. */
typedef struct cm__rows {
    float         *features;
    const float   *values;
    const float   *boxes;  /* of the table: the least values, then the largest; then those of the blocks */
    const int32_t *number; /* a row's index in the table */
    const int32_t *place;  /* by index in the table, the row */
    int32_t        count;
    int32_t        variant, dtype, pass; /* indices, equal if the names are equal */
    cm__row_source source;
} cm__rows;

/* Number of blocks of a table with this many rows. */
static inline size_t cm__blocks(size_t rows) { return (rows + CM__BLOCK - 1) / CM__BLOCK; }

/* Floats of the features of all blocks, and of all boxes. */
static inline size_t cm__features_floats(size_t rows, int count) { return cm__blocks(rows) * CM__BLOCK * (size_t)count; }
static inline size_t cm__boxes_floats(size_t rows, int count)
{
    return (2 + (cm__blocks(rows) + CM__BOXES - 1) / CM__BOXES * CM__BOXES * 2) * (size_t)count;
}

/* Floats that cm__rows_arrange() needs; it also needs two int32_t per row. */
static inline size_t cm__rows_floats(size_t rows, int count)
{
    return cm__features_floats(rows, count) + rows + cm__boxes_floats(rows, count);
}

/* Computes the features of a block (arranged.c). */
void cm__block_fill(const cm__rows *rows, int32_t block);

/* The features of a block: feature f of its row r is at [f * CM__BLOCK + r]. Several threads may call this at once. */
static inline const float *cm__block_at(const cm__rows *rows, int32_t block, int count)
{
    atomic_bool *filled = rows->source.filled;
    if (filled && !atomic_load_explicit(&filled[block], memory_order_acquire)) cm__block_fill(rows, block);
    return rows->features + (size_t)block * CM__BLOCK * (size_t)count;
}

/* The boxes of CM__BOXES blocks: the least value of feature f in block b is at [2 * f * CM__BOXES + b]. */
static inline const float *cm__boxes_at(const cm__rows *rows, int32_t group, int count)
{
    return rows->boxes + (2 + (size_t)group * CM__BOXES * 2) * (size_t)count;
}

/* Copies the features of one row to features[0], features[apart], features[2 * apart] ... */
void cm__row_features(const cm__rows *rows, int32_t row, int count, float *features, size_t apart);

/* Stores rows with `count` features each, a multiple of four. */
cm__rows cm__rows_arrange(const float *features, const float *values, int count, size_t rows, float *floats,
                          int32_t *numbers);

#endif
