/* SPDX-License-Identifier: Apache-2.0 */
/* compare.c - print a comparison with a trace, and the tables learned from a trace, as text. */
#include <math.h>
#include "base/text.h"
#include "report/render.h"
#include "report/table.h"

#define ROWS_MOST 24 /* of each table; --json has all */

static const cm__column kinds[] = {{"what", NULL, true},        {"phase", NULL, false},     {"measured", "ms", false},
                                   {"predicted", "ms", false}, {"difference", "ms", false}};
static const cm__column calls[] = {{"kernel call", NULL, true}, {"runs", "", false},        {"measured", "us", false},
                                   {"predicted", "us", false}, {"estimated by", NULL, false}};

static const char *milliseconds(cm__ctx *ctx, double s) { return cm__format(ctx, "%.3f", 1e3 * s); }

static const char *phase_text(cm_phase phase) { return phase < CM_PHASES ? cm_phase_name(phase) : "step"; }

static void print_kinds(cm__ctx *ctx, const cm__compare_report *r, FILE *out)
{
    cm__table table = cm__table_new(ctx, out, kinds, 5);
    double    rest = 0;
    for (int32_t i = 0; i < r->n_differences; i++) {
        const cm__difference *d = &r->differences[i];
        double                by = d->measured_s - d->predicted_s;
        const char *cells[] = {cm__printable(ctx, d->what), phase_text(d->phase), milliseconds(ctx, d->measured_s),
                               milliseconds(ctx, d->predicted_s), cm__format(ctx, "%+.3f", 1e3 * by)};
        if (i < ROWS_MOST) cm__table_row(&table, cells);
        else rest += by;
    }
    if (r->n_differences > ROWS_MOST)
        cm__table_row(&table, (const char *[]){"others", "", "", "", cm__format(ctx, "%+.3f", 1e3 * rest)});
    cm__table_print(&table);
}

/* The average run of each call that both sides have. */
static void print_calls(cm__ctx *ctx, const cm__compare_report *r, FILE *out)
{
    cm__table table = cm__table_new(ctx, out, calls, 5);
    int32_t   shown = 0;
    for (int32_t i = 0; i < r->n_calls && shown < ROWS_MOST / 2; i++) {
        const cm__compared_call *c = &r->calls[i];
        if (!(c->measured_runs > 0) || !(c->predicted_runs > 0)) continue;
        const char *cells[] = {cm__printable(ctx, c->call), cm__format(ctx, "%.0f", c->measured_runs),
                               cm__format(ctx, "%.1f", 1e6 * c->measured_s / c->measured_runs),
                               cm__format(ctx, "%.1f", 1e6 * c->predicted_s / c->predicted_runs), cm_how_name(c->how)};
        cm__table_row(&table, cells);
        shown++;
    }
    if (!shown) return;
    fprintf(out, "\nkernel calls that differ most, average time of one\n");
    cm__table_print(&table);
}

void cm__compare_text(cm__ctx *ctx, const cm__compare_report *r, FILE *out)
{
    const cm_timeline_info   *t = cm_timeline_get_info(r->timeline);
    const cm_prediction_info *p = cm_prediction_get_info(r->predicted->prediction);
    fprintf(out, "# centimani %s, %s of %s on %s, batch %lld\n", CM_VERSION, cm__printable(ctx, r->trace),
            cm__printable(ctx, r->predicted->asked.graph.model), cm_device_get_info(r->predicted->device)->id,
            (long long)p->batch);
    fprintf(out, "# trace        %d steps on %s, %.0f kernels per step%s\n", t->steps,
            cm__printable(ctx, t->device ? t->device : "an unnamed device"), t->kernels,
            t->shapes ? "" : "; no shapes: record with record_shapes=True");
    double error = 100 * (p->step_time_s / t->step_time_s - 1);
    fprintf(out, "\nYour step takes %s ms, predicted %s ms (%+.1f %%). The device is busy for %s ms of it, predicted "
                 "%s ms.\n",
            milliseconds(ctx, t->step_time_s), milliseconds(ctx, p->step_time_s),
            fabs(error) < 0.05 ? 0 : error, milliseconds(ctx, t->device_time_s),
            milliseconds(ctx, p->device_time_s));
    fprintf(out, "%.1f %% of the kernels' time are calls that the prediction has too.\n\n",
            100 * r->matched_s / (t->device_time_s + t->overlapped_s));
    print_kinds(ctx, r, out);
    print_calls(ctx, r, out);
}

void cm__trace_fit_text(cm__ctx *ctx, const cm__trace_fit_report *r, FILE *out)
{
    const cm_timeline_info *t = cm_timeline_get_info(r->timeline);
    double                  known = 0, all = t->device_time_s + t->overlapped_s;
    for (int32_t i = 0; i < cm_timeline_calls(r->timeline); i++) {
        const cm_timeline_call *c = cm_timeline_get_call(r->timeline, i);
        if (c->call) known += c->time_s;
    }
    fprintf(out, "# centimani %s, kernel tables from %s\n", CM_VERSION, cm__printable(ctx, r->path));
    fprintf(out, "# trace        %d steps on %s, %.0f kernels per step, %lld events\n", t->steps,
            cm__printable(ctx, t->device ? t->device : "an unnamed device"), t->kernels, (long long)t->events);
    fprintf(out, "\n%d rows in %d tables: %.1f %% of the kernels' time\n", r->rows, r->tables, 100 * known / all);
    for (int32_t i = 0, shown = 0; i < cm_timeline_calls(r->timeline) && shown < ROWS_MOST / 2; i++) {
        const cm_timeline_call *c = cm_timeline_get_call(r->timeline, i);
        if (c->call || c->time_s < 0.002 * all) continue;
        fprintf(out, "%s %-40s %5.1f %%\n", shown++ ? "          " : "left out: ", cm__printable(ctx, c->what),
                100 * c->time_s / all);
    }
    if (!t->shapes) fprintf(out, "the trace has no shapes; record it with record_shapes=True\n");
}
