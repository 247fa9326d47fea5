/* SPDX-License-Identifier: Apache-2.0 */
/* fit.c - print the errors of fitted or checked operator models as text. */
#include <math.h>
#include <string.h>
#include "report/render.h"
#include "report/table.h"

static const cm__column columns[] = {
    {"device", NULL, true}, {"runtime", NULL, false}, {"operator", NULL, false},
    {"pass", NULL, false},  {"type", NULL, false},    {"rows", "", false},
    {"error", "%", false},  {"bias", "%", false},     {"p90", "%", false},
};

static const char *percent(cm__ctx *ctx, double fraction)
{
    return cm__format(ctx, "%.1f", fabs(fraction) < 0.0005 ? 0.0 : 100 * fraction); /* no "-0.0" */
}

static const cm__column by_operator[] = {
    {"operator", NULL, true}, {"rows", "", false}, {"error", "%", false}, {"of time", "%", false}};

/* Sum over all classes with the same operator and runtime; zeroed if `index` is not the first of them. */
static cm_fit_class together(const cm_fitting *f, int32_t index)
{
    cm_fit_class all = *cm_fitting_class(f, index);
    all.mape *= all.n;
    for (int32_t i = 0; i < cm_fitting_classes(f); i++) {
        const cm_fit_class *c = cm_fitting_class(f, i);
        if (i == index || strcmp(c->op, all.op) || strcmp(c->runtime, all.runtime)) continue;
        if (i < index) return (cm_fit_class){0};
        all.n += c->n;
        all.mape += c->mape * c->n;
        all.measured_s += c->measured_s;
        all.off_s += c->off_s;
    }
    all.mape /= all.n > 0 ? all.n : 1;
    return all;
}

/* Errors by operator, over all passes and types. Column "of time" weights every row by its time. */
static void operators_text(cm__ctx *ctx, const cm_fitting *f, FILE *out)
{
    const char *runtime = "";
    cm__table   table = cm__table_new(ctx, out, by_operator, sizeof by_operator / sizeof *by_operator);
    for (int32_t i = 0; i < cm_fitting_classes(f); i++) {
        cm_fit_class all = together(f, i);
        if (all.measured_s <= 0) continue;
        if (*runtime && strcmp(runtime, all.runtime)) break; /* only the first runtime, which is the most common one */
        runtime = all.runtime;
        const char *cells[] = {cm__printable(ctx, all.op), cm__cell_count(ctx, all.n), percent(ctx, all.mape),
                               percent(ctx, all.off_s / all.measured_s)};
        cm__table_row(&table, cells);
    }
    if (!*runtime) return;
    fprintf(out, "\nAll passes and types of %s; of time: sum of |error| in seconds over the sum of times\n", runtime);
    cm__table_print(&table);
}

void cm__fit_text(cm__ctx *ctx, const cm__fit_report *r, FILE *out)
{
    const char *first;
    int32_t     skipped = cm_fitting_skipped(r->fitting, &first), n = cm_fitting_classes(r->fitting), rows = 0;
    double      sum = 0;
    const char *what = r->path ? r->path : r->device;
    fprintf(out, "# centimani %s, %s of %s\n", CM_VERSION, r->check ? "check" : "fit", cm__printable(ctx, what));
    fprintf(out, "# %s\n", !r->path   ? "leave-one-out: each row of its kernel tables is predicted from the other "
                                        "rows of the operator"
                           : r->calls ? "errors of the times that 'predict' uses for these kernel calls"
                           : r->check ? "errors of the profile's operator models on these rows"
                                      : "cross-validated errors: each row is predicted by a fit without it (4-fold)");
    if (skipped)
        fprintf(out, "# %d rows skipped: no model for their operator or type; the first is %s\n", skipped,
                cm__printable(ctx, first));
    fputc('\n', out);
    cm__table table = cm__table_new(ctx, out, columns, sizeof columns / sizeof *columns);
    for (int32_t i = 0; i < n; i++) {
        const cm_fit_class *c = cm_fitting_class(r->fitting, i);
        const char *cells[] = {cm__printable(ctx, *c->device ? c->device : "-"),
                               cm__printable(ctx, c->runtime),
                               cm__printable(ctx, c->op),
                               cm__printable(ctx, c->pass),
                               cm__printable(ctx, c->dtype),
                               cm__cell_count(ctx, c->n),
                               percent(ctx, c->mape),
                               percent(ctx, c->bias),
                               percent(ctx, c->p90)};
        cm__table_row(&table, cells);
        rows += c->n;
        sum += c->mape * c->n;
    }
    cm__table_print(&table);
    operators_text(ctx, r->fitting, out);
    fprintf(out, "\n%.1f %% mean error over %d rows of %d operators.\n", rows ? 100 * sum / rows : 0, rows, n);
}
