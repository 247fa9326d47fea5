/* SPDX-License-Identifier: Apache-2.0 */
/* report.c - the formats there are, and printing a report in one of them. */
#include "report/report.h"

const cm__renderer cm__renderers[CM__FORMATS] = {
    [CM__FORMAT_TEXT] = {"text", cm__graph_text, cm__models_text, cm__devices_text, cm__version_text, cm__fit_text,
                         cm__predict_text},
    [CM__FORMAT_JSON] = {"json", cm__graph_json, cm__models_json, cm__devices_json, cm__version_json, cm__fit_json,
                         cm__predict_json},
    [CM__FORMAT_CSV] = {"csv", cm__graph_csv, NULL, NULL, NULL, NULL, NULL},
};

/* Runs a renderer's statement with a context of its own, whose failure becomes the status. */
#define PRINT(statement)                                                                                               \
    cm__ctx *ctx = cm__ctx_new(diag);                                                                                  \
    if (!ctx) return CM_ERR_MEMORY;                                                                                    \
    if (setjmp(ctx->trap)) return cm__ctx_abandon(ctx);                                                                \
    statement;                                                                                                         \
    cm__ctx_free(ctx);                                                                                                 \
    return CM_OK

cm_status cm__graph_report_print(const cm__graph_report *report, cm__output_format format, FILE *out, cm_diag *diag)
{
    PRINT(cm__renderers[format].graph(ctx, report, out));
}

cm_status cm__models_report_print(const cm__models_report *report, cm__output_format format, FILE *out, cm_diag *diag)
{
    PRINT(cm__renderers[format].models(ctx, report, out));
}

cm_status cm__devices_report_print(const cm__devices_report *report, cm__output_format format, FILE *out,
                                   cm_diag *diag)
{
    PRINT(cm__renderers[format].devices(ctx, report, out));
}

cm_status cm__fit_report_print(const cm__fit_report *report, cm__output_format format, FILE *out, cm_diag *diag)
{
    PRINT(cm__renderers[format].fit(ctx, report, out));
}

cm_status cm__predict_report_print(const cm__predict_report *report, cm__output_format format, FILE *out,
                                   cm_diag *diag)
{
    PRINT(cm__renderers[format].predict(ctx, report, out));
}

cm_status cm__version_print(cm__output_format format, FILE *out, cm_diag *diag)
{
    PRINT(cm__renderers[format].version(ctx, out));
}
