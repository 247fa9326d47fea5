/* SPDX-License-Identifier: Apache-2.0 */
/*
 * retained.c - tensors that outlive their last use: layer inputs that FSDP1 keeps in memory until backward has ended,
 * and the input of a language model's head.
 *
 * FSDP1 reshards a unit without trained weights by a hook on the unit's inputs (torch.distributed.fsdp,
 * _register_post_backward_reshard_only_hook). The hook refers to the inputs until the end of backward. With reentrant
 * checkpoints these are the stored inputs of each layer, and their gradients are attached to them: neither is freed
 * when the layer's backward is done.
 * Layers are such units where each adapter is a unit of its own, or not sharded at all.
 *
 * Measured: the peak of 4-bit fine-tuning of Mistral 7B over two A100 grows by 2.97 GiB per 4,096 tokens, on one by
 * 2.04 (fms-acceleration, a100_80gb_liger.csv); the inputs and their
 * gradients in 16 bits are 2.0 and the inputs alone 1.0.
 */
#include "graph/rule.h"
#include "graph/runtimes.h"
#include "model/memory/footprint.h"

static bool retains(const cm_footprint *f)
{
    const cm_graph *g = f->step;
    bool            frozen_units = g->tuned && (!g->joined_adapters || g->exempt_adapters);
    return frozen_units && g->asked.whole_layers && f->options.plan.zero == 3 && cm__is_pytorch(f->options.runtime);
}

int32_t cm__retained_most(const cm_footprint *f) { return retains(f) ? f->n_nodes : 0; }

/* Per tensor (by storage): recomputation reads it. */
static const bool *read_again(cm__ctx *ctx, const cm_graph *g)
{
    bool *again = cm__alloc_array(ctx, (size_t)g->n_tensors + 1, sizeof *again);
    for (int32_t i = 0; i < g->n_nodes; i++)
        for (int32_t k = 0; g->nodes[i].phase == CM_RECOMPUTE && k < g->nodes[i].n_inputs; k++)
            if (g->nodes[i].inputs[k] >= 0) again[cm__t(g, g->nodes[i].inputs[k])->storage] = true;
    return again;
}

static bool is_layer_input(const cm_footprint *f, const cm__piece *x, const bool *again)
{
    bool made = x->born >= 0 && f->step->nodes[x->born].phase == CM_FORWARD;
    return made && again[x->tensor] && x->category == CM_CATEGORY_INPUT_OUTPUT && x->bytes.c[1] > 0;
}

void cm__retain_inputs(cm_footprint *f, cm__ctx *scratch, int32_t last)
{
    if (!retains(f)) return;
    const bool *again = read_again(scratch, f->step);
    for (int32_t i = 0, count = f->n_pieces; i < count; i++) {
        cm__piece *x = &f->pieces[i];
        if (!is_layer_input(f, x, again) || x->dies >= last) continue;
        f->pieces[f->n_pieces++] = (cm__piece){x->bytes, x->tensor, x->dies, last, x->category}; /* its gradient */
        x->dies = last;
    }
}

/* The product that makes the logits of a loss; NULL: another operator makes them. */
static const cm_node *head_of(const cm_graph *g, const cm_node *loss)
{
    int32_t from = cm__in(g, loss, 0)->producer;
    while (from >= 0) {
        const cm_node *n = &g->nodes[from];
        if (cm__class(n) == CM_CLASS_GEMM) return n;
        bool passes = n->view || n->op == CM_OP_CAST || cm__class(n) == CM_CLASS_MOVEMENT;
        from = passes && cm__has(n, 0) ? cm__in(g, n, 0)->producer : -1;
    }
    return NULL;
}

/* A language model's own function computes the loss and refers to the head's input until it returns (transformers:
   hidden_states in forward() of each model). A head that is trained stores its input anyway. */
void cm__retain_head_input(cm_footprint *f, const int32_t *piece_of)
{
    const cm_graph *g = f->step;
    for (int32_t i = 0; i < f->n_nodes && cm__is_pytorch(f->options.runtime); i++) {
        const cm_node *n = &g->nodes[i];
        bool           loss = n->op == CM_OP_CROSS_ENTROPY || n->op == CM_OP_FUSED_CROSS_ENTROPY;
        const cm_node *head = loss && n->phase == CM_FORWARD && cm__has(n, 0) ? head_of(g, n) : NULL;
        int32_t        at = head && cm__has(head, 0) ? piece_of[cm__in(g, head, 0)->storage] : -1;
        if (at >= 0 && f->pieces[at].born >= 0 && f->pieces[at].dies < i) f->pieces[at].dies = i;
    }
}
