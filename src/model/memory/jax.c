/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jax.c - memory that JAX programs need where PyTorch's do not, as XLA's memory_analysis() says on an H200 (evidence/jax-a).
 *
 * - A step that does not donate its arguments has new parameters and states beside the old ones. Gradients lie where the
 *   new parameters will be.
 * - XLA on a GPU stores what JAX's differentiation hands to backward. It does not search for less, as PyTorch's compiler
 *   does: of a GELU a factor stays beside its operand and its result, and the operand of a softmax beside its result.
 * - A loop stores tensors of all iterations, whose sizes the capture has.
 */
#include "graph/rule.h"
#include "graph/runtimes.h"
#include "model/memory/footprint.h"

static void keep_arguments(cm_footprint *f)
{
    int32_t before = f->n_pieces;
    for (int32_t i = 0; i < before; i++) {
        cm__piece *x = &f->pieces[i];
        cm_role    role = cm__t(f->step, x->tensor)->role;
        if (role == CM_ROLE_PARAMETER_GRADIENT) x->bytes = cm__poly_const(0);
        if (role == CM_ROLE_PARAMETER || role == CM_ROLE_STATE) f->pieces[f->n_pieces++] = *x;
    }
}

/* ---- one program after the other ---------------------------------------------------------------------------------- */

static int32_t gradient_of(const cm_graph *g, int32_t node)
{
    for (int32_t i = g->n_nodes - 1; i > node; i--)
        if (g->nodes[i].source == node && g->nodes[i].phase == CM_BACKWARD) return i;
    return -1;
}

/* The product whose result a softmax reads, perhaps scaled and masked; -1: there is none, or the numbers are widened. */
static int32_t product_before(const cm_graph *g, int32_t tensor)
{
    cm_dtype type = cm__t(g, tensor)->dtype;
    for (int32_t from; (from = cm__t(g, tensor)->producer) >= 0;) {
        const cm_node *n = &g->nodes[from];
        if (cm__t(g, tensor)->dtype != type) return -1;
        if (cm__class(n) == CM_CLASS_GEMM) return cm__t(g, tensor)->storage;
        bool passes = n->view || (cm__class(n) == CM_CLASS_ELEMENTWISE && n->op != CM_OP_CAST);
        int32_t next = n->op == CM_OP_WHERE && n->n_inputs > 1 ? n->inputs[1] : n->inputs[0];
        if (!passes || next < 0) return -1;
        tensor = next;
    }
    return -1;
}

static void add(cm_footprint *f, int32_t tensor, int32_t born, int32_t dies)
{
    cm_poly bytes = cm_tensor_bytes(cm__t(f->step, tensor));
    f->pieces[f->n_pieces++] = (cm__piece){bytes, tensor, born, dies, CM_CATEGORY_INPUT_OUTPUT};
}

/* The gradient of looking up the targets' logarithms is zeros in fp32, to which those of the targets are added. */
static void spread_targets(cm_footprint *f)
{
    const cm_graph *g = f->step;
    for (int32_t i = 0; i < g->n_nodes && g->nodes[i].phase == CM_FORWARD; i++) {
        int32_t until = g->nodes[i].op == CM_OP_CROSS_ENTROPY ? gradient_of(g, i) : -1, logits = g->nodes[i].inputs[0];
        if (until < 0) continue;
        cm_poly bytes = cm__poly_scale(cm_tensor_elements(cm__t(g, logits)), (double)cm_dtype_size(CM_FP32));
        f->pieces[f->n_pieces++] = (cm__piece){bytes, logits, i, until, CM_CATEGORY_INPUT_OUTPUT};
    }
}

static void store_operands(cm_footprint *f)
{
    const cm_graph *g = f->step;
    for (int32_t i = 0; i < g->n_nodes && g->nodes[i].phase == CM_FORWARD; i++) {
        const cm_node *n = &g->nodes[i];
        int32_t        of = n->op == CM_OP_GELU ? n->outputs[0] : n->op == CM_OP_SOFTMAX ? product_before(g, n->inputs[0]) : -1;
        int32_t        until = of >= 0 ? gradient_of(g, i) : -1;
        if (until >= 0) add(f, of, i, until);
    }
}

/* ---- loops over layers -------------------------------------------------------------------------------------------- */

/* A layer's tensors are freed where forward last reads them. Tensors that hold all iterations exist instead until backward
   ends. */
static void store_iterations(cm_footprint *f, cm__ctx *scratch)
{
    const cm_graph *g = f->step;
    const int32_t  *last = cm__last_readers(g, scratch);
    int32_t         start = g->n_nodes, end = -1, any = -1, before = f->n_pieces;
    for (int32_t i = 0; i < g->n_nodes; i++) {
        if (g->nodes[i].block < 0 || g->nodes[i].phase == CM_UPDATE) continue;
        if (i < start) start = i;
        end = i;
    }
    for (int32_t i = 0; i < before; i++) {
        cm__piece     *x = &f->pieces[i];
        const cm_node *from = x->born >= 0 ? &g->nodes[x->born] : NULL;
        if (!from || from->phase != CM_FORWARD || from->block < 0 || x->category != CM_CATEGORY_INPUT_OUTPUT) continue;
        int32_t until = last[x->tensor] > x->born ? last[x->tensor] : x->born;
        if (x->dies > until) x->dies = until;
        any = x->tensor;
    }
    if (any >= 0) f->pieces[f->n_pieces++] = (cm__piece){g->jax.stored, any, start, end, CM_CATEGORY_INPUT_OUTPUT};
}

void cm__jax_pieces(cm_footprint *f, cm__ctx *scratch)
{
    const cm_graph *g = f->step;
    if (g->jax.keeps_arguments && !f->caching) keep_arguments(f);
    if (!cm__is_xla(f->options.runtime)) return;
    spread_targets(f);
    if (g->jax.iterations) store_iterations(f, scratch);
    else store_operands(f);
}
