/* SPDX-License-Identifier: Apache-2.0 */
/* recorded_step.h - recorded steps written by hand, for tests of their import. */
#ifndef CM_TESTS_UNIT_RECORDED_STEP_H
#define CM_TESTS_UNIT_RECORDED_STEP_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "graph/rule.h"
#include "import/import.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define TRACE(rest, tensors, ops)                                                                                      \
    "{\"schema\":1,\"kind\":\"trace\",\"name\":\"small\"," rest ",\"tensors\":[" tensors "],\"ops\":[" ops "]}"
#define T(dims, dtype, role) "{\"dims\":" dims ",\"dtype\":\"" dtype "\",\"storage\":0,\"role\":\"" role "\"}"
#define X(dims) T(dims, "fp32", "activation")
#define OP(name, in, out) "{\"op\":\"" name "\",\"in\":" in ",\"out\":" out "}"
#define OPA(name, in, out, attrs) "{\"op\":\"" name "\",\"in\":" in ",\"out\":" out ",\"attrs\":{" attrs "}}"

static inline cm_status import(const char *text, int64_t seq, cm_graph **g, cm_diag *diag)
{
    cm_load_options options = {.seq = seq};
    cm__ctx        *ctx = cm__ctx_new(diag);
    assert_non_null(ctx);
    if (setjmp(ctx->trap)) return cm__ctx_abandon(ctx);
    *g = cm__import_trace(ctx, "small.cmt.json", text, strlen(text), &options);
    cm__finish(*g, CM_FUSE_NONE);
    ctx->diag = NULL;
    return CM_OK;
}

static inline cm_graph *accepted(const char *text, int64_t seq)
{
    cm_graph *g = NULL;
    cm_diag   diag = {0};
    if (import(text, seq, &g, &diag) != CM_OK) fail_msg("%s: %s", diag.place, diag.reason);
    return g;
}

static inline int32_t count_of(const cm_graph *g, const char *type)
{
    int32_t n = 0;
    for (int32_t i = 0; i < g->n_nodes; i++) n += strcmp(cm_node_type(&g->nodes[i]), type) == 0;
    return n;
}

static inline const cm_node *only(const cm_graph *g, const char *type)
{
    const cm_node *found = NULL;
    for (int32_t i = 0; i < g->n_nodes; i++)
        if (strcmp(cm_node_type(&g->nodes[i]), type) == 0) found = &g->nodes[i];
    if (!found || count_of(g, type) != 1) fail_msg("%d nodes of type %s", count_of(g, type), type);
    return found;
}

static inline cm_graph *trained(const cm_graph *forward, cm_train_options options)
{
    cm_graph *step = NULL;
    cm_diag   diag = {0};
    if (cm_graph_train(forward, &options, &step, &diag) != CM_OK) fail_msg("%s: %s", diag.place, diag.reason);
    return step;
}

#endif
