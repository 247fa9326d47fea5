/* SPDX-License-Identifier: Apache-2.0 */
/*
 * networks.c - cm_job_run_all(): a whole job of several networks, which run one after the other on the same devices.
 *
 *     time of all = sum of weight * time of the network's job; cost, energy and CO2 likewise
 *
 * Errors of one device's predictions have common causes, so the ends of the intervals add up, too (rank/mix.c). Each
 * network has its own best plan on these devices. Limits are those of the sum.
 */
#include <math.h>
#include <string.h>
#include "base/sized.h"
#include "base/text.h"
#include "job/job.h"

#define NO_LIMIT_S 1e30 /* of a network alone: it replaces the deadline that is assumed without one */
#define J_PER_KWH 3.6e6

static void free_parts(void *object)
{
    cm_job *j = object;
    for (int32_t i = 0; i < j->n_networks; i++) cm_job_free(j->parts[i]);
}

static const cm_job_entry *part_of(const cm_job *j, int32_t entry, int32_t network)
{
    return &j->parts[network]->entries[entry];
}

/* ---- one entry --------------------------------------------------------------------------------------------------- */

static void add_part(cm_job_entry *sum, const cm_job_entry *part, double weight)
{
    sum->time_s += weight * part->time_s;
    sum->cost_usd += weight * part->cost_usd;
    sum->energy_j += weight * part->energy_j;
    sum->co2_kg += weight * part->co2_kg;
    sum->charge += weight * part->charge;
    for (int k = 0; k < 2; k++) {
        sum->interval_s[k] += weight * part->interval_s[k];
        sum->cost_interval_usd[k] += weight * part->cost_interval_usd[k];
    }
    sum->jobs += (int32_t)ceil(weight) * part->jobs;
    sum->checkpoint_s = fmin(sum->checkpoint_s, part->checkpoint_s);
    sum->at.peak_bytes = fmax(sum->at.peak_bytes, part->at.peak_bytes);
    if (!(part->at.chance.probability >= sum->at.chance.probability)) sum->at.chance = part->at.chance; /* the least likely */
    if (!part->queue || !sum->queue || strcmp(part->queue, sum->queue) != 0) sum->queue = NULL; /* not one for all */
}

/* The network that keeps the entry from its place; NULL: none. */
static const cm_job_entry *worst_of(const cm_job *j, int32_t entry, int32_t *which)
{
    const cm_job_entry *worst = NULL;
    for (int32_t i = 0; i < j->n_networks; i++) {
        const cm_job_entry *part = part_of(j, entry, i);
        if (part->at.state < CM_RANK_OVER || (worst && part->at.state <= worst->at.state)) continue;
        worst = part;
        *which = i;
    }
    return worst;
}

/* The members that the networks have in common are those of the first. */
static cm_job_entry sum_of(const cm_job *j, int32_t entry)
{
    cm_job_entry        e = *part_of(j, entry, 0);
    int32_t             which = 0;
    const cm_job_entry *worst = worst_of(j, entry, &which);
    double              steady_s = 0;
    e.time_s = e.cost_usd = e.energy_j = e.co2_kg = e.charge = 0;
    e.interval_s[0] = e.interval_s[1] = e.cost_interval_usd[0] = e.cost_interval_usd[1] = 0;
    e.jobs = 0;
    e.at.state = CM_RANK_PLACED;
    e.at.reason = NULL;
    e.at.samples_per_usd = e.at.energy_j_per_sample = NAN;
    for (int32_t i = 0; i < j->n_networks; i++) {
        const cm_job_entry *part = part_of(j, entry, i);
        add_part(&e, part, j->networks[i].weight);
        steady_s += j->networks[i].weight * part->time_s / (1 + part->overhead);
    }
    if (!e.queue) e.jobs = 1;
    e.overhead = e.overhead > 0 ? e.time_s / steady_s - 1 : 0;
    e.at.hours = e.time_s / 3600;
    e.at.usd = e.cost_usd;
    e.at.kwh = e.energy_j / J_PER_KWH;
    e.at.power_w = e.energy_j / e.time_s;
    e.at.prediction = (cm_prediction_info){.step_time_s = e.time_s, .interval_s = {e.interval_s[0], e.interval_s[1]},
                                           .devices = e.n};
    if (!worst) return e;
    e.at.fits = worst->at.fits;
    /* a limit cannot be raised for it: no queue takes it, or it does not meet a condition */
    e.at.state = worst->at.state == CM_RANK_OVER ? CM_RANK_CANNOT : worst->at.state;
    e.at.reason = cm__format(j->ctx, "%s: %s", j->networks[which].model, worst->at.reason ? worst->at.reason : "-");
    return e;
}

/* ---- all entries ------------------------------------------------------------------------------------------------- */

/* A failure that does not say which network it is about says so. */
static void name_network(cm_diag *diag, const char *model)
{
    if (diag && !diag->file[0] && !diag->place[0] && !strstr(diag->reason, model))
        cm__join(diag->place, sizeof diag->place, "model '", model, "'", NULL);
}

static void run_part(cm_job *j, int32_t i, const cm_network *network)
{
    cm_job_options one = j->options;
    one.rank = network->options;
    one.within_s = NO_LIMIT_S;
    one.budget_usd = 0;
    j->networks[i] = *network;
    j->networks[i].model = cm__text_copy(j->ctx, network->model);
    if (!(network->weight > 0) || !isfinite(network->weight))
        cm__fail(j->ctx, CM_ERR_ARGUMENT, "%s: a weight is a number above 0", network->model);
    cm_status status = cm_job_run(network->model, &one, &j->parts[i], j->ctx->diag);
    if (status) name_network(j->ctx->diag, network->model);
    cm__pass_on(j->ctx, status);
    if (j->parts[i]->n_entries != j->parts[0]->n_entries)
        cm__fail(j->ctx, CM_ERR_ARGUMENT, "%s: its options allow other devices than those of the first network", network->model);
}

static void fill_info(cm_job *j)
{
    const cm_job_info *first = &j->parts[0]->info;
    const char        *names = "";
    for (int32_t i = 0; i < j->n_networks; i++) {
        const cm_network *n = &j->networks[i];
        const char       *times = n->weight == 1 ? "" : cm__format(j->ctx, "*%.6g", n->weight);
        names = cm__format(j->ctx, "%s%s%s%s", names, *names ? " " : "", n->model, times);
        j->info.searches += j->parts[i]->info.searches;
        j->info.assumed |= j->parts[i]->info.assumed;
        j->info.batch_assumed |= j->parts[i]->info.batch_assumed;
    }
    j->info.model = names;
    j->info.samples = NAN;
    j->info.text = cm__format(j->ctx, "%d networks", j->n_networks);
    j->info.g_co2_kwh = first->g_co2_kwh;
    j->info.region = first->region;
    j->info.region_source = first->region_source;
}

/* A sum needs a time, a cost, an energy or a number of devices: speeds of different networks do not add up. */
static cm_objective objective_of(cm_objective asked) { return asked == CM_OBJECTIVE_PRICE ? CM_OBJECTIVE_COST : asked; }

static void run_all(cm_job *j, const cm_network *networks, int32_t count)
{
    j->networks = cm__alloc_array(j->ctx, (size_t)count, sizeof *j->networks);
    j->parts = cm__alloc_array(j->ctx, (size_t)count, sizeof *j->parts);
    j->n_networks = count;
    cm__defer(j->ctx, free_parts, j);
    for (int32_t i = 0; i < count; i++) run_part(j, i, &networks[i]);
    j->options.rank.objective = objective_of(j->options.rank.objective);
    fill_info(j);
    j->entries = cm__alloc_array(j->ctx, (size_t)j->parts[0]->n_entries + 1, sizeof *j->entries);
    for (int32_t i = 0; i < j->parts[0]->n_entries; i++) j->entries[j->n_entries++] = sum_of(j, i);
    cm__job_sort(j);
    cm__job_advise(j);
}

cm_status cm_job_run_all(const cm_network *networks, int32_t count, const cm_job_options *options, cm_job **job,
                         cm_diag *diag)
{
    if (!networks || count < 1 || !options || !job) return cm__diag_set(diag, CM_ERR_ARGUMENT, "no model given");
    cm__ctx *ctx = cm__ctx_new(diag);
    if (!ctx) return CM_ERR_MEMORY;
    if (setjmp(ctx->trap)) return cm__ctx_abandon(ctx);
    cm_job *j = cm__alloc(ctx, sizeof *j);
    j->ctx = ctx;
    cm__take_options(&j->options, sizeof j->options, options);
    run_all(j, networks, count);
    ctx->diag = NULL;
    *job = j;
    return CM_OK;
}

int32_t           cm_job_networks(const cm_job *j) { return j->n_networks; }
const cm_network *cm_job_network(const cm_job *j, int32_t i) { return i >= 0 && i < j->n_networks ? &j->networks[i] : NULL; }
const cm_job     *cm_job_of_network(const cm_job *j, int32_t i) { return i >= 0 && i < j->n_networks ? j->parts[i] : NULL; }

const cm_job_entry *cm_job_part(const cm_job *j, int32_t entry, int32_t network)
{
    if (entry < 0 || entry >= j->n_entries || network < 0 || network >= j->n_networks) return NULL;
    return part_of(j, (int32_t)(j->order[entry] - j->entries), network);
}
