/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_net.c - the layer language from arbitrary bytes, and the passes over the resulting graph. */
#include "fuzz.h"

#define NODES_MAX 10000 /* a short text may have 100,000: too slow under sanitizers */

static cm_graph *net(cm__ctx *ctx, const uint8_t *bytes, size_t size)
{
    cm_graph *g = cm__import_net(ctx, "fuzz.net", (const char *)bytes, size, &(cm_load_options){0});
    if (g->n_nodes > NODES_MAX) cm__fail(ctx, CM_ERR_LIMIT, "more than %d nodes", NODES_MAX);
    return g;
}

FUZZ_TARGET(net)
