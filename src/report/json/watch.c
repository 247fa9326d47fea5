/* SPDX-License-Identifier: Apache-2.0 */
/* watch.c - print a training log beside the prediction of its step as JSON. */
#include <math.h>
#include "report/json/json.h"
#include "report/report.h"

void cm__watch_json(cm__ctx *ctx, const cm__watch_report *r, FILE *out)
{
    const cm_prediction_info *p = cm_prediction_get_info(r->predicted->prediction);
    json_t                   *o = cm__json_answer(ctx, "watch-log");
    cm__json_set(ctx, o, "log", cm__json_text(ctx, r->path));
    cm__json_set(ctx, o, "model", cm__json_text(ctx, r->predicted->asked.graph.model));
    cm__json_set(ctx, o, "device", json_string(cm_device_get_info(r->predicted->device)->id));
    cm__json_set(ctx, o, "runtime", json_string(cm_runtime_name(p->runtime)));
    cm__json_set(ctx, o, "precision", json_string(cm_precision_name(r->predicted->asked.graph.train.precision)));
    cm__json_set(ctx, o, "rows", json_integer(r->log.rows));
    cm__json_set(ctx, o, "measured_step_s", cm__json_number(r->log.recent_s));
    cm__json_set(ctx, o, "median_step_s", cm__json_number(r->log.median_s));
    cm__json_set(ctx, o, "predicted_step_s", cm__json_number(p->step_time_s));
    cm__json_interval(ctx, o, p->interval_s);
    cm__json_set(ctx, o, "ratio", cm__json_number(r->log.recent_s / p->step_time_s));
    cm__json_set(ctx, o, "inside", json_boolean(r->inside));
    cm__json_set(ctx, o, "steps_done", cm__json_number(r->log.done));
    cm__json_set(ctx, o, "steps_total", cm__json_number(r->log.total));
    cm__json_set(ctx, o, "remaining_s", cm__json_number(r->remaining_s));
    cm__json_set(ctx, o, "verdict", cm__json_text(ctx, r->verdict));
    cm__json_gates(ctx, o, &r->gates);
    cm__json_print(ctx, o, out);
}
