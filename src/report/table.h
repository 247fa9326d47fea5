/* SPDX-License-Identifier: Apache-2.0 */
/* table.h - aligned tables with names, units and rows. */
#ifndef CM_REPORT_TABLE_H
#define CM_REPORT_TABLE_H

#include <stdio.h>
#include "base/ctx.h"

typedef struct cm__column {
    const char *name, *unit; /* unit NULL: a column of words */
    bool        wraps;       /* words that may be wrapped inside the column */
    bool        bar;         /* a drawing that may be shortened */
} cm__column;

typedef struct cm__table {
    cm__ctx                *ctx;
    void                   *made; /* state of the implementation */
    const cm__column       *columns;
    int32_t                 n_columns;
} cm__table;

/* Units are printed under the names if any column has one; columns with a unit ("": none) are right-aligned. Where the
   page is too narrow, values that all rows share move to a line above the table, then words are wrapped inside their
   columns. A table that is still too wide becomes several tables that repeat the first columns, or one block of lines
   for each row, whichever is shorter. Nothing is cut. */
cm__table cm__table_new(cm__ctx *ctx, FILE *out, const cm__column *columns, int32_t n_columns);
void      cm__table_row(const cm__table *table, const char *const *cells);
void      cm__table_print(const cm__table *table);

/* Quantities: cells of a table, which prints all numbers of a column with one prefix, before the unit. NAN is "-". */
const char *cm__cell_si(cm__ctx *ctx, double value);     /* k, M, G or m, u, n */
const char *cm__cell_binary(cm__ctx *ctx, double value); /* Ki, Mi, Gi */
const char *cm__cell_number(cm__ctx *ctx, double value); /* without a prefix */
const char *cm__cell_interval(cm__ctx *ctx, const double interval[2]); /* "1.20-1.50" */
const char *cm__cell_number_interval(cm__ctx *ctx, const double interval[2]); /* without a prefix */
/* Write the quantities of a column as texts; returns the unit with their prefix. For the table. */
const char *cm__cells_scale(cm__ctx *ctx, const char **cells, int32_t count, const char *unit);

/* Texts: "97.5", "1.23", "25,557,032". NAN is "-". */
const char *cm__cell_percent(cm__ctx *ctx, double part, double whole);
const char *cm__cell_ratio(cm__ctx *ctx, double value);
const char *cm__cell_count(cm__ctx *ctx, int64_t value);

#endif
