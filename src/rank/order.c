/* SPDX-License-Identifier: Apache-2.0 */
/* order.c - which devices are ranked, and in which order. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/text.h"
#include "model/time/factors.h"
#include "rank/close.h"
#include "rank/rank.h"

#define WIDEST 4.0 /* a wider interval covers most of a ranking, so a place in it says nothing */

bool cm__rank_too_uncertain(const cm_prediction_info *p) { return p->interval_s[1] > WIDEST * p->interval_s[0]; }

/* Why nobody rents or sells the device as it is; NULL: somebody does, or the profile does not say. */
static const char *not_offered(const cm_device_info *info)
{
    static const char *const nowhere[] = {"testbed", "retired"};
    for (size_t i = 0; i < sizeof nowhere / sizeof *nowhere && !info->part_of; i++)
        if (info->availability && strcmp(info->availability, nowhere[i]) == 0)
            return i ? "not sold any more" : "only in testbeds";
    return info->part_of;
}

/* Devices that the user names, or whose prices, are compared even if nobody offers them. */
static void set_apart(const cm_ranking *r, cm__rank_device *d)
{
    const cm_rank_options    *o = &r->options;
    const cm_prediction_info *p = &d->entry.prediction;
    const char               *closed = o->devices || o->vendor || o->provider ? NULL : not_offered(cm_device_get_info(d->device));
    char                      low[32], high[32];
    d->entry.too_uncertain = cm__rank_too_uncertain(p);
    if (!closed && !d->entry.too_uncertain) return;
    d->entry.state = closed ? CM_RANK_NOT_OFFERED : CM_RANK_UNCERTAIN;
    double batch = (double)p->batch / p->devices;
    cm__cell(low, sizeof low, batch / p->interval_s[1]);
    cm__cell(high, sizeof high, batch / p->interval_s[0]);
    snprintf(d->reason, sizeof d->reason, "%s%s%s to %s samples/s", closed ? closed : "", closed ? "; " : "", low, high);
}

void cm__rank_settle_state(const cm_ranking *r, cm__rank_device *d)
{
    const cm_rank_options *o = &r->options;
    cm_rank_entry         *e = &d->entry;
    if (!e->fits) return;
    const char *failed = cm__where_fails(&r->where, e, true);
    bool        late = o->max_hours > 0 && !(e->hours <= o->max_hours);
    bool        dear = o->max_usd > 0 && !(e->usd + e->port_usd <= o->max_usd);
    if (!isfinite(e->value)) {
        e->state = CM_RANK_NO_VALUE;
        bool timed = isfinite(e->prediction.throughput_samples_s);
        if (!timed) snprintf(d->reason, sizeof d->reason, "its profile predicts no time for this model");
        else if (o->objective == CM_OBJECTIVE_ENERGY) snprintf(d->reason, sizeof d->reason, "its power is unknown");
        else cm__rank_explain_price(r, d);
    } else if (late || dear || failed) {
        e->state = CM_RANK_OVER;
        if (late)
            snprintf(d->reason, sizeof d->reason, "takes %.*f h, more than %g", e->hours < 100 ? 1 : 0, e->hours,
                     o->max_hours);
        else if (dear && isnan(e->usd)) cm__rank_explain_price(r, d);
        else if (dear)
            snprintf(d->reason, sizeof d->reason, "costs %.0f USD, more than %g", e->usd + e->port_usd, o->max_usd);
        else snprintf(d->reason, sizeof d->reason, "its %s does not meet the condition", failed);
    } else set_apart(r, d);
}

static _Thread_local bool less_is_better; /* qsort() has no user argument */

static int by_value(const void *left, const void *right)
{
    const cm__rank_device *a = *(cm__rank_device *const *)left, *b = *(cm__rank_device *const *)right;
    if (a->entry.state != b->entry.state) return a->entry.state < b->entry.state ? -1 : 1;
    double x = a->entry.value, y = b->entry.value;
    if (a->entry.state <= CM_RANK_NOT_OFFERED && x != y) return (x < y) == less_is_better ? -1 : 1;
    return strcmp(cm_device_get_info(a->device)->id, cm_device_get_info(b->device)->id);
}

/* Log error of the value in the direction of another value. */
static double error_toward(const cm_rank_entry *e, double other)
{
    double end = e->interval[other < e->value ? 0 : 1];
    return fabs(log(end / e->value)) / CM__SIGMAS_OF_90_PERCENT;
}

double cm__rank_error(const cm_rank_entry *e)
{
    return fmax(error_toward(e, e->value / 2), error_toward(e, e->value * 2));
}

/* Devices of one maker and class are predicted from the same tables or parameters and share a part of their errors. */
double cm__rank_correlation(const cm_rank_entry *a, const cm_rank_entry *b)
{
    const cm_device_info *x = cm_device_get_info(a->device), *y = cm_device_get_info(b->device);
    bool                  same = x->vendor && y->vendor && cm__same_name(x->vendor, y->vendor);
    return same && strcmp(x->device_class, y->device_class) == 0 ? cm__time_factors.maker_correlation : 0;
}

bool cm__rank_too_close(const cm_rank_entry *a, const cm_rank_entry *b)
{
    double x = error_toward(a, b->value), y = error_toward(b, a->value);
    double error = sqrt(x * x + y * y - 2 * cm__rank_correlation(a, b) * x * y);
    return !(fabs(log(a->value / b->value)) > CM__SIGMAS_OF_90_PERCENT * error);
}

/* True: no other device has both a shorter time and a lower cost per sample. */
static bool undominated(const cm_ranking *r, const cm_rank_entry *e)
{
    if (isnan(e->samples_per_usd)) return false;
    for (int32_t i = 0; i < r->n_placed; i++) {
        const cm_rank_entry *o = &r->order[i]->entry;
        double pace = o->prediction.throughput_samples_s - e->prediction.throughput_samples_s;
        double money = o->samples_per_usd - e->samples_per_usd;
        if (pace >= 0 && money >= 0 && (pace > 0 || money > 0)) return false;
    }
    return true;
}

/* Devices that are all too uncertain are ranked among themselves. */
static void place_uncertain(cm_ranking *r)
{
    for (int32_t i = 0; i < r->n_devices; i++)
        if (r->devices[i].entry.state == CM_RANK_PLACED && !r->devices[i].unlisted) return;
    for (int32_t i = 0; i < r->n_devices; i++)
        if (r->devices[i].entry.state == CM_RANK_UNCERTAIN)
            r->devices[i].entry.state = CM_RANK_PLACED, r->devices[i].entry.reason = NULL;
}

void cm__rank_sort(cm_ranking *r)
{
    place_uncertain(r);
    r->order = cm__alloc_array(r->ctx, (size_t)r->n_devices + 1, sizeof *r->order);
    for (int32_t i = 0; i < r->n_devices; i++)
        if (!r->devices[i].unlisted) r->order[r->n_entries++] = &r->devices[i];
    less_is_better = cm_objective_is_less(r->options.objective);
    if (r->n_entries) qsort(r->order, (size_t)r->n_entries, sizeof *r->order, by_value);
    while (r->n_placed < r->n_entries && r->order[r->n_placed]->entry.state == CM_RANK_PLACED) r->n_placed++;
    for (int32_t i = 0; i < r->n_placed; i++) {
        cm_rank_entry *e = &r->order[i]->entry;
        e->tied_with_next = i + 1 < r->n_placed && cm__rank_too_close(e, &r->order[i + 1]->entry);
        e->tied_with_best = i > 0 && cm__rank_too_close(&r->order[0]->entry, e);
        e->pareto = undominated(r, e);
    }
}
