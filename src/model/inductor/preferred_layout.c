/* SPDX-License-Identifier: Apache-2.0 */
/* preferred_layout.c - whether PyTorch's Inductor makes images channels-last (decide_layout_opt() in
   torch/_inductor/graph.py). */
#include "model/inductor/fusing.h"

#define OPERATORS_PER_CONVOLUTION 300 /* from here on, images keep their layout */

typedef enum filter { GROUPED, SMALL, NARROWING, USUAL, FILTERS } filter;

static bool narrows(const cm_tensor *w) { return 2 * w->dims[0].fixed <= w->dims[1].fixed && w->dims[2].fixed > 1; }

/* torch/_inductor/graph.py: in several channels per group; at most 64 channels; halving the channels; others. */
static filter filter_of(const cm_graph *g, const cm_node *n, const cm_tensor *w)
{
    int64_t out = w->dims[0].fixed, in = w->dims[1].fixed;
    if (cm__in(g, n, 0)->dims[1].fixed != in && in > 1) return GROUPED;
    if (out <= 64 && in <= 64) return SMALL;
    return narrows(w) ? NARROWING : USUAL;
}

/* Into how many operators Inductor splits a node, and its weights, which it counts, too. Counted in graphs that
   PyTorch 2.15 makes with Inductor's decompositions; functions such as GELU and SiLU have 4 to 6. */
static int32_t operators_of(const cm_graph *g, const cm_node *n)
{
    static const int32_t split[CM_OPS] = {[CM_OP_LAYER_NORM] = 9, [CM_OP_RMS_NORM] = 6, [CM_OP_GROUP_NORM] = 22,
                                          [CM_OP_BATCH_NORM] = 23, [CM_OP_SOFTMAX] = 5};
    bool    function = cm__class(n) == CM_CLASS_ELEMENTWISE && cm__ops[n->op].flop_per_element >= 4;
    int32_t count = split[n->op] ? split[n->op] : function ? 5 : 1;
    for (int32_t k = 0; k < n->n_inputs; k++)
        count += n->inputs[k] >= 0 && cm__t(g, n->inputs[k])->role == CM_ROLE_PARAMETER;
    return count;
}

/* FLOP of a forward convolution, but for a factor that all have. */
static double work_of(const cm_graph *g, const cm_node *n, const cm_tensor *w)
{
    cm_poly out = cm_tensor_elements(cm__t(g, n->outputs[0]));
    double  work = cm__poly_at(&out, 1);
    for (int32_t k = 1; k < w->rank; k++) work *= (double)w->dims[k].fixed;
    return work;
}

/* Convolutions of sequences count, but only images change (kernel/conv.py: ndim == 2). Volumes: not followed.
   The layout stays where convolutions are rare. Training: it also stays if a filter is grouped or narrowing, or if all
   are small. Inference: it changes if that pays on average, by the times over those of the other layout that Inductor's
   authors measured. */
bool cm__compiler_prefers_nhwc(const cm_graph *g)
{
    static const double factors[FILTERS] = {[GROUPED] = 1.358, [SMALL] = 0.783, [NARROWING] = 0.725, [USUAL] = 0.823};
    double              before = 0, after = 0;
    int32_t             counts[FILTERS] = {0}, convolutions = 0, operators = 0;
    bool                trains = g->n_nodes && g->nodes[g->n_nodes - 1].phase != CM_FORWARD;
    bool                images = false, narrowing = false;
    for (int32_t i = 0; i < g->n_nodes; i++) {
        const cm_node   *n = &g->nodes[i];
        const cm_tensor *w = n->phase == CM_FORWARD && n->op == CM_OP_CONV && cm__has(n, 1) ? cm__in(g, n, 1) : NULL;
        if (n->phase == CM_FORWARD) operators += operators_of(g, n);
        if (!w) continue;
        convolutions++;
        if (w->rank > 4 || cm__in(g, n, 0)->rank != w->rank) return false;
        images |= w->rank == 4;
        filter kind = filter_of(g, n, w);
        counts[kind]++;
        narrowing |= narrows(w);
        before += work_of(g, n, w);
        after += work_of(g, n, w) * factors[kind];
    }
    if (!images || operators >= OPERATORS_PER_CONVOLUTION * convolutions) return false;
    if (!trains) return before > 0 && after <= before;
    return !counts[GROUPED] && !narrowing && counts[USUAL];
}
