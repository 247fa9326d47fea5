/* SPDX-License-Identifier: Apache-2.0 */
/* table.c - print tables with libsmartcols, the library that lsblk uses. */
#include "report/table.h"

#include <libsmartcols/libsmartcols.h>
#include <stdlib.h>
#include <unistd.h>

#define LINE_WIDTH 100 /* if the output is not a terminal */

static void release(void *table) { scols_unref_table(table); }

static void out_of_memory(cm__ctx *ctx) { cm__fail(ctx, CM_ERR_MEMORY, "out of memory while making a table"); }

static void add_column(const cm__table *t, const cm__column *column, bool colours)
{
    int flags = (column->unit ? SCOLS_FL_RIGHT : 0) | (column->cut ? SCOLS_FL_TRUNC : 0);
    struct libscols_column *c = scols_table_new_column(t->made, column->name, column->cut ? 0.3 : 0, flags);
    if (!c) out_of_memory(t->ctx);
    if (colours) scols_cell_set_color(scols_column_get_header(c), "bold");
}

static void add_units(const cm__table *t)
{
    const char **units = cm__alloc_array(t->ctx, (size_t)t->n_columns, sizeof *units);
    bool         any = false;
    for (int32_t i = 0; i < t->n_columns; i++) {
        units[i] = t->columns[i].unit ? t->columns[i].unit : "";
        any = any || *units[i];
    }
    if (any) cm__table_row(t, units);
}

cm__table cm__table_new(cm__ctx *ctx, FILE *out, const cm__column *columns, int32_t n_columns, bool wide)
{
    cm__table   t = {.ctx = ctx, .made = scols_new_table(), .columns = columns, .n_columns = n_columns};
    const char *plain = getenv("NO_COLOR"); /* no-color.org: set and not empty */
    bool        terminal = isatty(fileno(out)), colours = terminal && !(plain && *plain);
    if (!t.made) out_of_memory(ctx);
    cm__defer(ctx, release, t.made);
    scols_table_set_stream(t.made, out);
    scols_table_set_column_separator(t.made, "  ");
    scols_table_enable_colors(t.made, colours);
    if (!terminal && !wide) {
        scols_table_set_termforce(t.made, SCOLS_TERMFORCE_ALWAYS);
        scols_table_set_termwidth(t.made, LINE_WIDTH);
    }
    for (int32_t i = 0; i < n_columns; i++) add_column(&t, &columns[i], colours);
    add_units(&t);
    return t;
}

void cm__table_row(const cm__table *t, const char *const *cells)
{
    struct libscols_line *line = scols_table_new_line(t->made, NULL);
    if (!line) out_of_memory(t->ctx);
    for (int32_t i = 0; i < t->n_columns; i++)
        if (scols_line_set_data(line, (size_t)i, cells[i]) != 0) out_of_memory(t->ctx);
}

void cm__table_print(const cm__table *t)
{
    if (scols_print_table(t->made) != 0) out_of_memory(t->ctx);
}
