/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nearest.h - the table rows whose features are nearest to those of a call.
 *
 * The rows of a table are stored so that near rows are together: the table is halved along its widest feature until
 * a part has CM__BLOCK rows. Each of these blocks has a box, the least and the largest value of each feature. The
 * search skips blocks whose box is farther away than the rows found so far.
 */
#ifndef CM_MODEL_NEAREST_H
#define CM_MODEL_NEAREST_H

#include <stddef.h>
#include <stdint.h>

#define CM__NEIGHBOURS 20
#define CM__BLOCK 16 /* rows; 8 and 32 need more instructions per search */

/* A table's rows as features and log ratios. */
typedef struct cm__rows {
    const float   *features, *values;
    const float   *boxes;  /* per block the least values of the features, then the largest ones */
    const int32_t *number; /* a row's index in the table */
    const int32_t *place;  /* by index in the table, the row */
    int32_t        count;
    int32_t        variant, dtype, pass; /* indices, equal if the names are equal */
} cm__rows;

typedef struct cm__neighbour {
    float   squared; /* squared distance */
    int32_t row;     /* place among the stored rows */
    int32_t number;  /* index in the table */
    int32_t table;
} cm__neighbour;

typedef struct cm__neighbours {
    cm__neighbour of[CM__NEIGHBOURS]; /* nearest first */
    int           count;
} cm__neighbours;

/* Number of blocks of a table with this many rows. */
static inline size_t cm__blocks(size_t rows) { return (rows + CM__BLOCK - 1) / CM__BLOCK; }

/* Floats that cm__rows_arrange() needs; it also needs two int32_t per row. */
static inline size_t cm__rows_floats(size_t rows, int count)
{
    return rows * ((size_t)count + 1) + cm__blocks(rows) * 2 * (size_t)count;
}

/* Copies rows with `count` features each, a multiple of four, so that near rows are together. */
cm__rows cm__rows_arrange(const float *features, const float *values, int count, size_t rows, float *floats,
                          int32_t *numbers);

/* Adds the rows of table `table` that are among the nearest: of the call's own table, of which row `without` is left
   out (-1: none), and of another table at a squared distance `offset`. */
void cm__nearest_at_home(cm__neighbours *found, const cm__rows *tables, int32_t table, const float *features, int count,
                         int32_t without);
void cm__nearest_beside(cm__neighbours *found, const cm__rows *tables, int32_t table, float offset,
                        const float *features, int count);

#endif
