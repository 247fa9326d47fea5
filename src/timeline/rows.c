/* SPDX-License-Identifier: Apache-2.0 */
/* rows.c - the kernels of a trace as kernel calls with their times, by phase. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/text.h"
#include "timeline/timeline.h"

typedef struct cm_timeline timeline;

static bool has(const char *where, const char *what) { return strstr(where, what) != NULL; }

static int by_op(const void *a, const void *b)
{
    const cm__kernel *x = a, *y = b;
    if (x->op != y->op) return x->op < y->op ? -1 : 1;
    return (x->begin_us > y->begin_us) - (x->begin_us < y->begin_us);
}

static cm_phase phase_of(const cm__events *e, const cm__kernel *k)
{
    double thread = k->op >= 0 ? e->ops[k->op].thread : 0;
    if (k->phase >= 0) return (cm_phase)k->phase;
    if (!(k->launch_us > 0)) return CM_FORWARD;
    if (cm__span_at(e, CM__SPAN_UPDATE, thread, k->launch_us, false) >= 0) return CM_UPDATE;
    return cm__span_at(e, CM__SPAN_BACKWARD, thread, k->launch_us, false) >= 0 ? CM_BACKWARD : CM_FORWARD;
}

/* The row of a call, or of a name, in a phase. */
static cm__traced *row_of(timeline *t, cm__map *map, const cm__call *call, const char *what, cm_phase phase)
{
    char text[512], key[520];
    if (call) cm__call_text(call, text, sizeof text);
    snprintf(key, sizeof key, "%d %.511s", (int)phase, call ? text : what);
    int32_t found = cm__map_get(map, cm__span_of(key));
    if (found >= 0) return &t->rows[found];
    t->rows = cm__grow(t->ctx, t->rows, t->n_rows, &t->cap_rows, sizeof *t->rows);
    cm__map_put(map, cm__span_of(cm__text_copy(t->ctx, key)), t->n_rows);
    t->rows[t->n_rows] =
        (cm__traced){.is_call = call != NULL, .what = call ? cm__call_kinds[call->op].name : what, .phase = phase};
    if (call) t->rows[t->n_rows].call = *call;
    return &t->rows[t->n_rows++];
}

static void add(cm__traced *row, const cm__kernel *k)
{
    row->time_s += k->time_us * 1e-6;
    row->kernels++;
}

/* ---- one operator ----------------------------------------------------------------------------------------------- */

/* Facts that only a kernel's name has: the width of copied elements; that tensor cores multiply fp32 as TF32. */
static void name_type(cm__call *c, const char *kernel)
{
    static const struct {
        const char *width;
        cm_dtype    type;
    } opaque[] = {{"OpaqueType<1", CM_UINT8}, {"OpaqueType<2", CM_BF16}, {"OpaqueType<4", CM_FP32},
                  {"OpaqueType<8", CM_INT64}};
    for (size_t i = 0; c->types == CM__NO_TYPES && i < sizeof opaque / sizeof *opaque; i++)
        if (has(kernel, opaque[i].width)) c->types = CM__ALL(opaque[i].type);
    if (c->types == CM__NO_TYPES) c->types = CM__ALL(CM_FP32);
    static const int matrix[] = {CM__CALL_GEMM, CM__CALL_CONV, CM__CALL_ATTENTION, CM__CALL_RNN};
    if (c->types != CM__ALL(CM_FP32) || !(has(kernel, "tf32") || has(kernel, "1688"))) return;
    for (size_t i = 0; i < sizeof matrix / sizeof *matrix; i++)
        if (c->op == matrix[i]) c->types = CM__ALL(CM__TF32);
}

/* Kernels that help another one: a sum after it, or preparations before it. */
static bool sums(const char *kernel) { return has(kernel, "educe"); }
static bool helps(const char *kernel)
{
    return sums(kernel) || has(kernel, "init_device_workspace") || has(kernel, "ToNhwc") || has(kernel, "ToNchw") ||
           has(kernel, "onvertTensor") || has(kernel, "elementwise");
}

/* Which of an operator's two calls each kernel is part of: by its name; otherwise the first half of the kernels that
   do not help another one. */
static void divide(const cm__events *e, const cm__op_kind *kind, const cm__kernel *kernels, int32_t count,
                   int8_t *parts)
{
    int32_t mains = 0, at = 0;
    for (int32_t i = 0; i < count; i++) parts[i] = 0;
    if (kind->n_calls < 2) return;
    for (int32_t i = 0; i < count; i++) mains += !helps(e->names[kernels[i].name]);
    for (int32_t i = 0; i < count; i++) {
        const char *name = e->names[kernels[i].name];
        if (helps(name)) continue;
        parts[i] = at++ >= (mains + 1) / 2;
        if (has(name, "wgrad") || has(name, "grad_weight")) parts[i] = 1;
        if (has(name, "dgrad") || has(name, "depthwise2d_backward")) parts[i] = 0;
    }
    for (int32_t i = 1; i < count; i++)
        if (sums(e->names[kernels[i].name])) parts[i] = parts[i - 1];
    for (int32_t i = count - 2; i >= 0; i--)
        if (helps(e->names[kernels[i].name]) && !sums(e->names[kernels[i].name])) parts[i] = parts[i + 1];
}

static void add_op(timeline *t, cm__map *map, const cm__kernel *kernels, int32_t count)
{
    cm__events        *e = &t->events;
    const cm__op_kind *kind = e->kinds[e->ops[kernels->op].what];
    cm_phase           phase = phase_of(e, kernels);
    bool               counted[CM__TRACED_CALLS] = {false};
    divide(e, kind, kernels, count, t->parts);
    for (int32_t i = 0; i < count; i++) {
        const char *name = e->names[kernels[i].name];
        int8_t      part = t->parts[i];
        cm__call    call = kind->calls[part];
        if (kind->n_calls) name_type(&call, name);
        cm__traced *row = row_of(t, map, kind->n_calls ? &call : NULL, kind->name, phase);
        add(row, &kernels[i]);
        if (!counted[part]) row->runs++;
        counted[part] = true;
    }
}

/* ---- the update ------------------------------------------------------------------------------------------------- */

static const char *optimizer_of(const cm__events *e, const cm__host_span *span, bool scales)
{
    const char *name = e->names[span->name];
    return has(name, "AdamW") ? "adamw" : has(name, "Adam") ? "adam" : scales ? "momentum" : "sgd";
}

/* The parameters that an update changes, if the lists of its kernels are not recorded: those that got gradients. */
static void count_gradients(const cm__events *e, double *tensors, double *elements)
{
    int32_t updates = e->n_spans[CM__SPAN_UPDATE];
    for (int32_t i = 0; i < e->n_ops; i++) {
        const cm__op_kind *kind = e->kinds[e->ops[i].what];
        if (!kind->gradient) continue;
        *tensors += kind->tensors / updates;
        *elements += kind->elements / updates;
    }
}

/* One call for the kernels of an update. */
static void add_update(timeline *t, cm__map *map, int32_t index)
{
    cm__events *e = &t->events;
    double      time_s = 0, kernels = 0, tensors = 0, elements = 0;
    bool        scales = false, half = false;
    for (int32_t i = 0; i < e->n_kernels; i++) {
        const cm__kernel  *k = &e->kernels[i];
        double             thread = k->op >= 0 ? e->ops[k->op].thread : 0;
        const cm__op_kind *kind = k->op >= 0 ? e->kinds[e->ops[k->op].what] : NULL;
        if (k->step < 0 || cm__span_at(e, CM__SPAN_UPDATE, thread, k->launch_us, false) != index) continue;
        time_s += k->time_us * 1e-6;
        kernels++;
        half |= has(e->names[k->name], "BFloat16");
        if (!kind) continue;
        scales |= kind->scales;
        if (kind->elements > elements) elements = kind->elements, tensors = kind->tensors;
    }
    if (!(time_s > 0)) return;
    if (!(elements > 0)) count_gradients(e, &tensors, &elements);
    cm__call c = {.op = CM__CALL_OPTIMIZER, .pass = CM__PASS_UPDATE, .sizes = {llround(tensors), llround(elements)}};
    c.variant = cm__variant_find(optimizer_of(e, &e->spans[CM__SPAN_UPDATE][index], scales));
    c.types = CM__ALL(half ? CM_BF16 : CM_FP32);
    cm__traced *row = row_of(t, map, elements > 0 ? &c : NULL, "optimizer", CM_UPDATE);
    row->time_s += time_s;
    row->kernels += kernels;
    row->runs++;
}

/* ---- all of them ------------------------------------------------------------------------------------------------ */

static const char *name_of(const cm__events *e, const cm__kernel *k)
{
    static const char *const names[] = {[CM__KERNEL] = "unknown operator", [CM__KERNEL_LAYOUT] = "layout conversion",
                                        [CM__KERNEL_COMM] = "communication", [CM__KERNEL_COPY] = "copies",
                                        [CM__KERNEL_FILL] = "fills"};
    if (k->phase >= 0) return e->names[k->name];
    if (k->group == CM__KERNEL_COPY && k->op >= 0) return "copies from and to the host";
    return names[k->group];
}

static bool on_its_own(const cm__events *e, const cm__kernel *k)
{
    bool from_host = k->group == CM__KERNEL_COPY && (has(e->names[k->name], "HtoD") || has(e->names[k->name], "DtoH"));
    return k->phase >= 0 || k->op < 0 || k->group == CM__KERNEL_COMM || from_host;
}

static void add_kernels(timeline *t, cm__map *map)
{
    cm__events *e = &t->events;
    int32_t     count;
    for (int32_t i = 0; i < e->n_kernels; i += count) {
        const cm__kernel *k = &e->kernels[i];
        count = 1;
        if (k->step < 0 || (k->phase < 0 && phase_of(e, k) == CM_UPDATE)) continue;
        if (on_its_own(e, k)) {
            cm__traced *row = row_of(t, map, NULL, name_of(e, k), phase_of(e, k));
            row->is_stated = k->phase >= 0;
            add(row, k);
            row->runs++;
            continue;
        }
        while (i + count < e->n_kernels && k[count].op == k->op && !on_its_own(e, &k[count])) count++;
        add_op(t, map, k, count);
    }
}

static int by_time(const void *a, const void *b)
{
    double x = ((const cm__traced *)a)->time_s, y = ((const cm__traced *)b)->time_s;
    return (x < y) - (x > y);
}

void cm__timeline_rows(timeline *t)
{
    cm__events *e = &t->events;
    cm__map     map;
    cm__map_init(&map, t->ctx);
    t->parts = cm__alloc(t->ctx, (size_t)e->n_kernels + 1);
    if (e->n_kernels) qsort(e->kernels, (size_t)e->n_kernels, sizeof *e->kernels, by_op);
    add_kernels(t, &map);
    for (int32_t i = 0; i < e->n_spans[CM__SPAN_UPDATE]; i++) add_update(t, &map, i);
    if (t->n_rows) qsort(t->rows, (size_t)t->n_rows, sizeof *t->rows, by_time);
}
