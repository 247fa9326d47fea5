/* SPDX-License-Identifier: Apache-2.0 */
/* imported_config.h - reads a Hugging Face configuration as cm_graph_load() does, from memory. */
#ifndef CM_TESTS_IMPORTED_CONFIG_H
#define CM_TESTS_IMPORTED_CONFIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "graph/graph.h"
#include "import/import.h"

static inline cm_status import(const char *text, int64_t seq, cm_graph **g, cm_diag *diag)
{
    cm_load_options options = {.seq = seq};
    cm__ctx        *ctx = cm__ctx_new(diag);
    assert_non_null(ctx);
    if (setjmp(ctx->trap)) return cm__ctx_abandon(ctx);
    *g = cm__import_config(ctx, "config.json", text, strlen(text), &options);
    cm__check(*g);
    cm__cost_all(*g);
    cm__lifetimes(*g);
    return CM_OK;
}

#endif
