/* SPDX-License-Identifier: Apache-2.0 */
/* validate.c - print a comparison with published results as text: one set row by row, several sets as one table. */
#include <math.h>
#include <string.h>
#include "base/text.h"
#include "report/render.h"
#include "report/table.h"

#define PREDICTORS_MAX 6
#define FIXED_MAX 6 /* columns before those of the predictors */

static const char *percent(cm__ctx *ctx, double part)
{
    double value = 100 * part;
    return isnan(part) ? "-" : cm__format(ctx, fabs(value) < 1000 ? "%.1f" : "%.0f", value);
}

static const char *number(cm__ctx *ctx, double value) { return isnan(value) ? "-" : cm__format(ctx, "%.6g", value); }

/* A figure with an SI prefix ("4.62 k", "12.1 m"); batch sizes and counts without one. */
static const char *figure(cm__ctx *ctx, const cm_validation_row *r, double value)
{
    char buf[32];
    if (isnan(value)) return "-";
    if (strcmp(r->unit, "B") == 0) return cm__text_copy(ctx, cm__binary(buf, sizeof buf, value));
    if (r->kind != CM_ROW_FIGURE || strcmp(r->metric, "batch") == 0) return number(ctx, value);
    if (strcmp(r->unit, "s") == 0) return cm__text_copy(ctx, cm__si_small(buf, sizeof buf, value));
    return cm__text_copy(ctx, cm__si(buf, sizeof buf, value));
}

static int32_t shown(const cm_validation *v)
{
    int32_t n = cm_validation_summaries(v);
    return n < PREDICTORS_MAX ? n : PREDICTORS_MAX;
}

static bool is_count(const cm_validation *v)
{
    const char *metric = cm_validation_get_info(v).metric;
    return metric && strcmp(metric, "batch") == 0;
}

/* ---- rows ------------------------------------------------------------------------------------------------------- */

/* For counts the predicted value, marked "=" if it is correct; for other figures the relative error. */
static const char *cell(cm__ctx *ctx, const cm_validation_row *r, int32_t p, bool counts)
{
    double predicted = r->predicted[p];
    if (counts) return cm__format(ctx, "%s %s", number(ctx, predicted), predicted == r->measured ? "=" : " ");
    if (r->kind != CM_ROW_FIGURE) return number(ctx, predicted);
    return percent(ctx, predicted / r->measured - 1);
}

static const char *device_cell(cm__ctx *ctx, const cm_validation_row *r)
{
    return r->devices > 1 ? cm__format(ctx, "%d %s", r->devices, r->device) : r->device;
}

static const char *inside(const cm_validation_row *r)
{
    if (r->evidence > CM_EVIDENCE_FIRST_SIGHT) return cm_evidence_name(r->evidence);
    if (r->refused) return "refused";
    if (isnan(r->interval[0]) || isnan(r->interval[1])) return "";
    return r->measured >= r->interval[0] && r->measured <= r->interval[1] ? "in" : "out";
}

static bool of_time(const cm_validation *v)
{
    return cm_validation_summaries(v) > 1 && strcmp(cm_validation_get_summary(v, 1)->predictor, "roofline") == 0;
}

/* Baselines have short names because their columns are narrow. */
static const char *heading(const cm_validation *v, int32_t p)
{
    static const char *const baselines[] = {"centimani", "roof", "util", "similar"};
    return of_time(v) ? baselines[p] : cm_validation_get_summary(v, p)->predictor;
}

static void rows(cm__ctx *ctx, const cm_validation *v, FILE *out)
{
    bool       counts = is_count(v);
    int32_t    fixed = counts ? 4 : 5, n = shown(v);
    cm__column columns[FIXED_MAX + PREDICTORS_MAX + 1] = {
        {"model"}, {"device"}, {"run"}, {"measured", ""}, {"of"}};
    for (int32_t p = 0; p < n; p++)
        columns[fixed + p] = (cm__column){heading(v, p), counts ? "" : "error %", false};
    columns[fixed + n] = (cm__column){"90 %", NULL, false};
    cm__table table = cm__table_new(ctx, out, columns, fixed + n + !counts); /* names are never cut */
    for (int32_t i = 0; i < cm_validation_rows(v); i++) {
        const cm_validation_row *r = cm_validation_get_row(v, i);
        const char              *cells[FIXED_MAX + PREDICTORS_MAX + 1] = {
            cm__printable(ctx, r->model), device_cell(ctx, r), r->setting, figure(ctx, r, r->measured), r->unit};
        for (int32_t p = 0; p < n; p++) cells[fixed + p] = cell(ctx, r, p, counts);
        cells[fixed + n] = inside(r);
        cm__table_row(&table, cells);
    }
    cm__table_print(&table);
}

/* Whether an earlier row has the same reason; rows with one reason are listed together. */
static bool is_reason_listed(const cm_validation *v, int32_t row)
{
    for (int32_t i = 0; i < row; i++) {
        const char *reason = cm_validation_get_row(v, i)->reason;
        if (reason && strcmp(reason, cm_validation_get_row(v, row)->reason) == 0) return true;
    }
    return false;
}

static void unpredicted(cm__ctx *ctx, const cm_validation *v, FILE *out)
{
    bool any = false;
    for (int32_t i = 0; i < cm_validation_rows(v); i++) {
        const char *reason = cm_validation_get_row(v, i)->reason, *names = "";
        if (!reason || is_reason_listed(v, i)) continue;
        if (!any) fputs("\nnot predicted\n", out);
        any = true;
        for (int32_t k = i; k < cm_validation_rows(v); k++) {
            const cm_validation_row *r = cm_validation_get_row(v, k);
            if (!r->reason || strcmp(r->reason, reason)) continue;
            names = cm__format(ctx, "%s%s%s on %s", names, *names ? ", " : "", r->model, device_cell(ctx, r));
        }
        cm__print_note(ctx, out, "  ", "-", 2, cm__printable(ctx, cm__format(ctx, "%s: %s", reason, names)));
    }
}

/* ---- sums ------------------------------------------------------------------------------------------------------- */

static const char *share(cm__ctx *ctx, int32_t part, int32_t whole)
{
    return whole ? cm__format(ctx, "%d/%d", part, whole) : "-";
}

static const char *tau(cm__ctx *ctx, double value) { return isnan(value) ? "-" : cm__format(ctx, "%.2f", value); }

#define SUM_CELLS(ctx, s)                                                                                              \
    cm__cell_count(ctx, (s)->n), percent(ctx, (s)->mape), percent(ctx, (s)->accuracy), percent(ctx, (s)->bias),        \
        percent(ctx, (s)->p90), percent(ctx, (s)->worst), share(ctx, (s)->inside, (s)->intervals)
#define SUM_COLUMNS                                                                                                    \
    {"rows", ""}, {"error", "%"}, {"accuracy", "%"}, {"bias", "%"}, {"p90", "%"}, {"worst", "%"}, {"in 90 %", ""}

/* Predicted batch sizes are off by factors, so the median factor is more meaningful than a mean error. */
static const char *factor(cm__ctx *ctx, const cm_validation_summary *s)
{
    if (isnan(s->median_factor)) return "-";
    return cm__format(ctx, s->median_factor < 10 ? "x%.1f" : "x%.0f", s->median_factor);
}

/* Errors of batch sizes by predictor, or those of Centimani by device. */
static void sums_of_counts(cm__ctx *ctx, const cm_validation *v, bool by_device, FILE *out)
{
    const cm__column columns[] = {{by_device ? "device" : "predictor"}, {"rows", ""}, {"equal", ""},
                                  {"within x2", ""}, {"factor", "median"}, {"error", "%"}, {"bias", "%"}};
    cm__table        table = cm__table_new(ctx, out, columns, sizeof columns / sizeof *columns);
    int32_t          n = by_device ? cm_validation_device_summaries(v) : shown(v);
    for (int32_t i = 0; i < n; i += by_device ? cm_validation_summaries(v) : 1) {
        const cm_validation_summary *s =
            by_device ? cm_validation_device_summary(v, i) : cm_validation_get_summary(v, i);
        const char *cells[] = {by_device ? s->device : s->predictor, cm__cell_count(ctx, s->n),
                               cm__cell_count(ctx, s->equal), cm__cell_count(ctx, s->within_two), factor(ctx, s),
                               percent(ctx, s->mape), percent(ctx, s->bias)};
        if (s->n) cm__table_row(&table, cells);
    }
    putc('\n', out);
    cm__table_print(&table);
}

static void summaries(cm__ctx *ctx, const cm_validation *v, FILE *out)
{
    static const cm__column columns[] = {{"predictor"}, {"equal", ""}, SUM_COLUMNS};
    cm__table table = cm__table_new(ctx, out, columns, sizeof columns / sizeof *columns);
    for (int32_t p = 0; p < shown(v); p++) {
        const cm_validation_summary *s = cm_validation_get_summary(v, p);
        const char *cells[] = {s->predictor, cm__cell_count(ctx, s->equal), SUM_CELLS(ctx, s)};
        cm__table_row(&table, cells);
    }
    putc('\n', out);
    cm__table_print(&table);
}

static void decisions(cm__ctx *ctx, const cm_validation *v, FILE *out)
{
    static const cm__column columns[] = {{"predictor"}, {"choices", ""}, {"best", "%"}, {"regret", "%"}, {"tau", ""},
                                         {"stated orders", ""}, {"false oom", ""}, {"missed oom", ""}};
    const cm_validation_summary *own = cm_validation_get_summary(v, 0);
    if (!own->decisions && !own->pairs && !own->false_oom && !own->missed_oom) return;
    cm__table table = cm__table_new(ctx, out, columns, sizeof columns / sizeof *columns);
    for (int32_t p = 0; p < shown(v); p++) {
        const cm_validation_summary *s = cm_validation_get_summary(v, p);
        const char *cells[] = {s->predictor, cm__cell_count(ctx, s->decisions), percent(ctx, s->top1),
                               percent(ctx, s->regret), tau(ctx, s->tau), share(ctx, s->pairs_right, s->pairs),
                               p ? "-" : cm__cell_count(ctx, s->false_oom),
                               p ? "-" : cm__cell_count(ctx, s->missed_oom)};
        cm__table_row(&table, cells);
    }
    putc('\n', out);
    cm__table_print(&table);
}

/* Errors of Centimani by device, if there are several devices. */
static void devices(cm__ctx *ctx, const cm_validation *v, FILE *out)
{
    static const cm__column columns[] = {{"device"}, SUM_COLUMNS};
    int32_t                 step = cm_validation_summaries(v);
    if (cm_validation_device_summaries(v) < 2 * step || !cm_validation_get_summary(v, 0)->n) return;
    cm__table table = cm__table_new(ctx, out, columns, sizeof columns / sizeof *columns);
    for (int32_t i = 0; i < cm_validation_device_summaries(v); i += step) {
        const cm_validation_summary *s = cm_validation_device_summary(v, i);
        const char                  *cells[] = {s->device, SUM_CELLS(ctx, s)};
        if (s->n) cm__table_row(&table, cells);
    }
    putc('\n', out);
    cm__table_print(&table);
}

static void one_set(cm__ctx *ctx, const cm_validation *v, FILE *out)
{
    cm_validation_info info = cm_validation_get_info(v);
    fprintf(out, "# centimani %s, validation on %s\n", CM_VERSION, info.set);
    cm__print_note(ctx, out, "# ", "set", 8, info.title);
    cm__print_note(ctx, out, "# ", "source", 8, info.where);
    if (info.metric) cm__print_note(ctx, out, "# ", "metric", 8, info.metric);
    putc('\n', out);
    rows(ctx, v, out);
    if (is_count(v)) sums_of_counts(ctx, v, false, out);
    else summaries(ctx, v, out);
    decisions(ctx, v, out);
    if (is_count(v)) sums_of_counts(ctx, v, true, out);
    else devices(ctx, v, out);
    putc('\n', out);
    for (int32_t p = 0; p < shown(v); p++) {
        const cm_validation_summary *s = cm_validation_get_summary(v, p);
        cm__print_note(ctx, out, "", s->predictor, 12, s->what);
    }
    unpredicted(ctx, v, out);
    for (int32_t i = 0; i < cm_validation_notes(v); i++) {
        putc('\n', out);
        cm__print_note(ctx, out, "", "note", 6, cm_validation_note(v, i));
    }
}

/* ---- all sets --------------------------------------------------------------------------------------------------- */

/* Rows that may enter a headline figure: refusals count, with an error of 100 %. */
static int32_t scored(const cm_validation *v)
{
    int32_t n = 0;
    for (int32_t i = 0; i < cm_validation_rows(v); i++) {
        const cm_validation_row *r = cm_validation_get_row(v, i);
        n += r->evidence <= CM_EVIDENCE_FIRST_SIGHT && (!r->reason || r->refused);
    }
    return n;
}

/* Rows of each evidence class that have a prediction, and the refused ones, over all sets. */
static void classes(cm__ctx *ctx, const cm_scoreboard *b, FILE *out)
{
    int32_t     n[CM_EVIDENCES] = {0}, refused = 0;
    const char *text = "";
    for (int32_t k = 0; k < cm_scoreboard_sets(b); k++)
        for (int32_t i = 0; i < cm_validation_rows(cm_scoreboard_set(b, k)); i++) {
            const cm_validation_row *r = cm_validation_get_row(cm_scoreboard_set(b, k), i);
            n[r->evidence] += !r->reason;
            refused += r->refused;
        }
    for (int c = 0; c < CM_EVIDENCES; c++)
        text = cm__format(ctx, "%s%s%d %s", text, c ? ", " : "", n[c], cm_evidence_name((cm_evidence)c));
    fprintf(out, "\nclasses   %s; %d refused\n", text, refused);
}

static const char *baseline(cm__ctx *ctx, const cm_validation *v, int32_t p)
{
    return of_time(v) ? percent(ctx, cm_validation_get_summary(v, p)->accuracy) : "";
}

static void scoreboard(cm__ctx *ctx, const cm_scoreboard *b, FILE *out)
{
    static const cm__column columns[] = {{"set"}, {"rows", ""}, {"scored", ""}, {"error", "%"}, {"accuracy", "%"},
                                         {"roof", "%"}, {"util", "%"}, {"sim", "%"}, {"in 90 %", ""},
                                         {"best", "%"}, {"tau", ""}, {"orders", ""}};
    cm__table table = cm__table_new(ctx, out, columns, sizeof columns / sizeof *columns);
    for (int32_t i = 0; i < cm_scoreboard_sets(b); i++) {
        const cm_validation         *v = cm_scoreboard_set(b, i);
        const cm_validation_summary *s = cm_validation_get_summary(v, 0);
        const char *cells[] = {cm_validation_get_info(v).set, cm__cell_count(ctx, cm_validation_rows(v)),
                               cm__cell_count(ctx, scored(v)), is_count(v) ? factor(ctx, s) : percent(ctx, s->mape),
                               is_count(v) ? share(ctx, s->within_two, s->n) : percent(ctx, s->accuracy),
                               baseline(ctx, v, 1), baseline(ctx, v, 2), baseline(ctx, v, 3),
                               share(ctx, s->inside, s->intervals), percent(ctx, s->top1), tau(ctx, s->tau),
                               share(ctx, s->pairs_right, s->pairs)};
        cm__table_row(&table, cells);
    }
    fprintf(out, "# centimani %s, predictions compared with published results\n\n", CM_VERSION);
    cm__table_print(&table);
    classes(ctx, b, out);
    fputs("scored    rows of the classes not fitted, left out and first sight; a refusal of what ran is 100 % off\n"
          "error     mean of |predicted / measured - 1|; accuracy: mean of 1 - |error|, at least 0 per row\n"
          "xN        batch sizes: median factor between predicted and measured, and rows within a factor of 2\n"
          "roof ...  accuracy of three baselines: roofline, utilisation of an A100, the most similar model\n"
          "in 90 %   measured values inside their 90 % interval\n"
          "best      choices among devices in which the best one is chosen; tau: Kendall's tau\n"
          "orders    device pairs predicted in the order that the source states\n"
          "--set NAME lists the rows of a set and why some have no prediction; see also docs/accuracy.md\n", out);
}

/* One line per device and set. */
static void left_out(cm__ctx *ctx, const cm_scoreboard *b, FILE *out)
{
    static const cm__column columns[] = {{"device"}, {"set"}, {"rows", ""}, {"error", "%"}, {"median", "%"},
                                         {"bias", "%"}, {"p90", "%"}, {"in 90 %", ""}};
    cm__table table = cm__table_new(ctx, out, columns, sizeof columns / sizeof *columns);
    for (int32_t k = 0; k < cm_scoreboard_sets(b); k++) {
        const cm_validation *v = cm_scoreboard_set(b, k);
        for (int32_t i = 0; i < cm_validation_device_summaries(v); i += cm_validation_summaries(v)) {
            const cm_validation_summary *s = cm_validation_device_summary(v, i);
            const char *cells[] = {s->device, cm_validation_get_info(v).set, cm__cell_count(ctx, s->n),
                                   percent(ctx, s->mape), percent(ctx, s->median), percent(ctx, s->bias),
                                   percent(ctx, s->p90), share(ctx, s->inside, s->intervals)};
            if (s->n) cm__table_row(&table, cells);
        }
    }
    fprintf(out, "# centimani %s, each device predicted without any result of its own\n\n", CM_VERSION);
    cm__table_print(&table);
}

void cm__validate_text(cm__ctx *ctx, const cm_scoreboard *b, FILE *out)
{
    if (cm_scoreboard_leaves_out(b)) left_out(ctx, b, out);
    else if (cm_scoreboard_sets(b) == 1) one_set(ctx, cm_scoreboard_set(b, 0), out);
    else scoreboard(ctx, b, out);
}
