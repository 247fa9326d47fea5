/* SPDX-License-Identifier: Apache-2.0 */
/* validate_text.c - results of others against predictions, as tables. */
#include <math.h>
#include <string.h>
#include "report/report.h"
#include "report/table.h"

#define PREDICTORS_MAX 6
#define FIXED 4 /* columns before the predictors' */

static const char *number(cm__ctx *ctx, double value) { return isnan(value) ? "-" : cm__format(ctx, "%.6g", value); }
static const char *percent(cm__ctx *ctx, double part)
{
    return isnan(part) ? "-" : cm__format(ctx, "%.1f", 100 * part);
}

/* Counts are met or not: an equal sign marks those that are. Of other figures the error counts. */
static const char *cell(cm__ctx *ctx, const cm_validation_row *r, int32_t p, bool counts)
{
    double predicted = r->predicted[p];
    if (counts) return cm__format(ctx, "%s %s", number(ctx, predicted), predicted == r->measured ? "=" : " ");
    return percent(ctx, predicted / r->measured - 1);
}

static int32_t shown(const cm_validation *v)
{
    int32_t n = cm_validation_summaries(v);
    return n < PREDICTORS_MAX ? n : PREDICTORS_MAX;
}

static bool is_count(const cm_validation *v) { return strcmp(cm_validation_get_info(v).metric, "batch") == 0; }

static void rows(cm__ctx *ctx, const cm_validation *v, FILE *out)
{
    bool       counts = is_count(v);
    cm__column columns[FIXED + PREDICTORS_MAX] = {
        {"model", NULL, true}, {"device"}, {"run"}, {"measured", counts ? "" : "B"}};
    for (int32_t p = 0; p < shown(v); p++)
        columns[FIXED + p] = (cm__column){cm_validation_summary_of(v, p)->predictor, counts ? "" : "error %", false};
    cm__table table = cm__table_new(ctx, out, columns, FIXED + shown(v), false);
    for (int32_t i = 0; i < cm_validation_rows(v); i++) {
        const cm_validation_row *r = cm_validation_get_row(v, i);
        const char              *cells[FIXED + PREDICTORS_MAX] = {
            cm__printable(ctx, r->model), r->device, r->setting,
            counts ? number(ctx, r->measured) : cm__cell_binary(ctx, r->measured)};
        for (int32_t p = 0; p < shown(v); p++) cells[FIXED + p] = cell(ctx, r, p, counts);
        cm__table_row(&table, cells);
    }
    cm__table_print(&table);
}

static void summaries(cm__ctx *ctx, const cm_validation *v, FILE *out)
{
    static const cm__column columns[] = {{"predictor"}, {"rows", "1"}, {"answered", "1"}, {"equal", "1"},
                                         {"mean error", "%"}, {"bias", "%"}, {"p90", "%"}, {"worst", "%"}};
    cm__table table = cm__table_new(ctx, out, columns, sizeof columns / sizeof *columns, false);
    for (int32_t p = 0; p < shown(v); p++) {
        const cm_validation_summary *s = cm_validation_summary_of(v, p);
        const char *cells[] = {s->predictor, cm__cell_count(ctx, cm_validation_rows(v)), cm__cell_count(ctx, s->n),
                               cm__cell_count(ctx, s->equal), percent(ctx, s->mape), percent(ctx, s->bias),
                               percent(ctx, s->p90), percent(ctx, s->worst)};
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
