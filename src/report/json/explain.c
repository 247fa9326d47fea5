/* SPDX-License-Identifier: Apache-2.0 */
/* explain.c - print `explain` as JSON: every operator, the longest first. */
#include <math.h>
#include "report/json/json.h"
#include "report/render.h"

void cm__json_roofs(cm__ctx *ctx, json_t *o, const cm__roof *roof)
{
    json_t *roofs = cm__json_set(ctx, o, "roofs", json_array());
    for (int32_t i = 0; i < roof->n_levels; i++) {
        json_t *level = cm__json_append(ctx, roofs, json_object());
        cm__json_set(ctx, level, "name", cm__json_text(ctx, roof->levels[i].name));
        cm__json_set(ctx, level, "capacity_bytes", cm__json_number(roof->levels[i].capacity_bytes));
        cm__json_set(ctx, level, "bw_bytes_s", cm__json_number(roof->levels[i].bw_bytes_s));
        cm__json_set(ctx, level, "ridge_flop_byte", cm__json_number(roof->levels[i].ridge_flop_byte));
    }
}

void cm__json_level(cm__ctx *ctx, json_t *o, const cm__roof *roof, const cm__explain_side *s)
{
    cm__json_set(ctx, o, "level", s->level < 0 ? json_null() : cm__json_text(ctx, roof->levels[s->level].name));
    cm__json_set(ctx, o, "attainable_flop_s", cm__json_number(s->attainable_flop_s));
}

static void side(cm__ctx *ctx, json_t *o, const cm__explain_side *s)
{
    cm__json_set(ctx, o, "time_s", cm__json_number(s->time_s));
    cm__json_set(ctx, o, "flop", cm__json_number(s->flop));
    cm__json_set(ctx, o, "bytes", cm__json_number(s->bytes));
    cm__json_set(ctx, o, "flop_per_byte", cm__json_number(s->intensity));
    cm__json_set(ctx, o, "bound", json_string(s->memory_bound ? "memory" : "compute"));
    cm__json_set(ctx, o, "of_ceiling", cm__json_number(s->of_ceiling));
    cm__json_set(ctx, o, "how", json_string(cm_how_name(s->how)));
}

static void device(cm__ctx *ctx, json_t *o, const cm__explain_report *r, int which)
{
    const cm__predict_report *p = r->sides[which];
    const cm_prediction_info *i = cm_prediction_get_info(p->prediction);
    cm__json_set(ctx, o, "device", cm__json_text(ctx, cm_device_get_info(p->device)->id));
    cm__json_precision(ctx, o, p->graph->step);
    cm__json_set(ctx, o, "runtime", json_string(cm_runtime_name(i->runtime)));
    cm__json_set(ctx, o, "batch", json_integer(i->batch));
    cm__json_times(ctx, o, i, p->peak_bytes, &p->chance);
    cm__json_sequence(ctx, o, cm_graph_seq(p->graph->step), i->throughput_samples_s);
    cm__json_set(ctx, o, "peak_flop_s", cm__json_number(r->roofs[which].peak_flop_s));
    cm__json_set(ctx, o, "bw_bytes_s", cm__json_number(r->roofs[which].bw_bytes_s));
    cm__json_roofs(ctx, o, &r->roofs[which]);
    cm__json_set(ctx, o, "memory_bound_s", cm__json_number(r->memory_s[which]));
    cm__json_set(ctx, o, "compute_bound_s", cm__json_number(r->compute_s[which]));
}

void cm__explain_json(cm__ctx *ctx, const cm__explain_report *r, FILE *out)
{
    json_t *answer = cm__json_answer(ctx, "explain");
    cm__json_set(ctx, answer, "model", cm__json_text(ctx, r->sides[0]->asked.graph.model));
    device(ctx, answer, r, 0);
    if (r->sides[1]) device(ctx, cm__json_set(ctx, answer, "versus", json_object()), r, 1);
    cm__json_set(ctx, answer, "bottleneck", cm__json_text(ctx, r->bottleneck));
    cm__json_sensitivities(ctx, answer, r->sides[0]->prediction);
    json_t *ops = cm__json_set(ctx, answer, "ops", json_array());
    for (int32_t k = 0; k < r->n_ops; k++) {
        const cm__explain_op *op = &r->ops[k];
        json_t               *o = cm__json_append(ctx, ops, json_object());
        cm__json_set(ctx, o, "name", cm__json_text(ctx, op->name));
        cm__json_set(ctx, o, "type", json_string(op->type));
        cm__json_set(ctx, o, "phase", json_string(cm_phase_name(op->phase)));
        side(ctx, o, &op->on[0]);
        cm__json_level(ctx, o, &r->roofs[0], &op->on[0]);
        if (!r->sides[1]) continue;
        side(ctx, cm__json_set(ctx, o, "versus", json_object()), &op->on[1]);
        cm__json_set(ctx, o, "difference_s", cm__json_number(op->on[1].time_s - op->on[0].time_s));
    }
    cm__json_warnings(ctx, answer, r->sides[0]->graph->step);
    cm__json_print(ctx, answer, out);
}
