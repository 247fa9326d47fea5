/* SPDX-License-Identifier: Apache-2.0 */
/* predict.c - print a prediction as JSON. */
#include <math.h>
#include <string.h>
#include "report/json/json.h"
#include "report/render.h"

void cm__json_plan(cm__ctx *ctx, json_t *o, const cm_plan *p)
{
    const struct {
        const char *name;
        int64_t     value;
    } counts[] = {{"devices", p->devices},       {"tp", p->tp},
                  {"cp", p->cp},                 {"ep", p->ep},
                  {"pp", p->pp},
                  {"dp", p->dp},
                  {"zero", p->zero},             {"interleave", p->interleave},
                  {"micro_batch", p->micro_batch}, {"accumulate", p->accumulate},
                  {"global_batch", p->global_batch}};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        cm__json_set(ctx, o, counts[i].name, json_integer(counts[i].value));
    cm__json_set(ctx, o, "sequence_parallel", json_boolean(p->sequence_parallel));
    cm__json_set(ctx, o, "schedule", json_string(p->gpipe ? "gpipe" : "1f1b"));
    cm__json_set(ctx, o, "overlap", json_boolean(p->overlap));
    json_t *offload = cm__json_set(ctx, o, "offload", json_array());
    if (p->offload_optimizer) cm__json_append(ctx, offload, json_string("optimizer"));
    if (p->offload_activations) cm__json_append(ctx, offload, json_string("activations"));
    if (p->offload_weights) cm__json_append(ctx, offload, json_string("weights"));
    if (p->offload_layers) cm__json_set(ctx, o, "offload_layers", json_integer(p->offload_layers));
    cm__json_set(ctx, o, "recompute", json_string(cm_recompute_name(p->recompute)));
    if (p->recompute_layers) cm__json_set(ctx, o, "recompute_layers", json_integer(p->recompute_layers));
}

static void echo(cm__ctx *ctx, json_t *o, const cm__predict_report *r, const cm_prediction_info *i)
{
    cm__json_set(ctx, o, "model", cm__json_text(ctx, r->asked.graph.model));
    cm__json_set(ctx, o, "device", json_string(cm_device_get_info(r->device)->id));
    cm__json_set(ctx, o, "part_of", cm__json_text(ctx, cm_device_get_info(r->device)->part_of));
    cm__json_assumed(ctx, o, r->device);
    cm__json_set(ctx, o, "runtime", json_string(cm_runtime_name(i->runtime)));
    cm__json_set(ctx, o, "mode", json_string(r->asked.graph.train.inference ? "inference" : "training"));
    cm__json_precision(ctx, o, r->graph->step);
    cm__json_set(ctx, o, "optimizer", cm__json_text(ctx, cm__optimizer_used(r->graph)));
    cm__json_set(ctx, o, "layout", json_string(cm_layout_name(i->layout)));
    cm__json_set(ctx, o, "batch", json_integer(i->batch));
    cm__json_set(ctx, o, "sparsity", cm__json_number(i->sparsity.pruned));
    if (i->sparsity.pruned > 0) {
        cm__json_set(ctx, o, "sparsity_pattern", json_string(i->sparsity.structured ? "2:4" : "any"));
        cm__json_set(ctx, o, "sparsity_used", json_boolean(i->sparsity_used));
    }
    cm__json_set(ctx, o, "style", json_string(cm_style_name(i->style)));
    cm__json_set(ctx, o, "devices", json_integer(i->devices));
    cm__json_set(ctx, o, "micro_batch", json_integer(i->micro_batch));
    cm__json_set(ctx, o, "recomputes", json_boolean(i->recomputes));
    if (i->plan.devices) cm__json_plan(ctx, cm__json_set(ctx, o, "plan", json_object()), &i->plan);
    if (r->asked.cluster) cm__json_set(ctx, o, "cluster", cm__json_text(ctx, r->asked.cluster));
}

void cm__json_compiled(cm__ctx *ctx, json_t *o, const cm_graph *step, const cm_memory_use *use)
{
    int64_t batch;
    double  cycles;
    if (!use->compiled || !cm_graph_compiled(step, &batch, &cycles)) return;
    json_t *compiler = cm__json_set(ctx, o, "compiler", json_object());
    cm__json_set(ctx, compiler, "memory", json_string(use->compiled == CM_COMPILED_SAME ? "of this step" : "scaled"));
    cm__json_set(ctx, compiler, "batch", json_integer(batch));
    cm__json_set(ctx, compiler, "cycles", cycles > 0 ? cm__json_number(cycles) : json_null());
}

void cm__json_verdict(cm__ctx *ctx, json_t *o, const cm_chance *chance)
{
    cm__json_set(ctx, o, "fits", json_boolean(chance->likely));
    cm__json_set(ctx, o, "verdict", json_string(cm_verdict_name(chance->verdict)));
    cm__json_set(ctx, o, "probability", cm__json_number(chance->probability));
}

void cm__json_times(cm__ctx *ctx, json_t *o, const cm_prediction_info *i, double peak_bytes,
                    const cm_chance *chance)
{
    cm__json_set(ctx, o, "step_time_s", cm__json_number(i->step_time_s));
    cm__json_set(ctx, o, "device_time_s", cm__json_number(i->device_time_s));
    cm__json_set(ctx, o, "host_time_s", cm__json_number(i->host_time_s));
    cm__json_set(ctx, o, "throughput_samples_s", cm__json_number(i->throughput_samples_s));
    cm__json_interval(ctx, o, i->interval_s);
    cm__json_set(ctx, o, "mfu", cm__json_number(i->mfu));
    cm__json_set(ctx, o, "kernels", cm__json_number(i->launches));
    cm__json_set(ctx, o, "clock", cm__json_number(i->clock));
    cm__json_set(ctx, o, "average_power_w", cm__json_number(i->power_w));
    cm__json_set(ctx, o, "peak_bytes", cm__json_number(peak_bytes));
    cm__json_verdict(ctx, o, chance);
    json_t *stages = cm__json_set(ctx, o, "stages", json_object());
    cm__json_set(ctx, stages, "load_s", cm__json_number(i->load_s));
    double communication_s = i->tensor_s + i->pipeline_s + i->data_s;
    cm__json_set(ctx, stages, "compute_s", cm__json_number(i->compute_s - communication_s + i->hidden_s));
    cm__json_set(ctx, stages, "communication_s", cm__json_number(communication_s));
    cm__json_set(ctx, stages, "overlapped_s", cm__json_number(i->overlapped_s + i->hidden_s));
    if (i->plan.devices) {
        cm__json_set(ctx, stages, "bubble_s", cm__json_number(i->bubble_s));
        cm__json_set(ctx, stages, "tensor_parallel_s", cm__json_number(i->tensor_s));
        cm__json_set(ctx, stages, "pipeline_s", cm__json_number(i->pipeline_s));
        cm__json_set(ctx, stages, "data_parallel_s", cm__json_number(i->data_s));
    }
    double sum = 0; /* 0: the prediction has no list of calls */
    for (int p = 0; p < CM_PHASES; p++) sum += i->phase_s[p];
    json_t *phases = cm__json_set(ctx, o, "phases", sum > 0 ? json_object() : json_null());
    for (int p = 0; sum > 0 && p < CM_PHASES; p++)
        cm__json_set(ctx, phases, cm_phase_name((cm_phase)p), cm__json_number(i->phase_s[p]));
    json_t *share = cm__json_set(ctx, o, "share", json_object());
    for (int h = 0; h < CM_HOWS; h++) cm__json_set(ctx, share, cm_how_name((cm_how)h), cm__json_number(i->share[h]));
}

/* "loading": present only if samples are loaded. */
static void loading(cm__ctx *ctx, json_t *o, const cm_prediction_info *i)
{
    const cm_loading_info *l = &i->loading;
    if (!l->dataset) return;
    json_t *loading = cm__json_set(ctx, o, "loading", json_object());
    cm__json_set(ctx, loading, "dataset", cm__json_text(ctx, l->dataset));
    cm__json_set(ctx, loading, "host", cm__json_text(ctx, l->host));
    cm__json_set(ctx, loading, "workers", json_integer(l->workers));
    cm__json_set(ctx, loading, "read_s", cm__json_number(l->read_s));
    cm__json_set(ctx, loading, "prepare_s", cm__json_number(l->prepare_s));
    cm__json_set(ctx, loading, "copy_s", cm__json_number(l->copy_s));
    cm__json_set(ctx, loading, "epoch_samples", cm__json_number(l->epoch_samples));
    cm__json_set(ctx, loading, "epoch_s", cm__json_number(l->epoch_samples / i->throughput_samples_s));
    cm__json_set(ctx, loading, "first_epoch_s",
                 cm__json_number(l->epoch_samples / i->throughput_samples_s + i->compile_s));
}

void cm__json_sensitivities(cm__ctx *ctx, json_t *o, const cm_prediction *prediction)
{
    const cm_prediction_info *i = cm_prediction_get_info(prediction);
    json_t *list = cm__json_set(ctx, o, "sensitivity", json_array());
    for (int32_t k = 0; k < cm_prediction_sensitivities(prediction); k++) {
        const cm_sensitivity *s = cm_prediction_sensitivity(prediction, k);
        json_t               *item = cm__json_append(ctx, list, json_object());
        cm__json_set(ctx, item, "what", json_string(s->what));
        cm__json_set(ctx, item, "factor", cm__json_number(s->factor));
        cm__json_set(ctx, item, "step_time_s", cm__json_number(s->step_time_s));
        cm__json_set(ctx, item, "change", cm__json_number(s->step_time_s / i->step_time_s - 1));
    }
}

static void op(cm__ctx *ctx, json_t *o, const cm__predict_report *r, const cm_op_time *t)
{
    const cm_node *n = cm_graph_node(r->graph->step, t->node);
    cm__json_set(ctx, o, "name", cm__json_text(ctx, cm_node_name(n)));
    cm__json_set(ctx, o, "type", json_string(cm_node_type(n)));
    cm__json_set(ctx, o, "phase", json_string(cm_phase_name(cm_node_phase(n))));
    cm__json_set(ctx, o, "call", json_string(t->call));
    cm__json_set(ctx, o, "time_s", cm__json_number(t->time_s));
    cm__json_set(ctx, o, "flop", cm__json_number(t->flop));
    cm__json_set(ctx, o, "bytes", cm__json_number(t->bytes));
    cm__json_set(ctx, o, "kernels", cm__json_number(t->launches));
    cm__json_set(ctx, o, "how", json_string(cm_how_name(t->how)));
}

static void generation(cm__ctx *ctx, json_t *o, const cm__predict_report *r)
{
    const cm__generation *g = &r->generation;
    cm__json_set(ctx, o, "prompt", json_integer(r->asked.prompt));
    cm__json_set(ctx, o, "generate", json_integer(r->asked.generate));
    cm__json_set(ctx, o, "prefill_s", cm__json_number(g->prefill_s));
    cm__json_set(ctx, o, "decode_s", cm__json_number(g->decode_s));
    cm__json_set(ctx, o, "total_s", cm__json_number(g->prefill_s + g->decode_s));
    cm__json_set(ctx, o, "first_token_s", cm__json_number(g->token_s[0]));
    cm__json_set(ctx, o, "last_token_s", cm__json_number(g->token_s[1]));
    cm__json_set(ctx, o, "tokens_s", cm__json_number(g->tokens_s));
    cm__json_set(ctx, o, "cache_bytes", cm__json_number(g->cache_bytes));
}

void cm__predict_json(cm__ctx *ctx, const cm__predict_report *r, FILE *out)
{
    const cm_prediction_info *i = cm_prediction_get_info(r->prediction);
    json_t                   *answer = cm__json_answer(ctx, "predict");
    echo(ctx, answer, r, i);
    cm__json_times(ctx, answer, i, r->peak_bytes, &r->chance);
    cm__json_set(ctx, answer, "sure", json_boolean(r->use.sure));
    cm__json_compiled(ctx, answer, r->graph->step, &r->use);
    cm__json_sequence(ctx, answer, cm_graph_seq(r->graph->step), i->throughput_samples_s);
    cm__json_lengths(ctx, answer, &r->asked.graph.load, cm_step_row_tokens(r->step, i->batch), i->throughput_samples_s);
    if (!isnan(i->latency_s)) cm__json_set(ctx, answer, "latency_s", cm__json_number(i->latency_s));
    cm__json_loop(ctx, answer, &r->asked, &r->loop, true);
    if (r->asked.generate && !r->asked.loop.kind)
        generation(ctx, cm__json_set(ctx, answer, "generation", json_object()), r);
    cm__json_set(ctx, answer, "compile_s", cm__json_number(i->compile_s));
    loading(ctx, answer, i);
    cm__json_sensitivities(ctx, answer, r->prediction);
    cm__json_set(ctx, answer, "bottleneck", json_string(cm__bottleneck(ctx, r)));
    if (r->asked.list_ops) {
        json_t *list = cm__json_set(ctx, answer, "ops", json_array());
        for (int32_t k = 0; k < cm_prediction_ops(r->prediction); k++)
            op(ctx, cm__json_append(ctx, list, json_object()), r, cm_prediction_op(r->prediction, k));
    }
    if (r->asked.list_missing) {
        json_t *list = cm__json_set(ctx, answer, "missing", json_array());
        for (int32_t k = 0; k < cm_prediction_missing_calls(r->prediction); k++) {
            const cm_op_time *m = cm_prediction_missing_call(r->prediction, k);
            json_t           *o = cm__json_append(ctx, list, json_object());
            cm__json_set(ctx, o, "call", json_string(m->call));
            cm__json_set(ctx, o, "time_s", cm__json_number(m->time_s));
            cm__json_set(ctx, o, "error", cm__json_number(m->error));
            cm__json_set(ctx, o, "how", json_string(cm_how_name(m->how)));
        }
    }
    cm__json_gates(ctx, answer, &r->gates);
    json_t *warnings = cm__json_set(ctx, answer, "warnings", json_array());
    for (int32_t k = 0; k < r->graph->n_warnings; k++)
        cm__json_append(ctx, warnings, cm__json_text(ctx, r->graph->warnings[k]));
    if (r->doubt) cm__json_append(ctx, warnings, json_string(r->doubt));
    if (r->unsure) cm__json_append(ctx, warnings, json_string(r->unsure));
    cm__json_print(ctx, answer, out);
}
