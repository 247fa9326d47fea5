/* SPDX-License-Identifier: Apache-2.0 */
/*
 * csv.h - rows of a table with a header line, whose columns may stand in any order among others.
 *
 *     cm__csv in = cm__csv_open(ctx, text, size, names, FIELDS);
 *     if (!in.found[OP]) cm__fail(...);
 *     while (cm__csv_row(&in, fields)) ... fields[OP], empty where the column is missing; in.line
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
    int8_t      columns[CM__CSV_COLUMNS]; /* the name of each column, -1: another one */
    bool        found[CM__CSV_COLUMNS];   /* whether a name is among the columns */
} cm__csv;

/* Reads the header. `names` are at most CM__CSV_COLUMNS. */
cm__csv cm__csv_open(cm__ctx *ctx, const char *text, size_t size, const char *const *names, int n_names);
/* The next row that is not blank; false: there is none. Quoted fields lose their quotes only. */
bool cm__csv_row(cm__csv *in, cm__span *fields);

#endif
