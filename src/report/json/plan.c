/* SPDX-License-Identifier: Apache-2.0 */
/* plan.c - print the best parallel plans as JSON. */
#include <math.h>
#include "report/json/json.h"
#include "report/render.h"

static void found(cm__ctx *ctx, json_t *o, const cm_found *f, int64_t seq, double tokens)
{
    cm__json_plan(ctx, o, &f->plan);
    cm__json_storage(ctx, o, f->storage);
    cm__json_set(ctx, o, "step_time_s", cm__json_number(f->step_time_s));
    cm__json_set(ctx, o, "throughput_samples_s", cm__json_number(f->throughput_samples_s));
    cm__json_interval(ctx, o, f->interval_s);
    cm__json_set(ctx, o, "seq", seq ? json_integer(seq) : json_null());
    cm__json_set(ctx, o, "tokens_s", cm__json_number(seq ? tokens * f->throughput_samples_s : NAN));
    cm__json_set(ctx, o, "mfu", cm__json_number(f->mfu));
    cm__json_set(ctx, o, "peak_bytes", cm__json_number(f->peak_bytes));
    cm__json_verdict(ctx, o, &f->chance);
    cm__json_set(ctx, o, "communication_s", cm__json_number(f->communication_s));
    cm__json_set(ctx, o, "bubble_s", cm__json_number(f->bubble_s));
    cm__json_set(ctx, o, "training_s", cm__json_number(f->training_s));
    cm__json_set(ctx, o, "cost_usd", cm__json_number(f->cost_usd));
    cm__json_set(ctx, o, "energy_j", cm__json_number(f->energy_j));
    cm__json_set(ctx, o, "pareto", json_boolean(f->pareto));
}

void cm__plan_json(cm__ctx *ctx, const cm__plan_report *r, FILE *out)
{
    const cm_search_options *a = &r->asked.options;
    const cm_search_info    *i = cm_search_get_info(r->search);
    json_t                  *o = cm__json_answer(ctx, "plan");
    cm__json_set(ctx, o, "model", cm__json_text(ctx, r->asked.graph.model));
    cm__json_set(ctx, o, "device", json_string(cm_device_get_info(r->device)->id));
    cm__json_set(ctx, o, "cluster", cm__json_text(ctx, r->asked.cluster));
    cm__json_set(ctx, o, "devices", json_integer(a->devices));
    cm__json_set(ctx, o, "global_batch", json_integer(a->global_batch));
    cm__json_set(ctx, o, "objective", json_string(cm_objective_name(a->objective)));
    cm__json_set(ctx, o, "runtime", json_string(cm_runtime_name(a->runtime)));
    cm__json_set(ctx, o, "precision", json_string(cm_precision_name(a->train.precision)));
    cm__json_set(ctx, o, "mixed_precision", json_string(cm_mixed_precision_name(a->train.mixed_precision)));
    const cm_found *first = cm_search_plan(r->search, 0);
    cm__json_storage(ctx, o, first ? first->storage : CM_DTYPES);
    if (a->tokens > 0) cm__json_set(ctx, o, "tokens", cm__json_number(a->tokens));
    if (a->within_s > 0) cm__json_set(ctx, o, "within_s", cm__json_number(a->within_s));
    int64_t         seq = cm_graph_seq(r->forward);
    double          tokens = cm_load_tokens(&a->load, seq);
    const cm_price *price = cm_device_cheapest(r->device, a->devices, a->price_basis, NULL);
    cm__json_set(ctx, o, "seq", seq ? json_integer(seq) : json_null());
    cm__json_samples(ctx, o, &a->load);
    cm__json_set(ctx, o, "price_basis", json_string(price ? price->basis : cm_basis_name(a->price_basis)));
    cm__json_set(ctx, o, "price_hour", price ? cm__json_number(price->usd_hour) : json_null()); /* of one device */
    cm__json_set(ctx, o, "provider", cm__json_text(ctx, price ? price->provider : NULL));
    json_t *best = cm__json_set(ctx, o, "best", json_array());
    for (int32_t k = 0; k < cm_search_plans(r->search); k++) {
        const cm_found *f = cm_search_plan(r->search, k);
        if (!r->asked.pareto || f->pareto) found(ctx, cm__json_append(ctx, best, json_object()), f, seq, tokens);
    }
    cm__json_set(ctx, o, "evaluated", json_integer((json_int_t)i->evaluated));
    cm__json_set(ctx, o, "feasible", json_integer((json_int_t)i->feasible));
    cm__json_set(ctx, o, "setup_time_s", cm__json_number(i->setup_s));
    cm__json_set(ctx, o, "search_time_s", cm__json_number(i->search_time_s));
    cm__json_set(ctx, o, "threads", json_integer(i->threads));
    cm__json_set(ctx, o, "ranks", json_integer(i->ranks));
    cm__json_set(ctx, o, "stopped", json_boolean(i->stopped));
    cm__json_warnings(ctx, o, r->forward);
    cm__json_set(ctx, o, "reason", cm__json_text(ctx, i->reason));
    cm__json_print(ctx, o, out);
}
