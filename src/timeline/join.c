/* SPDX-License-Identifier: Apache-2.0 */
/* join.c - which operator launched each kernel, and in which step: by time on the host's threads and by correlation. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "timeline/timeline.h"

#define DEPTH_MAX 256 /* operators inside each other; deeper ones count as the last */

static int order(double a, double b) { return (a > b) - (a < b); }

static int by_thread_op(const void *a, const void *b)
{
    const cm__host_op *x = a, *y = b;
    int                d = order(x->thread, y->thread);
    if (!d) d = order(x->begin_us, y->begin_us);
    return d ? d : order(y->end_us, x->end_us); /* the outer one first */
}

static int by_thread_launch(const void *a, const void *b)
{
    const cm__launch *x = a, *y = b;
    int               d = order(x->thread, y->thread);
    return d ? d : order(x->begin_us, y->begin_us);
}

static int by_correlation(const void *a, const void *b)
{
    return order(((const cm__launch *)a)->correlation, ((const cm__launch *)b)->correlation);
}

static int by_begin(const void *a, const void *b)
{
    return order(((const cm__host_span *)a)->begin_us, ((const cm__host_span *)b)->begin_us);
}

static void sort(void *array, int32_t count, size_t size, int (*compare)(const void *, const void *))
{
    if (count) qsort(array, (size_t)count, size, compare);
}

/* ---- operators -------------------------------------------------------------------------------------------------- */

/* The operator that kernels count for, of those that enclose the launch, the outermost first: the outermost one that
   includes the operators inside it; otherwise the innermost one that a call is known for; otherwise the innermost. */
static int32_t owner_of(const cm__events *e, const int32_t *stack, int32_t depth)
{
    int32_t innermost = depth ? stack[depth - 1] : -1;
    for (int32_t i = 0; i < depth; i++) {
        const cm__op_kind *k = e->kinds[e->ops[stack[i]].what];
        if (!k->known || k->scope != CM__TRACED_WHOLE || e->ops[stack[i]].wraps) continue;
        bool bias = strcmp(k->name, "aten::convolution_backward") == 0 &&
                    strcmp(e->kinds[e->ops[innermost].what]->name, "aten::sum") == 0; /* summed by a call of its own */
        return bias ? innermost : stack[i];
    }
    for (int32_t i = depth - 1; i >= 0; i--)
        if (e->kinds[e->ops[stack[i]].what]->known && !e->ops[stack[i]].wraps) return stack[i];
    return innermost;
}

static void push(const cm__events *e, int32_t *stack, int32_t *depth, int32_t op)
{
    const cm__host_op *o = &e->ops[op];
    while (*depth && (e->ops[stack[*depth - 1]].thread != o->thread || e->ops[stack[*depth - 1]].end_us <= o->begin_us))
        (*depth)--;
    if (*depth < DEPTH_MAX) stack[(*depth)++] = op;
}

static void find_wrappers(cm__events *e)
{
    int32_t stack[DEPTH_MAX], depth = 0;
    for (int32_t i = 0; i < e->n_ops; i++) {
        push(e, stack, &depth, i);
        const char *name = e->kinds[e->ops[i].what]->name;
        for (int32_t k = 0; k + 1 < depth; k++)
            if (e->kinds[e->ops[stack[k]].what]->name == name) e->ops[stack[k]].wraps = true;
    }
}

static void find_owners(cm__events *e)
{
    int32_t stack[DEPTH_MAX], depth = 0, next = 0;
    for (int32_t i = 0; i < e->n_launches; i++) {
        cm__launch *l = &e->launches[i];
        for (; next < e->n_ops; next++) {
            const cm__host_op *op = &e->ops[next];
            if (op->thread > l->thread || (op->thread == l->thread && op->begin_us > l->begin_us)) break;
            if (op->thread < l->thread) continue;
            push(e, stack, &depth, next);
        }
        while (depth && (e->ops[stack[depth - 1]].thread != l->thread || e->ops[stack[depth - 1]].end_us < l->begin_us))
            depth--;
        l->op = owner_of(e, stack, depth);
    }
}

/* ---- steps ------------------------------------------------------------------------------------------------------ */

int32_t cm__span_at(const cm__events *e, cm__span_kind kind, double thread, double at_us, bool any_thread)
{
    const cm__host_span *spans = e->spans[kind];
    int32_t              low = 0, high = e->n_spans[kind];
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (spans[middle].begin_us <= at_us) low = middle + 1;
        else high = middle;
    }
    /* spans of one kind lie beside each other on a thread, so that a few steps back find the one that is open */
    for (int32_t i = low - 1; i >= 0 && i >= low - 8; i--)
        if (at_us <= spans[i].end_us && (any_thread || spans[i].thread == thread)) return i;
    return -1;
}

static void find_launch(cm__events *e, cm__kernel *k)
{
    cm__launch        key = {.correlation = k->correlation};
    const cm__launch *l = e->n_launches ? bsearch(&key, e->launches, (size_t)e->n_launches, sizeof key, by_correlation)
                                        : NULL;
    k->launch_us = l ? l->begin_us : NAN;
    k->op = l ? l->op : -1;
    /* a kernel without a launch was launched before the profiler began to record */
    double at = l ? l->begin_us : e->n_launches ? -1 : k->begin_us;
    k->step = e->n_spans[CM__SPAN_STEP] ? cm__span_at(e, CM__SPAN_STEP, 0, at, true) : 0;
}

void cm__timeline_join(cm__events *e)
{
    sort(e->ops, e->n_ops, sizeof *e->ops, by_thread_op);
    sort(e->launches, e->n_launches, sizeof *e->launches, by_thread_launch);
    for (int kind = 0; kind < CM__SPANS; kind++)
        sort(e->spans[kind], e->n_spans[kind], sizeof **e->spans, by_begin);
    find_wrappers(e);
    find_owners(e);
    sort(e->launches, e->n_launches, sizeof *e->launches, by_correlation);
    for (int32_t i = 0; i < e->n_kernels; i++) find_launch(e, &e->kernels[i]);
}
