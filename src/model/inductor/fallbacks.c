/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fallbacks.c - operators for which Inductor has no code and calls PyTorch's kernels, as without a compiler.
 *
 * They are those of make_fallback() in torch/_inductor/lowering.py of PyTorch 2.11, and operators that have no lowering at
 * all. Images that are resized by interpolation are not among them: they are taken apart before autograd sees them
 * (py_impl(DispatchKey.Autograd) in torch/_decomp/decompositions.py), so that their gradients are additions to places.
 */
#include "graph/rules/rules.h"
#include "model/inductor/fusing.h"

#define LONGEST_SORTED 512 /* row that generated code sorts (Sort.create in torch/_inductor/ir.py) */

static bool always(const cm_graph *g, const cm_node *n)
{
    (void)g, (void)n;
    return true;
}

/* Whole rows are sorted by generated code if they are short. A choice of some of a row's numbers is never generated. */
static bool chooses(const cm_graph *g, const cm_node *n)
{
    const cm_tensor *x = cm__in(g, n, 0), *y = cm__t(g, n->outputs[0]);
    cm_poly          all = cm_tensor_elements(x), kept = cm_tensor_elements(y);
    bool             whole = cm__same_size(all, kept);
    return !whole || !x->rank || x->dims[x->rank - 1].per_batch || x->dims[x->rank - 1].fixed > LONGEST_SORTED;
}

/* The gradient of a largest value of volumes. */
static bool pools_volumes(const cm_graph *g, const cm_node *n)
{
    const cm_node *forward = n->source >= 0 ? &g->nodes[n->source] : n;
    return forward->op == CM_OP_MAX_POOL && cm__in(g, forward, 0)->rank == 5;
}

/* The gradients of adaptive pools, and of pads that repeat the outermost pixels of images and signals. */
static bool resamples(const cm_graph *g, const cm_node *n)
{
    const cm_node *forward = n->source >= 0 ? &g->nodes[n->source] : n;
    int64_t        mode = cm__attr_int(forward, CM_ATTR_MODE, CM__MODE_NEAREST);
    bool           replicates = mode == CM__MODE_REPLICATE && cm__in(g, forward, 0)->rank < 5;
    return mode == CM__MODE_AVERAGE || mode == CM__MODE_MAX || replicates;
}

/* Sampled volumes. */
static bool samples_volumes(const cm_graph *g, const cm_node *n) { return cm__in(g, n, 0)->rank == 5; }

bool cm__falls_back(const cm_graph *g, const cm_node *n)
{
    static bool (*const rules[CM_OPS])(const cm_graph *, const cm_node *) = {
        [CM_OP_GRU_CELL] = always, [CM_OP_LSTM_CELL] = always, [CM_OP_CELL_GRAD] = always,
        [CM_OP_CHOLESKY] = always, [CM_OP_TRIANGULAR_SOLVE] = always, [CM_OP_CHOLESKY_SOLVE] = always,
        [CM_OP_LINEAR_SOLVE] = always, [CM_OP_DETERMINANT] = always, [CM_OP_INVERSE] = always,
        [CM_OP_ALGEBRA_GRAD] = always,
        [CM_OP_CTC_LOSS] = always, [CM_OP_CTC_LOSS_GRAD] = always,
        [CM_OP_DISTANCES] = always, [CM_OP_DISTANCES_GRAD] = always,
        [CM_OP_MULTINOMIAL] = always, [CM_OP_WEIGHT_NORM_GRAD] = always,
        [CM_OP_GRID_SAMPLE] = samples_volumes, [CM_OP_GRID_SAMPLE_GRAD] = always,
        [CM_OP_TOP_K] = chooses, [CM_OP_POOL_GRAD] = pools_volumes, [CM_OP_RESAMPLE_GRAD] = resamples};
    return rules[n->op] && rules[n->op](g, n);
}
