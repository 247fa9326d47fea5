/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recompute_modules.c - modules that Megatron-LM's selective recomputation makes again in backward: its
 * --recompute-modules, other than core_attn.
 *
 * The results of these modules are discarded after forward and made again when backward first reads one of them
 * (CheckpointWithoutOutput in tensor_parallel/random.py), so that a module's input is stored alone. Products in 8 bits
 * cast their input again (set_save_original_input() in extensions/transformer_engine.py).
 *
 *     layernorm     the norms before attention and before the feed-forward network (transformer_layer.py)
 *     moe_act       what is between the first and the last product of experts (moe/experts.py)
 *     mla_up_proj   latent attention's products from the compressed queries, keys and values, and their positions
 *                   (multi_latent_attention.py)
 */
#include "graph/rules/backward.h"
#include "graph/plan/split.h"

/* The node that made a tensor, before casts and views; -1: none. */
static int32_t maker(const cm_graph *g, int32_t tensor)
{
    int32_t from = tensor >= 0 ? cm__t(g, tensor)->producer : -1;
    while (from >= 0 && (g->nodes[from].view || g->nodes[from].op == CM_OP_CAST))
        from = cm__t(g, g->nodes[from].inputs[0])->producer;
    return from;
}

static bool is_made_by(const cm_graph *g, int32_t tensor, cm_class class)
{
    int32_t from = maker(g, tensor);
    return from >= 0 && cm__class(&g->nodes[from]) == class;
}

static void discard(cm__backward *b, int32_t node, int32_t group)
{
    b->group[node] = group;
    b->discards[node] = true;
}

/* Norms of the sum of all layers before; those of queries, keys and compressed tensors follow products. */
static void group_norms(cm__backward *b)
{
    for (int32_t i = 0; i < b->forward_nodes; i++) {
        const cm_node *n = &b->g->nodes[i];
        if (n->block >= 0 && cm__class(n) == CM_CLASS_NORM && !is_made_by(b->g, n->inputs[0], CM_CLASS_GEMM))
            discard(b, i, i);
    }
}

/* One of the products that read the tokens of an expert, not what the activation made of them. */
static bool is_first_product(const cm_graph *g, int32_t node)
{
    return node >= 0 && cm__is_expert(g, &g->nodes[node]) &&
           !is_made_by(g, g->nodes[node].inputs[0], CM_CLASS_ELEMENTWISE);
}

static void group_activations(cm__backward *b)
{
    int32_t block = -1, group = -1;
    for (int32_t i = 0; i < b->forward_nodes; i++) {
        const cm_node *n = &b->g->nodes[i];
        bool           reads = false;
        for (int32_t k = 0; k < n->n_inputs && cm__class(n) == CM_CLASS_ELEMENTWISE && n->block >= 0; k++) {
            int32_t from = maker(b->g, n->inputs[k]);
            reads |= is_first_product(b->g, from) || (from >= 0 && group >= 0 && b->group[from] == group);
        }
        if (!reads) continue;
        if (n->block != block) group = i;
        block = n->block;
        discard(b, i, group);
    }
}

/* A product of what a product and a norm have compressed. */
static bool expands(const cm_graph *g, const cm_node *n)
{
    int32_t norm = cm__class(n) == CM_CLASS_GEMM ? maker(g, n->inputs[0]) : -1;
    return norm >= 0 && cm__class(&g->nodes[norm]) == CM_CLASS_NORM &&
           is_made_by(g, g->nodes[norm].inputs[0], CM_CLASS_GEMM);
}

/* Follows queries, keys or values back to the products that expand them. Returns how many of these there are. */
static int32_t follow(cm__backward *b, int32_t tensor, int32_t group)
{
    int32_t from = tensor >= 0 ? cm__t(b->g, tensor)->producer : -1, found = 0;
    if (from < 0 || b->group[from] == group) return 0;
    const cm_node *n = &b->g->nodes[from];
    bool           product = cm__class(n) == CM_CLASS_GEMM, expanded = expands(b->g, n);
    if (n->block != b->g->nodes[group].block || cm__class(n) == CM_CLASS_NORM || (product && !expanded)) return 0;
    discard(b, from, group);
    for (int32_t k = 0; k < n->n_inputs && !product; k++) found += follow(b, n->inputs[k], group);
    return found + expanded;
}

static void group_expanded(cm__backward *b)
{
    int32_t found = 0;
    for (int32_t i = 0; i < b->forward_nodes; i++) {
        const cm_node *n = &b->g->nodes[i];
        int32_t        group = n->op == CM_OP_ATTENTION && n->block >= 0 ? cm__in(b->g, n, 0)->producer : -1;
        for (int32_t k = 2; group >= 0 && k >= 0; k--) found += follow(b, n->inputs[k], group);
    }
    if (!found) cm__fail(b->g->ctx, CM_ERR_ARGUMENT, "the model has no latent attention for mla_up_proj to recompute");
}

/* Products cast what they read again; a view of a discarded tensor would keep it. */
static void join_casts(cm__backward *b)
{
    for (int32_t i = 0; i < b->forward_nodes; i++) {
        const cm_node *n = &b->g->nodes[i];
        int32_t        from = n->op == CM_OP_CAST || n->view ? cm__in(b->g, n, 0)->producer : -1;
        if (from >= 0 && b->discards[from] && b->group[i] < 0) discard(b, i, b->group[from]);
    }
}

void cm__group_modules(cm__backward *b, uint32_t modules)
{
    b->discards = cm__alloc_array(b->g->ctx, (size_t)b->forward_nodes + 1, sizeof *b->discards);
    if (modules & CM_MODULE_LAYERNORM) group_norms(b);
    if (modules & CM_MODULE_MOE_ACT) group_activations(b);
    if (modules & CM_MODULE_MLA_UP_PROJ) group_expanded(b);
    join_casts(b);
}
