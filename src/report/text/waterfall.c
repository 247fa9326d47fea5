/* SPDX-License-Identifier: Apache-2.0 */
/* waterfall.c - draw a step as bars over time; list improvements that would shorten it; name its bottleneck. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/text.h"
#include "report/sheet.h"
#include "report/text/predict_parts.h"

#define BAR_MOST 52
#define BAR_LEAST 8
#define LABEL_LEAST 12
#define FIGURES 21 /* characters of a line besides its label and its bar */
#define OPERATORS 3 /* bars per phase; the other operators are one bar */
#define SHOWN 0.005 /* fraction of the step below which an operator gets no bar */
#define HELP 5
#define HELP_WIDTH 38

const char *cm__seconds(cm__ctx *ctx, double s)
{
    char buf[32];
    return cm__format(ctx, "%ss", cm__si_small(buf, sizeof buf, s));
}

/* ---- sums of calls ---------------------------------------------------------------------------------------------- */

static void name_of(const char *call, bool short_name, char *name, size_t size)
{
    const char *last = strrchr(call, ' ');
    size_t      length = short_name ? strcspn(call, " ") : last ? (size_t)(last - call) : strlen(call);
    if (length >= size) length = size - 1;
    memcpy(name, call, length);
    name[length] = 0;
}

static cm__call_sum *sum_of(cm__ctx *ctx, cm__call_sums *all, const char *name, int32_t phase)
{
    for (int32_t i = 0; i < all->count; i++)
        if (all->items[i].phase == phase && cm__same_text(all->items[i].name, name)) return &all->items[i];
    all->items = cm__grow(ctx, all->items, all->count, &all->capacity, sizeof *all->items);
    cm__call_sum *s = &all->items[all->count++];
    *s = (cm__call_sum){.phase = phase};
    snprintf(s->name, sizeof s->name, "%s", name);
    return s;
}

static int by_time(const void *a, const void *b)
{
    const cm__call_sum *x = a, *y = b;
    if (x->time_s != y->time_s) return (x->time_s < y->time_s) - (x->time_s > y->time_s);
    return strcmp(x->name, y->name);
}

/* The prediction lists the calls of one micro-batch on all stages. A device runs those of all micro-batches on one. */
static double repeats(const cm_plan *p, int32_t phase)
{
    double micro_batches = phase == CM_UPDATE || p->accumulate < 1 ? 1 : p->accumulate;
    return micro_batches / (p->pp > 1 ? p->pp : 1);
}

static void repeat(cm__call_sum *s, double times)
{
    s->calls = (int32_t)fmin(ceil(times * s->calls), INT32_MAX);
    s->time_s *= times;
    s->flop *= times;
    s->bytes *= times;
}

cm__call_sums cm__sum_calls(cm__ctx *ctx, const cm__predict_report *r, bool short_names)
{
    const cm_plan *plan = &cm_prediction_get_info(r->prediction)->plan;
    cm__call_sums  all = {0};
    char           name[96];
    for (int32_t i = 0; i < cm_prediction_ops(r->prediction); i++) {
        const cm_op_time *op = cm_prediction_op(r->prediction, i);
        name_of(op->call, short_names, name, sizeof name);
        cm__call_sum *s = sum_of(ctx, &all, name, cm_node_phase(cm_graph_node(r->graph->step, op->node)));
        s->time_s += op->time_s;
        s->flop += op->flop;
        s->bytes += op->bytes;
        s->by_how[op->how] += op->time_s;
        s->calls++;
    }
    for (int32_t i = 0; i < all.count; i++) repeat(&all.items[i], repeats(plan, all.items[i].phase));
    if (all.count) qsort(all.items, (size_t)all.count, sizeof *all.items, by_time);
    return all;
}

/* ---- the drawing ------------------------------------------------------------------------------------------------ */

typedef struct drawing {
    cm__ctx *ctx;
    FILE    *out;
    double   whole_s;
    int      label, bar; /* characters */
} drawing;

/* One bar over [from_s, from_s + time_s], at least one character wide. */
static void draw(const drawing *d, const char *label, char mark, double from_s, double time_s)
{
    char bar[BAR_MOST + 1];
    int  first = (int)lround(d->bar * fmin(from_s / d->whole_s, 1));
    int  end = (int)lround(d->bar * fmin((from_s + time_s) / d->whole_s, 1));
    if (end == first && end < d->bar) end++;
    if (end == first) first--;
    memset(bar, ' ', (size_t)d->bar);
    memset(bar + first, mark, (size_t)(end - first));
    bar[d->bar] = 0;
    fprintf(d->out, "%-*s|%s|%9s %6.1f %%\n", d->label, label, bar, cm__seconds(d->ctx, time_s),
            100 * time_s / d->whole_s);
}

static void draw_phase(const drawing *d, const cm__call_sums *all, int phase, double from_s, double phase_s)
{
    double at = from_s, left = phase_s;
    int    drawn = 0, rest = 0;
    draw(d, cm_phase_name((cm_phase)phase), '#', from_s, phase_s);
    for (int32_t i = 0; i < all->count; i++) {
        const cm__call_sum *s = &all->items[i];
        if (s->phase != phase) continue;
        if (drawn == OPERATORS || s->time_s < SHOWN * d->whole_s) {
            rest++;
            continue;
        }
        draw(d, cm__format(d->ctx, "  %s", s->name), '=', at, s->time_s);
        at += s->time_s;
        left -= s->time_s;
        drawn++;
    }
    if (rest && drawn && left >= SHOWN * d->whole_s) draw(d, cm__format(d->ctx, "  %d more", rest), '=', at, left);
}

/* The names decide the width of the labels; the bars take the rest of the line. */
static drawing drawing_of(cm__ctx *ctx, const cm__call_sums *all, double whole_s, FILE *out)
{
    size_t label = LABEL_LEAST, page = cm__sheet_width();
    for (int32_t i = 0; i < all->count; i++)
        if (all->items[i].time_s >= SHOWN * whole_s && strlen(all->items[i].name) + 3 > label)
            label = strlen(all->items[i].name) + 3;
    size_t bar = page > label + FIGURES ? page - label - FIGURES : 0;
    return (drawing){ctx, out, whole_s, (int)label, bar < BAR_LEAST ? BAR_LEAST : bar > BAR_MOST ? BAR_MOST : (int)bar};
}

void cm__predict_waterfall(cm__ctx *ctx, const cm__predict_report *r, FILE *out)
{
    const cm_prediction_info *i = cm_prediction_get_info(r->prediction);
    const cm__call_sums       all = cm__sum_calls(ctx, r, true);
    const drawing             d = drawing_of(ctx, &all, fmax(i->step_time_s, 1e-30), out);
    double                    at = i->loading.dataset && !i->loading.workers ? i->load_s : 0;
    const char               *end = cm__seconds(ctx, i->step_time_s);
    fprintf(out, "%*s0%*s\n", d.label + 1, "", d.bar - 1, end);
    if (i->loading.dataset) draw(&d, "loading", '-', 0, i->load_s);
    if (i->host_time_s > 0) draw(&d, "host", '-', at, i->host_time_s);
    for (int p = 0; p < CM_PHASES; p++) {
        if (!(i->phase_s[p] > 0)) continue;
        draw_phase(&d, &all, p, at, i->phase_s[p]);
        at += i->phase_s[p];
    }
    if (i->step_time_s - at > SHOWN * i->step_time_s) draw(&d, "device idle", '.', at, i->step_time_s - at);
}

/* ---- improvements ----------------------------------------------------------------------------------------------- */

void cm__predict_help(cm__ctx *ctx, const cm__predict_report *r, FILE *out)
{
    const cm_prediction_info *i = cm_prediction_get_info(r->prediction);
    int32_t                   count = cm_prediction_sensitivities(r->prediction);
    if (count) fprintf(out, "improvements of the device, and the step time with each\n");
    for (int32_t k = 0; k < count && k < HELP; k++) {
        const cm_sensitivity *s = cm_prediction_sensitivity(r->prediction, k);
        fprintf(out, "  %+3.0f %% %-*s -> %5.1f %%, %s\n", 100 * (s->factor - 1), HELP_WIDTH, s->what,
                100 * (s->step_time_s / i->step_time_s - 1), cm__seconds(ctx, s->step_time_s));
    }
}

/* Whether the step could be replayed from CUDA graphs, and is not yet. */
static bool may_replay(cm_runtime runtime)
{
    cm_runtime graphs = runtime;
    return cm_runtime_with_graphs(&graphs, NULL) == CM_OK && graphs != runtime;
}

const char *cm__bottleneck(cm__ctx *ctx, const cm__predict_report *r)
{
    const cm_prediction_info *i = cm_prediction_get_info(r->prediction);
    int32_t                   helps = cm_prediction_sensitivities(r->prediction);
    const char               *what = helps ? cm_prediction_sensitivity(r->prediction, 0)->what : "";
    if (i->load_s > i->compute_s)
        return cm__format(ctx, "data loading: %lld workers load the samples of a step in %s, the device computes it in "
                          "%s; more workers or smaller samples would help", (long long)i->loading.workers,
                          cm__seconds(ctx, i->load_s), cm__seconds(ctx, i->compute_s));
    if (i->tensor_s + i->pipeline_s + i->data_s - i->hidden_s > i->step_time_s / 2) return "the links between devices";
    if (i->bubble_s > i->step_time_s / 4)
        return "the pipeline bubble: more micro-batches or fewer stages would help";
    if (i->style == CM_STYLE_KERNELS && i->host_time_s >= i->compute_s)
        return cm__format(ctx, "the host: it launches kernels more slowly than the device runs them; a larger batch size %swould "
                          "help%s", may_replay(i->runtime) ? "or CUDA graphs " : "", r->asked.options.loading.host ? "" :
                          ". 'bench --suite host -o FILE' on that machine and --host FILE narrow the interval");
    const char *power = i->clock < 0.99 ? ", at its power limit" : "";
    if (!*what) return cm__format(ctx, "the device%s", power);
    if (*power && strcmp(what, "power limit") == 0) return "the device, at its power limit";
    return cm__format(ctx, "the device%s: mostly by %s", power, what);
}
