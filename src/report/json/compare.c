/* SPDX-License-Identifier: Apache-2.0 */
/* compare.c - print a comparison with a trace, and the tables learned from a trace, as JSON. */
#include <math.h>
#include "report/json/json.h"
#include "report/render.h"

static void timeline(cm__ctx *ctx, json_t *o, const cm_timeline_info *t)
{
    cm__json_set(ctx, o, "trace_device", cm__json_text(ctx, t->device));
    cm__json_set(ctx, o, "steps", json_integer(t->steps));
    cm__json_set(ctx, o, "measured_step_s", cm__json_number(t->step_time_s));
    cm__json_set(ctx, o, "measured_device_s", cm__json_number(t->device_time_s));
    cm__json_set(ctx, o, "measured_loading_s", cm__json_number(t->loading_s));
    cm__json_set(ctx, o, "measured_overlapped_s", cm__json_number(t->overlapped_s));
    cm__json_set(ctx, o, "measured_peak_bytes", cm__json_number(t->peak_bytes));
    cm__json_set(ctx, o, "measured_kernels", cm__json_number(t->kernels));
    cm__json_set(ctx, o, "events", json_integer(t->events));
    cm__json_set(ctx, o, "unreadable_events", json_integer(t->unreadable));
    cm__json_set(ctx, o, "shapes", json_boolean(t->shapes));
}

static json_t *phase_text(cm_phase phase) { return json_string(phase < CM_PHASES ? cm_phase_name(phase) : "step"); }

static void print_calls(cm__ctx *ctx, json_t *answer, const cm__compare_report *r)
{
    json_t *calls = cm__json_set(ctx, answer, "calls", json_array());
    for (int32_t i = 0; i < r->n_calls; i++) {
        const cm__compared_call *c = &r->calls[i];
        json_t                  *o = cm__json_append(ctx, calls, json_object());
        cm__json_set(ctx, o, "call", cm__json_text(ctx, c->call));
        cm__json_set(ctx, o, "phase", phase_text(c->phase));
        cm__json_set(ctx, o, "measured_s", cm__json_number(c->measured_s));
        cm__json_set(ctx, o, "predicted_s", cm__json_number(c->predicted_s));
        cm__json_set(ctx, o, "measured_runs", cm__json_number(c->measured_runs));
        cm__json_set(ctx, o, "predicted_runs", cm__json_number(c->predicted_runs));
        cm__json_set(ctx, o, "how", cm__json_text(ctx, c->how < CM_HOWS ? cm_how_name(c->how) : NULL));
    }
}

void cm__compare_json(cm__ctx *ctx, const cm__compare_report *r, FILE *out)
{
    json_t                   *answer = cm__json_answer(ctx, "compare");
    const cm_timeline_info   *t = cm_timeline_get_info(r->timeline);
    const cm__predict_report *p = r->predicted;
    const cm_prediction_info *i = cm_prediction_get_info(p->prediction);
    cm__json_set(ctx, answer, "trace", cm__json_text(ctx, r->trace));
    cm__json_set(ctx, answer, "model", cm__json_text(ctx, p->asked.graph.model));
    cm__json_set(ctx, answer, "device", cm__json_text(ctx, cm_device_get_info(p->device)->id));
    cm__json_precision(ctx, answer, p->graph->step);
    cm__json_set(ctx, answer, "runtime", json_string(cm_runtime_name(i->runtime)));
    cm__json_set(ctx, answer, "batch", json_integer(i->batch));
    timeline(ctx, answer, t);
    cm__json_set(ctx, answer, "predicted_step_s", cm__json_number(i->step_time_s));
    cm__json_set(ctx, answer, "predicted_device_s", cm__json_number(i->device_time_s));
    cm__json_interval(ctx, answer, i->interval_s);
    cm__json_sequence(ctx, answer, cm_graph_seq(p->graph->step), i->throughput_samples_s);
    cm__json_set(ctx, answer, "predicted_peak_bytes", cm__json_number(p->peak_bytes));
    cm__json_set(ctx, answer, "matched_s", cm__json_number(r->matched_s));
    json_t *rows = cm__json_set(ctx, answer, "differences", json_array());
    for (int32_t k = 0; k < r->n_differences; k++) {
        const cm__difference *d = &r->differences[k];
        json_t               *o = cm__json_append(ctx, rows, json_object());
        cm__json_set(ctx, o, "what", cm__json_text(ctx, d->what));
        cm__json_set(ctx, o, "phase", phase_text(d->phase));
        cm__json_set(ctx, o, "measured_s", cm__json_number(d->measured_s));
        cm__json_set(ctx, o, "predicted_s", cm__json_number(d->predicted_s));
    }
    print_calls(ctx, answer, r);
    cm__json_warnings(ctx, answer, p->graph->step);
    cm__json_print(ctx, answer, out);
}

void cm__trace_fit_json(cm__ctx *ctx, const cm__trace_fit_report *r, FILE *out)
{
    json_t *answer = cm__json_answer(ctx, "fit");
    cm__json_set(ctx, answer, "trace", cm__json_text(ctx, r->path));
    cm__json_set(ctx, answer, "device", cm__json_text(ctx, r->device));
    timeline(ctx, answer, cm_timeline_get_info(r->timeline));
    cm__json_set(ctx, answer, "rows", json_integer(r->rows));
    json_t *tables = cm__json_set(ctx, answer, "tables", json_array());
    for (int32_t i = 0; i < cm_timeline_calls(r->timeline); i++) {
        const cm_timeline_call *c = cm_timeline_get_call(r->timeline, i);
        json_t                 *o = cm__json_append(ctx, tables, json_object());
        cm__json_set(ctx, o, "call", cm__json_text(ctx, c->call));
        cm__json_set(ctx, o, "what", cm__json_text(ctx, c->what));
        cm__json_set(ctx, o, "phase", phase_text(c->phase));
        cm__json_set(ctx, o, "time_s", cm__json_number(c->time_s));
        cm__json_set(ctx, o, "runs", cm__json_number(c->runs));
        cm__json_set(ctx, o, "kernels", cm__json_number(c->kernels));
    }
    cm__json_print(ctx, answer, out);
}
