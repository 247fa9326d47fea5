/* SPDX-License-Identifier: Apache-2.0 */
/* lines.h - tables of tab-separated cells. */
#ifndef CM_BASE_LINES_H
#define CM_BASE_LINES_H

#include "base/ctx.h"

#define CM__CELLS_MAX 16

/* The rows of a table of tab-separated cells. Lines that start with '#' are comments. */
typedef struct cm__lines {
    cm__ctx    *ctx;
    const char *at, *name; /* name: of the table, for messages */
    int32_t     line, columns;
} cm__lines;

/* The next row, whose cells are copied to the context; false: the end. Fails if a row has another number of cells. */
bool   cm__lines_next(cm__lines *rows, const char *cells[CM__CELLS_MAX]);
/* A cell as a number above 0; fails if it is none. */
double cm__lines_number(const cm__lines *rows, const char *cell);

#endif
