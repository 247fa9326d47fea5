/* SPDX-License-Identifier: Apache-2.0 */
/* sequence.c - the sequence length of a model that reads token ids. */
#include "graph/graph.h"

int64_t cm_graph_seq(const cm_graph *g)
{
    int64_t most = 0;
    for (int32_t i = 0; i < g->n_tensors; i++) {
        const cm_tensor *t = &g->tensors[i];
        bool             ids = t->role == CM_ROLE_INPUT && (t->dtype == CM_INT64 || t->dtype == CM_INT32);
        if (ids && t->rank == 2 && t->dims[0].per_batch == 1 && t->dims[1].fixed > most) most = t->dims[1].fixed;
    }
    return most;
}
