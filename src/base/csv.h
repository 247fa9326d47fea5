/* SPDX-License-Identifier: Apache-2.0 */
/*
 * csv.h - rows of a table with a header line. Columns may be in any order, and other columns are ignored.
 *
 *     cm__csv in = cm__csv_open(ctx, text, size, names, FIELDS);
 *     if (!in.found[OP]) cm__fail(...);
 *     while (cm__csv_row(&in, fields)) ... fields[OP], empty if the column is missing; in.line
 */
#ifndef CM_BASE_CSV_H
#define CM_BASE_CSV_H

#include "base/map.h"

#define CM__CSV_COLUMNS 64
#define CM__CSV_LINES 2000000

typedef struct cm__csv {
    cm__ctx    *ctx;
    const char *at, *end;
    int32_t     line, n_columns;
    int         n_names;
    int8_t      columns[CM__CSV_COLUMNS]; /* per column: the index of its name, -1: not in `names` */
    bool        found[CM__CSV_COLUMNS];   /* per name: whether the header has it */
} cm__csv;

/* Reads the header. There are at most CM__CSV_COLUMNS `names`. */
cm__csv cm__csv_open(cm__ctx *ctx, const char *text, size_t size, const char *const *names, int n_names);
/* The next row that is not blank; false: the end. Quotes around fields are removed; doubled quotes stay doubled. */
bool cm__csv_row(cm__csv *in, cm__span *fields);

#endif
