/* SPDX-License-Identifier: Apache-2.0 */
/* table.c - tables by libsmartcols, the library behind lsblk. */
#include "report/table.h"

#include <libsmartcols/libsmartcols.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/text.h"

#define LINE_WIDTH 100 /* where no terminal says otherwise */

static void release(void *table) { scols_unref_table(table); }

static void out_of_memory(cm__ctx *ctx) { cm__fail(ctx, CM_ERR_MEMORY, "out of memory while making a table"); }

static void add_column(const cm__table *t, const cm__column *column, bool colours)
{
    int flags = (column->unit ? SCOLS_FL_RIGHT : 0) | (column->cut ? SCOLS_FL_TRUNC : 0);
    struct libscols_column *c = scols_table_new_column(t->scols, column->name, column->cut ? 0.3 : 0, flags);
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
    cm__table   t = {.ctx = ctx, .scols = scols_new_table(), .columns = columns, .n_columns = n_columns};
    const char *plain = getenv("NO_COLOR"); /* no-color.org: set and not empty */
    bool        terminal = isatty(fileno(out)), colours = terminal && !(plain && *plain);
    if (!t.scols) out_of_memory(ctx);
    cm__defer(ctx, release, t.scols);
    scols_table_set_stream(t.scols, out);
    scols_table_set_column_separator(t.scols, "  ");
    scols_table_enable_colors(t.scols, colours);
    if (!terminal && !wide) {
        scols_table_set_termforce(t.scols, SCOLS_TERMFORCE_ALWAYS);
        scols_table_set_termwidth(t.scols, LINE_WIDTH);
    }
    for (int32_t i = 0; i < n_columns; i++) add_column(&t, &columns[i], colours);
    add_units(&t);
    return t;
}

void cm__table_row(const cm__table *t, const char *const *cells)
{
    struct libscols_line *line = scols_table_new_line(t->scols, NULL);
    if (!line) out_of_memory(t->ctx);
    for (int32_t i = 0; i < t->n_columns; i++)
        if (scols_line_set_data(line, (size_t)i, cells[i]) != 0) out_of_memory(t->ctx);
}

void cm__table_print(const cm__table *t)
{
    if (scols_print_table(t->scols) != 0) out_of_memory(t->ctx);
}

const char *cm__cell_si(cm__ctx *ctx, double value)
{
    char buf[32];
    if (isnan(value)) return "-  ";
    cm__si(buf, sizeof buf, value);
    return cm__format(ctx, "%s%s", buf, buf[strlen(buf) - 1] == ' ' ? " " : ""); /* digits under digits */
}

const char *cm__cell_binary(cm__ctx *ctx, double value)
{
    char buf[32];
    return isnan(value) ? "-" : cm__text_copy(ctx, cm__binary(buf, sizeof buf, value));
}

const char *cm__cell_percent(cm__ctx *ctx, double part, double whole)
{
    return whole > 0 ? cm__format(ctx, "%.1f", 100 * part / whole) : "-";
}

const char *cm__cell_ratio(cm__ctx *ctx, double value)
{
    return isnan(value) ? "-" : cm__format(ctx, "%.*f", value < 10 ? 2 : value < 100 ? 1 : 0, value);
}

const char *cm__cell_count(cm__ctx *ctx, int64_t value)
{
    char buf[32];
    return cm__text_copy(ctx, cm__grouped(buf, sizeof buf, value));
}
