/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nearest.h - the table rows whose features are nearest to those of a call.
 *
 * The search skips blocks of rows (blocks.h) whose box is farther away than the rows found so far.
 */
#ifndef CM_MODEL_NEAREST_H
#define CM_MODEL_NEAREST_H

#include "model/time/blocks.h"

#define CM__NEIGHBOURS 20

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

/* Finds the nearest rows of the call's own table, of which row `without` is left out (-1: none), and adds those of
   another table at a squared distance `offset` that are among the nearest. */
void cm__nearest_at_home(cm__neighbours *found, const cm__rows *tables, int32_t table, const float *features, int count,
                         int32_t without);
void cm__nearest_beside(cm__neighbours *found, const cm__rows *tables, int32_t table, float offset,
                        const float *features, int count);

#endif
