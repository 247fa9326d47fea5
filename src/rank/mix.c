/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mix.c - rank devices for several networks together.
 *
 *     time of all = sum of weight * time of the network's job; cost and energy likewise
 *
 * Errors of one device's predictions have common causes, so the ends of the intervals add up, too: the interval of the
 * sum is as wide as if all networks erred alike. A device is ranked if it runs all networks. Porting from the baseline
 * costs as much as for one network.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/text.h"
#include "rank/close.h"
#include "rank/rank.h"

struct cm_mix {
    cm__ctx      *ctx;
    cm_network   *networks;
    cm_ranking  **rankings;
    cm_mix_entry *entries;
    cm_mix_entry  baseline; /* parts NULL: none */
    cm_objective  objective;
    int32_t       n_networks, n_entries, n_placed;
};

static void free_rankings(void *object)
{
    cm_mix *m = object;
    for (int32_t i = 0; i < m->n_networks; i++) cm_ranking_free(m->rankings[i]);
}

static const cm_rank_entry *entry_of(const cm_ranking *r, const char *device)
{
    for (int32_t i = 0; i < r->n_entries; i++)
        if (strcmp(cm_device_get_info(r->order[i]->device)->id, device) == 0) return &r->order[i]->entry;
    return NULL;
}

/* ---- one device -------------------------------------------------------------------------------------------------- */

static void add_part(cm_rank_entry *total, const cm_rank_entry *part, double weight)
{
    total->hours += weight * part->hours;
    total->usd += weight * part->usd;
    total->kwh += weight * part->kwh;
    if (!(part->chance.probability >= total->chance.probability)) total->chance = part->chance; /* the least likely */
    total->peak_bytes = fmax(total->peak_bytes, part->peak_bytes);
    for (int k = 0; k < 2; k++) total->interval[k] += weight * part->interval[k]; /* in hours or USD */
}

/* The state of a network that keeps the device from its place; NULL: none. An interval is judged by the sum's. */
static const cm_rank_entry *worst_of(const cm_mix *m, const cm_mix_entry *e, int32_t *which)
{
    const cm_rank_entry *worst = NULL;
    for (int32_t i = 0; i < m->n_networks; i++) {
        cm_rank_state state = e->parts[i]->state;
        if (state == CM_RANK_PLACED || state == CM_RANK_UNCERTAIN || (worst && state <= worst->state)) continue;
        worst = e->parts[i];
        *which = i;
    }
    return worst;
}

static void set_value(const cm_mix *m, cm_rank_entry *total)
{
    bool   cost = m->objective == CM_OBJECTIVE_COST;
    double running = cost ? total->usd : m->objective == CM_OBJECTIVE_ENERGY ? total->kwh : total->hours;
    double of_interval = cost ? total->usd : total->hours, once = cost ? total->port_usd : 0;
    total->price_hour = total->usd / total->hours;
    total->value = running + once;
    total->prediction.step_time_s = 3600 * total->hours;
    for (int k = 0; k < 2; k++) {
        double ratio = total->interval[k] / of_interval;
        total->interval[k] = ratio * running + once;
        total->prediction.interval_s[k] = ratio * total->prediction.step_time_s;
    }
    total->prediction.devices = 1;
    total->too_uncertain = cm__rank_too_uncertain(&total->prediction);
}

static const char *in_hours(const cm_mix *m, const cm_rank_entry *total)
{
    char low[32], high[32];
    cm__cell(low, sizeof low, total->prediction.interval_s[0] / 3600);
    cm__cell(high, sizeof high, total->prediction.interval_s[1] / 3600);
    return cm__format(m->ctx, "%s to %s h", low, high);
}

static void settle(const cm_mix *m, cm_mix_entry *e, const cm_rank_options *o)
{
    cm_rank_entry       *total = &e->total;
    int32_t              which = 0;
    const cm_rank_entry *worst = worst_of(m, e, &which);
    bool                 late = o->max_hours > 0 && !(total->hours <= o->max_hours);
    bool                 dear = o->max_usd > 0 && !(total->usd + total->port_usd <= o->max_usd);
    if (worst && worst->state == CM_RANK_NOT_OFFERED) {
        total->state = worst->state;
        total->reason =
            cm__format(m->ctx, "%.*s; %s", (int)strcspn(worst->reason, ";"), worst->reason, in_hours(m, total));
    } else if (worst) {
        total->state = worst->state;
        total->reason = cm__format(m->ctx, "%s: %s", m->networks[which].model, worst->reason ? worst->reason : "-");
    } else if (!isfinite(total->value)) {
        total->state = CM_RANK_NO_VALUE;
        total->reason = m->objective == CM_OBJECTIVE_ENERGY ? "its power is unknown" : "its price is unknown";
    } else if (late || dear) {
        total->state = CM_RANK_OVER;
        total->reason = late ? cm__format(m->ctx, "takes %.3g h, more than %g", total->hours, o->max_hours)
                        : isnan(total->usd) ? "its price is unknown"
                             : cm__format(m->ctx, "costs %.3g USD, more than %g", total->usd + total->port_usd, o->max_usd);
    } else if (total->too_uncertain) {
        total->state = CM_RANK_UNCERTAIN;
        total->reason = in_hours(m, total);
    }
}

static void add_up(const cm_mix *m, cm_mix_entry *e, const cm_device *device, double port_usd)
{
    e->total = (cm_rank_entry){.device = device, .fits = true, .chance = {.probability = INFINITY}, .port_usd = port_usd};
    for (int32_t i = 0; i < m->n_networks; i++) {
        e->total.fits &= e->parts[i]->fits;
        if (e->parts[i]->fits) add_part(&e->total, e->parts[i], m->networks[i].weight);
    }
    e->total.price = e->parts[0]->price;
    set_value(m, &e->total);
}

/* How many jobs pay for porting, in hours on the baseline; and the price at which a job costs as much as there. */
static void relate(const cm_mix *m, cm_rank_entry *e, const cm_rank_options *o)
{
    const cm_rank_entry *base = &m->baseline.total;
    e->relative = e->relative_interval[0] = e->relative_interval[1] = NAN;
    e->break_even_samples = e->break_even_hours = e->break_even_price_hour = NAN;
    if (!m->baseline.parts || !e->fits) return;
    e->relative = base->value / e->value;
    for (int k = 0; k < 2; k++) e->relative_interval[k] = base->value / e->interval[1 - k];
    e->break_even_price_hour = base->usd / e->hours;
    if (!(o->port_hours > 0) || isnan(e->usd) || isnan(base->usd)) return;
    double jobs = e->port_usd <= 0 ? 0 : e->usd < base->usd ? e->port_usd / (base->usd - e->usd) : INFINITY;
    e->break_even_hours = jobs * base->hours;
}

/* False: a network has no entry for the device. */
static bool add_device(cm_mix *m, const cm_device *device, const cm_rank_options *o)
{
    cm_mix_entry         *e = &m->entries[m->n_entries];
    const cm_rank_entry **parts = cm__alloc_array(m->ctx, (size_t)m->n_networks, sizeof *parts);
    const char           *id = cm_device_get_info(device)->id;
    bool same = m->baseline.parts && strcmp(id, cm_device_get_info(m->baseline.total.device)->id) == 0;
    e->parts = parts;
    for (int32_t i = 0; i < m->n_networks; i++)
        if (!(parts[i] = entry_of(m->rankings[i], id))) return false;
    add_up(m, e, device, same || !m->baseline.parts ? 0 : o->port_hours * o->port_usd_hour);
    settle(m, e, o);
    relate(m, &e->total, o);
    m->n_entries++;
    return true;
}

static void add_baseline(cm_mix *m)
{
    const cm_rank_entry **parts = cm__alloc_array(m->ctx, (size_t)m->n_networks, sizeof *parts);
    for (int32_t i = 0; i < m->n_networks; i++)
        if (!(parts[i] = cm_ranking_get_info(m->rankings[i])->baseline)) return;
    m->baseline.parts = parts;
    add_up(m, &m->baseline, parts[0]->device, 0);
}

/* ---- all devices ------------------------------------------------------------------------------------------------- */

static int by_value(const void *left, const void *right)
{
    const cm_rank_entry *a = &((const cm_mix_entry *)left)->total, *b = &((const cm_mix_entry *)right)->total;
    if (a->state != b->state) return a->state < b->state ? -1 : 1;
    if (a->state <= CM_RANK_NOT_OFFERED && a->value != b->value) return a->value < b->value ? -1 : 1;
    return strcmp(cm_device_get_info(a->device)->id, cm_device_get_info(b->device)->id);
}

/* True: no other ranked device is both faster and cheaper. */
static bool undominated(const cm_mix *m, const cm_rank_entry *e)
{
    if (isnan(e->usd)) return false;
    for (int32_t i = 0; i < m->n_placed; i++) {
        const cm_rank_entry *o = &m->entries[i].total;
        if (o->hours <= e->hours && o->usd <= e->usd && (o->hours < e->hours || o->usd < e->usd)) return false;
    }
    return true;
}

static void sort(cm_mix *m)
{
    bool any = false;
    for (int32_t i = 0; i < m->n_entries; i++) any |= m->entries[i].total.state == CM_RANK_PLACED;
    for (int32_t i = 0; i < m->n_entries && !any; i++) /* as in one ranking: the uncertain ones among themselves */
        if (m->entries[i].total.state == CM_RANK_UNCERTAIN)
            m->entries[i].total.state = CM_RANK_PLACED, m->entries[i].total.reason = NULL;
    if (m->n_entries) qsort(m->entries, (size_t)m->n_entries, sizeof *m->entries, by_value);
    while (m->n_placed < m->n_entries && m->entries[m->n_placed].total.state == CM_RANK_PLACED) m->n_placed++;
    for (int32_t i = 0; i < m->n_placed; i++) {
        cm_rank_entry *e = &m->entries[i].total;
        e->tied_with_next = i + 1 < m->n_placed && cm__rank_too_close(e, &m->entries[i + 1].total);
        e->tied_with_best = i > 0 && cm__rank_too_close(&m->entries[0].total, e);
        e->pareto = undominated(m, e);
    }
}

/* A sum needs a time, a cost or an energy: speeds of different networks do not add up. */
static cm_objective objective_of(cm_objective asked)
{
    if (asked == CM_OBJECTIVE_PRICE || asked == CM_OBJECTIVE_COST) return CM_OBJECTIVE_COST;
    return asked == CM_OBJECTIVE_ENERGY ? asked : CM_OBJECTIVE_TIME;
}

/* A failure that does not say which network it is about says so. */
static void name_network(cm_diag *diag, const char *model)
{
    if (diag && !diag->file[0] && !diag->place[0] && !strstr(diag->reason, model))
        cm__join(diag->place, sizeof diag->place, "model '", model, "'", NULL);
}

static void rank_all(cm_mix *m, const cm_network *networks, const cm_rank_options *o)
{
    m->networks = cm__alloc_array(m->ctx, (size_t)m->n_networks, sizeof *m->networks);
    m->rankings = cm__alloc_array(m->ctx, (size_t)m->n_networks, sizeof *m->rankings);
    m->objective = objective_of(o->objective);
    cm__defer(m->ctx, free_rankings, m);
    for (int32_t i = 0; i < m->n_networks; i++) {
        if (!(networks[i].weight > 0) || !isfinite(networks[i].weight))
            cm__fail(m->ctx, CM_ERR_ARGUMENT, "%s: a weight is a number above 0", networks[i].model);
        cm_rank_options one = networks[i].options;
        one.objective = m->objective == CM_OBJECTIVE_COST ? CM_OBJECTIVE_COST : CM_OBJECTIVE_TIME;
        one.max_hours = one.max_usd = one.port_hours = one.port_usd_hour = 0; /* of the sum */
        m->networks[i] = networks[i];
        m->networks[i].model = cm__text_copy(m->ctx, networks[i].model);
        cm_status status = cm_rank(networks[i].model, &one, &m->rankings[i], m->ctx->diag);
        if (status) name_network(m->ctx->diag, m->networks[i].model);
        cm__pass_on(m->ctx, status);
    }
    const cm_ranking *first = m->rankings[0];
    m->entries = cm__alloc_array(m->ctx, (size_t)first->n_entries + 1, sizeof *m->entries);
    add_baseline(m);
    for (int32_t i = 0; i < first->n_entries; i++) add_device(m, first->order[i]->device, o);
    sort(m);
}

cm_status cm_mix_run(const cm_network *networks, int32_t count, const cm_rank_options *options, cm_mix **mix,
                     cm_diag *diag)
{
    if (!networks || count < 1 || !options || !mix) return cm__diag_set(diag, CM_ERR_ARGUMENT, "no model given");
    cm__ctx *ctx = cm__ctx_new(diag);
    if (!ctx) return CM_ERR_MEMORY;
    if (setjmp(ctx->trap)) return cm__ctx_abandon(ctx);
    cm_mix *m = cm__alloc(ctx, sizeof *m);
    m->ctx = ctx;
    m->n_networks = count;
    rank_all(m, networks, options);
    ctx->diag = NULL;
    *mix = m;
    return CM_OK;
}

void cm_mix_free(cm_mix *mix)
{
    if (mix) cm__ctx_free(mix->ctx);
}

cm_objective cm_mix_objective(const cm_mix *m) { return m->objective; }
int32_t cm_mix_networks(const cm_mix *m) { return m->n_networks; }
const cm_network *cm_mix_network(const cm_mix *m, int32_t i)
{
    return i >= 0 && i < m->n_networks ? &m->networks[i] : NULL;
}
const cm_ranking *cm_mix_ranking(const cm_mix *m, int32_t i)
{
    return i >= 0 && i < m->n_networks ? m->rankings[i] : NULL;
}
int32_t cm_mix_entries(const cm_mix *m) { return m->n_entries; }
int32_t cm_mix_placed(const cm_mix *m) { return m->n_placed; }
const cm_mix_entry *cm_mix_get_entry(const cm_mix *m, int32_t i)
{
    return i >= 0 && i < m->n_entries ? &m->entries[i] : NULL;
}
const cm_mix_entry *cm_mix_baseline(const cm_mix *m) { return m->baseline.parts ? &m->baseline : NULL; }
