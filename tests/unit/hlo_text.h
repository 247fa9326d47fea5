/* SPDX-License-Identifier: Apache-2.0 */
/* hlo_text.h - the graph of a step as StableHLO or HLO text. */
#ifndef HLO_TEXT_H
#define HLO_TEXT_H

#include "recorded_step.h"

static inline cm_status from(const char *text, cm_graph **g, cm_diag *diag)
{
    cm_load_options options = {0};
    cm__ctx        *ctx = cm__ctx_new(diag);
    assert_non_null(ctx);
    if (setjmp(ctx->trap)) return cm__ctx_abandon(ctx);
    *g = cm__import_hlo(ctx, "step", text, strlen(text), &options);
    cm__finish(*g, CM_FUSE_NONE);
    ctx->diag = NULL;
    return CM_OK;
}

static inline cm_graph *imported(const char *text)
{
    cm_graph *g = NULL;
    cm_diag   diag = {0};
    if (from(text, &g, &diag) != CM_OK) fail_msg("%s: %s", diag.place, diag.reason);
    return g;
}

#endif
