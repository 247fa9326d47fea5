/* SPDX-License-Identifier: Apache-2.0 */
/*
 * traced.c - gradients of fp32 products in a backward pass that was traced under autocast.
 *
 * torch.compile traces backward under the autocast of forward (backward_pass_autocast in torch/_functorch/config.py). So
 * the products of backward are in 16 bits also where those of forward are in fp32: inside unfused attention, or where the
 * model switches autocast off. The casts of forward's operands belong to forward, where the partitioner stores them,
 * since library calls of backward read them. Autocast does not know products of experts, and the compiler traces their
 * function only if the weights are in bf16 (import/trace/untraced.c).
 */
#include "graph/rules/backward.h"
#include "graph/training/train.h"

void cm__decide_outside(cm_graph *g, bool bf16)
{
    if (g->outside == CM__UNTRACED_BUT_BF16) g->outside = bf16 ? CM__COMPILED : CM__UNTRACED;
}

static bool is_wide(const cm_graph *g, int32_t tensor) { return tensor >= 0 && cm__t(g, tensor)->dtype == CM_FP32; }

void cm__cast_for_backward(cm_graph *g, int32_t node, cm_dtype low)
{
    const cm_node n = g->nodes[node]; /* a copy: emitting moves nodes */
    if (!g->asked.settled.traced_backward || n.op != CM_OP_MATMUL || n.outside || cm__attr_find(&n, CM_ATTR_GROUPED)) return;
    if (!is_wide(g, n.inputs[0]) || !is_wide(g, n.inputs[1])) return;
    for (int32_t i = 0; i < 2; i++) cm__emit_cast(g, cm__t(g, n.inputs[i])->name, n.inputs[i], low);
}

/* The cast of an operand of a product, which follows the product; -1: none. */
static int32_t cast_of(const cm__backward *b, const cm_node *n, int32_t input)
{
    const cm_graph *g = b->g;
    bool            traced = g->asked.settled.traced_backward && is_wide(g, n->inputs[input]);
    for (int32_t i = (int32_t)(n - g->nodes) + 1; traced && i < b->forward_nodes && g->nodes[i].op == CM_OP_CAST; i++)
        if (g->nodes[i].inputs[0] == n->inputs[input]) return g->nodes[i].outputs[0];
    return -1;
}

int32_t cm__operand_under_autocast(cm__backward *b, const cm_node *n, int32_t tensor)
{
    bool product = cm__ops[n->op].cast == CM__CAST_LOW && b->g->autocast != CM_FP32;
    if (!product || !b->g->asked.settled.traced_backward || !is_wide(b->g, tensor)) return tensor;
    int32_t low = cm__emit_cast(b->g, n->name, tensor, b->g->autocast);
    cm__t(b->g, low)->role = CM_ROLE_GRADIENT;
    return low;
}

bool cm__product_under_autocast(cm__backward *b, const cm_node *n)
{
    const int32_t casts[2] = {cast_of(b, n, 0), cast_of(b, n, 1)};
    if (casts[0] < 0 || casts[1] < 0) return false;
    cm_dtype low = cm__t(b->g, casts[0])->dtype;
    int32_t  dy = cm__emit_cast(b->g, n->name, cm__gradient_of_output(b, n, 0), low);
    cm__t(b->g, dy)->role = CM_ROLE_GRADIENT;
    for (int32_t i = 0; i < 2; i++) {
        if (!cm__wants(b, n, i)) continue;
        int32_t operands[] = {dy, cm__kept(b, casts[1 - i])};
        int32_t made = cm__back(b, n, CM_OP_MATMUL_GRAD, n->inputs[i], operands, 2);
        cm__t(b->g, made)->dtype = low;
        cm__give(b, n, n->inputs[i], made); /* casts it to the operand's type, as autograd does */
    }
    return true;
}
