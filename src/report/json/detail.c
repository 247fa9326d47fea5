/* SPDX-License-Identifier: Apache-2.0 */
/* detail.c - the details of one device as JSON, for the HTML pages. */
#include <math.h>
#include "report/detail.h"
#include "report/json/json.h"

#define OPS_MOST 400 /* longest operators; a page draws no more */

static void memory(cm__ctx *ctx, json_t *o, const cm__detail *d)
{
    const cm_device *device = d->explain->sides[0]->device;
    json_t          *categories = cm__json_set(ctx, o, "categories", json_object());
    for (int c = 0; c < CM_CATEGORIES; c++)
        cm__json_set(ctx, categories, cm_category_name((cm_category)c), cm__json_number(d->use.categories[c]));
    json_t *levels = cm__json_set(ctx, o, "levels", json_array());
    for (int32_t i = 0; i < d->use.n_levels; i++) {
        json_t *l = cm__json_append(ctx, levels, json_object());
        cm__json_set(ctx, l, "name", cm__json_text(ctx, cm_device_memory(device, d->use.levels[i].memory)->name));
        cm__json_set(ctx, l, "capacity_bytes", cm__json_number(d->use.levels[i].capacity_bytes));
        cm__json_set(ctx, l, "used_bytes", cm__json_number(d->use.levels[i].used_bytes));
    }
}

static void operators(cm__ctx *ctx, json_t *o, const cm__explain_report *r)
{
    json_t *ops = cm__json_set(ctx, o, "ops", json_array()), *kinds = cm__json_set(ctx, o, "kinds", json_array());
    for (int32_t i = 0; i < r->n_ops && i < OPS_MOST; i++) {
        const cm__explain_op *op = &r->ops[i];
        json_t               *e = cm__json_append(ctx, ops, json_object());
        cm__json_set(ctx, e, "name", cm__json_text(ctx, op->name));
        cm__json_set(ctx, e, "type", json_string(op->type));
        cm__json_set(ctx, e, "phase", json_string(cm_phase_name(op->phase)));
        cm__json_set(ctx, e, "time_s", cm__json_number(op->on[0].time_s));
        cm__json_set(ctx, e, "flop", cm__json_number(op->on[0].flop));
        cm__json_set(ctx, e, "bytes", cm__json_number(op->on[0].bytes));
        cm__json_set(ctx, e, "flop_per_byte", cm__json_number(op->on[0].intensity));
        cm__json_set(ctx, e, "bound", json_string(op->on[0].memory_bound ? "memory" : "compute"));
        cm__json_set(ctx, e, "of_ceiling", cm__json_number(op->on[0].of_ceiling));
        cm__json_set(ctx, e, "how", json_string(cm_how_name(op->on[0].how)));
        cm__json_level(ctx, e, &r->roofs[0], &op->on[0]);
    }
    for (int32_t i = 0; i < r->n_kinds; i++) {
        json_t *e = cm__json_append(ctx, kinds, json_object());
        cm__json_set(ctx, e, "type", json_string(r->kinds[i].type));
        cm__json_set(ctx, e, "phase", json_string(cm_phase_name(r->kinds[i].phase)));
        cm__json_set(ctx, e, "first", json_integer(r->kinds[i].first)); /* place in the step */
        cm__json_set(ctx, e, "time_s", cm__json_number(r->kinds[i].time_s[0]));
        cm__json_set(ctx, e, "at_ceiling_s", cm__json_number(r->kinds[i].best_s[0]));
    }
}

static void curve(cm__ctx *ctx, json_t *list, const cm__detail *d)
{
    for (int32_t i = 0; i < d->n_curve; i++) {
        const cm__batch_point *p = &d->curve[i];
        json_t                *e = cm__json_append(ctx, list, json_object());
        cm__json_set(ctx, e, "batch", json_integer(p->batch));
        cm__json_set(ctx, e, "throughput_samples_s", cm__json_number(p->throughput_samples_s));
        json_t *interval = cm__json_set(ctx, e, "interval", json_array());
        for (int k = 0; k < 2; k++) cm__json_append(ctx, interval, cm__json_number(p->interval[k]));
        cm__json_set(ctx, e, "peak_bytes", cm__json_number(p->peak_bytes));
        cm__json_verdict(ctx, e, &p->chance);
    }
}

static void scaling(cm__ctx *ctx, json_t *o, const cm__detail *d)
{
    json_t *list = cm__json_set(ctx, o, "scaling", json_array());
    for (int32_t i = 0; i < d->n_scaling; i++) {
        const cm__scale_point *p = &d->scaling[i];
        json_t                *e = cm__json_append(ctx, list, json_object());
        cm__json_set(ctx, e, "devices", json_integer(p->info.devices));
        cm__json_set(ctx, e, "batch", json_integer(p->info.batch));
        cm__json_set(ctx, e, "throughput_samples_s", cm__json_number(p->info.throughput_samples_s));
        cm__json_set(ctx, e, "efficiency", cm__json_number(p->efficiency));
        cm__json_set(ctx, e, "communication", cm__json_number(p->lost[0]));
    }
    cm__json_set(ctx, o, "scaling_ends", cm__json_text(ctx, d->scaling_ends));
}

static void timeline(cm__ctx *ctx, json_t *o, const cm__lanes *t)
{
    cm__json_set(ctx, o, "end_s", cm__json_number(t->end_s));
    cm__json_set(ctx, o, "about", cm__json_text(ctx, t->about));
    json_t *list = cm__json_set(ctx, o, "lanes", json_array());
    for (int32_t i = 0; i < t->n_lanes; i++) {
        json_t *lane = cm__json_append(ctx, list, json_object());
        cm__json_set(ctx, lane, "name", cm__json_text(ctx, t->lanes[i].name));
        json_t *slices = cm__json_set(ctx, lane, "slices", json_array());
        for (int32_t k = 0; k < t->lanes[i].n_slices; k++) {
            const cm__lane_slice *s = &t->lanes[i].slices[k];
            json_t               *e = cm__json_append(ctx, slices, json_object());
            cm__json_set(ctx, e, "name", cm__json_text(ctx, s->name));
            cm__json_set(ctx, e, "phase", json_string(s->phase));
            cm__json_set(ctx, e, "begin_s", cm__json_number(s->begin_s));
            cm__json_set(ctx, e, "time_s", cm__json_number(s->time_s));
            cm__json_set(ctx, e, "calls", json_integer(s->count));
        }
    }
}

void cm__detail_json_fill(cm__ctx *ctx, json_t *o, const cm__detail *d)
{
    const cm__predict_report *p = d->explain->sides[0];
    const cm_prediction_info *i = cm_prediction_get_info(p->prediction);
    cm__json_set(ctx, o, "model", cm__json_text(ctx, p->asked.graph.model));
    cm__json_set(ctx, o, "device", cm__json_text(ctx, cm_device_get_info(p->device)->id));
    cm__json_set(ctx, o, "name", cm__json_text(ctx, cm_device_get_info(p->device)->name));
    cm__json_precision(ctx, o, p->graph->step);
    cm__json_set(ctx, o, "runtime", json_string(cm_runtime_name(i->runtime)));
    cm__json_set(ctx, o, "batch", json_integer(i->batch));
    bool    planned = i->plan.devices > 1 || i->plan.accumulate > 1;
    json_t *plan = cm__json_set(ctx, o, "plan", planned ? json_object() : json_null());
    if (planned) cm__json_plan(ctx, plan, &i->plan);
    cm__json_times(ctx, o, i, p->peak_bytes, &p->chance);
    cm__json_sequence(ctx, o, cm_graph_seq(p->graph->step), i->throughput_samples_s);
    cm__json_warnings(ctx, o, p->graph->step);
    cm__json_set(ctx, o, "bottleneck", cm__json_text(ctx, d->explain->bottleneck));
    cm__json_set(ctx, o, "peak_flop_s", cm__json_number(d->explain->roofs[0].peak_flop_s));
    cm__json_set(ctx, o, "bw_bytes_s", cm__json_number(d->explain->roofs[0].bw_bytes_s));
    cm__json_roofs(ctx, o, &d->explain->roofs[0]);
    operators(ctx, o, d->explain);
    memory(ctx, cm__json_set(ctx, o, "memory", json_object()), d);
    curve(ctx, cm__json_set(ctx, o, "curve", json_array()), d);
    scaling(ctx, o, d);
    timeline(ctx, cm__json_set(ctx, o, "timeline", json_object()), &d->lanes);
    json_t *sources = cm__json_set(ctx, o, "sources", json_array());
    for (int32_t k = 0; k < d->n_sources; k++) {
        json_t *s = cm__json_append(ctx, sources, json_object());
        cm__json_set(ctx, s, "title", cm__json_text(ctx, d->sources[k]->title));
        cm__json_set(ctx, s, "where", cm__json_text(ctx, d->sources[k]->where));
        cm__json_set(ctx, s, "date", cm__json_text(ctx, d->sources[k]->date));
    }
}

cm_status cm__detail_print(const cm__detail *detail, FILE *out, cm_diag *diag)
{
    cm__ctx *ctx = cm__ctx_new(diag);
    if (!ctx) return CM_ERR_MEMORY;
    if (setjmp(ctx->trap)) return cm__ctx_abandon(ctx);
    json_t *answer = cm__json_answer(ctx, "device");
    cm__detail_json_fill(ctx, answer, detail);
    cm__json_print(ctx, answer, out);
    cm__ctx_free(ctx);
    return CM_OK;
}
