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

static bool reads_parameters(const cm_graph *g, const cm_node *n)
{
    for (int32_t i = 0; i < n->n_inputs; i++) {
        cm_role role = n->inputs[i] >= 0 ? cm__t(g, n->inputs[i])->role : CM_ROLE_CONSTANT;
        if (role == CM_ROLE_PARAMETER || role == CM_ROLE_CAST) return true;
    }
    return false;
}

/* In mixed precision a product makes a 16-bit gradient of a parameter, and a cast stores it. Returns that product, or
   the node itself. */
static const cm_node *maker_of_gradient(const cm_graph *g, const cm_node *n)
{
    bool    stores = n->n_inputs == 1 && n->n_outputs == 1 && n->inputs[0] >= 0 && n->outputs[0] >= 0 &&
                     cm__t(g, n->outputs[0])->role == CM_ROLE_PARAMETER_GRADIENT;
    int32_t maker = stores ? cm__t(g, n->inputs[0])->producer : -1;
    return maker >= 0 ? &g->nodes[maker] : n;
}

/* Products with pruned weights, of the gradient of their input, and of the gradient of the weights: a pruned weight
   stays zero and needs none. */
bool cm__is_pruned(const cm_graph *g, const cm_node *node, bool has_blocks)
{
    const cm_node *n = maker_of_gradient(g, node);
    cm_class       class = cm__class(n);
    bool           dense = class == CM_CLASS_GEMM || class == CM_CLASS_CONV || class == CM_CLASS_RNN;
    if (!dense || (has_blocks && n->block < 0)) return false;
    if (reads_parameters(g, n)) return true;
    return n->phase == CM_BACKWARD && n->source >= 0 && reads_parameters(g, &g->nodes[n->source]);
}
