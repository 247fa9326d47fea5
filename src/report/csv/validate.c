/* SPDX-License-Identifier: Apache-2.0 */
/* validate.c - print a comparison with published results as CSV, with exact numbers. */
#include <math.h>
#include <string.h>
#include "report/csv/csv.h"
#include "report/render.h"

/* One line per row and predictor, because sets have different predictors. */
static void row(cm__ctx *ctx, const cm_validation *v, const cm_validation_row *r, int32_t p, FILE *out)
{
    cm__csv_text(out, cm_validation_get_info(v).set, ',');
    cm__csv_text(out, r->where, ',');
    cm__csv_text(out, cm__printable(ctx, r->model), ',');
    cm__csv_text(out, r->device, ',');
    fprintf(out, "%d,", r->devices);
    cm__csv_text(out, r->setting, ',');
    cm__csv_text(out, r->metric, ',');
    cm__csv_text(out, r->unit, ',');
    cm__csv_text(out, cm_evidence_name(r->evidence), ',');
    cm__csv_text(out, cm_validation_get_summary(v, p)->predictor, ',');
    cm__csv_number(out, r->measured, ',');
    cm__csv_number(out, r->predicted[p], ',');
    cm__csv_number(out, r->kind == CM_ROW_FIGURE ? r->predicted[p] / r->measured - 1 : NAN, ',');
    cm__csv_number(out, p ? NAN : r->interval[0], ',');
    cm__csv_number(out, p ? NAN : r->interval[1], ',');
    cm__csv_text(out, !p && r->reason ? cm__printable(ctx, r->reason) : "", '\n');
}

void cm__validate_csv(cm__ctx *ctx, const cm_scoreboard *b, FILE *out)
{
    fputs("set,where,model,device,devices,setting,metric,unit,evidence,predictor,measured,predicted,error,low,high,"
          "reason\n", out);
    for (int32_t s = 0; s < cm_scoreboard_sets(b); s++) {
        const cm_validation *v = cm_scoreboard_set(b, s);
        for (int32_t i = 0; i < cm_validation_rows(v); i++)
            for (int32_t p = 0; p < cm_validation_summaries(v); p++) row(ctx, v, cm_validation_get_row(v, i), p, out);
    }
}
