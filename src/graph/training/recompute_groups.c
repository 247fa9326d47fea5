/* SPDX-License-Identifier: Apache-2.0 */
/* recompute_groups.c - which nodes backward recomputes, in groups that are recomputed at once: a layer, or one
   attention. */
#include "graph/rules/backward.h"
#include "graph/training/train.h"

/* One group per layer; in a model without layers, about sqrt(n) groups of consecutive nodes of equal size. */
static void group_layers(cm__backward *b)
{
    int32_t last = b->forward_nodes - 1, found = -1, size = 1;
    for (int32_t i = 0; i < last; i++)
        if ((b->group[i] = b->g->nodes[i].block) > found) found = b->group[i];
    while (size * size < b->forward_nodes) size++;
    for (int32_t i = 0; found < 0 && i < last; i++) b->group[i] = i / size;
}

/* True: of `layers`, this is one of the `repeated` ones, which are evenly spread: a stage with a share of the layers has
   the same share of the repeated ones. */
static bool is_repeated(int32_t layer, int32_t repeated, int32_t layers)
{
    return (int64_t)(layer + 1) * repeated / layers > (int64_t)layer * repeated / layers;
}

/* Stores the activations of the layers that are not repeated. */
static void leave_layers(cm__backward *b, int32_t repeated)
{
    int32_t layers = 0;
    for (int32_t i = 0; i < b->forward_nodes; i++)
        if (b->g->nodes[i].block >= layers) layers = b->g->nodes[i].block + 1;
    if (repeated > layers)
        cm__fail(b->g->ctx, CM_ERR_ARGUMENT, "%d layers cannot be recomputed: the model has %d", repeated, layers);
    for (int32_t i = 0; i < b->forward_nodes; i++)
        if (b->group[i] >= 0 && !is_repeated(b->group[i], repeated, layers)) b->group[i] = -1;
}

static bool is_free_product(const cm_graph *g, const cm_node *n)
{
    return n->op == CM_OP_MATMUL && cm__in(g, n, 0)->producer >= 0 && cm__in(g, n, 1)->producer >= 0 &&
           cm__in(g, n, 1)->role == CM_ROLE_ACTIVATION;
}

/* A group is one attention operator, or the nodes from a product of two activations through softmax to the next
   product. */
static void group_attention(cm__backward *b)
{
    for (int32_t i = 0; i < b->forward_nodes; i++) {
        const cm_node *n = &b->g->nodes[i];
        cm_class       c = cm__class(n);
        int32_t        from = cm__has(n, 0) ? cm__in(b->g, n, 0)->producer : -1, open = from >= 0 ? b->group[from] : -1;
        bool           inside = open >= 0 && !(b->g->nodes[from].op == CM_OP_MATMUL && from != open);
        if (n->op == CM_OP_ATTENTION) b->group[i] = i;
        else if (is_free_product(b->g, n)) b->group[i] = inside ? open : i;
        else if (inside && b->g->nodes[from].op != CM_OP_ATTENTION &&
                 (c == CM_CLASS_ELEMENTWISE || c == CM_CLASS_REDUCTION || n->view))
            b->group[i] = open;
    }
}

/* Keep the tensors that another group, or a node that is not recomputed, reads: recomputation of that group starts
   from them. */
static void keep_boundaries(cm__backward *b)
{
    for (int32_t i = 0; i < b->forward_nodes; i++)
        for (int32_t k = 0; k < b->g->nodes[i].n_inputs; k++) {
            int32_t t = b->g->nodes[i].inputs[k], from = t < 0 ? -1 : cm__t(b->g, t)->producer;
            if (from < 0 || (b->discards && b->discards[from])) continue;
            if (b->group[from] >= 0 && b->group[from] != b->group[i]) b->copy[t] = t;
        }
}

static void keep_outputs(cm__backward *b)
{
    for (int32_t i = 0; i < b->forward_nodes; i++)
        for (int32_t o = 0; b->keeps[i] && o < b->g->nodes[i].n_outputs; o++)
            if (b->g->nodes[i].outputs[o] >= 0) b->copy[b->g->nodes[i].outputs[o]] = b->g->nodes[i].outputs[o];
}

/* PyTorch's selective checkpointing by operator, as in torchtitan (distributed/activation_checkpoint.py): a layer keeps
   the outputs of attention and of every second matrix product, from the first on, and recomputes everything else. */
static void group_but_products(cm__backward *b)
{
    group_layers(b);
    b->keeps = cm__kept_products(b->g->ctx, b->g, b->group, b->forward_nodes);
    keep_outputs(b);
}

/* Attention by products stores no scores: it is computed again although its result is stored. */
static void group_by_policy(cm__backward *b, const cm_train_options *o)
{
    group_layers(b);
    b->keeps = cm__alloc_array(b->g->ctx, (size_t)b->forward_nodes + 1, sizeof *b->keeps);
    const uint8_t *tensors = cm__policy_tensors(b->g->ctx, b->g, b->forward_nodes);
    uint32_t       kept = (o->recompute_kept | o->recompute_moved) & ~(o->attention == CM_ATTENTION_MATH ? CM_KEPT_CONTEXT : 0u);
    for (int32_t i = 0; i < b->forward_nodes; i++) b->keeps[i] = tensors[i] & kept;
    keep_outputs(b);
}

bool *cm__kept_products(cm__ctx *ctx, const cm_graph *g, const int32_t *group, int32_t nodes)
{
    bool   *keeps = cm__alloc_array(ctx, (size_t)nodes + 1, sizeof *keeps);
    int32_t products = 0, last = -1;
    for (int32_t i = 0; i < nodes; i++) {
        const cm_node *n = &g->nodes[i];
        if (group[i] < 0 || n->phase != CM_FORWARD) continue;
        if (group[i] != last) products = 0;
        last = group[i];
        keeps[i] = n->op == CM_OP_ATTENTION || (cm__class(n) == CM_CLASS_GEMM && products++ % 2 == 0);
    }
    return keeps;
}

/* PyTorch stores these outputs whether or not backward reads them, such as that of a layer's last product. */
void cm__hold_products(cm_graph *g)
{
    int32_t *block = cm__alloc_array(g->ctx, (size_t)g->n_nodes + 1, sizeof *block), layers = 0;
    for (int32_t i = 0; i < g->n_nodes; i++) {
        block[i] = g->nodes[i].block;
        if (block[i] >= layers) layers = block[i] + 1;
    }
    int32_t *again = cm__alloc_array(g->ctx, (size_t)layers + 1, sizeof *again); /* per layer; 0: never */
    for (int32_t i = g->n_nodes - 1; i >= 0; i--)
        if (block[i] >= 0 && g->nodes[i].phase == CM_RECOMPUTE) again[block[i]] = i;
    const bool *keeps = cm__kept_products(g->ctx, g, block, g->n_nodes);
    for (int32_t i = 0; i < g->n_nodes; i++) {
        int32_t    y = keeps[i] ? g->nodes[i].outputs[0] : -1;
        cm_tensor *base = y >= 0 ? cm__t(g, cm__t(g, y)->storage) : NULL;
        if (base && again[block[i]] > base->dies) base->dies = again[block[i]];
    }
}

/* Link the nodes of each group that are recomputed into a list, in execution order. */
static void link_groups(cm__backward *b)
{
    int32_t most = 0;
    for (int32_t i = 0; i < b->forward_nodes; i++)
        if (b->group[i] > most) most = b->group[i];
    b->first_of_group = cm__alloc_array(b->g->ctx, (size_t)most + 1, sizeof *b->first_of_group);
    b->next_in_group = cm__alloc_array(b->g->ctx, (size_t)b->forward_nodes, sizeof *b->next_in_group);
    for (int32_t i = 0; i <= most; i++) b->first_of_group[i] = -1;
    for (int32_t i = b->forward_nodes - 1; i >= 0; i--) {
        if (b->group[i] < 0 || (b->keeps && b->keeps[i])) continue;
        b->next_in_group[i] = b->first_of_group[b->group[i]];
        b->first_of_group[b->group[i]] = i;
    }
    keep_boundaries(b);
}

/* Groups as the model itself defines them: the segments it recomputed while it was recorded. */
static bool group_segments(cm__backward *b)
{
    bool any = false;
    for (int32_t i = 0; i < b->forward_nodes; i++) any |= (b->group[i] = b->g->nodes[i].segment) >= 0;
    return any;
}

void cm__group_nodes(cm__backward *b, const cm_train_options *o)
{
    bool own = o->recompute == CM_RECOMPUTE_NONE && group_segments(b);
    if (o->recompute == CM_RECOMPUTE_FULL) group_layers(b);
    if (o->recompute == CM_RECOMPUTE_FULL && o->recompute_layers > 0) leave_layers(b, o->recompute_layers);
    bool selective = o->recompute == CM_RECOMPUTE_SELECTIVE, modules = selective && o->recompute_modules;
    if (selective && (o->recompute_kept || o->recompute_moved)) group_by_policy(b, o);
    else if (selective && (!modules || o->recompute_modules & CM_MODULE_CORE_ATTN))
        (o->settled.keep_products ? group_but_products : group_attention)(b);
    if (modules) cm__group_modules(b, o->recompute_modules);
    if (o->recompute != CM_RECOMPUTE_NONE || own) link_groups(b);
}
