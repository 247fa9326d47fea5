/* SPDX-License-Identifier: Apache-2.0 */
/* predict.c - print a prediction as text: the result, where the time goes, and how it was estimated. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/text.h"
#include "report/text/predict_parts.h"
#include "report/table.h"

#define TOP_CALLS 8
#define LABEL_WIDTH 13

static const char *how_of(const cm__call_sum *s)
{
    int best = 0;
    for (int h = 1; h < CM_HOWS; h++)
        if (s->by_how[h] > s->by_how[best]) best = h;
    return cm_how_name((cm_how)best);
}

static void print_calls(cm__ctx *ctx, const cm__predict_report *r, FILE *out)
{
    static const cm__column   columns[] = {{"calls", "", false},     {"what", NULL, true},  {"phase", NULL, false},
                                           {"time", "s", false},      {"share", "%", false}, {"rate", "FLOP/s", false},
                                           {"traffic", "B/s", false}, {"estimated by", NULL, false}};
    const cm_prediction_info *info = cm_prediction_get_info(r->prediction);
    cm__call_sums             all = cm__sum_calls(ctx, r, false);
    cm__table                 table = cm__table_new(ctx, out, columns, sizeof columns / sizeof *columns);
    for (int32_t i = 0; i < all.count && i < TOP_CALLS; i++) {
        const cm__call_sum *s = &all.items[i];
        const char         *cells[] = {cm__cell_count(ctx, s->calls),
                               s->name,
                               cm_phase_name((cm_phase)s->phase),
                               cm__cell_si(ctx, s->time_s),
                               cm__cell_percent(ctx, s->time_s, info->device_time_s),
                               cm__cell_si(ctx, s->flop / s->time_s),
                               cm__cell_si(ctx, s->bytes / s->time_s),
                               how_of(s)};
        cm__table_row(&table, cells);
    }
    cm__table_print(&table);
    if (all.count > TOP_CALLS) fprintf(out, "... and %d more; --ops lists every kernel call\n", all.count - TOP_CALLS);
}

/* ---- every kernel call ------------------------------------------------------------------------------------------ */

static void print_list(cm__ctx *ctx, const cm__predict_report *r, FILE *out, bool missing)
{
    static const cm__column columns[] = {
        {"time", "s", false}, {"estimated by", NULL, false}, {"kernel call", NULL, false}, {"node", NULL, true}};
    cm__table table = cm__table_new(ctx, out, columns, missing ? 3 : 4);
    int32_t   count = missing ? cm_prediction_missing_calls(r->prediction) : cm_prediction_ops(r->prediction);
    if (!count) {
        fputs(missing ? "no kernel calls to measure: all are in the tables, or the device runs whole graphs\n"
                      : "no kernel calls\n",
              out);
        return;
    }
    for (int32_t i = 0; i < count; i++) {
        const cm_op_time *op =
            missing ? cm_prediction_missing_call(r->prediction, i) : cm_prediction_op(r->prediction, i);
        const char *name = missing ? NULL : cm_node_name(cm_graph_node(r->graph->step, op->node));
        const char *cells[] = {cm__cell_si(ctx, op->time_s), cm_how_name(op->how),
                               op->call,
                               name ? cm__printable(ctx, name) : NULL};
        cm__table_row(&table, cells);
    }
    cm__table_print(&table);
}

/* ---- the result ------------------------------------------------------------------------------------------------- */

/* "8 devices: tp 2 x pp 2 x dp 2, 4 micro-batches of 1, ZeRO 1" */
static void print_plan(const cm_plan *p, FILE *out)
{
    fprintf(out, "%-*s%d device%s: tp %d x pp %d x dp %d, %d micro-batch%s of %lld", LABEL_WIDTH, "plan", p->devices,
            p->devices > 1 ? "s" : "", p->tp, p->pp, p->dp, p->accumulate, p->accumulate > 1 ? "es" : "",
            (long long)p->micro_batch);
    if (p->interleave > 1) fprintf(out, ", %d virtual stages per device", p->interleave);
    if (p->sequence_parallel) fprintf(out, ", sequence parallel");
    if (p->zero) fprintf(out, ", ZeRO %d", p->zero);
    fputc('\n', out);
}

#define BAR 40

static const char *bar(cm__ctx *ctx, double share)
{
    int   length = (int)(share * BAR + 0.5);
    char *text = cm__alloc(ctx, BAR + 1);
    memset(text, '#', (size_t)(length < 0 ? 0 : length > BAR ? BAR : length));
    return text;
}

static void print_part(cm__ctx *ctx, const char *name, double part_s, double step_s, FILE *out)
{
    if (part_s > 0) fprintf(out, "  %-30s %-10s %s\n", name, cm__seconds(ctx, part_s), bar(ctx, part_s / step_s));
}

/* The parts of an iteration on several devices. */
static void print_iteration(cm__ctx *ctx, const cm_prediction_info *i, FILE *out)
{
    double not_computing = i->tensor_s + i->pipeline_s + i->data_s - i->hidden_s + i->bubble_s;
    print_part(ctx, "loading", i->step_time_s - i->compute_s, i->step_time_s, out);
    print_part(ctx, "compute", i->compute_s - not_computing, i->step_time_s, out);
    print_part(ctx, "tensor-parallel communication", i->tensor_s, i->step_time_s, out);
    print_part(ctx, "pipeline communication", i->pipeline_s, i->step_time_s, out);
    print_part(ctx, "pipeline bubble", i->bubble_s, i->step_time_s, out);
    print_part(ctx, "data-parallel communication", i->data_s - i->hidden_s, i->step_time_s, out);
}

static void print_methods(const cm_prediction_info *i, FILE *out)
{
    const char *comma = "";
    fprintf(out, "%-*s", LABEL_WIDTH, "estimated by");
    for (int h = 0; h < CM_HOWS; h++)
        if (i->share[h] >= 0.0005) {
            fprintf(out, "%s%.1f %% %s", comma, 100 * i->share[h], cm_how_name((cm_how)h));
            comma = ", ";
        }
    fputc('\n', out);
}

static void print_loading(cm__ctx *ctx, const cm_prediction_info *i, FILE *out)
{
    const cm_loading_info *l = &i->loading;
    const char            *compiling = i->compile_s > 0 ? cm__seconds(ctx, i->compile_s) : NULL;
    char                   buf[32];
    if (l->dataset)
        cm__print_note(
            ctx, out, "", "loading", LABEL_WIDTH,
            cm__format(ctx,
                       "%s per step with %lld workers (read %s, prepare %s, copy %s), %s of it overlapped with "
                       "computing; %s",
                       cm__seconds(ctx, i->load_s), (long long)l->workers, cm__seconds(ctx, l->read_s),
                       cm__seconds(ctx, l->prepare_s), cm__seconds(ctx, l->copy_s), cm__seconds(ctx, i->overlapped_s),
                       l->host));
    if (l->epoch_samples > 0)
        fprintf(out, "%-*s%ss for %s samples%s\n", LABEL_WIDTH, "epoch",
                cm__si_small(buf, sizeof buf, l->epoch_samples / i->throughput_samples_s),
                cm__cell_count(ctx, (int64_t)(l->epoch_samples + 0.5)),
                compiling ? cm__format(ctx, "; the first takes %s longer to compile", compiling) : "");
    else if (compiling) cm__print_note(
            ctx, out, "", "compiling", LABEL_WIDTH,
            cm__format(ctx, "%s before the first step, as published for one network ('devices show' names it)",
                       compiling));
}

static const char *const launch_units[CM_STYLES] = {[CM_STYLE_KERNELS] = "kernels",
                                              [CM_STYLE_SECTIONS] = "sections",
                                              [CM_STYLE_BSP] = "supersteps",
                                              [CM_STYLE_STREAMING] = "layers"};

/* Remove the blank that cm__si() writes after a number without a prefix ("37.0 "). */
static const char *trimmed(char *text)
{
    size_t length = strlen(text);
    if (length && text[length - 1] == ' ') text[length - 1] = 0;
    return text;
}

static void print_generation(cm__ctx *ctx, const cm__predict_report *r, FILE *out)
{
    const cm__generation *g = &r->generation;
    char                  buf[32];
    fprintf(out, "%-*s%s for the prompt of %d tokens (the step above), then %d tokens in %s: %s for the first, ",
            LABEL_WIDTH, "generation", cm__seconds(ctx, g->prefill_s), r->asked.prompt, r->asked.generate,
            cm__seconds(ctx, g->decode_s), cm__seconds(ctx, g->token_s[0]));
    fprintf(out, "%s for the last; %.4g new tokens/s\n", cm__seconds(ctx, g->token_s[1]), g->tokens_s);
    fprintf(out, "%-*s%sB of keys and values at the end\n", LABEL_WIDTH, "cache",
            cm__binary(buf, sizeof buf, g->cache_bytes));
}

static void print_head(cm__ctx *ctx, const cm__predict_report *r, FILE *out)
{
    static const char *const fits[CM_VERDICTS] = {": does not fit", ": may not fit", ""};
    const cm_prediction_info *i = cm_prediction_get_info(r->prediction);
    const cm_device_info     *device = cm_device_get_info(r->device);
    const cm_load_options    *load = &r->asked.graph.load;
    double                    seq = cm_load_tokens(load, cm_graph_seq(r->graph->step));
    char                      buf[32];
    fprintf(out, "# centimani %s, %s of %s on %s\n", CM_VERSION,
            r->asked.graph.train.inference ? "inference" : "one training step",
            cm__printable(ctx, r->asked.graph.model), device->name);
    if (device->part_of) fprintf(out, "# %s is %s\n", device->id, cm__printable(ctx, device->part_of));
    fprintf(out, "# batch %lld%s%s, %s, %s%s, %s%s\n\n", (long long)i->batch, cm__seq_text(ctx, r->graph->step),
            cm__lengths_text(ctx, load, r->step, i->batch),
            cm__precision_text(ctx, r->graph->step),
            r->asked.graph.train.inference ? "" : cm_optimizer_name(cm_graph_optimizer(r->graph->step)),
            r->asked.graph.train.inference ? "no update" : "", cm_runtime_name(i->runtime),
            i->layout == CM_LAYOUT_NHWC ? ", channels last" : "");
    fprintf(out, "%-*s%s, 90 %% interval %s to %s\n", LABEL_WIDTH, "step", cm__seconds(ctx, i->step_time_s),
            cm__seconds(ctx, i->interval_s[0]), cm__seconds(ctx, i->interval_s[1]));
    fprintf(out, "%-*s%s samples/s", LABEL_WIDTH, "throughput",
            trimmed(cm__si(buf, sizeof buf, i->throughput_samples_s)));
    if (seq > 0) fprintf(out, ", %s tokens/s", trimmed(cm__si(buf, sizeof buf, seq * i->throughput_samples_s)));
    if (!isnan(i->mfu)) fprintf(out, ", %.1f %% of peak (MFU)", 100 * i->mfu);
    fprintf(out, "\n");
    if (!isnan(i->latency_s))
        fprintf(out, "%-*s%s for one batch from the host to the device and back\n", LABEL_WIDTH, "latency",
                cm__seconds(ctx, i->latency_s));
    fprintf(out, "%-*s%s busy in %.0f %s", LABEL_WIDTH, "device", cm__seconds(ctx, i->device_time_s), i->launches,
            launch_units[i->style]);
    if (i->clock < 0.995) fprintf(out, ", clock reduced to %.0f %% by the power limit", 100 * i->clock);
    fprintf(out, "\n");
    if (i->sparsity.pruned > 0)
        fprintf(out, "%-*s%g of dense layers' weights pruned%s: %s\n", LABEL_WIDTH, "sparsity", i->sparsity.pruned,
                i->sparsity.structured ? ", two of every four" : "",
                i->sparsity_used ? "the device skips them" : "the device does not skip them, so nothing is saved");
    if (i->plan.devices) print_plan(&i->plan, out);
    if (i->host_time_s > 0)
        fprintf(out, "%-*s%s to launch them\n", LABEL_WIDTH, "host", cm__seconds(ctx, i->host_time_s));
    if (r->asked.generate && !r->asked.loop.kind) print_generation(ctx, r, out);
    fprintf(out, "%-*s%sB at the peak%s\n", LABEL_WIDTH, "memory", cm__binary(buf, sizeof buf, r->peak_bytes),
            fits[r->chance.verdict]);
    const char *compiled = cm__compiled_text(ctx, r->graph->step, &r->use);
    if (compiled) cm__print_note(ctx, out, "", "compiler", LABEL_WIDTH, compiled);
    if (!i->plan.devices)
        cm__print_note(ctx, out, "", "fits", LABEL_WIDTH,
                       cm__division_text(ctx, i->batch, i->micro_batch, i->devices, i->recomputes));
    print_methods(i, out);
    const char *assumed = cm__assumed_text(ctx, r->device);
    if (assumed)
        cm__print_note(ctx, out, "", "assumed", LABEL_WIDTH,
                       cm__format(ctx, "%s: the profile does not state them", assumed));
    print_loading(ctx, i, out);
    cm__print_note(ctx, out, "", "limited by", LABEL_WIDTH, cm__bottleneck(ctx, r));
    cm__print_gates(ctx, out, LABEL_WIDTH, &r->gates);
    fputc('\n', out);
}

void cm__predict_text(cm__ctx *ctx, const cm__predict_report *r, FILE *out)
{
    print_head(ctx, r, out);
    if (r->asked.loop.kind) cm__print_loop(ctx, &r->loop, true, out);
    const cm_prediction_info *i = cm_prediction_get_info(r->prediction);
    if (i->plan.devices > 1) print_iteration(ctx, i, out);
    else cm__predict_waterfall(ctx, r, out);
    fputc('\n', out);
    if (r->asked.list_ops || r->asked.list_missing) {
        print_list(ctx, r, out, !r->asked.list_ops);
        return;
    }
    print_calls(ctx, r, out);
    fputc('\n', out);
    cm__predict_help(ctx, r, out);
}
