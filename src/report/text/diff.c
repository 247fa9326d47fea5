/* SPDX-License-Identifier: Apache-2.0 */
/* diff.c - print what changed between two answers as text: fields, the largest change first, then kernels. */
#include <math.h>
#include "report/render.h"
#include "report/table.h"

#define ROWS_MOST 20 /* of each table; --json has all */

static const char *percent(cm__ctx *ctx, const cm__changed *c)
{
    if (isinf(c->change)) return isnan(c->after) ? "gone" : "new";
    return isnan(c->change) ? "-" : cm__format(ctx, "%+.3g", 100 * c->change);
}

static const char *value(cm__ctx *ctx, double number, const char *words)
{
    if (!isnan(number)) return cm__format(ctx, "%.6g", number);
    return words ? cm__printable(ctx, words) : "-";
}

static const char *microseconds(cm__ctx *ctx, double s) { return isnan(s) ? "-" : cm__format(ctx, "%.1f", 1e6 * s); }

static void print_more(const cm__changes *c, FILE *out)
{
    if (c->count > ROWS_MOST) fprintf(out, "... and %d more; --json lists all\n", c->count - ROWS_MOST);
}

static void print_fields(cm__ctx *ctx, const cm__diff_report *r, FILE *out)
{
    static const cm__column columns[] = {
        {"field", NULL, true}, {"old", NULL, true}, {"new", NULL, true}, {"change", "%"}};
    cm__table table = cm__table_new(ctx, out, columns, 4);
    for (int32_t i = 0; i < r->fields.count && i < ROWS_MOST; i++) {
        const cm__changed *c = &r->fields.rows[i];
        const char *cells[] = {cm__printable(ctx, c->name), value(ctx, c->before, c->old_words),
                               value(ctx, c->after, c->new_words), percent(ctx, c)};
        cm__table_row(&table, cells);
    }
    cm__table_print(&table);
    print_more(&r->fields, out);
}

static void print_kernels(cm__ctx *ctx, const cm__diff_report *r, FILE *out)
{
    static const cm__column columns[] = {
        {"kernel", NULL, true}, {"old", "us", false}, {"new", "us", false}, {"change", "%"}};
    cm__table table = cm__table_new(ctx, out, columns, 4);
    for (int32_t i = 0; i < r->layers.count && i < ROWS_MOST; i++) {
        const cm__changed *c = &r->layers.rows[i];
        const char *cells[] = {cm__printable(ctx, c->name), microseconds(ctx, c->before), microseconds(ctx, c->after),
                               percent(ctx, c)};
        cm__table_row(&table, cells);
    }
    fprintf(out, "\nkernels that changed most; * stands for the number of a layer\n");
    cm__table_print(&table);
    print_more(&r->layers, out);
}

void cm__diff_text(cm__ctx *ctx, const cm__diff_report *r, FILE *out)
{
    fprintf(out, "# centimani %s, two answers of '%s': %s and %s\n\n", CM_VERSION, cm__printable(ctx, r->command),
            cm__printable(ctx, r->paths[0]), cm__printable(ctx, r->paths[1]));
    if (r->fields.count) print_fields(ctx, r, out);
    else fprintf(out, "no field changed\n");
    if (r->kernels.count) print_kernels(ctx, r, out);
    if (!(r->limit > 0)) return;
    const char *largest = isfinite(r->largest) ? cm__format(ctx, "%.3g %%", 100 * r->largest)
                                               : "a figure that appeared, or a yes that became a no";
    fprintf(out, "\n--fail-above %.3g %% %s: the largest change of a figure is %s\n", 100 * r->limit,
            r->exceeded ? "missed" : "held", r->largest > 0 ? largest : "0 %");
}
