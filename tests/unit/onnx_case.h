/* SPDX-License-Identifier: Apache-2.0 */
/* onnx_case.h - small complete ONNX files that are read or refused, for tests of their import. */
#ifndef CM_TESTS_UNIT_ONNX_CASE_H
#define CM_TESTS_UNIT_ONNX_CASE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include "import/import.h"
#include "onnx_writer.h"

static cm_diag  diag;
static cm__ctx *ctx;

/* The graph of a file, which is freed; NULL: refused, see `diag`. The context lives until the next call. */
static inline cm_graph *load_with(bytes *file, const cm_load_options *o)
{
    cm__ctx_free(ctx);
    ctx = cm__ctx_new(&diag);
    ctx->file = "t.onnx";
    cm_graph *volatile g = NULL;
    if (!setjmp(ctx->trap)) g = cm__import_onnx(ctx, "t", file->data, file->size, o);
    w_free(file);
    return g;
}

static inline cm_graph *load_graph(bytes *graph)
{
    bytes file = w_model(graph, "test", 20);
    return load_with(&file, &(cm_load_options){0});
}

static inline cm_graph *accepted(bytes *graph)
{
    cm_graph *g = load_graph(graph);
    char      text[1100];
    if (!g) fail_msg("%s", cm_diag_text(&diag, text, sizeof text));
    return g;
}

static inline void refused(bytes *graph, const char *expected)
{
    char text[1100];
    assert_null(load_graph(graph));
    if (!strstr(cm_diag_text(&diag, text, sizeof text), expected)) fail_msg("'%s' is not about '%s'", text, expected);
}

static inline int teardown(void **state)
{
    (void)state;
    cm__ctx_free(ctx);
    ctx = NULL;
    return 0;
}

static inline void x_input(bytes *graph, int rank, const int64_t *dims) { w_value(graph, 11, "x", 1, rank, dims, "batch"); }
static inline void y_output(bytes *graph) { w_name(graph, 12, "y"); }

static inline const cm_tensor *output(const cm_graph *g) { return cm__t(g, g->outputs[0]); }

static inline void has_shape(const cm_graph *g, const cm_tensor *t, const char *shape)
{
    assert_string_equal(cm__dims_text(g, t), shape);
}

static inline bool warned(const cm_graph *g, const char *about)
{
    for (int32_t i = 0; i < g->n_warnings; i++)
        if (strstr(g->warnings[i], about)) return true;
    return false;
}

static inline int32_t count_ops(const cm_graph *g, int op)
{
    int32_t n = 0;
    for (int32_t i = 0; i < g->n_nodes; i++) n += g->nodes[i].op == op;
    return n;
}

#endif
