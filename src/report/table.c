/* SPDX-License-Identifier: Apache-2.0 */
/* table.c - aligned tables where the page is wide enough; several tables, or one line per value, where it is not. */
#include "report/table.h"

#include <string.h>
#include "report/sheet.h"

#define HEAD 2        /* rows of names and units */
#define GAP 2         /* blanks between columns */
#define WORDS_LEAST 16 /* width of a column of wrapped words */
#define BAR_LEAST 8
#define BOLD "\033[1m"
#define NORMAL "\033[0m"

typedef struct lines {
    FILE         *out;
    const char ***rows;
    int32_t       count, capacity; /* with the two rows of the head: names and units */
} lines;

/* How the columns are printed. */
typedef struct layout {
    size_t *widths; /* 0: not in the table */
    size_t *bars;   /* longest bar */
    size_t  page;
} layout;

cm__table cm__table_new(cm__ctx *ctx, FILE *out, const cm__column *columns, int32_t n_columns)
{
    lines      *l = cm__alloc(ctx, sizeof *l);
    cm__table   t = {.ctx = ctx, .made = l, .columns = columns, .n_columns = n_columns};
    const char **cells = cm__alloc_array(ctx, (size_t)n_columns, sizeof *cells);
    l->out = out;
    for (int32_t i = 0; i < n_columns; i++) cells[i] = columns[i].name;
    cm__table_row(&t, cells);
    for (int32_t i = 0; i < n_columns; i++) cells[i] = columns[i].unit ? columns[i].unit : "";
    cm__table_row(&t, cells);
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

/* ---- widths ----------------------------------------------------------------------------------------------------- */

static size_t larger(size_t a, size_t b) { return a > b ? a : b; }

static size_t total(const cm__table *t, const layout *y)
{
    size_t all = 0;
    for (int32_t i = 0; i < t->n_columns; i++)
        if (y->widths[i]) all += y->widths[i] + (all ? GAP : 0);
    return all;
}

/* Choose the prefix of each column; it becomes a part of the unit. */
static void scale(const cm__table *t)
{
    const lines *l = t->made;
    const char **cells = cm__alloc_array(t->ctx, (size_t)l->count, sizeof *cells);
    for (int32_t i = 0; i < t->n_columns; i++) {
        for (int32_t r = HEAD; r < l->count; r++) cells[r] = l->rows[r][i];
        l->rows[1][i] = cm__cells_scale(t->ctx, cells + HEAD, l->count - HEAD, l->rows[1][i]);
        for (int32_t r = HEAD; r < l->count; r++) l->rows[r][i] = cells[r];
    }
}

static bool has_units(const cm__table *t, const layout *y)
{
    const lines *l = t->made;
    for (int32_t i = 0; i < t->n_columns; i++)
        if (y->widths[i] && *l->rows[1][i]) return true;
    return false;
}

static void measure(const cm__table *t, layout *y)
{
    const lines *l = t->made;
    for (int32_t r = 0; r < l->count; r++)
        for (int32_t i = 0; i < t->n_columns; i++) {
            y->widths[i] = larger(y->widths[i], cm__text_width(l->rows[r][i]));
            if (t->columns[i].bar && r >= HEAD) y->bars[i] = larger(y->bars[i], cm__text_width(l->rows[r][i]));
        }
}

/* Bytes of the first word of a text, with the blanks before it; a path may be wrapped after each '/'. */
static size_t word_length(const char *text)
{
    size_t blanks = strspn(text, " "), length = blanks + strcspn(text + blanks, " /");
    return text[length] == '/' ? length + 1 : length;
}

/* Narrow columns of words, but no more than to their longest word, and bars until the line fits. */
static void narrow(const cm__table *t, layout *y)
{
    const lines *l = t->made;
    for (int32_t i = 0; i < t->n_columns; i++) {
        size_t all = total(t, y), least = t->columns[i].bar ? BAR_LEAST : WORDS_LEAST;
        if (all <= y->page || !y->widths[i] || !(t->columns[i].bar || t->columns[i].wraps)) continue;
        for (int32_t r = 0; r < l->count && !t->columns[i].bar; r++)
            for (const char *text = l->rows[r][i]; *text; text += word_length(text))
                least = larger(least, cm__text_width(cm__text_copy_n(t->ctx, text, word_length(text))));
        size_t over = all - y->page;
        if (y->widths[i] > least) y->widths[i] = y->widths[i] > least + over ? y->widths[i] - over : least;
    }
}

/* ---- values that all rows share ---------------------------------------------------------------------------------- */

static const char *with_unit(const cm__table *t, int32_t row, int32_t column)
{
    const lines *l = t->made;
    const char  *text = l->rows[row][column], *unit = l->rows[1][column];
    size_t       length = strlen(text);
    while (length && text[length - 1] == ' ') length--;
    text = cm__text_copy_n(t->ctx, text, length);
    return *text && *unit && strcmp(text, "-") ? cm__format(t->ctx, "%s %s", text, unit) : text;
}

static bool shared(const lines *l, int32_t column)
{
    for (int32_t r = HEAD + 1; r < l->count; r++)
        if (strcmp(l->rows[r][column], l->rows[HEAD][column])) return false;
    return l->count - HEAD > 1;
}

static void print_shared(const cm__table *t, layout *y)
{
    const lines *l = t->made;
    const char  *text = "";
    for (int32_t i = 0; i < t->n_columns; i++) {
        bool names_row = i == 0 && !t->columns[i].unit;
        if (names_row || !*t->columns[i].name || !y->widths[i] || !shared(l, i)) continue;
        y->widths[i] = 0;
        const char *value = with_unit(t, HEAD, i);
        if (*value) text = cm__format(t->ctx, "%s%s%s %s", text, *text ? ", " : "", t->columns[i].name, value);
    }
    if (*text) fprintf(l->out, "# in all rows: %s\n", text);
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

/* Take the part of a cell that fits into its column; the rest is for the next line. */
static const char *take(cm__ctx *ctx, const char **rest, size_t width)
{
    const char *start = *rest + strspn(*rest, " ");
    size_t      length = 0;
    if (cm__text_width(start) <= width) {
        *rest = start + strlen(start);
        return start;
    }
    for (size_t next; start[length]; length += next) {
        next = word_length(start + length);
        if (length && cm__text_width(cm__text_copy_n(ctx, start, length + next)) > width) break;
    }
    *rest = start + length;
    return cm__text_copy_n(ctx, start, length);
}

/* bold: also the blanks, and those behind the last column. */
static void print_cell(FILE *out, const char *text, size_t width, bool right, bool last, bool bold)
{
    size_t shown = cm__text_width(text);
    int    blanks = shown < width ? (int)(width - shown) : 0;
    if (bold) fputs(BOLD, out);
    if (right) fprintf(out, "%*s", blanks, "");
    fputs(text, out);
    if (!right && (bold || !last)) fprintf(out, "%*s", blanks, "");
    if (bold) fputs(NORMAL, out);
}

static const char *bar_of(const cm__table *t, const layout *y, int32_t i, const char *bar)
{
    size_t length = strlen(bar);
    return y->bars[i] <= y->widths[i] ? bar : cm__text_copy_n(t->ctx, bar, (length * y->widths[i] + y->bars[i] / 2) /
                                                                               y->bars[i]);
}

static void print_row(const cm__table *t, const layout *y, int32_t r, int32_t last)
{
    const lines *l = t->made;
    const char **rest = cm__alloc_array(t->ctx, (size_t)t->n_columns, sizeof *rest);
    bool         more = true;
    for (int32_t i = 0; i < t->n_columns; i++)
        rest[i] = t->columns[i].bar ? bar_of(t, y, i, l->rows[r][i]) : l->rows[r][i];
    for (int32_t n = 0; more || !n; n++) {
        int32_t end = last; /* no blanks at the end of a line */
        while (end > 0 && !(y->widths[end] && *rest[end]) && !(cm__sheet_bold() && r == 0)) end--;
        more = false;
        for (int32_t i = 0; i <= end; i++) {
            if (!y->widths[i]) continue;
            bool right = t->columns[i].unit != NULL;
            const char *part = right ? rest[i] : take(t->ctx, &rest[i], y->widths[i]);
            if (right) rest[i] = "";
            more = more || *rest[i];
            print_cell(l->out, part, y->widths[i], right, i == end, cm__sheet_bold() && r == 0);
            if (i < end) fprintf(l->out, "%*s", GAP, "");
        }
        putc('\n', l->out);
    }
}

/* ---- records ----------------------------------------------------------------------------------------------------- */

static void print_records(const cm__table *t, const layout *y)
{
    const lines *l = t->made;
    size_t       label = 0;
    for (int32_t i = 0; i < t->n_columns; i++)
        if (y->widths[i]) label = larger(label, cm__text_width(t->columns[i].name));
    for (int32_t r = HEAD; r < l->count; r++) {
        if (r > HEAD) putc('\n', l->out);
        for (int32_t i = 0; i < t->n_columns; i++) {
            const char *value = with_unit(t, r, i);
            if (!y->widths[i] || !*value || t->columns[i].bar) continue;
            print_cell(l->out, t->columns[i].name, label, false, false, cm__sheet_bold());
            fprintf(l->out, "%*s%s\n", GAP, "", value);
        }
    }
}

/* ---- several tables ---------------------------------------------------------------------------------------------- */

static void print_rows(const cm__table *t, const layout *y)
{
    const lines *l = t->made;
    int32_t      last = t->n_columns - 1;
    while (last > 0 && !y->widths[last]) last--;
    for (int32_t r = 0; r < l->count; r++)
        if (r != 1 || has_units(t, y)) print_row(t, y, r, last);
}

/* The next table: the first columns, which name the row, and as many more as fit. Moves *next past them; returns false
   if not one fits. */
static bool next_band(const cm__table *t, const layout *all, layout *band, int32_t *next)
{
    int32_t keys = t->columns[0].name[0] == '#' ? 2 : 1, taken = 0;
    for (int32_t i = 0; i < t->n_columns; i++) band->widths[i] = i < keys ? all->widths[i] : 0;
    for (*next = *next < keys ? keys : *next; *next < t->n_columns; ++*next) {
        band->widths[*next] = all->widths[*next];
        if (total(t, band) > all->page) {
            band->widths[*next] = 0;
            return taken > 0;
        }
        taken += all->widths[*next] > 0;
    }
    return true;
}

/* Tables below each other, each with the first columns. False: a column is too wide, or records are shorter. */
static bool print_bands(const cm__table *t, const layout *y)
{
    const lines *l = t->made;
    layout       band = {.widths = cm__alloc_array(t->ctx, (size_t)t->n_columns, sizeof(size_t)), .bars = y->bars};
    int32_t      bands = 0, columns = 0, rows = l->count - HEAD;
    for (int32_t i = 0; i < t->n_columns; i++) columns += y->widths[i] > 0;
    for (int32_t next = 0; next < t->n_columns; bands++)
        if (!next_band(t, y, &band, &next)) return false;
    if (rows * (columns + 1) <= bands * (rows + HEAD + 1)) return false;
    for (int32_t next = 0, n = 0; n < bands; n++) {
        if (n) putc('\n', l->out);
        next_band(t, y, &band, &next);
        print_rows(t, &band);
    }
    return true;
}

void cm__table_print(const cm__table *t)
{
    layout y = {.widths = cm__alloc_array(t->ctx, (size_t)t->n_columns, sizeof(size_t)),
                .bars = cm__alloc_array(t->ctx, (size_t)t->n_columns, sizeof(size_t)), .page = cm__sheet_width()};
    layout natural = {cm__alloc_array(t->ctx, (size_t)t->n_columns, sizeof(size_t)), y.bars, y.page};
    scale(t);
    measure(t, &y);
    if (total(t, &y) > y.page) print_shared(t, &y);
    memcpy(natural.widths, y.widths, (size_t)t->n_columns * sizeof *y.widths);
    narrow(t, &y);
    if (total(t, &y) <= y.page) print_rows(t, &y);
    else if (!print_bands(t, &natural) && !print_bands(t, &y)) print_records(t, &y);
}
