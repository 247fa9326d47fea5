/* SPDX-License-Identifier: Apache-2.0 */
/* mix.c - print a ranking for several networks as JSON: totals, and the entry of each network. */
#include <math.h>
#include "report/json/json.h"
#include "report/render.h"

#define HOUR 3600.0
#define JOULE_PER_KWH 3.6e6

static json_t *pair(cm__ctx *ctx, const double values[2])
{
    json_t *list = json_array();
    for (int i = 0; i < 2; i++) cm__json_append(ctx, list, cm__json_number(values[i]));
    return list;
}

static void totals(cm__ctx *ctx, json_t *o, double hours, double usd, double kwh)
{
    cm__json_set(ctx, o, "time_s", cm__json_number(HOUR * hours));
    cm__json_set(ctx, o, "cost_usd", cm__json_number(usd));
    cm__json_set(ctx, o, "energy_j", cm__json_number(JOULE_PER_KWH * kwh));
}

static void network(cm__ctx *ctx, json_t *o, const cm_mix *mix, int32_t i, const cm_rank_entry *part)
{
    const cm_network      *n = cm_mix_network(mix, i);
    const cm_ranking_info *info = cm_ranking_get_info(cm_mix_ranking(mix, i));
    double                 known = part->fits ? n->weight : NAN;
    cm__json_set(ctx, o, "model", cm__json_text(ctx, n->model));
    cm__json_set(ctx, o, "weight", cm__json_number(n->weight));
    totals(ctx, o, known * part->hours, known * part->usd, known * part->kwh);
    cm__rank_json_entry(ctx, o, part, 0, info->seq, info->tokens_per_sample);
}

void cm__mix_json_total(cm__ctx *ctx, json_t *o, const cm_rank_entry *t, int32_t place)
{
    const cm_device_info *info = cm_device_get_info(t->device);
    double                known = t->fits ? 1 : NAN;
    cm__json_set(ctx, o, "rank", place ? json_integer(place) : json_null());
    cm__json_set(ctx, o, "device", cm__json_text(ctx, info->id));
    cm__json_set(ctx, o, "name", cm__json_text(ctx, info->name));
    cm__json_set(ctx, o, "vendor", cm__json_text(ctx, info->vendor));
    cm__json_set(ctx, o, "class", cm__json_text(ctx, info->device_class));
    cm__json_set(ctx, o, "state", json_string(cm__rank_state_name(t)));
    cm__json_set(ctx, o, "reason", cm__json_text(ctx, t->reason));
    cm__json_verdict(ctx, o, &t->chance);
    totals(ctx, o, known * t->hours, known * t->usd, known * t->kwh);
    cm__json_interval(ctx, o, t->fits ? t->prediction.interval_s : NULL);
    cm__json_set(ctx, o, "hours", cm__json_number(known * t->hours));
    cm__json_set(ctx, o, "usd", cm__json_number(known * t->usd));
    cm__json_set(ctx, o, "kwh", cm__json_number(known * t->kwh));
    cm__json_set(ctx, o, "price_hour", cm__json_number(known * t->price_hour));
    cm__json_set(ctx, o, "value", cm__json_number(known * t->value));
    const double interval[2] = {known * t->interval[0], known * t->interval[1]};
    cm__json_set(ctx, o, "interval", pair(ctx, interval));
    cm__json_set(ctx, o, "peak_bytes", cm__json_number(known * t->peak_bytes));
    cm__json_set(ctx, o, "tied_with_next", json_boolean(t->tied_with_next));
    cm__json_set(ctx, o, "pareto", json_boolean(t->pareto));
}

static void entry(cm__ctx *ctx, json_t *o, const cm_mix *mix, const cm_mix_entry *e, int32_t place)
{
    const cm_rank_entry *t = &e->total;
    cm__mix_json_total(ctx, o, t, place);
    cm__json_set(ctx, o, "relative", cm__json_number(t->relative));
    cm__json_set(ctx, o, "relative_interval", pair(ctx, t->relative_interval));
    cm__json_set(ctx, o, "port_usd", cm__json_number(t->port_usd));
    cm__json_set(ctx, o, "break_even_hours", cm__json_number(t->break_even_hours));
    cm__json_set(ctx, o, "break_even_price_hour", cm__json_number(t->break_even_price_hour));
    cm__json_set(ctx, o, "pays_never", json_boolean(isinf(t->break_even_hours)));
    json_t *list = cm__json_set(ctx, o, "networks", json_array());
    for (int32_t i = 0; i < cm_mix_networks(mix); i++)
        network(ctx, cm__json_append(ctx, list, json_object()), mix, i, e->parts[i]);
}

static void asked_network(cm__ctx *ctx, json_t *o, const cm_mix *mix, int32_t i)
{
    const cm_network      *n = cm_mix_network(mix, i);
    const cm_ranking_info *info = cm_ranking_get_info(cm_mix_ranking(mix, i));
    cm__json_set(ctx, o, "model", cm__json_text(ctx, n->model));
    cm__json_set(ctx, o, "weight", cm__json_number(n->weight));
    cm__json_set(ctx, o, "seq", info->seq ? json_integer(info->seq) : json_null());
    json_t *job = cm__json_set(ctx, o, "job", json_object());
    cm__json_set(ctx, job, "samples", cm__json_number(info->job_samples));
    cm__json_set(ctx, job, "text", cm__json_text(ctx, info->job));
    cm__json_set(ctx, job, "assumed", json_boolean(info->job_assumed));
    cm__json_warnings(ctx, o, cm_ranking_graph(cm_mix_ranking(mix, i), 0));
}

void cm__mix_json_fill(cm__ctx *ctx, json_t *answer, const cm__mix_report *r)
{
    const cm_rank_options *a = r->asked;
    cm__json_set(ctx, answer, "model", cm__json_text(ctx, r->models));
    json_t *models = cm__json_set(ctx, answer, "models", json_array());
    for (int32_t i = 0; i < cm_mix_networks(r->mix); i++)
        asked_network(ctx, cm__json_append(ctx, models, json_object()), r->mix, i);
    cm__json_set(ctx, answer, "objective", json_string(cm_objective_name(cm_mix_objective(r->mix))));
    cm__json_set(ctx, answer, "unit", json_string(cm__mix_unit(r->mix)));
    cm__json_set(ctx, answer, "less_is_better", json_true());
    cm__json_set(ctx, answer, "mode", json_string(a->train.inference ? "inference" : "training"));
    cm__json_set(ctx, answer, "devices", cm__json_text(ctx, a->devices ? a->devices : "all"));
    cm__json_set(ctx, answer, "price_basis", json_string(cm_basis_name(a->price_basis)));
    cm__json_set(ctx, answer, "max_hours", a->max_hours > 0 ? cm__json_number(a->max_hours) : json_null());
    cm__json_set(ctx, answer, "max_usd", a->max_usd > 0 ? cm__json_number(a->max_usd) : json_null());
    const cm_mix_entry *base = cm_mix_baseline(r->mix);
    cm__json_set(ctx, answer, "baseline", cm__json_text(ctx, base ? cm_device_get_info(base->total.device)->id : NULL));
    cm__json_set(ctx, answer, "port_hours", a->port_hours > 0 ? cm__json_number(a->port_hours) : json_null());
    cm__json_set(ctx, answer, "port_usd_hour", a->port_hours > 0 ? cm__json_number(a->port_usd_hour) : json_null());
    json_t *list = cm__json_set(ctx, answer, "ranking", json_array());
    for (int32_t k = 0; k < cm_mix_entries(r->mix); k++)
        entry(ctx, cm__json_append(ctx, list, json_object()), r->mix, cm_mix_get_entry(r->mix, k),
              k < cm_mix_placed(r->mix) ? k + 1 : 0);
    if (r->gates) cm__json_gates(ctx, answer, r->gates);
}

void cm__mix_json(cm__ctx *ctx, const cm__mix_report *r, FILE *out)
{
    json_t *answer = cm__json_answer(ctx, "rank");
    cm__mix_json_fill(ctx, answer, r);
    cm__json_print(ctx, answer, out);
}
