/* SPDX-License-Identifier: Apache-2.0 */
/* calibrate.c - print a calibration as text: every step before and after, then the changed factors. */
#include "base/text.h"
#include "report/render.h"
#include "report/table.h"

static const cm__column columns[] = {
    {"model", NULL, true},       {"batch", "", false},   {"measured", "s", false}, {"before", "s", false},
    {"error", "%", false}, {"after", "s", false}, {"error", "%", false},
};

static const char *seconds(cm__ctx *ctx, double s)
{
    return cm__cell_si(ctx, s);
}

static const char *error_of(cm__ctx *ctx, double predicted, double measured)
{
    return cm__format(ctx, "%+.1f", 100 * (predicted / measured - 1));
}

void cm__calibrate_text(cm__ctx *ctx, const cm__calibrate_report *r, FILE *out)
{
    const cm_calibration *c = r->calibration;
    fprintf(out, "# centimani %s, %s calibrated with %s\n\n", CM_VERSION, cm__printable(ctx, r->device),
            cm__printable(ctx, r->log));
    cm__table table = cm__table_new(ctx, out, columns, sizeof columns / sizeof *columns);
    for (int32_t i = 0; i < cm_calibration_rows(c); i++) {
        const cm_calibration_row *row = cm_calibration_get_row(c, i);
        const char *cells[] = {cm__printable(ctx, row->model),
                               cm__cell_count(ctx, row->batch),
                               seconds(ctx, row->measured_s),
                               seconds(ctx, row->before_s),
                               error_of(ctx, row->before_s, row->measured_s),
                               seconds(ctx, row->after_s),
                               error_of(ctx, row->after_s, row->measured_s)};
        cm__table_row(&table, cells);
    }
    cm__table_print(&table);
    fprintf(out, "\nmean error %.1f %% before, %.1f %% after\n", 100 * cm_calibration_before(c),
            100 * cm_calibration_after(c));
    for (int32_t i = 0; i < cm_calibration_changes(c); i++) {
        const cm_calibration_change *k = cm_calibration_get_change(c, i);
        fprintf(out, "%-18s %.4g -> %.4g\n", k->what, k->from, k->to);
    }
    if (!cm_calibration_changes(c)) fprintf(out, "nothing changed: the profile already predicts these steps\n");
}
