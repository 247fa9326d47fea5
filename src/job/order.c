/* SPDX-License-Identifier: Apache-2.0 */
/* order.c - which entries meet the limits, and in which order they are ranked. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/text.h"
#include "job/job.h"
#include "rank/close.h"

#define HOUR 3600.0
#define DAY 86400.0

/* Without a deadline, jobs that take longer are not recommended. BLOOM-176B, one of the longest published runs, took
   3.5 months (genci.fr, "BLOOM: one of the largest open multilingual NLP models"). */
#define LONGEST (120 * DAY)

#define NEAR 1.02 /* more devices of a provider are preferred that finish earlier for at most 2 % more (our choice) */

/* Without an objective: cost, or time if no entry has a price. */
static cm_objective objective_of(const cm_job *j)
{
    cm_objective asked = j->options.rank.objective;
    if (asked != CM_OBJECTIVE_THROUGHPUT) return asked;
    if (j->options.budget_usd > 0 && !(j->options.within_s > 0)) return CM_OBJECTIVE_TIME;
    for (int32_t i = 0; i < j->n_entries; i++)
        if (!isnan(j->entries[i].cost_usd)) return CM_OBJECTIVE_COST;
    return CM_OBJECTIVE_TIME;
}

/* The objective's value at an end of the interval, or at the prediction itself (NAN). */
static double value_at(const cm_job *j, const cm_job_entry *e, double time_s)
{
    double part = time_s / e->time_s;
    switch (j->info.objective) {
    case CM_OBJECTIVE_DEVICES: return e->n;
    case CM_OBJECTIVE_TIME: return time_s / HOUR;
    case CM_OBJECTIVE_COST: return e->cost_usd * part;
    case CM_OBJECTIVE_PRICE: return e->at.samples_per_usd / part;
    case CM_OBJECTIVE_ENERGY: return (j->n_networks ? e->at.kwh : e->at.energy_j_per_sample) * part;
    default: return e->at.prediction.throughput_samples_s / part;
    }
}

static void settle_value(const cm_job *j, cm_job_entry *e)
{
    if (!e->at.fits) return;
    double ends[2] = {value_at(j, e, e->interval_s[0]), value_at(j, e, e->interval_s[1])};
    e->at.value = value_at(j, e, e->time_s);
    e->at.interval[0] = fmin(ends[0], ends[1]);
    e->at.interval[1] = fmax(ends[0], ends[1]);
}

static bool too_dear(const cm_job *j, const cm_job_entry *e)
{
    return j->options.budget_usd > 0 && !(e->cost_usd <= j->options.budget_usd);
}

/* True: the speed of a job is a side of the question, not its objective. */
static bool time_is_secondary(const cm_job *j)
{
    cm_objective o = j->info.objective;
    return o == CM_OBJECTIVE_COST || o == CM_OBJECTIVE_PRICE || o == CM_OBJECTIVE_ENERGY;
}

/* The deadline: as asked, or the longest sensible time if some entries take longer and others meet all limits. */
static double deadline_of(cm_job *j)
{
    bool longer = false, shorter = false;
    if (j->options.within_s > 0 || !time_is_secondary(j)) return j->options.within_s;
    for (int32_t i = 0; i < j->n_entries; i++) {
        const cm_job_entry *e = &j->entries[i];
        if (!e->at.fits || e->at.state == CM_RANK_OVER || !isfinite(e->at.value) || too_dear(j, e)) continue;
        if (cm__where_fails(&j->where, &e->at, true)) continue;
        if (e->time_s > LONGEST) longer = true;
        else shorter = true;
    }
    j->info.within_assumed = longer && shorter;
    return j->info.within_assumed ? LONGEST : 0;
}

static void settle_state(const cm_job *j, cm_job_entry *e)
{
    const cm_job_options *o = &j->options;
    bool                  late = j->info.within_s > 0 && !(e->time_s <= j->info.within_s), dear = too_dear(j, e);
    if (!e->at.fits || e->at.state == CM_RANK_OVER) return; /* over: no queue takes it */
    const char *failed = cm__where_fails(&j->where, &e->at, true);
    if ((dear && isnan(e->cost_usd)) || !isfinite(e->at.value)) {
        e->at.state = CM_RANK_NO_VALUE;
        e->at.reason = isnan(e->at.price_hour)
                           ? cm__format(j->ctx, "no price is known: --price %s=USD",
                                        cm_device_get_info(e->at.device)->id)
                           : "a number that the objective needs is unknown";
    } else if (late || dear || failed) {
        e->at.state = CM_RANK_OVER;
        const char *takes = cm__job_time_text(j, e->time_s);
        e->at.reason = late && dear ? cm__format(j->ctx, "takes %s and costs %.0f USD", takes, e->cost_usd)
                       : late ? cm__format(j->ctx, "takes %s, more than %s%s", takes,
                                           cm__job_time_text(j, j->info.within_s),
                                           j->info.within_assumed ? " (assumed: --within)" : "")
                       : dear ? cm__format(j->ctx, "costs %.0f USD, more than %.0f", e->cost_usd, o->budget_usd)
                              : cm__format(j->ctx, "its %s does not meet the condition", failed);
    } else if (cm__rank_too_uncertain(&e->at.prediction)) {
        e->at.too_uncertain = true;
        e->at.state = CM_RANK_UNCERTAIN;
        e->at.reason = cm__format(j->ctx, "too uncertain to rank: %s to %s", cm__job_time_text(j, e->interval_s[0]),
                                  cm__job_time_text(j, e->interval_s[1]));
    }
}

static _Thread_local bool less_is_better; /* qsort() has no user argument */

static int by_text(const char *a, const char *b) { return strcmp(a ? a : "", b ? b : ""); }

static int by_value(const void *left, const void *right)
{
    const cm_job_entry *a = *(cm_job_entry *const *)left, *b = *(cm_job_entry *const *)right;
    if (a->at.state != b->at.state) return a->at.state < b->at.state ? -1 : 1;
    double x = a->at.value, y = b->at.value;
    if (a->at.state == CM_RANK_PLACED && x != y) return (x < y) == less_is_better ? -1 : 1;
    if (a->at.state == CM_RANK_PLACED && a->cost_usd != b->cost_usd && !isnan(a->cost_usd) && !isnan(b->cost_usd))
        return a->cost_usd < b->cost_usd ? -1 : 1;
    int order = strcmp(cm_device_get_info(a->at.device)->id, cm_device_get_info(b->at.device)->id);
    if (!order) order = a->n - b->n;
    if (!order) order = by_text(a->provider, b->provider);
    if (!order) order = by_text(a->cluster, b->cluster);
    return order ? order : by_text(a->instance, b->instance);
}

static bool same_place(const cm_job_entry *a, const cm_job_entry *b)
{
    return a->at.device == b->at.device && !by_text(a->cluster, b->cluster) && !by_text(a->provider, b->provider) &&
           !by_text(a->instance, b->instance) && !by_text(a->basis, b->basis);
}

static double worse_by(const cm_job_entry *e, const cm_job_entry *best)
{
    return less_is_better ? e->at.value / best->at.value : best->at.value / e->at.value;
}

/* A provider's device, in whichever of its instances. */
static bool same_offer(const cm_job_entry *a, const cm_job_entry *b)
{
    if (!a->provider || !b->provider) return same_place(a, b);
    return a->at.device == b->at.device && !by_text(a->provider, b->provider) && !by_text(a->basis, b->basis);
}

/* If time is secondary, the fastest of a provider's entries that are nearly as good as its best one comes first. */
static void prefer_faster(cm_job *j)
{
    for (int32_t i = 0; i < j->n_placed && time_is_secondary(j); i++) {
        bool    first = true;
        int32_t best = i;
        for (int32_t k = 0; k < i && first; k++) first = !same_offer(j->order[k], j->order[i]);
        for (int32_t k = i + 1; first && k < j->n_placed; k++)
            if (same_offer(j->order[k], j->order[i]) && worse_by(j->order[k], j->order[i]) <= NEAR &&
                j->order[k]->time_s < j->order[best]->time_s)
                best = k;
        cm_job_entry *chosen = j->order[best];
        memmove(&j->order[i + 1], &j->order[i], (size_t)(best - i) * sizeof *j->order);
        j->order[i] = chosen;
    }
}

/* True: no other ranked entry is both faster and cheaper. */
static bool undominated(const cm_job *j, const cm_job_entry *e)
{
    if (isnan(e->cost_usd)) return false;
    for (int32_t i = 0; i < j->n_placed; i++) {
        const cm_job_entry *o = j->order[i];
        bool less = o->time_s < e->time_s || o->cost_usd < e->cost_usd;
        if (o->time_s <= e->time_s && o->cost_usd <= e->cost_usd && less) return false;
    }
    return true;
}

/* Entries that are all too uncertain are ranked among themselves. */
static void place_uncertain(cm_job *j)
{
    for (int32_t i = 0; i < j->n_entries; i++)
        if (j->entries[i].at.state == CM_RANK_PLACED) return;
    for (int32_t i = 0; i < j->n_entries; i++)
        if (j->entries[i].at.state == CM_RANK_UNCERTAIN)
            j->entries[i].at.state = CM_RANK_PLACED, j->entries[i].at.reason = NULL;
}

static void mark(cm_job *j)
{
    for (int32_t i = 0; i < j->n_placed; i++) {
        cm_job_entry *e = j->order[i];
        e->at.tied_with_next = i + 1 < j->n_placed && cm__rank_too_close(&e->at, &j->order[i + 1]->at);
        e->at.tied_with_best = i > 0 && cm__rank_too_close(&j->order[0]->at, &e->at);
        e->at.pareto = undominated(j, e);
        e->best_here = true;
        e->at.break_even_price_hour = j->order[0]->cost_usd / e->at.hours / e->paid;
        for (int32_t k = 0; k < i && e->best_here; k++) e->best_here = !same_place(j->order[k], e);
    }
}

void cm__job_sort(cm_job *j)
{
    j->order = cm__alloc_array(j->ctx, (size_t)j->n_entries + 1, sizeof *j->order);
    j->info.objective = objective_of(j);
    for (int32_t i = 0; i < j->n_entries; i++) settle_value(j, &j->entries[i]);
    j->info.within_s = deadline_of(j);
    for (int32_t i = 0; i < j->n_entries; i++) {
        settle_state(j, &j->entries[i]);
        j->order[i] = &j->entries[i];
    }
    place_uncertain(j);
    less_is_better = cm_objective_is_less(j->info.objective);
    if (j->n_entries) qsort(j->order, (size_t)j->n_entries, sizeof *j->order, by_value);
    while (j->n_placed < j->n_entries && j->order[j->n_placed]->at.state == CM_RANK_PLACED) j->n_placed++;
    prefer_faster(j);
    mark(j);
}
