/* SPDX-License-Identifier: Apache-2.0 */
/* scale.c - print scaling over devices as JSON. */
#include <math.h>
#include "report/json/json.h"
#include "report/render.h"

void cm__scale_json(cm__ctx *ctx, const cm__scale_report *r, FILE *out)
{
    static const char *const lost[] = {"communication", "bubble", "host"};
    int64_t                  seq = cm_graph_seq(r->graph->step);
    const cm_load_options   *load = &r->asked.graph.load;
    json_t                  *o = cm__json_answer(ctx, "scale");
    cm__json_set(ctx, o, "model", cm__json_text(ctx, r->asked.graph.model));
    cm__json_set(ctx, o, "device", json_string(cm_device_get_info(r->device)->id));
    cm__json_set(ctx, o, "cluster", cm__json_text(ctx, r->asked.cluster));
    cm__json_set(ctx, o, "runtime", json_string(cm_runtime_name(r->asked.options.runtime)));
    cm__json_precision(ctx, o, r->graph->step);
    cm__json_set(ctx, o, "mode", json_string(r->strong ? "strong" : "weak"));
    cm__json_set(ctx, o, "seq", seq ? json_integer(seq) : json_null());
    cm__json_samples(ctx, o, load);
    json_t *points = cm__json_set(ctx, o, "points", json_array());
    for (int32_t i = 0; i < r->asked.n_counts; i++) {
        const cm__scale_point *p = &r->points[i];
        json_t                *point = cm__json_append(ctx, points, json_object());
        cm__json_set(ctx, point, "n", json_integer(r->asked.counts[i]));
        cm__json_set(ctx, point, "batch", json_integer(p->info.batch));
        cm__json_set(ctx, point, "step_time_s", cm__json_number(p->info.step_time_s));
        cm__json_set(ctx, point, "throughput_samples_s", cm__json_number(p->info.throughput_samples_s));
        cm__json_set(ctx, point, "tokens_s",
                     cm__json_number(seq ? cm_load_tokens(load, seq) * p->info.throughput_samples_s : NAN));
        cm__json_interval(ctx, point, p->info.interval_s);
        cm__json_set(ctx, point, "efficiency", cm__json_number(p->efficiency));
        json_t *where = cm__json_set(ctx, point, "lost", json_object());
        for (int k = 0; k < 3; k++) cm__json_set(ctx, where, lost[k], cm__json_number(p->lost[k]));
        cm__json_verdict(ctx, point, &p->chance);
        cm__json_set(ctx, point, "sure", json_boolean(p->sure));
        cm__json_set(ctx, point, "peak_bytes", cm__json_number(p->peak_bytes));
        cm__json_plan(ctx, cm__json_set(ctx, point, "plan", json_object()), &p->info.plan);
    }
    cm__json_warnings(ctx, o, r->graph->step);
    cm__json_print(ctx, o, out);
}
