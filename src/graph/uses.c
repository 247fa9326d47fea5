/* SPDX-License-Identifier: Apache-2.0 */
/* uses.c - the readers of each tensor: counted first, then filled. */
#include "graph/uses.h"

cm__uses cm__uses_of(const cm_graph *g)
{
    size_t   total = 0;
    cm__uses u = {.first = cm__alloc_array(g->ctx, (size_t)g->n_tensors + 2, sizeof *u.first)};
    for (int32_t i = 0; i < g->n_nodes; i++)
        for (int32_t k = 0; k < g->nodes[i].n_inputs; k++)
            if (g->nodes[i].inputs[k] >= 0) u.first[g->nodes[i].inputs[k] + 2]++, total++;
    if (total > INT32_MAX) cm__fail(g->ctx, CM_ERR_LIMIT, "%zu uses of tensors", total);
    u.list = cm__alloc_array(g->ctx, total, sizeof *u.list);
    for (int32_t t = 0; t < g->n_tensors; t++) u.first[t + 2] += u.first[t + 1];
    for (int32_t i = 0; i < g->n_nodes; i++)
        for (int32_t k = 0; k < g->nodes[i].n_inputs; k++)
            if (g->nodes[i].inputs[k] >= 0) u.list[u.first[g->nodes[i].inputs[k] + 1]++] = (cm__use){i, k};
    return u;
}
