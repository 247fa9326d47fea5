/* SPDX-License-Identifier: Apache-2.0 */
/* advice.c - if nothing meets the limits: which limit to relax, and by how much. */
#include <math.h>
#include "base/text.h"
#include "job/job.h"

#define HOUR 3600.0
#define DAY 86400.0

/* How far an entry exceeds a limit, as a factor; 1: it does not. */
static double excess(double value, double limit) { return limit > 0 ? fmax(1, value / limit) : 1; }

/* The entry that needs the least of one limit while the others hold; both: the least of both together. */
static const cm_job_entry *nearest(const cm_job *j, bool time, bool money)
{
    const cm_job_options *o = &j->options;
    const cm_job_entry   *best = NULL;
    double                least = INFINITY;
    for (int32_t i = 0; i < j->n_entries; i++) {
        const cm_job_entry *e = &j->entries[i];
        double              late = excess(e->time_s, o->within_s), dear = excess(e->cost_usd, o->budget_usd);
        if (e->at.state != CM_RANK_OVER || (!time && late > 1) || (!money && dear > 1)) continue;
        if (cm__where_fails(&j->where, &e->at, true) || !(late * dear < least)) continue;
        best = e;
        least = late * dear;
    }
    return best;
}

const char *cm__job_time_text(const cm_job *j, double time_s)
{
    if (time_s >= 1000 * DAY) return cm__format(j->ctx, "%.0f days", time_s / DAY);
    return time_s < 2 * DAY ? cm__format(j->ctx, "%.3g h", time_s / HOUR)
                            : cm__format(j->ctx, "%.3g days", time_s / DAY);
}

#define MILLION 1e6

static const char *money_text(const cm_job *j, double usd)
{
    if (usd < MILLION) return cm__format(j->ctx, "%.0f", usd);
    return cm__format(j->ctx, usd < 1000 * MILLION ? "%.3g million" : "%.0f million", ceil(usd / MILLION * 100) / 100);
}

static const char *where_text(const cm_job *j, const cm_job_entry *e)
{
    return cm__format(j->ctx, "%d x %s%s%s", e->n, cm_device_get_info(e->at.device)->id, e->provider ? " at " : "",
                      e->provider ? e->provider : "");
}

static void advise(cm_job *j, bool time, bool money)
{
    const cm_job_options *o = &j->options;
    const cm_job_entry   *e = nearest(j, time, money);
    if (!e) return;
    cm_job_advice a = {.within_s = time ? e->time_s : NAN, .budget_usd = money ? e->cost_usd : NAN, .entry = e};
    const char   *more = time ? cm__format(j->ctx, "the deadline from %s to %s", cm__job_time_text(j, o->within_s),
                                           cm__job_time_text(j, e->time_s))
                              : "";
    if (money)
        more = cm__format(j->ctx, "%s%sthe budget from %s to %s USD", more, time ? " and " : "",
                          money_text(j, o->budget_usd), money_text(j, ceil(e->cost_usd)));
    a.text = cm__format(j->ctx, "raise %s: %s", more, where_text(j, e));
    j->advices[j->n_advices++] = a;
}

void cm__job_advise(cm_job *j)
{
    bool timed = j->options.within_s > 0, paid = j->options.budget_usd > 0;
    if (j->n_placed) return;
    if (timed) advise(j, true, false);
    if (paid) advise(j, false, true);
    if (timed && paid && !j->n_advices) advise(j, true, true);
}
