/* SPDX-License-Identifier: Apache-2.0 */
/* table.c - aligned tables, as wide as the terminal allows. */
#include "report/table.h"

#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define LINE_WIDTH 100 /* if the output is not a terminal, or one of unknown width */
#define LEAST 4        /* smallest width of a shortened column */
#define BOLD "\033[1m"
#define NORMAL "\033[0m"

typedef struct lines {
    FILE         *out;
    const char ***rows;
    int32_t       count, capacity;
    size_t        most; /* characters of a line */
    bool          bold; /* the names of the columns */
} lines;

/* Whether a byte of UTF-8 is the first one of a character. */
static bool begins(char byte) { return ((unsigned char)byte & 0xc0) != 0x80; }

/* In characters. */
static size_t width_of(const char *text)
{
    size_t width = 0;
    for (; *text; text++) width += begins(*text);
    return width;
}

static size_t terminal_width(int terminal)
{
    struct winsize size;
    return ioctl(terminal, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : LINE_WIDTH;
}

cm__table cm__table_new(cm__ctx *ctx, FILE *out, const cm__column *columns, int32_t n_columns, bool wide)
{
    lines      *l = cm__alloc(ctx, sizeof *l);
    cm__table   t = {.ctx = ctx, .made = l, .columns = columns, .n_columns = n_columns};
    const char *plain = getenv("NO_COLOR"); /* no-color.org: set and not empty */
    bool        terminal = isatty(fileno(out));
    *l = (lines){.out = out, .bold = terminal && !(plain && *plain),
                 .most = terminal ? terminal_width(fileno(out)) : wide ? SIZE_MAX : LINE_WIDTH};
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
static void fit(const cm__table *t, size_t most, size_t *widths)
{
    size_t all = 2 * (size_t)(t->n_columns - 1);
    for (int32_t i = 0; i < t->n_columns; i++) all += widths[i];
    for (int32_t i = 0; i < t->n_columns && all > most; i++) {
        size_t over = all - most;
        if (!t->columns[i].cut || widths[i] <= LEAST) continue;
        size_t less = widths[i] - LEAST < over ? widths[i] - LEAST : over;
        widths[i] -= less;
        all -= less;
    }
}

/* bold: also the blanks, and those behind the last column. */
static void print_cell(FILE *out, const char *text, size_t width, bool right, bool last, bool bold)
{
    const char *end = text;
    size_t      shown = 0;
    for (; *end && shown + begins(*end) <= width; end++) shown += begins(*end);
    int blanks = (int)(width - shown);
    if (bold) fputs(BOLD, out);
    if (right) fprintf(out, "%*s", blanks, "");
    fwrite(text, 1, (size_t)(end - text), out);
    if (!right && (bold || !last)) fprintf(out, "%*s", blanks, "");
    if (bold) fputs(NORMAL, out);
}

void cm__table_print(const cm__table *t)
{
    const lines *l = t->made;
    size_t      *widths = cm__alloc_array(t->ctx, (size_t)t->n_columns, sizeof *widths);
    for (int32_t r = 0; r < l->count; r++)
        for (int32_t i = 0; i < t->n_columns; i++)
            if (width_of(l->rows[r][i]) > widths[i]) widths[i] = width_of(l->rows[r][i]);
    fit(t, l->most, widths);
    for (int32_t r = 0; r < l->count; r++) {
        for (int32_t i = 0; i < t->n_columns; i++) {
            if (i) fputs("  ", l->out);
            print_cell(l->out, l->rows[r][i], widths[i], t->columns[i].unit != NULL, i == t->n_columns - 1,
                       l->bold && r == 0);
        }
        putc('\n', l->out);
    }
}
