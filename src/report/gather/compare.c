/* SPDX-License-Identifier: Apache-2.0 */
/* compare.c - read a profiler trace, predict the same step, and find out where the times differ. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/map.h"
#include "report/report.h"

static void free_timeline(void *timeline) { cm_timeline_free(timeline); }
static void free_predicted(void *predicted) { cm__predict_report_free(predicted); }

typedef struct gathering {
    cm__compare_report *r;
    cm__map             kinds, calls;
} gathering;

/* ---- rows ------------------------------------------------------------------------------------------------------- */

static cm__difference *difference_of(gathering *g, const char *what, cm_phase phase)
{
    cm__compare_report *r = g->r;
    char               *key = cm__format(r->ctx, "%d %s", (int)phase, what);
    int32_t             found = cm__map_get(&g->kinds, cm__span_of(key));
    if (found >= 0) return &r->differences[found];
    r->differences = cm__grow(r->ctx, r->differences, r->n_differences, &r->cap_differences, sizeof *r->differences);
    r->differences[r->n_differences] = (cm__difference){.what = what, .phase = phase};
    cm__map_put(&g->kinds, cm__span_of(key), r->n_differences);
    return &r->differences[r->n_differences++];
}

static cm__compared_call *call_of(gathering *g, const char *call, cm_phase phase)
{
    cm__compare_report *r = g->r;
    char               *key = cm__format(r->ctx, "%d %s", (int)phase, call);
    int32_t             found = cm__map_get(&g->calls, cm__span_of(key));
    if (found >= 0) return &r->calls[found];
    r->calls = cm__grow(r->ctx, r->calls, r->n_calls, &r->cap_calls, sizeof *r->calls);
    r->calls[r->n_calls] = (cm__compared_call){.call = call, .phase = phase, .how = CM_HOWS};
    cm__map_put(&g->calls, cm__span_of(key), r->n_calls);
    return &r->calls[r->n_calls++];
}

/* The kind of a call: its operator; of a convolution also the pass; copies and fills apart from other functions. A
   cross-entropy may be recorded as one call or as several. */
static const char *kind_of(cm__ctx *ctx, const char *call)
{
    static const char map[] = "elementwise forward ", conv[] = "conv";
    if (strncmp(call, map, sizeof map - 1) == 0) {
        const char *function = call + sizeof map - 1;
        bool        moves = strncmp(function, "copy", 4) == 0 || strncmp(function, "fill", 4) == 0;
        return moves ? "copies, casts and fills" : "elementwise";
    }
    if (strncmp(call, "cross_entropy", 13) == 0 || strstr(call, "ward log ")) return "softmax and choice of the loss";
    size_t length = strcspn(call, " ");
    if (strncmp(call, conv, sizeof conv - 1) == 0) length += 1 + strcspn(call + length + 1, " ");
    return cm__text_copy_n(ctx, call, length);
}

/* ---- both sides ------------------------------------------------------------------------------------------------- */

static void add_measured(gathering *g)
{
    const cm_timeline *t = g->r->timeline;
    for (int32_t i = 0; i < cm_timeline_calls(t); i++) {
        const cm_timeline_call *c = cm_timeline_get_call(t, i);
        const char             *what = c->call ? kind_of(g->r->ctx, c->call) : c->what;
        difference_of(g, what, c->phase)->measured_s += c->time_s;
        if (!c->call) continue;
        cm__compared_call *both = call_of(g, c->call, c->phase);
        both->measured_s += c->time_s;
        both->measured_runs += c->runs;
    }
}

static double add_predicted(gathering *g)
{
    const cm__predict_report *p = g->r->predicted;
    double                    sum = 0;
    for (int32_t i = 0; i < cm_prediction_ops(p->prediction); i++) {
        const cm_op_time *op = cm_prediction_op(p->prediction, i);
        cm_phase          phase = cm_node_phase(cm_graph_node(p->graph->step, op->node));
        difference_of(g, kind_of(g->r->ctx, op->call), phase)->predicted_s += op->time_s;
        cm__compared_call *both = call_of(g, op->call, phase);
        both->predicted_s += op->time_s;
        both->predicted_runs++;
        both->how = op->how;
        sum += op->time_s;
    }
    return sum;
}

/* Rows that are no kernel's time: the rows then add up to the measured and to the predicted step. */
static void add_rest(gathering *g, double predicted_s)
{
    const cm_timeline_info   *t = cm_timeline_get_info(g->r->timeline);
    const cm_prediction_info *p = cm_prediction_get_info(g->r->predicted->prediction);
    cm__difference           *idle =
        difference_of(g, "device idle: waits for the host, gaps between kernels", CM_PHASES);
    idle->measured_s = t->step_time_s - t->device_time_s - t->loading_s;
    idle->predicted_s = p->step_time_s - predicted_s;
    if (t->overlapped_s > 0)
        difference_of(g, "kernels that run at the same time", CM_PHASES)->measured_s = -t->overlapped_s;
    if (t->loading_s > 0) difference_of(g, "data loading", CM_PHASES)->measured_s = t->loading_s;
}

static double weight(const cm__difference *d) { return fabs(d->measured_s - d->predicted_s); }

static int by_difference(const void *a, const void *b)
{
    double x = weight(a), y = weight(b);
    return (x < y) - (x > y);
}

static int by_call_difference(const void *a, const void *b)
{
    const cm__compared_call *p = a, *q = b;
    double x = fabs(p->measured_s - p->predicted_s), y = fabs(q->measured_s - q->predicted_s);
    return (x < y) - (x > y);
}

static void gather(cm__compare_report *r)
{
    gathering g = {.r = r};
    cm__map_init(&g.kinds, r->ctx);
    cm__map_init(&g.calls, r->ctx);
    add_measured(&g);
    add_rest(&g, add_predicted(&g));
    for (int32_t i = 0; i < r->n_calls; i++)
        if (r->calls[i].predicted_runs > 0) r->matched_s += r->calls[i].measured_s;
    if (r->n_differences) qsort(r->differences, (size_t)r->n_differences, sizeof *r->differences, by_difference);
    if (r->n_calls) qsort(r->calls, (size_t)r->n_calls, sizeof *r->calls, by_call_difference);
}

cm_status cm__compare_report_new(const char *trace, const cm__predict_request *asked, cm__compare_report **report,
                                 cm_diag *diag)
{
    cm__ctx *ctx = cm__ctx_new(diag);
    if (!ctx) return CM_ERR_MEMORY;
    if (setjmp(ctx->trap)) return cm__ctx_abandon(ctx);
    cm__compare_report *r = cm__alloc(ctx, sizeof *r);
    r->ctx = ctx;
    r->trace = trace;
    cm__pass_on(ctx, cm_timeline_read(trace, &r->timeline, diag));
    cm__defer(ctx, free_timeline, r->timeline);
    cm__pass_on(ctx, cm__predict_report_new(asked, &r->predicted, diag));
    cm__defer(ctx, free_predicted, r->predicted);
    gather(r);
    ctx->diag = NULL;
    *report = r;
    return CM_OK;
}

void cm__compare_report_free(cm__compare_report *report)
{
    if (report) cm__ctx_free(report->ctx);
}
