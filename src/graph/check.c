/* SPDX-License-Identifier: Apache-2.0 */
/* check.c - check that a graph is valid: ids exist, nodes read only earlier outputs, no tensor is written twice. */
#include "graph/graph.h"

static void check_node(const cm_graph *g, int32_t i, bool *written)
{
    const cm_node *n = &g->nodes[i];
    cm__place_names(g->ctx, "node '%s' (%s)", n->name, cm_node_type(n));
    for (int32_t k = 0; k < n->n_inputs; k++) {
        int32_t t = n->inputs[k];
        if (t < -1 || t >= g->n_tensors) cm__fail(g->ctx, CM_ERR_FORMAT, "input %d does not exist", k);
        if (t >= 0 && g->tensors[t].producer >= 0 && !written[t])
            cm__fail(g->ctx, CM_ERR_FORMAT, "input '%s' is read before it is written", g->tensors[t].name);
    }
    for (int32_t k = 0; k < n->n_outputs; k++) {
        int32_t t = n->outputs[k];
        if (t < 0) continue;
        if (t >= g->n_tensors || written[t]) cm__fail(g->ctx, CM_ERR_FORMAT, "output %d is not its own", k);
        if (g->tensors[t].producer != i)
            cm__fail(g->ctx, CM_ERR_FORMAT, "output '%s' names another node", g->tensors[t].name);
        written[t] = true;
    }
}

void cm__check(const cm_graph *g)
{
    bool *written = cm__alloc_array(g->ctx, (size_t)g->n_tensors, sizeof *written);
    for (int32_t i = 0; i < g->n_nodes; i++) check_node(g, i, written);
    cm__place(g->ctx, "%s", "");
    for (int32_t i = 0; i < g->n_outputs; i++)
        if (g->outputs[i] < 0 || g->outputs[i] >= g->n_tensors)
            cm__fail(g->ctx, CM_ERR_FORMAT, "output %d does not exist", i);
    if (g->n_outputs == 0) cm__fail(g->ctx, CM_ERR_FORMAT, "the model has no output");
    for (int32_t t = 0; t < g->n_tensors; t++) {
        int32_t base = g->tensors[t].storage;
        if (base < 0 || base >= g->n_tensors || g->tensors[base].storage != base)
            cm__fail(g->ctx, CM_ERR_FORMAT, "tensor '%s' has no storage", g->tensors[t].name);
    }
}
