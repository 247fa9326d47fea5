/* SPDX-License-Identifier: Apache-2.0 */
/* html.h - write HTML: escaped texts, tables, embedded JSON, and the files that pages embed. */
#ifndef CM_REPORT_HTML_H
#define CM_REPORT_HTML_H

#include <jansson.h>
#include <stdio.h>
#include "report/table.h"

void cm__html_text(cm__ctx *ctx, FILE *out, const char *text); /* escaped */
/* A table with a caption. Columns with a unit contain numbers; the first column is the heading of its row. */
void cm__html_table_begin(cm__ctx *ctx, FILE *out, const char *caption, const cm__column *columns, int32_t n_columns);
void cm__html_row(cm__ctx *ctx, FILE *out, const cm__column *columns, int32_t n_columns, const char *const *cells);
void cm__html_table_end(FILE *out);
/* Write JSON into a script element: '<' becomes an escape, so that no text ends the element. */
void cm__html_json(FILE *out, const char *text);
/* Write <script type="application/json" id="data">. Data that contain "</script>" are escaped. */
void cm__html_data(cm__ctx *ctx, FILE *out, const json_t *data);

/* A file of web/, or the chart library; empty if it was missing in the build. */
typedef struct cm__web_file {
    const char *name, *type, *text;
    size_t      size;
} cm__web_file;

extern const cm__web_file cm__web_files[];
extern const int32_t      cm__n_web_files;
const cm__web_file       *cm__web_file_named(const char *name); /* NULL: none */
extern const char         cm__web_sources[]; /* of a Content-Security-Policy: the styles and scripts inside index.html */

#endif
