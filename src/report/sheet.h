/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sheet.h - text for people, laid out for the width of its reader.
 *
 * A report prints lines of any length to a sheet. When the sheet is closed, long lines are wrapped at blanks: behind a
 * label ("step      25.7 ms ...") the text continues below the text, a line of the heading continues with '#'.
 */
#ifndef CM_REPORT_SHEET_H
#define CM_REPORT_SHEET_H

#include <stdio.h>
#include "base/ctx.h"

/* The stream to print to until cm__sheet_close() lays the text out and writes it to `out`. If the context fails first,
   nothing is written. A thread has one sheet at a time. */
FILE *cm__sheet_open(cm__ctx *ctx, FILE *out);
void  cm__sheet_close(void);

/* Characters of a line on the open sheet: $COLUMNS, or the width of the terminal, or SIZE_MAX for a pipe or a file. */
size_t cm__sheet_width(void);
bool   cm__sheet_bold(void); /* a terminal, and NO_COLOR is not set */

size_t cm__text_width(const char *text); /* in characters; sequences for bold text have none */

#endif
