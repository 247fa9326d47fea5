/* SPDX-License-Identifier: Apache-2.0 */
/* fit_text.c - fitted or checked operator models as a table. */
#include <math.h>
#include <string.h>
#include "report/report.h"
#include "report/table.h"

static const cm__column columns[] = {
    {"device", NULL, true}, {"runtime", NULL, false}, {"operator", NULL, false},
    {"pass", NULL, false},  {"type", NULL, false},    {"rows", "1", false},
    {"error", "%", false},  {"bias", "%", false},     {"p90", "%", false},
};

static const char *percent(cm__ctx *ctx, double fraction)
{
    return cm__format(ctx, "%.1f", fabs(fraction) < 0.0005 ? 0.0 : 100 * fraction); /* no "-0.0" */
}

static const cm__column by_operator[] = {
    {"operator", NULL, true}, {"rows", "1", false}, {"error", "%", false}, {"of time", "%", false}};

/* All classes of an operator and runtime; zeroed where an earlier one is of them. */
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

/* Passes and types together; of time: how far off all calls are, over the time of all, so that long ones count more. */
static void operators_text(cm__ctx *ctx, const cm_fitting *f, FILE *out)
{
    const char *runtime = "";
    cm__table   table = cm__table_new(ctx, out, by_operator, sizeof by_operator / sizeof *by_operator, false);
    for (int32_t i = 0; i < cm_fitting_classes(f); i++) {
        cm_fit_class all = together(f, i);
        if (all.measured_s <= 0) continue;
        if (*runtime && strcmp(runtime, all.runtime)) break; /* the first runtime's, which most ask for */
        runtime = all.runtime;
        const char *cells[] = {cm__printable(ctx, all.op), cm__cell_count(ctx, all.n), percent(ctx, all.mape),
                               percent(ctx, all.off_s / all.measured_s)};
        cm__table_row(&table, cells);
    }
    if (!*runtime) return;
    fprintf(out, "\nAll passes and types of %s; of time: seconds off over seconds measured\n", runtime);
    cm__table_print(&table);
}

void cm__fit_text(cm__ctx *ctx, const cm__fit_report *r, FILE *out)
{
    const char *first;
    int32_t     skipped = cm_fitting_skipped(r->fitting, &first), n = cm_fitting_classes(r->fitting), rows = 0;
    double      sum = 0;
    const char *what = r->path ? r->path : r->device;
    fprintf(out, "# centimani %s, %s of %s\n", CM_VERSION, r->check ? "check" : "fit", cm__printable(ctx, what));
    fprintf(out, "# %s\n", !r->path   ? "each row of its kernel tables, as the other rows of its operator's tables "
                                        "tell it"
                           : r->calls ? "errors of how 'predict' times these calls on the device"
                           : r->check ? "errors of the profile's models on these rows"
                                      : "errors on rows left out of the fit (4-fold)");
    if (skipped)
        fprintf(out, "# %d rows of operators or types without a form left out, first %s\n", skipped,
                cm__printable(ctx, first));
    fputc('\n', out);
    cm__table table = cm__table_new(ctx, out, columns, sizeof columns / sizeof *columns, false);
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
