/* SPDX-License-Identifier: Apache-2.0 */
/* report.c - the table of output formats, and printing of a report in one of them. */
#include "report/sheet.h"
#include "report/render.h"

const cm__renderer cm__renderers[CM__FORMATS] = {
    [CM__FORMAT_TEXT] = {.name = "text",
                         .graph = cm__graph_text,
                         .models = cm__models_text,
                         .devices = cm__devices_text,
                         .lookups = cm__lookups_text,
                         .version = cm__version_text,
                         .calibrate = cm__calibrate_text,
                         .fit = cm__fit_text,
                         .predict = cm__predict_text,
                         .memory = cm__memory_text,
                         .batch = cm__batch_text,
                         .fits = cm__fits_text,
                         .validate = cm__validate_text,
                         .bench = cm__bench_text,
                         .plan = cm__plan_text,
                         .scale = cm__scale_text,
                         .explain = cm__explain_text,
                         .rank = cm__rank_text,
                         .mix = cm__mix_text,
                         .job = cm__job_text,
                         .watch = cm__watch_text,
                         .compare = cm__compare_text,
                         .trace_fit = cm__trace_fit_text,
                         .diff = cm__diff_text},
    [CM__FORMAT_JSON] = {.name = "json",
                         .graph = cm__graph_json,
                         .models = cm__models_json,
                         .devices = cm__devices_json,
                         .lookups = cm__lookups_json,
                         .version = cm__version_json,
                         .calibrate = cm__calibrate_json,
                         .fit = cm__fit_json,
                         .predict = cm__predict_json,
                         .memory = cm__memory_json,
                         .batch = cm__batch_json,
                         .fits = cm__fits_json,
                         .validate = cm__validate_json,
                         .bench = cm__bench_json,
                         .plan = cm__plan_json,
                         .scale = cm__scale_json,
                         .explain = cm__explain_json,
                         .rank = cm__rank_json,
                         .mix = cm__mix_json,
                         .job = cm__job_json,
                         .watch = cm__watch_json,
                         .compare = cm__compare_json,
                         .trace_fit = cm__trace_fit_json,
                         .diff = cm__diff_json},
    [CM__FORMAT_CSV] = {.name = "csv",
                        .graph = cm__graph_csv,
                        .models = cm__models_csv,
                        .devices = cm__devices_csv,
                        .lookups = cm__lookups_csv,
                        .fit = cm__fit_csv,
                        .predict = cm__predict_csv,
                        .memory = cm__memory_csv,
                        .batch = cm__batch_csv,
                        .fits = cm__fits_csv,
                        .validate = cm__validate_csv,
                        .plan = cm__plan_csv,
                        .scale = cm__scale_csv,
                        .explain = cm__explain_csv,
                        .rank = cm__rank_csv,
                        .mix = cm__mix_csv,
                        .job = cm__job_csv,
                        .watch = cm__watch_csv},
    [CM__FORMAT_HTML] = {.name = "html", .validate = cm__validate_html},
};

/* Run a statement of a renderer, which prints to `to`, in a new context; a failure of the context becomes the status.
   Text is laid out for the reader's width, the other formats are not. */
#define PRINT(format, statement)                                                                                       \
    cm__ctx *ctx = cm__ctx_new(diag);                                                                                  \
    if (!ctx) return CM_ERR_MEMORY;                                                                                    \
    if (setjmp(ctx->trap)) return cm__ctx_abandon(ctx);                                                                \
    FILE *to = (format) == CM__FORMAT_TEXT ? cm__sheet_open(ctx, out) : out;                                            \
    statement;                                                                                                         \
    if (to != out) cm__sheet_close();                                                                                   \
    cm__ctx_free(ctx);                                                                                                 \
    return CM_OK

cm_status cm__graph_report_print(const cm__graph_report *report, cm__output_format format, FILE *out, cm_diag *diag)
{
    PRINT(format, cm__renderers[format].graph(ctx, report, to));
}

cm_status cm__models_report_print(const cm__models_report *report, cm__output_format format, FILE *out, cm_diag *diag)
{
    PRINT(format, cm__renderers[format].models(ctx, report, to));
}

cm_status cm__devices_report_print(const cm__devices_report *report, cm__output_format format, FILE *out,
                                   cm_diag *diag)
{
    PRINT(format, cm__renderers[format].devices(ctx, report, to));
}

cm_status cm__lookups_report_print(const cm__lookups_report *report, cm__output_format format, FILE *out,
                                   cm_diag *diag)
{
    PRINT(format, cm__renderers[format].lookups(ctx, report, to));
}

cm_status cm__fit_report_print(const cm__fit_report *report, cm__output_format format, FILE *out, cm_diag *diag)
{
    PRINT(format, cm__renderers[format].fit(ctx, report, to));
}

cm_status cm__calibrate_report_print(const cm__calibrate_report *report, cm__output_format format, FILE *out,
                                     cm_diag *diag)
{
    PRINT(format, cm__renderers[format].calibrate(ctx, report, to));
}

cm_status cm__predict_report_print(const cm__predict_report *report, cm__output_format format, FILE *out,
                                   cm_diag *diag)
{
    PRINT(format, cm__renderers[format].predict(ctx, report, to));
}

cm_status cm__diff_report_print(const cm__diff_report *report, cm__output_format format, FILE *out, cm_diag *diag)
{
    PRINT(format, cm__renderers[format].diff(ctx, report, to));
}

cm_status cm__bench_report_print(const cm__bench_report *report, cm__output_format format, FILE *out, cm_diag *diag)
{
    PRINT(format, cm__renderers[format].bench(ctx, report, to));
}

cm_status cm__version_print(cm__output_format format, FILE *out, cm_diag *diag)
{
    PRINT(format, cm__renderers[format].version(ctx, to));
}

cm_status cm__memory_report_print(const cm__memory_report *report, cm__output_format format, FILE *out, cm_diag *diag)
{
    PRINT(format, cm__renderers[format].memory(ctx, report, to));
}

cm_status cm__batch_report_print(const cm__memory_report *report, cm__output_format format, FILE *out, cm_diag *diag)
{
    PRINT(format, cm__renderers[format].batch(ctx, report, to));
}

cm_status cm__fits_report_print(const cm__memory_report *report, cm__output_format format, FILE *out, cm_diag *diag)
{
    PRINT(format, cm__renderers[format].fits(ctx, report, to));
}

cm_status cm__scoreboard_print(const cm_scoreboard *scoreboard, cm__output_format format, FILE *out, cm_diag *diag)
{
    PRINT(format, cm__renderers[format].validate(ctx, scoreboard, to));
}

cm_status cm__plan_report_print(const cm__plan_report *report, cm__output_format format, FILE *out, cm_diag *diag)
{
    PRINT(format, cm__renderers[format].plan(ctx, report, to));
}

cm_status cm__scale_report_print(const cm__scale_report *report, cm__output_format format, FILE *out, cm_diag *diag)
{
    PRINT(format, cm__renderers[format].scale(ctx, report, to));
}

cm_status cm__rank_report_print(const cm__rank_report *report, cm__output_format format, FILE *out, cm_diag *diag)
{
    PRINT(format, cm__renderers[format].rank(ctx, report, to));
}

cm_status cm__mix_report_print(const cm__mix_report *report, cm__output_format format, FILE *out, cm_diag *diag)
{
    PRINT(format, cm__renderers[format].mix(ctx, report, to));
}

cm_status cm__watch_report_print(const cm__watch_report *report, cm__output_format format, FILE *out, cm_diag *diag)
{
    PRINT(format, cm__renderers[format].watch(ctx, report, to));
}

cm_status cm__job_report_print(const cm__job_report *report, cm__output_format format, FILE *out, cm_diag *diag)
{
    PRINT(format, cm__renderers[format].job(ctx, report, to));
}

cm_status cm__job_script_print(const cm__job_report *report, const cm_job_entry *entry,
                               const cm__script_options *options,
                               FILE *out, cm_diag *diag)
{
    PRINT(CM__FORMATS, cm__job_script(ctx, report, entry, options, to)); /* a program, not a text */
}

cm_status cm__explain_report_print(const cm__explain_report *report, cm__output_format format, FILE *out,
                                   cm_diag *diag)
{
    PRINT(format, cm__renderers[format].explain(ctx, report, to));
}

cm_status cm__compare_report_print(const cm__compare_report *report, cm__output_format format, FILE *out,
                                   cm_diag *diag)
{
    PRINT(format, cm__renderers[format].compare(ctx, report, to));
}

cm_status cm__trace_fit_print(const cm__trace_fit_report *report, cm__output_format format, FILE *out, cm_diag *diag)
{
    PRINT(format, cm__renderers[format].trace_fit(ctx, report, to));
}
