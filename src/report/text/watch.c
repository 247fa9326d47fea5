/* SPDX-License-Identifier: Apache-2.0 */
/* watch.c - print a training log beside the prediction of its step as text. */
#include <math.h>
#include "base/text.h"
#include "report/render.h"

static const char *seconds(cm__ctx *ctx, double s)
{
    char buf[32];
    return cm__format(ctx, "%ss", cm__si_small(buf, sizeof buf, s));
}

void cm__watch_text(cm__ctx *ctx, const cm__watch_report *r, FILE *out)
{
    const cm_prediction_info *p = cm_prediction_get_info(r->predicted->prediction);
    const cm_graph           *step = r->predicted->graph->step;
    fprintf(out, "# centimani %s, %s beside the prediction of %s on %s\n", CM_VERSION, cm__printable(ctx, r->path),
            cm__printable(ctx, r->predicted->asked.graph.model), cm_device_get_info(r->predicted->device)->name);
    fprintf(out, "# predicted: batch %lld%s, %s, %s, %s\n\n", (long long)p->batch, cm__seq_text(ctx, step),
            cm__precision_text(ctx, step), cm_optimizer_name(cm_graph_optimizer(step)),
            cm_runtime_name(p->runtime));
    fprintf(out, "measured     %s per step now, %s in the median of %d logged times\n", seconds(ctx, r->log.recent_s),
            seconds(ctx, r->log.median_s), r->log.rows);
    fprintf(out, "predicted    %s, 90 %% interval %s to %s\n", seconds(ctx, p->step_time_s),
            seconds(ctx, p->interval_s[0]),
            seconds(ctx, p->interval_s[1]));
    if (!isnan(r->log.total)) {
        double left = r->remaining_s;
        fprintf(out, "progress     %.0f of %.0f steps; %s\n", r->log.done, r->log.total,
                left < 1 ? "done" : cm__format(ctx, "%s left at the measured speed", cm__duration_text(ctx, left)));
    } else fprintf(out, "progress     %.0f steps; the log does not say how many there will be\n", r->log.done);
    cm__print_note(ctx, out, "", "verdict", 13, r->verdict);
    cm__print_gates(ctx, out, 13, &r->gates);
}
