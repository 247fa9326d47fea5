/* SPDX-License-Identifier: Apache-2.0 */
/* advice.c - if nothing meets the limits: which limit to relax, and by how much. */
#include <math.h>
#include <string.h>
#include "base/text.h"
#include "job/job.h"

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
    char buf[48];
    return cm__text_copy(j->ctx, cm__duration(buf, sizeof buf, time_s, time_s, 3));
}

/* `value` rounded up to so many significant digits, so that a question with the printed limit succeeds. */
static double rounded_up(double value, int digits)
{
    double last = pow(10, floor(log10(value)) - digits + 1);
    return ceil(value / last) * last;
}

/* "the deadline from 60 s to 37.1 min". Uses more digits if both times would otherwise print as the same text. */
static const char *later_text(const cm_job *j, double from_s, double to_s)
{
    char   from[48], to[48];
    double unit_s = cm__time_unit_for(to_s)->seconds;
    for (int digits = 3; digits < 7; digits++) {
        cm__duration(from, sizeof from, from_s, from_s, digits);
        cm__duration(to, sizeof to, unit_s * rounded_up(to_s / unit_s, digits), to_s, digits);
        if (strcmp(from, to) != 0) break;
    }
    return cm__format(j->ctx, "the deadline from %s to %s", from, to);
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
    const char   *more = time ? later_text(j, o->within_s, e->time_s) : "";
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
