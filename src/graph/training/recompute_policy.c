/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recompute_policy.c - checkpoint policies of JAX programs: which tensors of a recomputed layer are stored, on the device
 * or in the host's memory.
 *
 * The names of policies and tensors are MaxText's (remat_policy in its configuration). Everything without a name is
 * computed again from the layer's input.
 */
#include <string.h>
#include "base/text.h"
#include "graph/rules/backward.h"
#include "graph/plan/split.h"
#include "graph/training/train.h"

#define PRODUCTS (CM_KEPT_QKV | CM_KEPT_OUT | CM_KEPT_MLP_IN | CM_KEPT_MLP_OUT)

static const struct {
    const char *name;
    uint32_t    kept, moved;
} policies[] = {
    {"minimal", PRODUCTS, 0},
    {"minimal_with_context", PRODUCTS | CM_KEPT_CONTEXT, 0},
    {"minimal_flash", PRODUCTS | CM_KEPT_CONTEXT, 0}, /* the former name of minimal_with_context */
    {"save_dot_with_context_except_mlp", CM_KEPT_QKV | CM_KEPT_CONTEXT | CM_KEPT_OUT, 0},
    {"save_dot_except_mlpwi", CM_KEPT_QKV | CM_KEPT_OUT | CM_KEPT_MLP_OUT, 0},
    {"save_dot_except_mlp", CM_KEPT_QKV | CM_KEPT_OUT, 0},
    {"save_qkv_proj", CM_KEPT_QKV, 0},
    {"save_out_proj", CM_KEPT_OUT, 0},
    {"qkv_proj_offloaded", 0, CM_KEPT_QKV},
    {"minimal_offloaded", 0, PRODUCTS},
};

static const struct {
    const char *name;
    cm_kept     tensor;
} tensors[] = {
    {"qkv_proj", CM_KEPT_QKV}, {"query_proj", CM_KEPT_QKV}, {"key_proj", CM_KEPT_QKV}, {"value_proj", CM_KEPT_QKV},
    {"context", CM_KEPT_CONTEXT}, {"out_proj", CM_KEPT_OUT}, {"mlpwi", CM_KEPT_MLP_IN}, {"mlpwi_0", CM_KEPT_MLP_IN},
    {"mlpwi_1", CM_KEPT_MLP_IN}, {"mlpwo", CM_KEPT_MLP_OUT}, {"moe_mlpwi", CM_KEPT_EXPERTS_IN},
    {"moe_mlpwi_0", CM_KEPT_EXPERTS_IN}, {"moe_mlpwi_1", CM_KEPT_EXPERTS_IN}, {"moe_mlpwo", CM_KEPT_EXPERTS_OUT},
};

#define COUNT(list) ((int)(sizeof list / sizeof *list))

const char *cm_recompute_policy(int index) { return index >= 0 && index < COUNT(policies) ? policies[index].name : NULL; }

const char *cm_recompute_asked(const cm_train_options *o)
{
    if (!o->recompute_kept && !o->recompute_moved) return cm_recompute_name(o->recompute);
    for (int i = 0; i < COUNT(policies); i++)
        if (policies[i].kept == o->recompute_kept && policies[i].moved == o->recompute_moved) return policies[i].name;
    return "custom";
}

/* "qkv_proj+context=offload": tensors, and where they are stored. */
static bool read_tensors(const char *text, cm_train_options *train)
{
    for (const char *at = text; *at; at += *at == '+') {
        cm__span word = {at, strcspn(at, "+")}, name = {at, strcspn(at, "+=")};
        cm__span place = {at + name.length, word.length - name.length};
        uint32_t bit = 0;
        for (int i = 0; i < COUNT(tensors); i++)
            if (cm__span_is(name, tensors[i].name)) bit = tensors[i].tensor;
        bool moved = cm__span_is(place, "=offload");
        if (!bit || (place.length && !moved && !cm__span_is(place, "=device"))) return false;
        *(moved ? &train->recompute_moved : &train->recompute_kept) |= bit;
        at += word.length;
    }
    return train->recompute_kept || train->recompute_moved;
}

bool cm__policy_read(const char *text, cm_train_options *train)
{
    static const char custom[] = "custom:";
    train->recompute_kept = train->recompute_moved = 0;
    for (int i = 0; i < COUNT(policies); i++)
        if (!strcmp(policies[i].name, text)) {
            train->recompute_kept = policies[i].kept;
            train->recompute_moved = policies[i].moved;
        }
    if (train->recompute_kept || train->recompute_moved) return true;
    return !strncmp(text, custom, sizeof custom - 1) && read_tensors(text + sizeof custom - 1, train);
}

/* ---- tensors of a layer ------------------------------------------------------------------------------------------ */

/* The node that made a tensor, before casts and views; -1: none. */
static int32_t maker(const cm_graph *g, int32_t tensor)
{
    int32_t from = tensor >= 0 ? cm__t(g, tensor)->producer : -1;
    while (from >= 0 && (g->nodes[from].view || g->nodes[from].op == CM_OP_CAST))
        from = cm__t(g, g->nodes[from].inputs[0])->producer;
    return from;
}

#define BETWEEN 128 /* a node between attention and the products of its queries, keys and values, such as a norm */

/* Marks the makers of a node's first inputs that lie in the same layer. */
static void mark_makers(const cm_graph *g, uint8_t *kept, const cm_node *n, int32_t inputs)
{
    for (int32_t k = 0; k < inputs; k++) {
        int32_t from = maker(g, n->inputs[k]);
        if (from >= 0 && g->nodes[from].block == n->block && !kept[from]) kept[from] = BETWEEN;
    }
}

static cm_kept kind_of_product(const cm_graph *g, const cm_node *n)
{
    int32_t from = maker(g, n->inputs[0]);
    if (from < 0 || g->nodes[from].op == CM_OP_ATTENTION) return from < 0 ? 0 : CM_KEPT_OUT;
    const cm_node *before = &g->nodes[from];
    bool           last = cm__class(before) == CM_CLASS_ELEMENTWISE && before->op != CM_OP_ADD && before->op != CM_OP_DROPOUT;
    if (cm__is_expert(g, n)) return last ? CM_KEPT_EXPERTS_OUT : CM_KEPT_EXPERTS_IN;
    return last ? CM_KEPT_MLP_OUT : CM_KEPT_MLP_IN;
}

uint8_t *cm__policy_tensors(cm__ctx *ctx, const cm_graph *g, int32_t nodes)
{
    uint8_t *kept = cm__alloc_array(ctx, (size_t)nodes + 1, sizeof *kept);
    for (int32_t i = nodes - 1; i >= 0; i--) { /* readers before makers */
        const cm_node *n = &g->nodes[i];
        bool           attention = n->phase == CM_FORWARD && n->block >= 0 && n->op == CM_OP_ATTENTION;
        if (attention) kept[i] = CM_KEPT_CONTEXT;
        else if (kept[i] && cm__class(n) == CM_CLASS_GEMM) kept[i] = CM_KEPT_QKV;
        if (attention || kept[i] == BETWEEN) mark_makers(g, kept, n, attention && n->n_inputs > 3 ? 3 : n->n_inputs);
    }
    for (int32_t i = 0; i < nodes; i++) {
        const cm_node *n = &g->nodes[i];
        bool           product = n->phase == CM_FORWARD && n->block >= 0 && cm__class(n) == CM_CLASS_GEMM;
        if (product && !kept[i]) kept[i] = (uint8_t)kind_of_product(g, n);
    }
    return kept;
}
