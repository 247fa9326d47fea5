/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tune_targets.c - which products get an adapter, which weights are quantised, which parameters are frozen.
 *
 * Adapters and quantisation apply to products with a parameter inside the repeated layers, not to the head: as the
 * PEFT library ("all-linear") and bitsandbytes do. In a model without layers they apply to all but the last product.
 */
#include "graph/rewrite/tune.h"

#include <string.h>
#include "base/text.h"
#include "graph/rule.h"

/* The parameter that is the matrix of a product, possibly through views; -1: the node is no such product. */
static int32_t matrix_of(const cm_graph *g, const cm_node *n)
{
    bool product = n->op == CM_OP_GEMM || n->op == CM_OP_MATMUL || n->op == CM_OP_EINSUM;
    if (!product || !cm__has(n, 1) || cm__attr_int(n, CM_ATTR_TRANS_A, 0)) return -1;
    int32_t id = n->inputs[1];
    for (int32_t from; (from = cm__t(g, id)->producer) >= 0 && cm__ops[g->nodes[from].op].passes_weight;)
        id = g->nodes[from].inputs[0];
    return cm__t(g, id)->role == CM_ROLE_PARAMETER && cm__t(g, id)->rank >= 2 ? id : -1;
}

/* ---- names ------------------------------------------------------------------------------------------------------ */

/* Names of the modules that compute queries, keys and values, and of those after attention, in the libraries'
   models. */
static const char *const projections[] = {
    "q_proj", "k_proj", "v_proj", "qkv_proj", "query", "key", "value", "q", "k", "v", "c_attn", "qkv",
    "query_key_value",
    "Wqkv", "q_lin", "k_lin", "v_lin", "to_q", "to_k", "to_v", "to_qkv", "in_proj", "q_a_proj", "q_b_proj",
    "kv_a_proj_with_mqa", "kv_b_proj", "wq", "wk", "wv", NULL};
static const char *const after[] = {"o_proj", "out_proj", "out_lin", "o", "to_out", "attn_out", "wo", NULL};

static bool listed(cm__span part, const char *const *names)
{
    for (; *names; names++)
        if (cm__span_is(part, *names)) return true;
    return false;
}

/* The part of a name between dots or slashes; false: there is none at `at`. */
static bool next_part(const char *name, size_t *at, cm__span *part)
{
    size_t from = *at + strspn(name + *at, "./"), length = strcspn(name + from, "./");
    *at = from + length;
    *part = (cm__span){name + from, length};
    return length > 0;
}

static bool has_part(const char *name, const char *const *names)
{
    size_t   at = 0;
    cm__span part;
    while (next_part(name, &at, &part))
        if (listed(part, names)) return true;
    return false;
}

/* Whether a part of the name is one of those that a text joins with '+'. */
static bool is_named(const char *name, const char *joined)
{
    size_t   at = 0;
    cm__span part;
    while (next_part(name, &at, &part))
        for (const char *p = joined; *p; p += strcspn(p, "+"), p += *p == '+')
            if (part.length == strcspn(p, "+") && strncmp(part.text, p, part.length) == 0) return true;
    return false;
}

static bool is_target(const cm_tuning *o, const char *name)
{
    const char *targets = *o->targets ? o->targets : "qkv";
    if (strcmp(targets, "all-linear") == 0) return true;
    if (strcmp(targets, "qkv") == 0) return has_part(name, projections);
    if (strcmp(targets, "attention") == 0) return has_part(name, projections) || has_part(name, after);
    return is_named(name, targets);
}

/* '*' is any text, '?' any character. */
static bool matches(const char *pattern, size_t length, const char *name)
{
    if (!length) return !*name;
    if (*pattern == '*') return matches(pattern + 1, length - 1, name) || (*name && matches(pattern, length, name + 1));
    return *name && (*pattern == '?' || *pattern == *name) && matches(pattern + 1, length - 1, name + 1);
}

/* A pattern without wildcards may be any part of the name. */
static bool is_frozen_by(const char *patterns, const char *name)
{
    for (const char *p = patterns; *p; p += strcspn(p, ","), p += *p == ',') {
        size_t length = strcspn(p, ","), wild = strcspn(p, "*?");
        bool   whole = wild < length;
        for (const char *at = name; length && *at; at++) {
            if (whole ? matches(p, length, at) : strncmp(at, p, length) == 0) return true;
            if (whole) break;
        }
    }
    return false;
}

/* ---- choice ----------------------------------------------------------------------------------------------------- */

/* Products outside the layers are heads; without layers the last product is one. */
static bool *inner_products(const cm__tune *t)
{
    const cm_graph *g = t->in;
    bool           *inner = cm__alloc_array(t->out->ctx, (size_t)g->n_nodes + 1, sizeof *inner), layers = false;
    int32_t         last = -1;
    for (int32_t i = 0; i < g->n_nodes; i++) layers |= g->nodes[i].block >= 0;
    for (int32_t i = 0; i < g->n_nodes; i++) {
        inner[i] = matrix_of(g, &g->nodes[i]) >= 0 && (!layers || g->nodes[i].block >= 0);
        if (inner[i]) last = i;
    }
    if (!layers && last >= 0) inner[last] = false;
    return inner;
}

/* PEFT trains a copy of a module that is saved whole, and keeps the original: see copy_leaf(). */
static void choose_frozen(cm__tune *t)
{
    bool any = false, any_saved = false;
    for (int32_t i = 0; i < t->in->n_tensors; i++) {
        const cm_tensor *x = cm__t(t->in, i);
        if (x->role != CM_ROLE_PARAMETER) continue;
        bool named = t->o->freeze && is_frozen_by(t->o->freeze, x->name);
        bool saved = *t->o->save && is_named(x->name, t->o->save);
        t->quantised[i] &= !saved;
        t->frozen[i] = (t->o->rank > 0 && !saved) || t->quantised[i] || named;
        any |= named;
        any_saved |= saved;
    }
    if (t->o->freeze && !any)
        cm__fail(t->out->ctx, CM_ERR_ARGUMENT,
                 "no parameter matches --freeze '%.64s': 'centimani graph --tensors' lists "
                 "them", t->o->freeze);
    if (*t->o->save && !any_saved)
        cm__fail(t->out->ctx, CM_ERR_ARGUMENT, "no parameter matches save=%s of --lora: 'centimani graph --tensors' "
                 "lists them", t->o->save);
}

void cm__tune_choose(cm__tune *t)
{
    const cm_graph *g = t->in;
    const bool     *inner = inner_products(t);
    int32_t         adapters = 0;
    for (int32_t i = 0; i < g->n_nodes; i++) {
        if (!inner[i]) continue;
        int32_t weight = matrix_of(g, &g->nodes[i]);
        bool    matrix = cm__t(g, weight)->rank == 2 && g->nodes[i].op != CM_OP_EINSUM;
        bool    named = is_target(t->o, cm__t(g, weight)->name) || is_target(t->o, g->nodes[i].name);
        t->adapted[i] = t->o->rank > 0 && matrix && named;
        adapters += t->adapted[i];
        t->inner[weight] = true;
        t->quantised[weight] |= t->o->quantize != CM_QUANTIZE_NONE;
    }
    if (t->o->rank > 0 && !adapters)
        cm__fail(t->out->ctx, CM_ERR_ARGUMENT, "no linear layer matches the targets '%s' of --lora: name its modules, "
                 "such as targets=q_proj+v_proj, or all-linear", *t->o->targets ? t->o->targets : "qkv");
    choose_frozen(t);
}
