/* SPDX-License-Identifier: Apache-2.0 */
/* memory.c - print the memory of a step, or the choice of a batch size, as JSON. */
#include <math.h>
#include "report/json/json.h"
#include "report/render.h"

/* The throughput is known only if a batch size was chosen by it. */
static double chosen_samples_s(const cm__memory_report *r)
{
    for (int32_t i = 0; i < r->choice.n_candidates; i++)
        if (r->choice.candidates[i].batch == r->choice.batch) return r->choice.candidates[i].throughput_samples_s;
    return NAN;
}

static void echo(cm__ctx *ctx, json_t *o, const cm__memory_report *r)
{
    const cm__graph_request *g = &r->asked.graph;
    cm__json_set(ctx, o, "model", cm__json_text(ctx, g->model));
    cm__json_set(ctx, o, "name", cm__json_text(ctx, cm_graph_name(r->forward)));
    cm__json_set(ctx, o, "device", cm__json_text(ctx, cm_device_get_info(r->device)->id));
    cm__json_set(ctx, o, "runtime", json_string(cm_runtime_name(cm_footprint_runtime(r->footprint))));
    cm__json_sequence(ctx, o, cm_graph_seq(r->step), chosen_samples_s(r));
    cm__json_lengths(ctx, o, &g->load, cm_step_row_tokens(r->on_device, r->batch), chosen_samples_s(r));
    cm__json_interval(ctx, o, r->timed ? r->interval_s : NULL);
    cm__json_precision(ctx, o, r->step);
    cm__json_set(ctx, o, "optimizer", json_string(cm_optimizer_name(cm_graph_optimizer(r->step))));
    cm__json_set(ctx, o, "recompute", json_string(cm_recompute_asked(&g->train)));
    cm__json_set(ctx, o, "mode", json_string(g->train.inference ? "inference" : "training"));
}

static void phases(cm__ctx *ctx, json_t *answer, const cm__memory_report *r)
{
    const cm__predict_request asked = {.prompt = r->asked.prompt, .generate = r->asked.generate, .loop = r->asked.loop};
    cm__json_loop(ctx, answer, &asked, &r->loop, false);
}

static void plan(cm__ctx *ctx, json_t *answer, const cm__memory_report *r)
{
    const cm_plan *p = &r->plan;
    json_t        *o = cm__json_set(ctx, answer, "plan", json_object());
    const struct {
        const char *name;
        int64_t     value;
    } members[] = {{"devices", p->devices}, {"tp", p->tp}, {"pp", p->pp}, {"dp", p->dp}, {"zero", p->zero},
                   {"interleave", p->interleave}, {"accumulate", p->accumulate}, {"micro_batch", r->at_once}};
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        cm__json_set(ctx, o, members[i].name, json_integer(members[i].value));
    cm__json_set(ctx, o, "sequence_parallel", json_boolean(p->sequence_parallel));
}

static void interval(cm__ctx *ctx, json_t *o, const cm_chance *chance)
{
    json_t *both = cm__json_set(ctx, o, "interval_bytes", json_array());
    for (int side = 0; side < 2; side++) cm__json_append(ctx, both, cm__json_number(chance->interval_bytes[side]));
}

static void alternatives(cm__ctx *ctx, json_t *o, const cm_memory_use *u)
{
    json_t *list = cm__json_set(ctx, o, "alternatives", json_array());
    for (int32_t i = 0; i < u->n_alternatives; i++) {
        cm_chance chance = cm_alternative_chance(u, i);
        json_t   *a = cm__json_append(ctx, list, json_object());
        cm__json_set(ctx, a, "name", json_string(u->alternatives[i].name));
        cm__json_verdict(ctx, a, &chance);
        cm__json_set(ctx, a, "peak_bytes", cm__json_number(u->alternatives[i].peak_bytes));
        interval(ctx, a, &chance);
    }
}

static void use_of(cm__ctx *ctx, json_t *o, const cm__memory_report *r)
{
    const cm_memory_use *u = &r->use;
    const cm_node       *peak = u->peak_node >= 0 ? cm_graph_node(r->step, u->peak_node) : NULL;
    cm__json_set(ctx, o, "peak_bytes", cm__json_number(u->peak_bytes));
    cm__json_verdict(ctx, o, &r->chance);
    cm__json_compiled(ctx, o, r->step, u);
    cm__json_set(ctx, o, "sure", json_boolean(u->sure));
    interval(ctx, o, &r->chance);
    alternatives(ctx, o, u);
    cm__json_set(ctx, o, "micro_batch", json_integer(u->micro_batch));
    cm__json_set(ctx, o, "devices", json_integer(u->devices));
    cm__json_set(ctx, o, "recomputes", json_boolean(u->recomputes));
    cm__json_set(ctx, o, "peak_op", cm__json_text(ctx, peak ? cm_node_name(peak) : NULL));
    cm__json_set(ctx, o, "peak_op_type", cm__json_text(ctx, peak ? cm_node_type(peak) : NULL));
    cm__json_set(ctx, o, "peak_op_phase", cm__json_text(ctx, peak ? cm_phase_name(cm_node_phase(peak)) : NULL));
    cm__json_set(ctx, o, "reserved_bytes", cm__json_number(u->reserved_bytes));
    cm__json_set(ctx, o, "context_bytes", cm__json_number(u->context_bytes));
    cm__json_set(ctx, o, "shortfall_bytes", cm__json_number(u->shortfall_bytes));
    json_t *categories = cm__json_set(ctx, o, "categories", json_object());
    for (cm_category c = 0; c < CM_CATEGORIES; c++)
        cm__json_set(ctx, categories, cm_category_name(c), cm__json_number(u->categories[c]));
    json_t *levels = cm__json_set(ctx, o, "levels", json_array());
    for (int32_t i = 0; i < u->n_levels; i++) {
        json_t *l = cm__json_append(ctx, levels, json_object());
        cm__json_set(ctx, l, "name", cm__json_text(ctx, cm_device_memory(r->device, u->levels[i].memory)->name));
        cm__json_set(ctx, l, "capacity_bytes", cm__json_number(u->levels[i].capacity_bytes));
        cm__json_set(ctx, l, "used_bytes", cm__json_number(u->levels[i].used_bytes));
    }
}

static void details(cm__ctx *ctx, json_t *o, const cm__memory_report *r)
{
    json_t *largest = cm__json_set(ctx, o, "largest", json_array());
    for (int32_t i = 0; i < r->n_alive; i++) {
        json_t *t = cm__json_append(ctx, largest, json_object());
        cm__json_set(ctx, t, "name", cm__json_text(ctx, cm_tensor_name(cm_graph_tensor(r->step, r->alive[i].tensor))));
        cm__json_set(ctx, t, "category", json_string(cm_category_name(r->alive[i].category)));
        cm__json_set(ctx, t, "bytes", cm__json_number(r->alive[i].bytes));
    }
    json_t *remedies = cm__json_set(ctx, o, "remedies", json_array());
    for (int32_t i = 0; i < r->n_remedies; i++) {
        json_t *k = cm__json_append(ctx, remedies, json_object());
        cm__json_set(ctx, k, "option", cm__json_text(ctx, r->remedies[i].option));
        cm__json_set(ctx, k, "value", cm__json_text(ctx, r->remedies[i].value));
        cm__json_set(ctx, k, "peak_bytes", cm__json_number(r->remedies[i].peak_bytes));
        cm__json_set(ctx, k, "step_time_s", cm__json_number(r->remedies[i].step_time_s));
        cm__json_set(ctx, k, "cost", cm__json_text(ctx, r->remedies[i].cost));
    }
}

void cm__memory_json(cm__ctx *ctx, const cm__memory_report *r, FILE *out)
{
    json_t *answer = cm__json_answer(ctx, "memory");
    echo(ctx, answer, r);
    cm__json_set(ctx, answer, "batch", json_integer(r->batch));
    plan(ctx, answer, r);
    use_of(ctx, answer, r);
    phases(ctx, answer, r);
    details(ctx, answer, r);
    json_t *curve = cm__json_set(ctx, answer, "curve", json_array());
    for (int32_t i = 0; i < r->n_curve; i++) {
        json_t *p = cm__json_append(ctx, curve, json_object());
        cm__json_set(ctx, p, "batch", json_integer(r->curve[i].batch));
        cm__json_set(ctx, p, "peak_bytes", cm__json_number(r->curve[i].peak_bytes));
        cm__json_verdict(ctx, p, &r->curve[i].chance);
    }
    cm__json_warnings(ctx, answer, r->step);
    if (r->unsure) cm__json_append(ctx, json_object_get(answer, "warnings"), json_string(r->unsure));
    cm__json_print(ctx, answer, out);
}

void cm__fits_json(cm__ctx *ctx, const cm__memory_report *r, FILE *out)
{
    json_t *answer = cm__json_answer(ctx, "fits");
    echo(ctx, answer, r);
    cm__json_set(ctx, answer, "batch", json_integer(r->batch));
    plan(ctx, answer, r);
    use_of(ctx, answer, r);
    phases(ctx, answer, r);
    cm__json_set(ctx, answer, "answer", json_string(cm__fits_word(&r->chance)));
    cm__json_set(ctx, answer, "step_time_s", cm__json_number(r->step_time_s));
    cm__json_set(ctx, answer, "largest_micro_batch", json_integer(r->largest));
    details(ctx, answer, r);
    cm__json_warnings(ctx, answer, r->step);
    if (r->unsure) cm__json_append(ctx, json_object_get(answer, "warnings"), json_string(r->unsure));
    cm__json_print(ctx, answer, out);
}

void cm__batch_json(cm__ctx *ctx, const cm__memory_report *r, FILE *out)
{
    json_t *answer = cm__json_answer(ctx, "batch");
    echo(ctx, answer, r);
    cm__json_set(ctx, answer, "objective", json_string(cm_objective_name(r->asked.objective)));
    cm__json_set(ctx, answer, "batch", r->choice.batch ? json_integer(r->choice.batch) : json_null());
    json_t *candidates = cm__json_set(ctx, answer, "candidates", json_array());
    for (int32_t i = 0; i < r->choice.n_candidates; i++) {
        const cm_batch_candidate *c = &r->choice.candidates[i];
        json_t                   *o = cm__json_append(ctx, candidates, json_object());
        cm__json_set(ctx, o, "batch", json_integer(c->batch));
        cm__json_verdict(ctx, o, &c->chance);
        cm__json_set(ctx, o, "sure", json_boolean(c->sure));
        cm__json_set(ctx, o, "objective", cm__json_number(c->objective));
        cm__json_set(ctx, o, "throughput_samples_s", cm__json_number(c->throughput_samples_s));
        cm__json_set(ctx, o, "peak_bytes", cm__json_number(c->peak_bytes));
    }
    plan(ctx, answer, r);
    use_of(ctx, answer, r);
    details(ctx, answer, r);
    cm__json_warnings(ctx, answer, r->step);
    cm__json_print(ctx, answer, out);
}
