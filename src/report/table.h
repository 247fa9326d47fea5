/* SPDX-License-Identifier: Apache-2.0 */
/* table.h - aligned tables with names, units and rows. */
#ifndef CM_REPORT_TABLE_H
#define CM_REPORT_TABLE_H

#include <stdio.h>
#include "base/ctx.h"

typedef struct cm__column {
    const char *name, *unit; /* unit NULL: a column of words */
    bool        cut;         /* may be shortened if the line is too long */
} cm__column;

typedef struct cm__table {
    cm__ctx                *ctx;
    void                   *made; /* state of the implementation */
    const cm__column       *columns;
    int32_t                 n_columns;
} cm__table;

/* Units are printed under the names if any column has one; columns with a unit are right-aligned. If `out` is not a
   terminal, lines have at most 100 characters; those of a `wide` table have no limit. */
cm__table cm__table_new(cm__ctx *ctx, FILE *out, const cm__column *columns, int32_t n_columns, bool wide);
void      cm__table_row(const cm__table *table, const char *const *cells);
void      cm__table_print(const cm__table *table);

/* Numbers as cells: "4.09 G", "97.5 Mi", "12.5", "25,557,032". NAN is "-". */
const char *cm__cell_si(cm__ctx *ctx, double value);
const char *cm__cell_binary(cm__ctx *ctx, double value);
const char *cm__cell_interval(cm__ctx *ctx, const double interval[2]); /* "1.20-1.50 m" */
const char *cm__cell_percent(cm__ctx *ctx, double part, double whole);
const char *cm__cell_ratio(cm__ctx *ctx, double value);
const char *cm__cell_count(cm__ctx *ctx, int64_t value);

#endif
