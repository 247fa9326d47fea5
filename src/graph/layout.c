/* SPDX-License-Identifier: Apache-2.0 */
/* layout.c - decide which views share memory with their input and which copy data (by strides.h). */
#include "graph/strides.h"

static void place(cm__strides *s, cm_graph *g, int32_t node)
{
    cm_node *n = &g->nodes[node];
    cm__strides_place(s, node);
    if (s->copied[node]) n->view = false;
    for (int32_t o = 0; o < n->n_outputs; o++)
        if (n->outputs[o] >= 0)
            cm__t(g, n->outputs[o])->storage = n->view ? cm__t(g, n->inputs[0])->storage : n->outputs[o];
}

void cm__layout(cm_graph *g)
{
    cm__strides *s = cm__strides_new(g->ctx, g, false);
    for (int32_t i = 0; i < g->n_nodes; i++) place(s, g, i);
}
