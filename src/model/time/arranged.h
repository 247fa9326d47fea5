/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arranged.h - the rows of the built-in kernel tables, prepared when the program is built.
 *
 * tools/precompute_rows.c prepares them with the functions of rows.c. The program contains what is slow to compute or
 * decides which blocks a search reads: values, order and boxes. The features of a block are computed from the sizes of
 * its rows when a search first reads it.
 */
#ifndef CM_MODEL_ARRANGED_H
#define CM_MODEL_ARRANGED_H

#include "model/time/blocks.h"
#include "model/time/rows.h"

typedef struct cm__arranged {
    int32_t  limits;   /* index in cm__arranged_limits: of the measured device */
    uint32_t values;   /* the first one in cm__arranged_values */
    uint32_t numbers;  /* the first one in cm__arranged_numbers; the table's boxes follow the numbers of its rows */
} cm__arranged;

/* By cm__kernel_table.built_in, less 1. A last entry, which is not counted, is the end of the values and numbers. */
extern const cm__arranged cm__all_arranged[];
extern const int32_t      cm__n_arranged;
extern const cm__limits   cm__arranged_limits[];
extern const float        cm__arranged_values[];
extern const uint16_t     cm__arranged_numbers[];

/* A bound of a box in 16 bits: the upper half of a float, rounded down or up so that the box still contains its rows. */
uint16_t cm__bound_down(float x);
uint16_t cm__bound_up(float x);
float    cm__bound(uint16_t bits);

/* How a table was prepared for these limits; NULL: it was not. */
const cm__arranged *cm__arranged_find(const cm__kernel_table *table, const cm__limits *limits);

/* Memory that cm__arranged_rows() needs, in bytes: it stores floats first. */
size_t cm__arranged_bytes(size_t rows, int count);

/* The rows of a prepared table. The memory is aligned for floats. The limits must live as long as the rows. */
cm__rows cm__arranged_rows(const cm__arranged *arranged, const cm__kernel_table *table, void *memory);

#endif
