/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_hlo.c - StableHLO text from arbitrary bytes. */
#include "fuzz.h"

#define NODES_MAX 10000 /* more nodes are too slow under sanitizers */

static cm_graph *hlo(cm__ctx *ctx, const uint8_t *bytes, size_t size)
{
    cm_graph *g = cm__import_hlo(ctx, "fuzz.mlir", fuzz_text(ctx, bytes, size), size, &(cm_load_options){0});
    if (g->n_nodes > NODES_MAX) cm__fail(ctx, CM_ERR_LIMIT, "more than %d nodes", NODES_MAX);
    return g;
}

FUZZ_TARGET(hlo)
