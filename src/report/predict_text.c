/* SPDX-License-Identifier: Apache-2.0 */
/* predict_text.c - a prediction as text: the answer, where the time goes, and how it was found. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/text.h"
#include "report/report.h"
#include "report/table.h"

#define BAR 40
#define TOP_CALLS 12

static const char *seconds(cm__ctx *ctx, double s)
{
    char buf[32];
    return cm__format(ctx, "%ss", cm__si_small(buf, sizeof buf, s));
}

static const char *bar(cm__ctx *ctx, double share)
{
    int   length = (int)(share * BAR + 0.5);
    char *text = cm__alloc(ctx, BAR + 1);
    memset(text, '#', (size_t)(length < 0 ? 0 : length > BAR ? BAR : length));
    return text;
}

/* ---- calls alike, summed ---------------------------------------------------------------------------------------- */

typedef struct sum {
    char    name[96];
    int32_t phase, calls;
    double  time_s, flop, bytes, by_how[CM_HOWS];
} sum;

typedef struct sums {
    sum    *items;
    int32_t count, capacity;
} sums;

/* "gemm forward nt-bias bf16" of a call's text: all but its sizes. */
static void kind_of(const char *call, char *name, size_t size)
{
    const char *last = strrchr(call, ' ');
    snprintf(name, size, "%.*s", (int)(last ? last - call : (long)strlen(call)), call);
}

static sum *sum_of(cm__ctx *ctx, sums *all, const char *name, int32_t phase)
{
    for (int32_t i = 0; i < all->count; i++)
        if (all->items[i].phase == phase && strcmp(all->items[i].name, name) == 0) return &all->items[i];
    all->items = cm__grow(ctx, all->items, all->count, &all->capacity, sizeof *all->items);
    sum *s = &all->items[all->count++];
    *s = (sum){.phase = phase};
    snprintf(s->name, sizeof s->name, "%s", name);
    return s;
}

static int by_time(const void *a, const void *b)
{
    double x = ((const sum *)a)->time_s, y = ((const sum *)b)->time_s;
    return (x < y) - (x > y);
}

static sums add_up(cm__ctx *ctx, const cm__predict_report *r)
{
    sums all = {0};
    char name[96];
    for (int32_t i = 0; i < cm_prediction_ops(r->prediction); i++) {
        const cm_op_time *op = cm_prediction_op(r->prediction, i);
        kind_of(op->call, name, sizeof name);
        sum *s = sum_of(ctx, &all, name, cm_graph_node(r->graph->step, op->node)->phase);
        s->time_s += op->time_s;
        s->flop += op->flop;
        s->bytes += op->bytes;
        s->by_how[op->how] += op->time_s;
        s->calls++;
    }
    if (all.count) qsort(all.items, (size_t)all.count, sizeof *all.items, by_time);
    return all;
}

static const char *how_of(const sum *s)
{
    int best = 0;
    for (int h = 1; h < CM_HOWS; h++)
        if (s->by_how[h] > s->by_how[best]) best = h;
    return cm_how_name((cm_how)best);
}

static void print_calls(cm__ctx *ctx, const cm__predict_report *r, FILE *out)
{
    static const cm__column   columns[] = {{"calls", "1", false},     {"what", NULL, true},  {"phase", NULL, false},
                                           {"time", "s", false},      {"share", "%", false}, {"FLOP/s", "1/s", false},
                                           {"traffic", "B/s", false}, {"found", NULL, false}};
    const cm_prediction_info *info = cm_prediction_get_info(r->prediction);
    sums                      all = add_up(ctx, r);
    cm__table                 table = cm__table_new(ctx, out, columns, sizeof columns / sizeof *columns, false);
    char                      buf[32];
    for (int32_t i = 0; i < all.count && i < TOP_CALLS; i++) {
        const sum  *s = &all.items[i];
        const char *cells[] = {cm__cell_count(ctx, s->calls),
                               s->name,
                               cm_phase_name((cm_phase)s->phase),
                               cm__format(ctx, "%s", cm__si_small(buf, sizeof buf, s->time_s)),
                               cm__cell_percent(ctx, s->time_s, info->device_time_s),
                               cm__cell_si(ctx, s->flop / s->time_s),
                               cm__cell_si(ctx, s->bytes / s->time_s),
                               how_of(s)};
        cm__table_row(&table, cells);
    }
    cm__table_print(&table);
    if (all.count > TOP_CALLS) fprintf(out, "... and %d kinds more; --ops lists every call\n", all.count - TOP_CALLS);
}

/* ---- every call ------------------------------------------------------------------------------------------------- */

static void print_list(cm__ctx *ctx, const cm__predict_report *r, FILE *out, bool missing)
{
    static const cm__column columns[] = {
        {"time", "s", false}, {"found", NULL, false}, {"call", NULL, false}, {"of", NULL, true}};
    cm__table table = cm__table_new(ctx, out, columns, missing ? 3 : 4, true);
    int32_t   count = missing ? cm_prediction_missing(r->prediction) : cm_prediction_ops(r->prediction);
    char      buf[32];
    for (int32_t i = 0; i < count; i++) {
        const cm_op_time *op =
            missing ? cm_prediction_missing_call(r->prediction, i) : cm_prediction_op(r->prediction, i);
        const char *cells[] = {cm__format(ctx, "%s", cm__si_small(buf, sizeof buf, op->time_s)), cm_how_name(op->how),
                               op->call,
                               missing ? NULL : cm__printable(ctx, cm_graph_node(r->graph->step, op->node)->name)};
        cm__table_row(&table, cells);
    }
    cm__table_print(&table);
}

/* ---- the answer ------------------------------------------------------------------------------------------------- */

/* "8 devices: tp 2 x pp 2 x dp 2, 4 micro-batches of 1, ZeRO 1" */
static void print_plan(const cm_plan *p, FILE *out)
{
    fprintf(out, "plan       %d device%s: tp %d x pp %d x dp %d, %d micro-batch%s of %lld", p->devices,
            p->devices > 1 ? "s" : "", p->tp, p->pp, p->dp, p->accumulate, p->accumulate > 1 ? "es" : "",
            (long long)p->micro_batch);
    if (p->interleave > 1) fprintf(out, ", %d pieces a stage", p->interleave);
    if (p->sequence_parallel) fprintf(out, ", sequence parallel");
    if (p->zero) fprintf(out, ", ZeRO %d", p->zero);
    fputc('\n', out);
}

static void print_part(cm__ctx *ctx, const char *name, double part_s, double step_s, FILE *out)
{
    if (part_s > 0) fprintf(out, "  %-10s %-10s %s\n", name, seconds(ctx, part_s), bar(ctx, part_s / step_s));
}

/* Where an iteration on several devices goes. */
static void print_iteration(cm__ctx *ctx, const cm_prediction_info *i, FILE *out)
{
    double waits = i->tensor_s + i->pipeline_s + i->data_s - i->overlapped_s + i->bubble_s;
    print_part(ctx, "compute", i->step_time_s - waits, i->step_time_s, out);
    print_part(ctx, "layers", i->tensor_s, i->step_time_s, out);
    print_part(ctx, "stages", i->pipeline_s, i->step_time_s, out);
    print_part(ctx, "bubble", i->bubble_s, i->step_time_s, out);
    print_part(ctx, "replicas", i->data_s - i->overlapped_s, i->step_time_s, out);
}

static void print_phases(cm__ctx *ctx, const cm_prediction_info *i, FILE *out)
{
    if (i->plan.devices > 1) {
        print_iteration(ctx, i, out);
        return;
    }
    for (int p = 0; p < CM_PHASES; p++)
        if (i->phase_s[p] > 0)
            fprintf(out, "  %-10s %-10s %s\n", cm_phase_name((cm_phase)p), seconds(ctx, i->phase_s[p]),
                    bar(ctx, i->phase_s[p] / i->step_time_s));
    double idle = i->step_time_s - i->device_time_s;
    if (idle > 0) fprintf(out, "  %-10s %-10s %s\n", "idle", seconds(ctx, idle), bar(ctx, idle / i->step_time_s));
}

static const char *bottleneck(const cm_prediction_info *i)
{
    double waits = i->tensor_s + i->pipeline_s + i->data_s - i->overlapped_s;
    if (waits > i->step_time_s / 2) return "the links between devices";
    if (i->bubble_s > i->step_time_s / 4) return "the pipeline's bubble: more micro-batches or fewer stages would help";
    if (i->host_time_s >= i->step_time_s)
        return "the host: it launches kernels slower than the device runs them; a larger batch or CUDA graphs would "
               "help";
    return i->clock < 0.99 ? "the device, at its power limit" : "the device";
}

static void print_found(const cm_prediction_info *i, FILE *out)
{
    const char *comma = "";
    fprintf(out, "found by   ");
    for (int h = 0; h < CM_HOWS; h++)
        if (i->share[h] >= 0.0005) {
            fprintf(out, "%s%.1f %% %s", comma, 100 * i->share[h], cm_how_name((cm_how)h));
            comma = ", ";
        }
    fputc('\n', out);
}

static const char *const pieces[CM_STYLES] = {[CM_STYLE_KERNELS] = "kernels",
                                              [CM_STYLE_SECTIONS] = "sections",
                                              [CM_STYLE_BSP] = "supersteps",
                                              [CM_STYLE_STREAMING] = "layers"};

static void print_head(cm__ctx *ctx, const cm__predict_report *r, FILE *out)
{
    const cm_prediction_info *i = cm_prediction_get_info(r->prediction);
    const cm_device_info     *device = cm_device_get_info(r->device);
    char                      buf[32];
    fprintf(out, "# centimani %s, %s of %s on %s\n", CM_VERSION,
            r->asked.graph.train.inference ? "inference" : "one training step",
            cm__printable(ctx, r->asked.graph.model), device->name);
    fprintf(out, "# batch %lld, %s, %s%s, %s%s\n\n", (long long)i->batch,
            cm_precision_name(cm_graph_precision(r->graph->step)),
            r->asked.graph.train.inference ? "" : cm_optimizer_name(cm_graph_optimizer(r->graph->step)),
            r->asked.graph.train.inference ? "no update" : "", cm_runtime_name(i->runtime),
            i->layout == CM_LAYOUT_NHWC ? ", channels last" : "");
    fprintf(out, "step       %s, nine of ten within %s to %s\n", seconds(ctx, i->step_time_s),
            seconds(ctx, i->interval_s[0]), seconds(ctx, i->interval_s[1]));
    fprintf(out, "throughput %s samples/s", cm__si(buf, sizeof buf, i->throughput_samples_s));
    if (!isnan(i->mfu)) fprintf(out, ", %.1f %% of peak (MFU)", 100 * i->mfu);
    fprintf(out, "\n");
    fprintf(out, "device     %s busy in %.0f %s", seconds(ctx, i->device_time_s), i->launches, pieces[i->style]);
    if (i->micro_batch < i->batch) fprintf(out, ", %lld samples at once", (long long)i->micro_batch);
    if (i->clock < 0.995) fprintf(out, ", clock at %.0f %% to stay within its power", 100 * i->clock);
    fprintf(out, "\n");
    if (i->plan.devices) print_plan(&i->plan, out);
    else if (i->devices > 1) fprintf(out, "devices    %d as one pipeline: fewer do not hold the model\n", i->devices);
    if (i->host_time_s > 0) fprintf(out, "host       %s to launch them\n", seconds(ctx, i->host_time_s));
    fprintf(out, "memory     %sB at the peak%s\n", cm__binary(buf, sizeof buf, r->peak_bytes),
            r->fits ? "" : ": does not fit");
    print_found(i, out);
    fprintf(out, "limited by %s\n\n", bottleneck(i));
}

void cm__predict_text(cm__ctx *ctx, const cm__predict_report *r, FILE *out)
{
    print_head(ctx, r, out);
    print_phases(ctx, cm_prediction_get_info(r->prediction), out);
    fputc('\n', out);
    if (r->asked.list_ops || r->asked.list_missing) print_list(ctx, r, out, !r->asked.list_ops);
    else print_calls(ctx, r, out);
}
