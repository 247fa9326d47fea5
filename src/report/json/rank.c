/* SPDX-License-Identifier: Apache-2.0 */
/* rank.c - print a ranking as JSON: the prediction, value and cost of each device. */
#include <math.h>
#include "report/json/json.h"
#include "report/render.h"

static const char *const states[] = {[CM_RANK_PLACED] = "placed", [CM_RANK_UNCERTAIN] = "too-uncertain",
                                     [CM_RANK_NOT_OFFERED] = "not-offered", [CM_RANK_NO_VALUE] = "no-value",
                                     [CM_RANK_OVER] = "excluded", [CM_RANK_RECOMPUTED] = "fits-recomputed",
                                     [CM_RANK_NO_FIT] = "does-not-fit",
                                     [CM_RANK_CANNOT] = "cannot"};

const char *cm__rank_state_name(const cm_rank_entry *e) { return states[e->state]; }

static json_t *pair(cm__ctx *ctx, const double values[2])
{
    json_t *list = json_array();
    for (int i = 0; i < 2; i++) cm__json_append(ctx, list, cm__json_number(values[i]));
    return list;
}

bool cm__rank_in_larger(const cm_rank_entry *e) { return e->price && e->price->devices > e->prediction.devices; }

const char *cm__rank_seller(cm__ctx *ctx, const cm_rank_entry *e)
{
    if (!e->price) return "-";
    const char *provider = cm__printable(ctx, e->price->provider);
    return cm__rank_in_larger(e) ? cm__format(ctx, "%s (%dx)", provider, (int)e->price->devices) : provider;
}

const char *cm__rank_basis(const cm_rank_entry *e)
{
    return e->price ? e->price->basis : isnan(e->price_hour) ? "-" : "given";
}

static void price(cm__ctx *ctx, json_t *o, const cm_rank_entry *e)
{
    cm__json_set(ctx, o, "price_hour", cm__json_number(e->price_hour));
    bool known = !isnan(e->price_hour);
    cm__json_set(ctx, o, "price_basis", known ? json_string(cm__rank_basis(e)) : json_null());
    cm__json_set(ctx, o, "provider", cm__json_text(ctx, e->price ? e->price->provider : NULL));
    json_t *p = cm__json_set(ctx, o, "price", e->price ? json_object() : json_null());
    if (!e->price) return;
    cm__json_set(ctx, p, "provider", cm__json_text(ctx, e->price->provider));
    cm__json_set(ctx, p, "basis", cm__json_text(ctx, e->price->basis));
    cm__json_set(ctx, p, "instance", cm__json_text(ctx, e->price->instance));
    cm__json_set(ctx, p, "devices", json_integer(e->price->devices));
    cm__json_set(ctx, p, "usd_hour_per_device", cm__json_number(e->price->usd_hour));
    cm__json_set(ctx, p, "date", cm__json_text(ctx, e->price->date));
    cm__json_set(ctx, p, "source", cm__json_text(ctx, e->price->source));
}

static void identity(cm__ctx *ctx, json_t *o, const cm_rank_entry *e)
{
    const cm_device_info *info = cm_device_get_info(e->device);
    cm__json_set(ctx, o, "device", cm__json_text(ctx, info->id));
    cm__json_set(ctx, o, "name", cm__json_text(ctx, info->name));
    cm__json_set(ctx, o, "vendor", cm__json_text(ctx, info->vendor));
    cm__json_set(ctx, o, "class", cm__json_text(ctx, info->device_class));
    cm__json_set(ctx, o, "style", json_string(cm_style_name(info->style)));
    cm__json_set(ctx, o, "precision", json_string(cm_precision_name(e->precision)));
    cm__json_set(ctx, o, "recompute", json_string(cm_recompute_name(e->recompute)));
    cm__json_set(ctx, o, "part_of", cm__json_text(ctx, info->part_of));
    cm__json_assumed(ctx, o, e->device);
    cm__json_set(ctx, o, "state", json_string(cm__rank_state_name(e)));
    cm__json_set(ctx, o, "too_uncertain", json_boolean(e->too_uncertain));
    cm__json_set(ctx, o, "reason", cm__json_text(ctx, e->reason));
}

static void numbers(cm__ctx *ctx, json_t *o, const cm_rank_entry *e)
{
    const struct {
        const char *name;
        double      value;
    } all[] = {{"value", e->value}, {"samples_per_usd", e->samples_per_usd}, {"power_w", e->power_w},
               {"energy_j_per_sample", e->energy_j_per_sample}, {"hours", e->hours}, {"usd", e->usd}, {"kwh", e->kwh},
               {"relative", e->relative}, {"port_usd", e->port_usd}, {"break_even_samples", e->break_even_samples},
               {"break_even_hours", e->break_even_hours}, {"break_even_price_hour", e->break_even_price_hour}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        cm__json_set(ctx, o, all[i].name, cm__json_number(all[i].value));
    cm__json_set(ctx, o, "interval", pair(ctx, e->interval));
    cm__json_set(ctx, o, "relative_interval", pair(ctx, e->relative_interval));
    cm__json_set(ctx, o, "pays_never", json_boolean(isinf(e->break_even_samples)));
    cm__json_set(ctx, o, "tied_with_next", json_boolean(e->tied_with_next));
    cm__json_set(ctx, o, "pareto", json_boolean(e->pareto));
}

void cm__rank_json_entry(cm__ctx *ctx, json_t *o, const cm_rank_entry *e, int32_t place, int64_t seq, double tokens)
{
    static const cm_prediction_info unknown = {.step_time_s = NAN, .device_time_s = NAN, .host_time_s = NAN,
                                               .throughput_samples_s = NAN, .interval_s = {NAN, NAN}, .mfu = NAN,
                                               .launches = NAN, .clock = NAN, .power_w = NAN};
    const cm_prediction_info       *p = e->fits ? &e->prediction : &unknown;
    cm__json_set(ctx, o, "rank", place ? json_integer(place) : json_null());
    identity(ctx, o, e);
    cm__json_set(ctx, o, "batch", e->fits ? json_integer(p->batch) : json_null());
    cm__json_set(ctx, o, "micro_batch", e->fits ? json_integer(p->micro_batch) : json_null());
    cm__json_set(ctx, o, "recomputes", e->fits ? json_boolean(p->recomputes) : json_null());
    cm__json_set(ctx, o, "devices", e->fits ? json_integer(p->devices) : json_null());
    cm__json_set(ctx, o, "runtime", e->fits ? json_string(cm_runtime_name(p->runtime)) : json_null());
    cm__json_times(ctx, o, p, e->peak_bytes, &e->chance);
    cm__json_set(ctx, o, "throughput_samples_s_per_device",
                 cm__json_number(e->fits ? p->throughput_samples_s / p->devices : NAN));
    cm__json_set(ctx, o, "seq", seq ? json_integer(seq) : json_null());
    cm__json_set(ctx, o, "tokens_s", cm__json_number(seq ? tokens * p->throughput_samples_s : NAN));
    price(ctx, o, e);
    numbers(ctx, o, e);
}

static json_t *text_or_null(cm__ctx *ctx, const char *text) { return cm__json_text(ctx, text); }

static void echo(cm__ctx *ctx, json_t *o, const cm__rank_report *r)
{
    const cm_rank_options *a = r->asked;
    const cm_ranking_info *i = cm_ranking_get_info(r->ranking);
    cm__json_set(ctx, o, "model", text_or_null(ctx, r->model));
    cm__json_set(ctx, o, "objective", json_string(cm_objective_name(i->objective)));
    cm__json_set(ctx, o, "unit", json_string(cm_ranking_unit(r->ranking)));
    cm__json_set(ctx, o, "less_is_better", json_boolean(cm_objective_is_less(i->objective)));
    cm__json_set(ctx, o, "mode", json_string(a->train.inference ? "inference" : "training"));
    cm__json_set(ctx, o, "asked_batch", a->batch ? json_integer(a->batch) : json_string("auto"));
    cm__json_set(ctx, o, "asked_precision", a->train.precision ? json_string(cm_precision_name(a->train.precision))
                                                               : json_null());
    cm__json_set(ctx, o, "devices", text_or_null(ctx, a->devices ? a->devices : "all"));
    cm__json_set(ctx, o, "vendor", text_or_null(ctx, a->vendor));
    cm__json_set(ctx, o, "provider", text_or_null(ctx, a->provider));
    cm__json_set(ctx, o, "price_basis", json_string(cm_basis_name(a->price_basis)));
    cm__json_set(ctx, o, "where", text_or_null(ctx, a->where));
    cm__json_set(ctx, o, "max_hours", a->max_hours > 0 ? cm__json_number(a->max_hours) : json_null());
    cm__json_set(ctx, o, "max_usd", a->max_usd > 0 ? cm__json_number(a->max_usd) : json_null());
    json_t *job = cm__json_set(ctx, o, "job", i->job ? json_object() : json_null());
    if (i->job) {
        cm__json_set(ctx, job, "samples", cm__json_number(i->job_samples));
        cm__json_set(ctx, job, "text", cm__json_text(ctx, i->job));
        cm__json_set(ctx, job, "assumed", json_boolean(i->job_assumed));
    }
    cm__json_set(ctx, o, "seq", i->seq ? json_integer(i->seq) : json_null());
    cm__json_set(ctx, o, "tokens_per_sample", cm__json_number(i->tokens_per_sample > 0 ? i->tokens_per_sample : NAN));
    cm__json_samples(ctx, o, &a->load);
    cm__json_set(ctx, o, "baseline", text_or_null(ctx, a->baseline));
    cm__json_set(ctx, o, "port_hours", a->port_hours > 0 ? cm__json_number(a->port_hours) : json_null());
    cm__json_set(ctx, o, "port_usd_hour", a->port_hours > 0 ? cm__json_number(a->port_usd_hour) : json_null());
    cm__json_set(ctx, o, "left_out", json_integer(i->left_out));
}

/* The calls that the device's tables lack, then their benchmark. Machines that run whole graphs have no list of calls. */
void cm__rank_commands(cm__ctx *ctx, const char *model, const cm_measurement *m, char *commands[2])
{
    const char *id = cm_device_get_info(m->entry->device)->id, *runtime = cm_runtime_name(m->entry->prediction.runtime);
    bool        whole = m->entry->prediction.runtime == CM_RUNTIME_NATIVE;
    commands[0] = whole ? NULL
                        : cm__format(ctx, "centimani predict %s --device %s --batch %lld --precision %s --runtime %s --missing "
                                     "-o calls.json", model, id, (long long)m->entry->prediction.batch,
                                     cm_precision_name(m->entry->precision), runtime);
    commands[1] = cm__format(ctx, "python -m centimani bench --device %s --base %s%s -o my-%s.json", m->backend, id,
                             whole ? " --budget 480" : " --cases calls.json", id);
}

static void advice(cm__ctx *ctx, json_t *o, const cm__rank_report *r)
{
    const cm_rank_advice a = cm_ranking_advise(r->ranking);
    cm__json_set(ctx, o, "tied", json_integer(a.tied));
    cm__json_set(ctx, o, "minutes", cm__json_number(a.count ? a.minutes : NAN));
    cm__json_set(ctx, o, "probability", cm__json_number(a.count ? a.probability : NAN));
    json_t *list = cm__json_set(ctx, o, "measurements", json_array());
    for (int32_t i = 0; i < a.count; i++) {
        const cm_measurement *m = &a.items[i];
        char                 *commands[2];
        json_t               *one = cm__json_append(ctx, list, json_object());
        cm__rank_commands(ctx, r->model, m, commands);
        cm__json_set(ctx, one, "device", cm__json_text(ctx, cm_device_get_info(m->entry->device)->id));
        cm__json_set(ctx, one, "minutes", cm__json_number(m->minutes));
        cm__json_set(ctx, one, "interval", pair(ctx, m->entry->interval));
        cm__json_set(ctx, one, "expected_interval", pair(ctx, m->interval));
        json_t *texts = cm__json_set(ctx, one, "commands", json_array());
        for (int k = 0; k < 2; k++)
            if (commands[k]) cm__json_append(ctx, texts, json_string(commands[k]));
    }
}

void cm__rank_json_fill(cm__ctx *ctx, json_t *answer, const cm__rank_report *r)
{
    const cm_ranking_info *i = cm_ranking_get_info(r->ranking);
    int32_t                placed = cm_ranking_placed(r->ranking);
    echo(ctx, answer, r);
    if (i->baseline)
        cm__rank_json_entry(ctx, cm__json_set(ctx, answer, "baseline_entry", json_object()), i->baseline, 0,
                            i->seq, i->tokens_per_sample);
    json_t *list = cm__json_set(ctx, answer, "ranking", json_array());
    for (int32_t k = 0; k < cm_ranking_entries(r->ranking); k++)
        cm__rank_json_entry(ctx, cm__json_append(ctx, list, json_object()), cm_ranking_entry(r->ranking, k),
                            k < placed ? k + 1 : 0, i->seq, i->tokens_per_sample);
    if (r->gates) cm__json_gates(ctx, answer, r->gates);
    if (r->advise) advice(ctx, cm__json_set(ctx, answer, "advice", json_object()), r);
    cm__json_warnings(ctx, answer, cm_ranking_graph(r->ranking, 0));
}

void cm__rank_json(cm__ctx *ctx, const cm__rank_report *r, FILE *out)
{
    json_t *answer = cm__json_answer(ctx, "rank");
    cm__rank_json_fill(ctx, answer, r);
    cm__json_print(ctx, answer, out);
}
