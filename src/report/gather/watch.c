/* SPDX-License-Identifier: Apache-2.0 */
/* watch.c - compare a training log with the prediction of its step: is the run as fast as it should be, and when does
   it end? */
#include <math.h>
#include "base/text.h"
#include "report/report.h"

#define SLOWED 1.1 /* recent steps over the median of all, from which a run has slowed down */

static void free_predicted(void *report) { cm__predict_report_free(report); }

/* "1.25", "14,165": no more digits than a prediction has. */
static const char *ratio_text(cm__ctx *ctx, double ratio)
{
    char buf[32];
    if (ratio < 999.5) return cm__format(ctx, "%.3g", ratio);
    return cm__text_copy(ctx, cm__grouped(buf, sizeof buf, (int64_t)fmin(ratio, 1e15)));
}

static const char *verdict_of(cm__ctx *ctx, const cm__watch_report *r, const cm_prediction_info *p)
{
    double ratio = r->log.recent_s / p->step_time_s, drift = r->log.recent_s / r->log.median_s;
    if (drift > SLOWED)
        return cm__format(ctx, "the run has slowed down: recent steps take %.3g times the median%s; look for "
                               "throttling, a slow node or data loading", drift,
                          r->inside ? "" : cm__format(ctx, " and %.3g times the prediction", ratio));
    if (r->inside) return "as predicted: the measured step is inside the 90 % interval";
    if (ratio > 1)
        return cm__format(ctx,
                          "%s times slower than predicted, outside the interval: 'centimani compare' on a profiler "
                               "trace shows where", ratio_text(ctx, ratio));
    return cm__format(ctx,
                      "%s times faster than predicted, outside the interval: check batch, precision and sequence "
                           "length", ratio_text(ctx, 1 / ratio));
}

cm_status cm__watch_report_new(const char *path, const cm__predict_request *asked, cm__watch_report **report,
                               cm_diag *diag)
{
    cm__ctx *ctx = cm__ctx_new(diag);
    if (!ctx) return CM_ERR_MEMORY;
    if (setjmp(ctx->trap)) return cm__ctx_abandon(ctx);
    cm__watch_report *r = cm__alloc(ctx, sizeof *r);
    r->ctx = ctx;
    r->path = cm__text_copy(ctx, path);
    cm__pass_on(ctx, cm_train_log_read(path, &r->log, diag));
    cm__pass_on(ctx, cm__predict_report_new(asked, &r->predicted, diag));
    cm__defer(ctx, free_predicted, r->predicted);
    const cm_prediction_info *p = cm_prediction_get_info(r->predicted->prediction);
    r->inside = r->log.recent_s >= p->interval_s[0] && r->log.recent_s <= p->interval_s[1];
    r->remaining_s = (r->log.total - r->log.done) * r->log.recent_s;
    r->verdict = verdict_of(ctx, r, p);
    cm__gates_add(ctx, &r->gates, (cm__gate){"fail-below", "", asked->limits.speed, p->step_time_s / r->log.recent_s,
                                             {p->interval_s[0] / r->log.recent_s, p->interval_s[1] / r->log.recent_s},
                                             .least = true});
    ctx->diag = NULL;
    *report = r;
    return CM_OK;
}

void cm__watch_report_free(cm__watch_report *report)
{
    if (report) cm__ctx_free(report->ctx);
}
