/* SPDX-License-Identifier: Apache-2.0 */
/* sparsity.c - which operators have pruned weights, and how much work a device saves. */
#include "model/step/sparsity.h"

#include "device/number.h"

double cm__sparsity_kept(const cm_device *device, const cm_sparsity *s)
{
    return 1 - s->pruned * cm__value_or(device->sparse_skipped, 0);
}

double cm__sparsity_gain(const cm_device *device, const cm_sparsity *s)
{
    return s->structured ? cm__value_or(device->sparse_structured, 1) : 1;
}

bool cm__has_blocks(const cm_graph *g)
{
    for (int32_t i = 0; i < g->n_nodes; i++)
        if (g->nodes[i].block >= 0) return true;
    return false;
}

bool cm__is_pruned(const cm_graph *g, const cm_node *n, bool has_blocks)
{
    cm_class class = cm__class(n);
    bool     dense = class == CM_CLASS_GEMM || class == CM_CLASS_CONV || class == CM_CLASS_RNN;
    if (!dense || (has_blocks && n->block < 0)) return false;
    for (int32_t i = 0; i < n->n_inputs; i++) {
        cm_role role = n->inputs[i] >= 0 ? cm__t(g, n->inputs[i])->role : CM_ROLE_CONSTANT;
        if (role == CM_ROLE_PARAMETER || role == CM_ROLE_CAST) return true;
    }
    for (int32_t i = 0; i < n->n_outputs; i++)
        if (n->outputs[i] >= 0 && cm__t(g, n->outputs[i])->role == CM_ROLE_PARAMETER_GRADIENT) return true;
    return false;
}
