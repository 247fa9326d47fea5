/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shared_norms.c - batch norms whose statistics are computed over several replicas.
 *
 * PyTorch's SyncBatchNorm and Graphcore's distributed batch norm exchange two fp32 numbers per channel before they can
 * scale: sums and sums of squares in forward, the two sums of the gradient in backward. Every replica of the group
 * waits for the exchange, so nothing hides it.
 */
#include "model/parallel/shared_norms.h"

#include "graph/graph.h"
#include "model/parallel/comm.h"

static const cm_node *forward_of(const cm_graph *g, const cm_node *n)
{
    return n->source >= 0 ? &g->nodes[n->source] : n;
}

static bool is_batch_norm(const cm_graph *g, const cm_node *n)
{
    bool exchanges = n->phase == CM_FORWARD ? n->op == CM_OP_BATCH_NORM : n->phase == CM_BACKWARD;
    return exchanges && cm__class(n) == CM_CLASS_NORM && forward_of(g, n)->op == CM_OP_BATCH_NORM;
}

/* Channels of a batch norm: the elements of its scale. */
static double channels(const cm_graph *g, const cm_node *n)
{
    const cm_node *forward = forward_of(g, n);
    return forward->n_inputs > 1 && forward->inputs[1] >= 0 ? cm_tensor_elements(cm__t(g, forward->inputs[1])).c[0] : 0;
}

double cm__shared_norms_s(const cm_graph *g, const cm_fabric *fabric, int32_t replicas, int32_t per_node)
{
    const double numbers = 2, bytes_each = 4;
    cm__group    group = {replicas, per_node < replicas ? per_node : replicas};
    double       sum = 0;
    for (int32_t i = 0; i < g->n_nodes; i++) {
        const cm_node *n = &g->nodes[i];
        if (!n->view && is_batch_norm(g, n))
            sum += cm__comm_time(fabric, CM__ALL_REDUCE, group, numbers * bytes_each * channels(g, n));
    }
    return sum;
}
