/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table_plain.c - print the same tables without libsmartcols and without colours, for static builds: Debian has no
 * static libsmartcols.
 */
#include "report/table.h"

#include <string.h>

#define LINE_WIDTH 100
#define LEAST 8 /* smallest width of a shortened column */

typedef struct lines {
    FILE         *out;
    const char ***rows;
    int32_t       count, capacity;
    bool          wide;
} lines;

static size_t width_of(const char *text)
{
    size_t width = 0;
    for (; text && *text; text++) width += ((unsigned char)*text & 0xc0) != 0x80; /* characters, not bytes */
    return width;
}

cm__table cm__table_new(cm__ctx *ctx, FILE *out, const cm__column *columns, int32_t n_columns, bool wide)
{
    lines    *l = cm__alloc(ctx, sizeof *l);
    cm__table t = {.ctx = ctx, .made = l, .columns = columns, .n_columns = n_columns};
    *l = (lines){.out = out, .wide = wide};
    const char **cells = cm__alloc_array(ctx, (size_t)n_columns, sizeof *cells);
    bool         units = false;
    for (int32_t i = 0; i < n_columns; i++) {
        cells[i] = columns[i].name;
        units = units || (columns[i].unit && *columns[i].unit);
    }
    cm__table_row(&t, cells);
    for (int32_t i = 0; i < n_columns; i++) cells[i] = columns[i].unit ? columns[i].unit : "";
    if (units) cm__table_row(&t, cells);
    return t;
}

void cm__table_row(const cm__table *t, const char *const *cells)
{
    lines       *l = t->made;
    const char **row = cm__alloc_array(t->ctx, (size_t)t->n_columns, sizeof *row);
    for (int32_t i = 0; i < t->n_columns; i++) row[i] = cells[i] ? cm__text_copy(t->ctx, cells[i]) : "";
    l->rows = cm__grow(t->ctx, l->rows, l->count, &l->capacity, sizeof *l->rows);
    l->rows[l->count++] = row;
}

/* Shorten columns that may be cut until the line fits. */
static void fit(const cm__table *t, size_t *widths)
{
    size_t all = 2 * (size_t)(t->n_columns - 1);
    for (int32_t i = 0; i < t->n_columns; i++) all += widths[i];
    for (int32_t i = 0; i < t->n_columns && all > LINE_WIDTH; i++) {
        size_t over = all - LINE_WIDTH;
        if (!t->columns[i].cut || widths[i] <= LEAST) continue;
        size_t less = widths[i] - LEAST < over ? widths[i] - LEAST : over;
        widths[i] -= less;
        all -= less;
    }
}

static void print_cell(FILE *out, const char *text, size_t width, bool right, bool last)
{
    size_t is = width_of(text), shown = is < width ? is : width;
    if (right) fprintf(out, "%*s", (int)(width - shown), "");
    for (size_t n = 0; *text; text++) {
        n += ((unsigned char)*text & 0xc0) != 0x80;
        if (n > width) break;
        putc(*text, out);
    }
    if (!right && !last) fprintf(out, "%*s", (int)(width - shown), "");
}

void cm__table_print(const cm__table *t)
{
    const lines *l = t->made;
    size_t      *widths = cm__alloc_array(t->ctx, (size_t)t->n_columns, sizeof *widths);
    for (int32_t r = 0; r < l->count; r++)
        for (int32_t i = 0; i < t->n_columns; i++)
            if (width_of(l->rows[r][i]) > widths[i]) widths[i] = width_of(l->rows[r][i]);
    if (!l->wide) fit(t, widths);
    for (int32_t r = 0; r < l->count; r++) {
        for (int32_t i = 0; i < t->n_columns; i++) {
            if (i) fputs("  ", l->out);
            print_cell(l->out, l->rows[r][i], widths[i], t->columns[i].unit != NULL, i == t->n_columns - 1);
        }
        putc('\n', l->out);
    }
}
