/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arranged.h - the rows of the built-in kernel tables, prepared when the program is built.
 *
 * tools/precompute_rows.c prepares them with the functions of rows.c. The program contains what is slow to compute or
 * decides which blocks a search reads: values, features of work, order and boxes. The other features of a block are
 * computed from the sizes of its rows when a search first reads it.
 */
#ifndef CM_MODEL_ARRANGED_H
#define CM_MODEL_ARRANGED_H

#include "model/time/blocks.h"
#include "model/time/rows.h"

typedef struct cm__arranged {
    int32_t  limits;   /* index in cm__arranged_limits: of the measured device */
    /* the first one in cm__arranged_values; the features of work follow, CM__WORK_FEATURES per row */
    uint32_t values;
    uint32_t numbers;  /* the first one in cm__arranged_numbers: numbers, boxes */
} cm__arranged;

/* By cm__kernel_table.built_in, less 1. A last entry, which is not counted, is the end of the values and numbers. */
extern const cm__arranged cm__all_arranged[];
extern const int32_t      cm__n_arranged;
extern const cm__limits   cm__arranged_limits[];
extern const int16_t      cm__arranged_values[];
extern const uint16_t     cm__arranged_numbers[];

/* How a table was prepared for these limits; NULL: it was not. */
const cm__arranged *cm__arranged_find(const cm__kernel_table *table, const cm__limits *limits);

/* The rows of a prepared table. blocks: one per block of the table, all NULL. *unused: memory for the features of all
   tables that share it, in which blocks follow each other in the order of their first use. */
cm__rows cm__arranged_rows(const cm__arranged *arranged, const cm__kernel_table *table, _Atomic(float *) *blocks,
                           float **unused);

#endif
