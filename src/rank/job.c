/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job.c - the cost of a whole training job.
 *
 *     hours            = samples / throughput / 3600, plus compile time before the first step
 *     dollars          = hours * price of all devices that one copy of the model needs
 *     energy           = power * step time; power is the step's average, else the profile's typical value or, as an
 *                        upper bound, the limit
 *     porting pays     after  cost of porting / (dollars per sample of the baseline - of the device)  samples
 *     break-even price = price of the baseline * throughput of the device / of the baseline
 */
#include <math.h>
#include <string.h>
#include "base/text.h"
#include "device/number.h"
#include "rank/rank.h"

#define HOUR 3600.0
#define ASSUMED_SAMPLES 1e6 /* for objectives that need a number of samples, if the user gives none */

static const char *const units[CM_OBJECTIVES] = {
    [CM_OBJECTIVE_THROUGHPUT] = "samples/s per device", [CM_OBJECTIVE_PRICE] = "samples/USD",
    [CM_OBJECTIVE_ENERGY] = "J/sample", [CM_OBJECTIVE_TIME] = "h", [CM_OBJECTIVE_COST] = "USD",
};

const char *cm_ranking_unit(const cm_ranking *ranking) { return units[ranking->info.objective]; }

/* ---- the job ---------------------------------------------------------------------------------------------------- */

static const char *count_text(cm__ctx *ctx, double value, const char *what)
{
    char buf[32];
    return cm__format(ctx, "%s %s", cm__amount(buf, sizeof buf, value), what);
}

/* Samples of the data set that steps load; 0: none, or unknown. */
static double epoch_of(const cm_ranking *r)
{
    for (int32_t i = 0; i < r->n_devices; i++) {
        const cm_rank_entry *e = &r->devices[i].entry;
        if (e->fits && e->prediction.loading.epoch_samples > 0) return e->prediction.loading.epoch_samples;
    }
    return 0;
}

void cm__rank_read_job(cm_ranking *r)
{
    const cm_rank_options *o = &r->options;
    double                 epochs = o->epochs > 0 ? o->epochs : 1, each = o->samples > 0 ? o->samples : epoch_of(r);
    r->info.seq = r->n_steps && r->steps[0].forward ? cm_graph_seq(r->steps[0].forward) : 0;
    r->info.tokens_per_sample = cm_load_tokens(&o->load, r->info.seq);
    bool by_tokens = o->tokens > 0 && (r->info.tokens_per_sample > 0 || !(o->samples > 0));
    if (by_tokens && !(r->info.tokens_per_sample > 0))
        cm__fail(r->ctx, CM_ERR_ARGUMENT, "this model takes no tokens; give --samples N instead");
    if (by_tokens) each = o->tokens / r->info.tokens_per_sample;
    bool whole = o->objective == CM_OBJECTIVE_TIME || o->objective == CM_OBJECTIVE_COST;
    bool needed = whole || o->max_hours > 0 || o->max_usd > 0;
    if (!(each > 0) && (needed || o->epochs > 0)) {
        each = ASSUMED_SAMPLES;
        r->info.job_assumed = true;
    }
    r->info.job_samples = each > 0 ? epochs * each : NAN;
    if (!(each > 0)) return;
    r->info.job = by_tokens ? count_text(r->ctx, epochs * o->tokens, "tokens")
                                : count_text(r->ctx, epochs * each, "samples");
    if (o->epochs > 0) r->info.job = cm__format(r->ctx, "%s in %g epochs", r->info.job, epochs);
}

/* ---- numbers of a device ---------------------------------------------------------------------------------------- */

static double power_of(const cm_device *device, const cm_prediction_info *p)
{
    cm_number typical = cm_device_number(device, CM_TYPICAL_W), limit = cm_device_number(device, CM_TDP_W);
    if (!isnan(p->power_w)) return p->power_w;
    return p->devices * (typical.known ? typical.value : cm__value_or(limit, NAN));
}

/* Devices of one copy that share its throughput and are priced one by one. */
static double shared_by(const cm_rank_entry *e) { return e->one_device ? 1 : e->prediction.devices; }

static double once_h(const cm_prediction_info *p) { return p->compile_s > 0 ? p->compile_s / HOUR : 0; }

/* The objective's value at a step time. */
static double value_at(const cm_ranking *r, const cm_rank_entry *e, double step_s)
{
    double samples_s = (double)e->prediction.batch / step_s;
    double hours = r->info.job_samples / samples_s / HOUR + once_h(&e->prediction);
    switch (r->options.objective) {
    case CM_OBJECTIVE_PRICE: return samples_s * HOUR / e->price_hour;
    case CM_OBJECTIVE_ENERGY: return e->power_w / samples_s;
    case CM_OBJECTIVE_TIME: return hours;
    case CM_OBJECTIVE_COST: return hours * e->price_hour + e->port_usd;
    default: return samples_s / shared_by(e);
    }
}

void cm__rank_value(const cm_ranking *r, cm__rank_device *d)
{
    cm_rank_entry            *e = &d->entry;
    const cm_prediction_info *p = &e->prediction;
    if (!e->fits) return;
    e->one_device = d->as.chips > 1;
    e->price_hour *= shared_by(e);
    e->power_w = power_of(d->device, p);
    e->samples_per_usd = p->throughput_samples_s * HOUR / e->price_hour;
    e->energy_j_per_sample = e->power_w / p->throughput_samples_s;
    e->hours = r->info.job_samples / p->throughput_samples_s / HOUR + once_h(p);
    e->usd = e->hours * e->price_hour;
    e->kwh = e->hours * e->power_w / 1000;
    e->value = value_at(r, e, p->step_time_s);
    double at[2] = {value_at(r, e, p->interval_s[0]), value_at(r, e, p->interval_s[1])};
    e->interval[0] = fmin(at[0], at[1]);
    e->interval[1] = fmax(at[0], at[1]);
}

/* ---- comparison with the baseline ------------------------------------------------------------------------------- */

static void break_even(const cm_ranking *r, cm_rank_entry *e, const cm_rank_entry *base)
{
    double here = 1 / e->samples_per_usd, there = 1 / base->samples_per_usd;
    double pace = e->prediction.throughput_samples_s / base->prediction.throughput_samples_s;
    e->break_even_price_hour = base->price_hour * pace;
    if (!(r->options.port_hours > 0) || isnan(here) || isnan(there)) return;
    e->break_even_samples = e->port_usd <= 0 ? 0 : here < there ? e->port_usd / (there - here) : INFINITY;
    e->break_even_hours = e->break_even_samples / base->prediction.throughput_samples_s / HOUR;
}

void cm__rank_relate(const cm_ranking *r, cm__rank_device *d, const cm_rank_entry *base)
{
    cm_rank_entry *e = &d->entry;
    if (!e->fits || !base->fits) return;
    bool less = cm_objective_is_less(r->options.objective);
    e->relative = less ? base->value / e->value : e->value / base->value;
    for (int k = 0; k < 2; k++)
        e->relative_interval[k] = less ? base->value / e->interval[1 - k] : e->interval[k] / base->value;
    break_even(r, e, base);
}
