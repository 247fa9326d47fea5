/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dispatch_calls.h - the kernel calls of a step as texts, for tests of the dispatch rules.
 *
 *     TRAIN("input x 32\nlinear 10\n", FP32, AUTO, 4, "gemm forward nt-bias fp32 1,4,10,32", ...)
 *
 * checks that a training step at batch 4 makes these calls and no others, as PyTorch's profiler shows them.
 */
#ifndef CM_TESTS_UNIT_DISPATCH_CALLS_H
#define CM_TESTS_UNIT_DISPATCH_CALLS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "import/import.h"
#include "model/dispatch/dispatch.h"
#include "model/time/generated.h"

#define MOST 200
#define TEXT 192

static cm_diag diag;

typedef struct listed {
    char    texts[MOST][TEXT];
    int     count;
} listed;

/* As tables have them: generated kernels with counted bytes, in fp32. */
static inline void list(cm__dispatch *d, double batch, listed *l)
{
    l->count = 0;
    assert_in_range(d->n_of, 0, MOST);
    for (int32_t i = 0; i < d->n_of; i++) {
        cm__call c;
        cm__call_at(&d->calls[d->of[i]], batch, &c);
        c = cm__generated_priced(&c);
        c = cm__generated_as_tabled(&c);
        cm__call_text(&c, l->texts[l->count++], TEXT);
    }
}

static inline int by_text(const void *a, const void *b) { return strcmp(a, b); }

static inline cm_graph *step_of(cm_graph *forward, cm_precision precision, bool inference)
{
    cm_graph        *step;
    cm_train_options o = {.precision = precision, .optimizer = CM_OPTIMIZER_SGD, .inference = inference};
    if (cm_graph_train(forward, &o, &step, &diag)) fail_msg("%s: %s", diag.place, diag.reason);
    return step;
}

/* Parses a model in the layer language, with eager PyTorch's fusion. */
static inline cm_graph *read(cm__ctx *ctx, const char *text)
{
    cm_load_options o = {.fuse = CM_FUSE_EAGER};
    cm_graph       *g = cm__import_net(ctx, "test", text, strlen(text), &o);
    cm__finish(g, CM_FUSE_EAGER);
    return g;
}

static inline void same(const listed *got, const char *const *expected)
{
    listed sorted = *got;
    char   want[MOST][TEXT];
    int    count = 0;
    for (; expected[count]; count++) snprintf(want[count], TEXT, "%s", expected[count]);
    qsort(sorted.texts, (size_t)sorted.count, TEXT, by_text);
    qsort(want, (size_t)count, TEXT, by_text);
    bool equal = sorted.count == count;
    for (int i = 0; equal && i < count; i++) equal = strcmp(sorted.texts[i], want[i]) == 0;
    if (equal) return;
    for (int i = 0; i < got->count; i++) fprintf(stderr, "# called: %s\n", got->texts[i]);
    for (int i = 0; i < count; i++)
        if (!bsearch(want[i], sorted.texts, (size_t)sorted.count, TEXT, by_text))
            fprintf(stderr, "# missed: %s\n", want[i]);
    fail_msg("%d calls, expected %d", got->count, count);
}

/* Compares the calls of a step in any order: the order of backward is up to the graph. */
static inline void calls_by(cm_runtime runtime, const char *net, cm_precision precision, bool inference,
                            cm_layout layout, double batch, const char *const *expected)
{
    static listed got;
    cm__ctx      *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s: %s", diag.place, diag.reason);
    cm_graph *step = step_of(read(ctx, net), precision, inference);
    list(cm__dispatch_new(ctx, step, layout, runtime), batch, &got);
    same(&got, expected);
    cm_graph_free(step);
    cm__ctx_free(ctx);
}

#define CALLS(...) (const char *const[]){__VA_ARGS__, NULL}
#define TRAIN(net, precision, layout, batch, ...) \
    calls_by(CM_RUNTIME_TORCH_EAGER, net, CM_PRECISION_##precision, false, CM_LAYOUT_##layout, batch, \
             CALLS(__VA_ARGS__))
#define INFER(net, precision, layout, batch, ...)                                                                      \
    calls_by(CM_RUNTIME_TORCH_EAGER, net, CM_PRECISION_##precision, true, CM_LAYOUT_##layout, batch, CALLS(__VA_ARGS__))

static inline int times(const listed *l, const char *call)
{
    int count = 0;
    for (int i = 0; i < l->count; i++) count += strstr(l->texts[i], call) != NULL;
    return count;
}

static inline const listed *step_calls(cm_runtime runtime, const char *net, cm_precision precision, cm_layout layout,
                                       double batch)
{
    static listed got;
    cm__ctx      *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s: %s", diag.place, diag.reason);
    cm_graph *step = step_of(read(ctx, net), precision, false);
    list(cm__dispatch_new(ctx, step, layout, runtime), batch, &got);
    cm_graph_free(step);
    cm__ctx_free(ctx);
    return &got;
}

/* How often a training step makes a call. */
static inline int times_at(cm_runtime runtime, const char *net, cm_precision precision, cm_layout layout, double batch,
                           const char *call)
{
    return times(step_calls(runtime, net, precision, layout, batch), call);
}

/* The same in fp32. */
static inline int times_in(cm_runtime runtime, const char *net, cm_layout layout, double batch, const char *call)
{
    return times_at(runtime, net, CM_PRECISION_FP32, layout, batch, call);
}

/* Calls of a training step in fp32 whose text contains a word. */
static inline int times_of(cm_runtime runtime, const char *net, cm_layout layout, double batch, const char *word)
{
    const listed *got = step_calls(runtime, net, CM_PRECISION_FP32, layout, batch);
    int           count = 0;
    for (int i = 0; i < got->count; i++) count += strstr(got->texts[i], word) != NULL;
    return count;
}

/* ---- whole models ----------------------------------------------------------------------------------------------- */

typedef struct model {
    cm_graph     *forward, *step;
    cm__ctx      *ctx;
    cm__dispatch *d;
} model;

static inline model load(const char *name, cm_precision precision, cm_optimizer optimizer)
{
    model            m;
    cm_load_options  load = {.fuse = CM_FUSE_EAGER};
    cm_train_options train = {.precision = precision, .optimizer = optimizer};
    assert_int_equal(cm_graph_load(name, &load, &m.forward, &diag), CM_OK);
    assert_int_equal(cm_graph_train(m.forward, &train, &m.step, &diag), CM_OK);
    m.ctx = cm__ctx_new(&diag);
    m.d = cm__dispatch_new(m.ctx, m.step, CM_LAYOUT_AUTO, CM_RUNTIME_TORCH_EAGER);
    return m;
}

static inline void release(model *m)
{
    cm__ctx_free(m->ctx);
    cm_graph_free(m->step);
    cm_graph_free(m->forward);
}

/* How often calls whose text starts with `beginning` run in a step. */
static inline int runs_of(const model *m, double batch, const char *beginning)
{
    int runs = 0;
    for (int32_t i = 0; i < m->d->n_calls; i++) {
        cm__call c;
        char     text[TEXT];
        cm__call_at(&m->d->calls[i], batch, &c);
        if (strncmp(cm__call_text(&c, text, sizeof text), beginning, strlen(beginning)) == 0) runs += m->d->runs[i];
    }
    return runs;
}

/* ---- nodes ------------------------------------------------------------------------------------------------------ */

static inline int32_t projected(cm_graph *g, int32_t x, const char *name)
{
    cm__attr turned = CM__INTS(CM_ATTR_TRANS_B, 1);
    int32_t  w = cm__parameter(g, name, 2, (int64_t[]){8, 8});
    return cm__emit(g, CM_OP_GEMM, name, (int32_t[]){x, w}, 2, &turned, 1);
}

static inline int32_t two(cm_graph *g, int op, int32_t a, int32_t b)
{
    return cm__emit(g, op, NULL, (int32_t[]){a, b}, 2, NULL, 0);
}

#endif
