/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scaled.c - casts to 8 bits, with a scale for each tensor.
 *
 * 8-bit products read both operands with the summed size innermost. So a training step uses each operand twice: as it
 * is, and transposed for a gradient. The scale is found from the largest value, before the cast can begin.
 *
 * torch.compile generates kernels for each use: one that finds the largest value, and one that reads the tensor again
 * and writes it in 8 bits. Those of activations and gradients are partly joined with the kernels that make them, which
 * the bytes of a use contain; those of weights stand alone. The largest value of a transposed gradient that is stored is
 * found in the order of the transposed copy: each number is read with a sector of the cache. A gradient that is computed
 * elementwise is read in the order of its operands. Transformer Engine (other runtimes) writes both copies in one kernel,
 * with the scale of an earlier step.
 */
#include "model/dispatch/compiler.h"

#define KERNELS_PER_USE 3 /* two of them find the largest value */
#define PARTS 512  /* of a tensor, whose largest values the second of them compares */
#define CAST 3            /* bytes of a number that is read in 16 bits and written in 8 */
#define SECTOR 32         /* bytes of the cache */

bool cm__is_scaled_cast(const cm_graph *g, const cm_node *n)
{
    return n->op == CM_OP_CAST && n->outputs[0] >= 0 && cm__t(g, n->outputs[0])->dtype == CM_FP8;
}

/* The tensor that a cast to 8 bits reads, before autocast's own cast. */
static int32_t source_of(const cm_graph *g, const cm_node *cast)
{
    int32_t        base = cm__t(g, cast->inputs[0])->storage, from = cm__t(g, base)->producer;
    const cm_node *made = from < 0 ? NULL : &g->nodes[from];
    return made && made->op == CM_OP_CAST && made->inputs[0] >= 0 ? cm__t(g, made->inputs[0])->storage : base;
}

/* torch.compile drops operators that compute the same again, which products of the same input have (fx_graph_cse in
   torch/_functorch). */
static bool was_cast(const cm__dispatch *d, int32_t node)
{
    const cm_node *n = cm__node(d, node);
    int32_t        from = source_of(d->g, n);
    for (int32_t i = node - 1; i >= 0 && d->g->nodes[i].phase == n->phase && d->g->nodes[i].block == n->block; i--)
        if (cm__is_scaled_cast(d->g, cm__node(d, i)) && source_of(d->g, cm__node(d, i)) == from) return true;
    return false;
}

/* A gradient that no elementwise operator makes: of a norm, of joined parts, a sum of gradients, or of a library. */
static bool is_stored_gradient(const cm__dispatch *d, const cm_node *n)
{
    if (n->phase != CM_BACKWARD) return false;
    int32_t        from = cm__t(d->g, cm__t(d->g, n->inputs[0])->storage)->producer;
    const cm_node *made = from < 0 ? NULL : cm__node(d, from);
    return !made || made->op == CM_OP_ADD || cm__class(made) != CM_CLASS_ELEMENTWISE;
}

/* A pass over all elements, timed as a copy of fp32 numbers with the same traffic: 4 bytes read and 4 written. */
static void add_pass(cm__dispatch *d, int32_t node, cm_poly elements, double bytes)
{
    cm__call_pass(d, node, CM__V_COPY, CM__ALL(CM_FP32), cm__poly_scale(elements, bytes / 8));
}

/* The two kernels of the largest value, and the cast. */
static void add_alone(cm__dispatch *d, int32_t node, cm_poly elements)
{
    cm__generated largest = {cm__poly_scale(elements, 2), {[CM__WORK_NUMBERS] = elements}};
    cm__call_generated(d, node, CM__V_FUSED, CM_BF16, &largest);
    cm__call_moved(d, node, CM__V_FUSED, cm__poly_const(4 * PARTS));
    cm__call_moved(d, node, CM__V_FUSED, cm__poly_scale(elements, CAST));
}

static void add_compiled(cm__dispatch *d, int32_t node, cm_poly elements)
{
    const cm_node *n = cm__node(d, node);
    bool           weight = cm__t(d->g, n->outputs[0])->role == CM_ROLE_CAST;
    int            uses = d->trains ? 2 : 1;
    if (was_cast(d, node)) return;
    for (int i = 0; weight && i < uses; i++) add_alone(d, node, elements);
    if (weight) return;
    add_pass(d, node, elements, uses * (2 + CAST));
    if (d->trains && is_stored_gradient(d, n)) add_pass(d, node, elements, SECTOR - 2);
    d->generated += KERNELS_PER_USE * uses;
}

/* Reads 16-bit numbers and writes 8-bit ones: by rows and, if `transposed`, by columns as well. */
void cm__call_joined_cast(cm__dispatch *d, int32_t node, cm_poly elements, bool transposed)
{
    add_pass(d, node, elements, 2 + 1 + transposed);
}

void cm__dispatch_scaled_cast(cm__dispatch *d, int32_t node)
{
    cm_poly elements = cm_tensor_elements(cm__t(d->g, cm__node(d, node)->outputs[0]));
    if (cm__compiles(d->runtime)) add_compiled(d, node, elements);
    else cm__call_joined_cast(d, node, elements, d->trains);
}
