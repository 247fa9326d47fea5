/* SPDX-License-Identifier: Apache-2.0 */
/* net_text.h - graphs from texts in the layer language, for tests of its import. */
#ifndef CM_TESTS_UNIT_NET_TEXT_H
#define CM_TESTS_UNIT_NET_TEXT_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "import/import.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define X "input x 4 8 8\n"

static inline cm_status import(const char *text, size_t size, const cm_load_options *options, cm_graph **graph, cm_diag *diag)
{
    cm__ctx *ctx = cm__ctx_new(diag);
    if (setjmp(ctx->trap)) return cm__ctx_abandon(ctx);
    *graph = cm__import_net(ctx, "test", text, size, options);
    cm__check(*graph);
    cm__lifetimes(*graph);
    return CM_OK;
}

static inline cm_graph *must_import(const char *text, const cm_load_options *options)
{
    cm_graph *g = NULL;
    cm_diag   diag;
    if (import(text, strlen(text), options, &g, &diag) != CM_OK) fail_msg("%s: %s\n%s", diag.place, diag.reason, text);
    return g;
}

static inline cm_graph *model(const char *name)
{
    size_t      size = 0;
    const char *text = cm__data_file(name, &size);
    cm_graph   *g = NULL;
    cm_diag     diag;
    if (!text) fail_msg("no %s", name);
    if (import(text, size, NULL, &g, &diag) != CM_OK) fail_msg("%s: %s: %s", name, diag.place, diag.reason);
    return g;
}

static inline int64_t parameters(const cm_graph *g)
{
    cm_totals totals;
    cm_graph_totals(g, 1, &totals);
    return totals.parameters;
}

static inline int count_ops(const cm_graph *g, const char *type)
{
    int n = 0;
    for (int32_t i = 0; i < g->n_nodes; i++) n += strcmp(cm_node_type(&g->nodes[i]), type) == 0;
    return n;
}

static inline const cm_tensor *tensor(const cm_graph *g, const char *name)
{
    for (int32_t i = 0; i < g->n_tensors; i++)
        if (strcmp(g->tensors[i].name, name) == 0) return &g->tensors[i];
    fail_msg("no tensor '%s'", name);
    return NULL;
}

static inline const char *output_text(const cm_graph *g) { return cm__dims_text(g, cm__t(g, g->outputs[0])); }

static inline int blocks(const cm_graph *g)
{
    int most = -1;
    for (int32_t i = 0; i < g->n_nodes; i++) {
        int block = g->nodes[i].block;
        assert_in_range(block + 1, 0, most + 2); /* blocks start in order */
        if (block > most) most = block;
    }
    return most + 1;
}

#endif
