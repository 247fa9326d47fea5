/* SPDX-License-Identifier: Apache-2.0 */
/* gates.c - limits that an answer must keep: which are held, which are missed and by how much. */
#include <math.h>
#include "base/text.h"
#include "report/report.h"

/* "130 ms", "70.0 GiB", "4.69 ksamples/s", "0.8" */
static const char *quantity(cm__ctx *ctx, const cm__gate *g, double value)
{
    char buf[32];
    if (!*g->unit) return cm__format(ctx, "%.3g", value);
    if (*g->unit == 'B') cm__binary(buf, sizeof buf, value);
    else if (strcmp(g->unit, "s") == 0) cm__si_small(buf, sizeof buf, value);
    else (value < 1 ? cm__si_small : cm__si)(buf, sizeof buf, value);
    return cm__format(ctx, "%s%s", buf, g->unit);
}

static const char *sentence(cm__ctx *ctx, const cm__gate *g)
{
    double      ratio = g->value / g->limit;
    const char *doubt = "", *by = cm__format(ctx, "%.3g times the limit", ratio);
    if (!(ratio > 10)) by = cm__format(ctx, "%.3g %% %s", 100 * fabs(ratio - 1), ratio > 1 ? "more" : "less");
    if (!g->sure)
        doubt = cm__format(ctx, "; not sure: the 90 %% interval, %s to %s, includes the limit",
                           quantity(ctx, g, g->interval[0]), quantity(ctx, g, g->interval[1]));
    return cm__format(ctx, "--%s %s %s: %s, %s%s", g->name, quantity(ctx, g, g->limit),
                      g->held ? "held" : "missed", quantity(ctx, g, g->value), by, doubt);
}

/* The predicted value decides. The interval only says how sure that is. */
void cm__gates_add(cm__ctx *ctx, cm__gates *gates, cm__gate g)
{
    if (!(g.limit > 0) || gates->count == CM__GATES_MOST) return;
    g.held = g.least ? g.value >= g.limit : g.value <= g.limit;
    g.sure = !(g.interval[0] <= g.limit && g.limit <= g.interval[1]);
    g.text = sentence(ctx, &g);
    gates->missed += !g.held;
    gates->all[gates->count++] = g;
}

static void add_all(cm__ctx *ctx, cm__gates *gates, const cm__limits *limits, const cm_prediction_info *i,
                    double peak_bytes, const cm_chance *chance)
{
    double samples = i->throughput_samples_s * i->step_time_s;
    cm__gates_add(ctx, gates, (cm__gate){"max-step", "s", limits->step_s, i->step_time_s,
                                         {i->interval_s[0], i->interval_s[1]}, .least = false});
    cm__gates_add(ctx, gates, (cm__gate){"max-memory", "B", limits->memory_bytes, peak_bytes,
                                         {chance->interval_bytes[0], chance->interval_bytes[1]}, .least = false});
    cm__gates_add(ctx, gates, (cm__gate){"min-throughput", "samples/s", limits->throughput_samples_s,
                                         i->throughput_samples_s,
                                         {samples / i->interval_s[1], samples / i->interval_s[0]}, .least = true});
}

void cm__predict_gates(cm__predict_report *r)
{
    cm_chance chance = cm_memory_chance(&r->use);
    add_all(r->ctx, &r->gates, &r->asked.limits, cm_prediction_get_info(r->prediction), r->peak_bytes, &chance);
}

void cm__rank_gates(cm__ctx *ctx, cm__gates *gates, const cm__limits *limits, const cm_rank_entry *e,
                    const char *network)
{
    int32_t before = gates->count;
    add_all(ctx, gates, limits, &e->prediction, e->peak_bytes, &e->chance);
    for (int32_t i = before; network && i < gates->count; i++)
        gates->all[i].text = cm__format(ctx, "%s: %s", network, gates->all[i].text);
}
