/* SPDX-License-Identifier: Apache-2.0 */
/* validate_text.c - results of others against predictions, as tables. */
#include <math.h>
#include "report/report.h"
#include "report/table.h"

#define PREDICTORS_MAX 6

static const char *number(cm__ctx *ctx, double value) { return isnan(value) ? "-" : cm__format(ctx, "%.6g", value); }

/* An equal sign marks what was met. */
static const char *cell(cm__ctx *ctx, double predicted, double measured)
{
    return cm__format(ctx, "%s %s", number(ctx, predicted), predicted == measured ? "=" : " ");
}

static int32_t shown(const cm_validation *v)
{
    int32_t n = cm_validation_summaries(v);
    return n < PREDICTORS_MAX ? n : PREDICTORS_MAX;
}

static void rows(cm__ctx *ctx, const cm_validation *v, FILE *out)
{
    cm__column columns[3 + PREDICTORS_MAX] = {{"model", NULL, true}, {"device"}, {"measured", ""}};
    for (int32_t p = 0; p < shown(v); p++)
        columns[3 + p] = (cm__column){cm_validation_summary_of(v, p)->predictor, "", false};
    cm__table table = cm__table_new(ctx, out, columns, 3 + shown(v), false);
    for (int32_t i = 0; i < cm_validation_rows(v); i++) {
        const cm_validation_row *r = cm_validation_get_row(v, i);
        const char *cells[3 + PREDICTORS_MAX] = {cm__printable(ctx, r->model), r->device, number(ctx, r->measured)};
        for (int32_t p = 0; p < shown(v); p++) cells[3 + p] = cell(ctx, r->predicted[p], r->measured);
        cm__table_row(&table, cells);
    }
    cm__table_print(&table);
}

static void summaries(cm__ctx *ctx, const cm_validation *v, FILE *out)
{
    static const cm__column columns[] = {{"predictor"}, {"equal", ""}, {"of", ""}, {"answered", ""}, {"error", "%"},
                                         {"bias", "%"}};
    cm__table table = cm__table_new(ctx, out, columns, sizeof columns / sizeof *columns, false);
    for (int32_t p = 0; p < shown(v); p++) {
        const cm_validation_summary *s = cm_validation_summary_of(v, p);
        const char *cells[] = {s->predictor, cm__cell_count(ctx, s->equal), cm__cell_count(ctx, cm_validation_rows(v)),
                               cm__cell_count(ctx, s->n), number(ctx, round(100 * s->mape)),
                               number(ctx, round(100 * s->bias))};
        cm__table_row(&table, cells);
    }
    putc('\n', out);
    cm__table_print(&table);
    putc('\n', out);
    for (int32_t p = 0; p < shown(v); p++) {
        const cm_validation_summary *s = cm_validation_summary_of(v, p);
        cm__print_note(ctx, out, "", s->predictor, 10, s->what);
    }
}

void cm__validate_text(cm__ctx *ctx, const cm_validation *v, FILE *out)
{
    cm_validation_info info = cm_validation_get_info(v);
    fprintf(out, "# centimani %s, validation on %s\n", CM_VERSION, info.set);
    cm__print_note(ctx, out, "# ", "set", 8, info.title);
    cm__print_note(ctx, out, "# ", "source", 8, info.where);
    cm__print_note(ctx, out, "# ", "metric", 8, info.metric);
    putc('\n', out);
    rows(ctx, v, out);
    summaries(ctx, v, out);
    for (int32_t i = 0; i < cm_validation_notes(v); i++) {
        putc('\n', out);
        cm__print_note(ctx, out, "", "note", 5, cm_validation_note(v, i));
    }
}
