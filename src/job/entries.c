/* SPDX-License-Identifier: Apache-2.0 */
/*
 * entries.c - the numbers of a job at one place.
 *
 *     time   = samples / global batch * step time + compile time before the first step
 *     cost   = time * price of all devices of the rented instances
 *     on instances that may be interrupted, the time includes checkpoints and restarts (spot.c)
 *     energy = average power of the devices in a step * time; without hosts and cooling
 *     CO2    = energy * carbon intensity of the grid
 */
#include <math.h>
#include <string.h>
#include "base/text.h"
#include "device/number.h"
#include "job/job.h"

#define HOUR 3600.0
#define J_PER_KWH 3.6e6

static double power_of(const cm_device *device, const cm_prediction_info *p)
{
    cm_number typical = cm_device_number(device, CM_TYPICAL_W), limit = cm_device_number(device, CM_TDP_W);
    if (!isnan(p->power_w)) return p->power_w;
    return p->devices * (typical.known ? typical.value : cm__value_or(limit, NAN));
}

static void clear_numbers(cm_job_entry *e)
{
    double *const numbers[] = {
        &e->at.peak_bytes, &e->at.power_w, &e->at.samples_per_usd, &e->at.energy_j_per_sample, &e->at.hours, &e->at.usd,
        &e->at.kwh, &e->at.value, &e->at.interval[0], &e->at.interval[1], &e->at.relative, &e->at.relative_interval[0],
        &e->at.relative_interval[1], &e->at.break_even_samples, &e->at.break_even_hours, &e->at.break_even_price_hour,
        &e->at.price_hour, &e->time_s, &e->interval_s[0], &e->interval_s[1], &e->cost_usd, &e->cost_interval_usd[0],
        &e->cost_interval_usd[1], &e->energy_j, &e->co2_kg, &e->checkpoint_s, &e->queue_wall_s, &e->charge};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) *numbers[i] = NAN;
}

/* Time of the job if a step takes step_s. */
static double job_time(const cm_job *j, const cm_prediction_info *p, double step_s)
{
    return j->info.samples / (double)j->info.global_batch * step_s + (p->compile_s > 0 ? p->compile_s : 0);
}

static void fill_job(const cm_job *j, cm_job_entry *e)
{
    cm_rank_entry            *at = &e->at;
    const cm_prediction_info *p = &at->prediction;
    e->time_s = (1 + e->overhead) * job_time(j, p, p->step_time_s);
    e->cost_usd = e->time_s / HOUR * at->price_hour;
    for (int side = 0; side < 2; side++) {
        e->interval_s[side] = (1 + e->overhead) * job_time(j, p, p->interval_s[side]);
        e->cost_interval_usd[side] = e->interval_s[side] / HOUR * at->price_hour;
    }
    at->power_w = power_of(at->device, p);
    e->energy_j = at->power_w * e->time_s;
    e->co2_kg = e->energy_j / J_PER_KWH * j->info.g_co2_kwh / 1000;
    at->hours = e->time_s / HOUR;
    at->usd = e->cost_usd;
    at->kwh = e->energy_j / J_PER_KWH;
    at->samples_per_usd = p->throughput_samples_s * HOUR / at->price_hour;
    at->energy_j_per_sample = at->power_w / p->throughput_samples_s;
}

/* Checkpoints and restarts on instances that may be taken away. */
static void interrupt(const cm_job *j, const cm__site *site, cm_job_entry *e)
{
    cm__interruptions i = cm__interruptions_of(j->ctx, e->provider);
    e->overhead = cm__interruption_overhead(&i, e->paid / site->block, j->state_bytes, &e->checkpoint_s);
}

/* The queue of a facility, the jobs in a row that its wall time makes necessary, and the charge. */
static void enqueue(const cm_job *j, cm_job_entry *e)
{
    cm__queues       queues = cm__queues_of(j->ctx, e->cluster, j->options.queue);
    const cm__queue *q = cm__queue_for(&queues, e->nodes, e->time_s);
    if (!queues.count) return;
    if (!q) {
        e->at.state = CM_RANK_OVER;
        e->at.reason = cm__queues_refuse(j->ctx, &queues, j->options.queue, e->nodes);
        return;
    }
    e->queue = q->name;
    e->queue_class = q->class;
    e->queue_request = q->request;
    e->queue_note = q->note;
    e->scheduler = q->scheduler;
    e->queue_wall_s = q->wall_s;
    e->jobs = (int32_t)fmin(ceil(e->time_s / q->wall_s), 1e6);
    e->charge = e->nodes * e->time_s / HOUR * q->charge;
    e->charge_unit = q->unit;
}

static cm_job_entry entry_of(const cm_job *j, const cm__site *site, const cm__count *count)
{
    const cm__job_search *s = &j->searches[site->search_index];
    const cm_offer      *offer = site->offer;
    cm_job_entry          e = {.n = count->devices, .cluster = s->cluster, .basis = site->basis};
    clear_numbers(&e);
    e.paid = (count->devices + site->block - 1) / site->block * site->block;
    int32_t node = cm_fabric_node(s->fabric);
    e.nodes = (count->devices + node - 1) / node;
    e.jobs = 1;
    e.at.device = s->device;
    e.at.precision = s->options.train.precision;
    e.at.price_hour = site->usd_hour * e.paid;
    if (offer) {
        e.provider = offer->provider;
        e.instance = offer->instance;
        e.price_region = offer->region;
        e.price_date = offer->date;
        e.price_source = offer->source;
    }
    e.at.fits = count->fits;
    e.at.state = count->fits ? CM_RANK_PLACED : CM_RANK_NO_FIT;
    e.at.reason = count->reason;
    if (s->status) {
        e.at.state = s->status == CM_ERR_FIT ? CM_RANK_NO_FIT : CM_RANK_CANNOT;
        e.at.reason = s->diag.reason;
        e.at.fits = false;
    }
    if (!e.at.fits) return e;
    e.at.prediction = count->best.info;
    e.at.peak_bytes = count->best.use.peak_bytes;
    e.at.chance = count->best.found.chance;
    if (e.basis && strcmp(e.basis, cm_basis_name(CM_BASIS_SPOT)) == 0) interrupt(j, site, &e);
    fill_job(j, &e);
    if (!offer && s->cluster) enqueue(j, &e);
    return e;
}

void cm__job_make_entries(cm_job *j)
{
    size_t most = 1;
    for (int32_t i = 0; i < j->n_sites; i++) most += (size_t)j->searches[j->sites[i].search_index].n_counts;
    j->entries = cm__alloc_array(j->ctx, most, sizeof *j->entries);
    for (int32_t i = 0; i < j->n_sites; i++) {
        const cm__job_search *s = &j->searches[j->sites[i].search_index];
        if (s->status && s->status != CM_ERR_FIT && s->status != CM_ERR_UNSUPPORTED && s->status != CM_ERR_ARGUMENT) {
            if (j->ctx->diag) *j->ctx->diag = s->diag;
            j->ctx->status = s->status;
            longjmp(j->ctx->trap, 1);
        }
        for (int32_t k = 0; k < s->n_counts; k++)
            j->entries[j->n_entries++] = entry_of(j, &j->sites[i], &s->counts[k]);
    }
}
