/* SPDX-License-Identifier: Apache-2.0 */
/* job.c - print a whole job as JSON: the ranking's fields, and place, plan, time and cost of each entry. */
#include <math.h>
#include "report/json/json.h"
#include "report/render.h"

static json_t *pair(cm__ctx *ctx, const double values[2])
{
    json_t *list = json_array();
    for (int i = 0; i < 2; i++) cm__json_append(ctx, list, cm__json_number(values[i]));
    return list;
}

static void job(cm__ctx *ctx, json_t *o, const cm_job_entry *e)
{
    cm__json_set(ctx, o, "time_s", cm__json_number(e->time_s));
    cm__json_set(ctx, o, "cost_usd", cm__json_number(e->cost_usd));
    cm__json_set(ctx, o, "energy_j", cm__json_number(e->energy_j));
    cm__json_set(ctx, o, "co2_kg", cm__json_number(e->co2_kg));
    cm__json_set(ctx, o, "interval_s", pair(ctx, e->interval_s));
    cm__json_set(ctx, o, "cost_interval_usd", pair(ctx, e->cost_interval_usd));
}

static void price(cm__ctx *ctx, json_t *o, const cm_job_entry *e)
{
    bool known = !isnan(e->at.price_hour);
    cm__json_set(ctx, o, "price_basis", cm__json_text(ctx, e->basis));
    cm__json_set(ctx, o, "provider", cm__json_text(ctx, e->provider));
    json_t *p = cm__json_set(ctx, o, "price", known ? json_object() : json_null());
    if (!known) return;
    cm__json_set(ctx, p, "provider", cm__json_text(ctx, e->provider));
    cm__json_set(ctx, p, "basis", cm__json_text(ctx, e->basis));
    cm__json_set(ctx, p, "usd_hour_per_device", cm__json_number(e->at.price_hour / e->paid));
    cm__json_set(ctx, p, "date", cm__json_text(ctx, e->price_date));
    cm__json_set(ctx, p, "source", cm__json_text(ctx, e->price_source));
}

/* A network of an entry: its prediction and plan; its job once, and time, cost and energy times its weight. */
static void network(cm__ctx *ctx, json_t *o, const cm_job *j, int32_t i, const cm_job_entry *part)
{
    const cm_network *n = cm_job_network(j, i);
    double            seq = cm_job_get_info(cm_job_of_network(j, i))->tokens_per_sample;
    cm__json_set(ctx, o, "model", cm__json_text(ctx, n->model));
    cm__json_set(ctx, o, "weight", cm__json_number(n->weight));
    cm__json_set(ctx, o, "time_s", cm__json_number(n->weight * part->time_s));
    cm__json_set(ctx, o, "cost_usd", cm__json_number(n->weight * part->cost_usd));
    cm__json_set(ctx, o, "energy_j", cm__json_number(n->weight * part->energy_j));
    cm__rank_json_entry(ctx, o, &part->at, 0, (int64_t)seq, seq);
    price(ctx, o, part);
    json_t *plan = cm__json_set(ctx, o, "plan", part->at.fits ? json_object() : json_null());
    if (part->at.fits) cm__json_plan(ctx, plan, &part->at.prediction.plan);
    job(ctx, cm__json_set(ctx, o, "job", json_object()), part);
}

static void entry(cm__ctx *ctx, json_t *o, const cm_job *j, int32_t k)
{
    const cm_job_entry *e = cm_job_get_entry(j, k);
    double              seq = cm_job_get_info(j)->tokens_per_sample;
    int32_t             place = k < cm_job_placed(j) ? k + 1 : 0, n = cm_job_networks(j);
    if (n) cm__mix_json_total(ctx, o, &e->at, place);
    else cm__rank_json_entry(ctx, o, &e->at, place, (int64_t)seq, seq);
    price(ctx, o, e);
    cm__json_set(ctx, o, "n", json_integer(e->n));
    cm__json_set(ctx, o, "devices_paid", json_integer(e->paid));
    cm__json_set(ctx, o, "cluster", cm__json_text(ctx, e->cluster));
    cm__json_set(ctx, o, "instance", cm__json_text(ctx, e->instance));
    cm__json_set(ctx, o, "region", cm__json_text(ctx, e->price_region));
    cm__json_set(ctx, o, "interruption_overhead", cm__json_number(e->overhead));
    cm__json_set(ctx, o, "checkpoint_interval_s", cm__json_number(e->checkpoint_s));
    cm__json_set(ctx, o, "nodes", json_integer(e->nodes));
    cm__json_set(ctx, o, "queue", cm__json_text(ctx, e->queue));
    cm__json_set(ctx, o, "queue_note", cm__json_text(ctx, e->queue_note));
    cm__json_set(ctx, o, "scheduler", cm__json_text(ctx, e->scheduler));
    cm__json_set(ctx, o, "jobs_in_a_row", json_integer(e->jobs));
    cm__json_set(ctx, o, "charge", cm__json_number(e->charge));
    cm__json_set(ctx, o, "charge_unit", cm__json_text(ctx, e->charge_unit));
    cm__json_set(ctx, o, "best_here", json_boolean(e->best_here));
    cm__json_set(ctx, o, "tied_with_best", json_boolean(e->at.tied_with_best));
    job(ctx, cm__json_set(ctx, o, "job", json_object()), e);
    json_t *plan = n ? NULL : cm__json_set(ctx, o, "plan", e->at.fits ? json_object() : json_null());
    if (plan && e->at.fits) cm__json_plan(ctx, plan, &e->at.prediction.plan);
    json_t *list = n ? cm__json_set(ctx, o, "networks", json_array()) : NULL;
    for (int32_t i = 0; i < n; i++) network(ctx, cm__json_append(ctx, list, json_object()), j, i, cm_job_part(j, k, i));
}

static void asked_network(cm__ctx *ctx, json_t *o, const cm_job *j, int32_t i)
{
    const cm_network  *n = cm_job_network(j, i);
    const cm_job_info *info = cm_job_get_info(cm_job_of_network(j, i));
    cm__json_set(ctx, o, "model", cm__json_text(ctx, n->model));
    cm__json_set(ctx, o, "weight", cm__json_number(n->weight));
    cm__json_set(ctx, o, "seq", info->tokens_per_sample > 0 ? cm__json_number(info->tokens_per_sample) : json_null());
    cm__json_set(ctx, o, "global_batch", json_integer(info->global_batch));
    json_t *size = cm__json_set(ctx, o, "job", json_object());
    cm__json_set(ctx, size, "samples", cm__json_number(info->samples));
    cm__json_set(ctx, size, "text", cm__json_text(ctx, info->text));
    cm__json_set(ctx, size, "assumed", json_boolean(info->assumed));
}

static void echo(cm__ctx *ctx, json_t *o, const cm__job_report *r)
{
    const cm_job_options *a = r->asked;
    const cm_job_info    *i = cm_job_get_info(r->job);
    cm__json_set(ctx, o, "model", cm__json_text(ctx, i->model));
    json_t *models = cm_job_networks(r->job) ? cm__json_set(ctx, o, "models", json_array()) : NULL;
    for (int32_t k = 0; k < cm_job_networks(r->job); k++)
        asked_network(ctx, cm__json_append(ctx, models, json_object()), r->job, k);
    cm__json_set(ctx, o, "objective", json_string(cm_objective_name(i->objective)));
    cm__json_set(ctx, o, "unit", json_string(cm__job_unit(r->job)));
    cm__json_set(ctx, o, "less_is_better", json_boolean(cm_objective_is_less(i->objective)));
    cm__json_set(ctx, o, "mode", json_string(a->rank.train.inference ? "inference" : "training"));
    cm__json_set(ctx, o, "max_devices", json_integer(a->max_devices));
    cm__json_set(ctx, o, "clusters", cm__json_text(ctx, a->clusters ? a->clusters : "cloud"));
    cm__json_set(ctx, o, "devices", cm__json_text(ctx, a->rank.devices ? a->rank.devices : "all"));
    cm__json_set(ctx, o, "vendor", cm__json_text(ctx, a->rank.vendor));
    cm__json_set(ctx, o, "provider", cm__json_text(ctx, a->rank.provider));
    cm__json_set(ctx, o, "price_basis", json_string(cm_basis_name(a->rank.price_basis)));
    cm__json_set(ctx, o, "where", cm__json_text(ctx, a->rank.where));
    cm__json_set(ctx, o, "within_s", i->within_s > 0 ? cm__json_number(i->within_s) : json_null());
    cm__json_set(ctx, o, "within_assumed", json_boolean(i->within_assumed));
    cm__json_set(ctx, o, "budget_usd", a->budget_usd > 0 ? cm__json_number(a->budget_usd) : json_null());
    cm__json_set(ctx, o, "global_batch", i->global_batch ? json_integer(i->global_batch) : json_null());
    cm__json_set(ctx, o, "global_batch_assumed", json_boolean(i->batch_assumed));
    json_t *size = cm__json_set(ctx, o, "job", json_object());
    cm__json_set(ctx, size, "samples", cm__json_number(i->samples));
    cm__json_set(ctx, size, "tokens",
                 cm__json_number(i->tokens_per_sample > 0 ? i->samples * i->tokens_per_sample : NAN));
    cm__json_set(ctx, size, "text", cm__json_text(ctx, i->text));
    cm__json_set(ctx, size, "assumed", json_boolean(i->assumed));
    cm__json_set(ctx, o, "seq", i->tokens_per_sample > 0 ? cm__json_number(i->tokens_per_sample) : json_null());
    json_t *carbon = cm__json_set(ctx, o, "carbon", json_object());
    cm__json_set(ctx, carbon, "region", cm__json_text(ctx, i->region));
    cm__json_set(ctx, carbon, "g_co2_per_kwh", cm__json_number(i->g_co2_kwh));
    cm__json_set(ctx, carbon, "source", cm__json_text(ctx, i->region_source));
}

static void advice(cm__ctx *ctx, json_t *o, const cm_job_advice *a)
{
    cm__json_set(ctx, o, "within_s", cm__json_number(a->within_s));
    cm__json_set(ctx, o, "budget_usd", cm__json_number(a->budget_usd));
    cm__json_set(ctx, o, "device", json_string(cm_device_get_info(a->entry->at.device)->id));
    cm__json_set(ctx, o, "n", json_integer(a->entry->n));
    cm__json_set(ctx, o, "provider", cm__json_text(ctx, a->entry->provider));
    cm__json_set(ctx, o, "cluster", cm__json_text(ctx, a->entry->cluster));
    cm__json_set(ctx, o, "text", cm__json_text(ctx, a->text));
}

void cm__job_json_fill(cm__ctx *ctx, json_t *o, const cm__job_report *r)
{
    int32_t placed = cm_job_placed(r->job);
    echo(ctx, o, r);
    json_t *list = cm__json_set(ctx, o, "ranking", json_array());
    for (int32_t k = 0; k < cm_job_entries(r->job); k++)
        entry(ctx, cm__json_append(ctx, list, json_object()), r->job, k);
    cm__json_set(ctx, o, "placed", json_integer(placed));
    list = cm__json_set(ctx, o, "relax", json_array());
    for (int32_t k = 0; k < cm_job_advices(r->job); k++)
        advice(ctx, cm__json_append(ctx, list, json_object()), cm_job_get_advice(r->job, k));
    if (r->gates) cm__json_gates(ctx, o, r->gates);
    cm__json_warnings(ctx, o, cm_job_graph(r->job));
}

void cm__job_json(cm__ctx *ctx, const cm__job_report *r, FILE *out)
{
    json_t *o = cm__json_answer(ctx, "rank");
    cm__job_json_fill(ctx, o, r);
    cm__json_print(ctx, o, out);
}
