/* SPDX-License-Identifier: Apache-2.0 */
/* timeline.c - read a trace of torch.profiler: the time of a step, how long the device is busy, and the kernel
   calls. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "timeline/tables.h"
#include "timeline/timeline.h"

/* ---- the time of a step ----------------------------------------------------------------------------------------- */

typedef struct busy {
    double begin, end;
} busy;

static int by_begin(const void *a, const void *b)
{
    double x = ((const busy *)a)->begin, y = ((const busy *)b)->begin;
    return (x > y) - (x < y);
}

/* Time in which at least one kernel runs. */
static double covered(busy *spans, int32_t count)
{
    double sum = 0, end = -INFINITY;
    if (count) qsort(spans, (size_t)count, sizeof *spans, by_begin);
    for (int32_t i = 0; i < count; i++) {
        double from = fmax(spans[i].begin, end);
        if (spans[i].end > from) sum += spans[i].end - from;
        end = fmax(end, spans[i].end);
    }
    return sum;
}

/* When the first kernel of each step begins; INFINITY: it has none. */
static double *firsts(const struct cm_timeline *t, int32_t steps)
{
    double *first = cm__alloc_array(t->ctx, (size_t)steps, sizeof *first);
    for (int32_t i = 0; i < steps; i++) first[i] = INFINITY;
    for (int32_t i = 0; i < t->events.n_kernels; i++) {
        const cm__kernel *k = &t->events.kernels[i];
        if (k->step >= 0) first[k->step] = fmin(first[k->step], k->begin_us);
    }
    return first;
}

/* From the first kernel of the first step to that of the last one; of a single step, all of it. */
static void measure_steps(struct cm_timeline *t, double whole_us)
{
    cm__events *e = &t->events;
    int32_t     steps = e->n_spans[CM__SPAN_STEP] ? e->n_spans[CM__SPAN_STEP] : 1, n = 0;
    double     *first = firsts(t, steps), begin = INFINITY, last = -INFINITY;
    for (int32_t i = 0; i < steps; i++) {
        if (!isfinite(first[i])) continue;
        begin = fmin(begin, first[i]);
        last = fmax(last, first[i]);
        n++;
    }
    double span = e->n_spans[CM__SPAN_STEP] ? e->spans[CM__SPAN_STEP][0].end_us - e->spans[CM__SPAN_STEP][0].begin_us
                                            : 0;
    t->info.steps = n ? n : 1;
    t->info.step_time_s = 1e-6 * (n > 1 ? (last - begin) / (n - 1) : fmax(span, whole_us));
}

static void measure_device(struct cm_timeline *t)
{
    cm__events *e = &t->events;
    busy       *spans = cm__alloc_array(t->ctx, (size_t)e->n_kernels, sizeof *spans);
    int32_t     count = 0;
    double      sum = 0, begin = INFINITY, end = -INFINITY;
    for (int32_t i = 0; i < e->n_kernels; i++) {
        const cm__kernel *k = &e->kernels[i];
        if (k->step < 0) continue;
        spans[count++] = (busy){k->begin_us, k->begin_us + k->time_us};
        sum += k->time_us;
        begin = fmin(begin, k->begin_us);
        end = fmax(end, k->begin_us + k->time_us);
    }
    measure_steps(t, count ? end - begin : 0);
    double n = t->info.steps;
    t->info.device_time_s = 1e-6 * covered(spans, count) / n;
    t->info.overlapped_s = 1e-6 * sum / n - t->info.device_time_s;
    t->info.kernels = count / n;
}

static void measure_loading(struct cm_timeline *t)
{
    cm__events *e = &t->events;
    double      sum = 0, idle = fmax(0, t->info.step_time_s - t->info.device_time_s);
    for (int32_t i = 0; i < e->n_spans[CM__SPAN_LOADING]; i++) {
        const cm__host_span *s = &e->spans[CM__SPAN_LOADING][i];
        if (cm__span_at(e, CM__SPAN_STEP, 0, s->begin_us, true) >= 0) sum += s->end_us - s->begin_us;
    }
    t->info.loading_s = fmin(idle, 1e-6 * sum / t->info.steps);
}

/* ---- the handle ------------------------------------------------------------------------------------------------- */

static void list_calls(struct cm_timeline *t)
{
    t->calls = cm__alloc_array(t->ctx, (size_t)t->n_rows, sizeof *t->calls);
    for (int32_t i = 0; i < t->n_rows; i++) {
        const cm__traced *r = &t->rows[i];
        char              text[512];
        t->calls[i] = (cm_timeline_call){.what = r->what, .phase = r->phase, .time_s = r->time_s / t->info.steps,
                                         .runs = r->runs / t->info.steps, .kernels = r->kernels / t->info.steps};
        if (r->is_stated) t->calls[i].call = r->what;
        if (r->is_call) t->calls[i].call = cm__text_copy(t->ctx, cm__call_text(&r->call, text, sizeof text));
    }
}

static void read(struct cm_timeline *t, const cm__bytes *bytes)
{
    cm__events_read(&t->events, t->ctx, bytes, CM__EVENTS_STORED);
    if (!t->events.n_kernels)
        cm__fail(t->ctx, CM_ERR_FORMAT, "no kernels of a device; record with activities=[CPU, CUDA]");
    cm__timeline_join(&t->events);
    measure_device(t);
    measure_loading(t);
    cm__timeline_rows(t);
    t->info.device = t->events.device;
    t->info.peak_bytes = t->events.peak_bytes > 0 ? t->events.peak_bytes : NAN;
    t->info.events = t->events.counts.events;
    t->info.unreadable = t->events.counts.unreadable;
    t->info.predicted = t->events.predicted;
    t->info.shapes = t->events.shapes || t->info.predicted; /* a predicted call states its sizes */
    list_calls(t);
}

cm_status cm__timeline_read(const cm__bytes *bytes, const char *path, cm_timeline **timeline, cm_diag *diag)
{
    cm__ctx *ctx = cm__ctx_new(diag);
    if (!ctx) return CM_ERR_MEMORY;
    if (setjmp(ctx->trap)) return cm__ctx_abandon(ctx);
    cm_timeline *t = cm__alloc(ctx, sizeof *t);
    cm__bytes    from = bytes ? *bytes : cm__trace_file(ctx, cm__text_copy(ctx, path));
    t->ctx = ctx;
    read(t, &from);
    ctx->diag = NULL;
    *timeline = t;
    return CM_OK;
}

cm_status cm_timeline_read(const char *path, cm_timeline **timeline, cm_diag *diag)
{
    if (!path || !timeline) return cm__diag_set(diag, CM_ERR_ARGUMENT, "no file or result given");
    return cm__timeline_read(NULL, path, timeline, diag);
}

void cm_timeline_free(cm_timeline *t)
{
    if (!t) return;
    free(t->profile);
    cm__ctx_free(t->ctx);
}

const cm_timeline_info *cm_timeline_get_info(const cm_timeline *t) { return &t->info; }
int32_t                 cm_timeline_calls(const cm_timeline *t) { return t->n_rows; }
const cm_timeline_call *cm_timeline_get_call(const cm_timeline *t, int32_t i) { return &t->calls[i]; }

const char *cm_timeline_profile(cm_timeline *t, const char *base, int32_t *rows, int32_t *tables)
{
    free(t->profile);
    t->profile = cm__timeline_tables(t, base, rows, tables);
    return t->profile;
}
