/* SPDX-License-Identifier: Apache-2.0 */
/*
 * twins.c - find repeated layers that consist of the same nodes.
 *
 * Each layer has a hash of its nodes in order: operator, attributes, phase, and of each operand the type, the shape and
 * where it comes from (so many layers before, so many nodes after that layer's begin). Layers with equal hashes are
 * taken as equal; the 64 bits make a collision unlikely, and only estimates of a search use the result.
 */
#include "graph/plan/twins.h"

#include <string.h>

#define SEVERAL (-1)

typedef struct comparing {
    const cm_graph *g;
    const int32_t  *part;
    int32_t        *place; /* per node: its number among the nodes of its part */
    int32_t        *reader; /* per tensor: the part that reads it, plus 1; SEVERAL: more than one, 0: none */
    uint64_t       *hash;  /* per part */
} comparing;

static void mix(uint64_t *hash, uint64_t word)
{
    *hash = (*hash ^ word) * 0xff51afd7ed558ccdu;
    *hash ^= *hash >> 32;
}

static void mix_real(uint64_t *hash, double real)
{
    uint64_t word;
    memcpy(&word, &real, sizeof word);
    mix(hash, word);
}

static void mix_attributes(uint64_t *hash, const cm_node *n)
{
    for (const cm__attr *a = n->attrs; a && a->key != CM_ATTRS; a++) {
        mix(hash, (uint64_t)a->key);
        mix_real(hash, a->real);
        for (int32_t i = 0; i < a->count; i++) mix(hash, (uint64_t)a->ints[i]);
    }
}

/* The origin of a tensor, seen from a part: tensors made before all layers and leaves that several layers share are
   told apart by their numbers, leaves of one layer only by their shapes. */
static void mix_origin(const comparing *c, uint64_t *hash, int32_t tensor, int32_t part)
{
    const cm_tensor *x = cm__t(c->g, tensor);
    int32_t          from = x->producer;
    if (from < 0) {
        bool own = x->role == CM_ROLE_PARAMETER || x->role == CM_ROLE_STATE || c->reader[tensor] == part + 1;
        mix(hash, own ? 0 : (uint64_t)tensor);
        return;
    }
    bool outside = c->part[from] == 0;
    mix(hash, outside ? (uint64_t)from : (uint64_t)(part - c->part[from]));
    mix(hash, (uint64_t)c->place[from]);
}

static void mix_tensor(const comparing *c, uint64_t *hash, int32_t tensor, int32_t part)
{
    mix(hash, tensor < 0);
    if (tensor < 0) return;
    const cm_tensor *x = cm__t(c->g, tensor);
    mix(hash, ((uint64_t)x->dtype << 32) ^ ((uint64_t)x->role << 16) ^ ((uint64_t)x->frozen << 8) ^ (uint64_t)x->rank);
    for (int32_t i = 0; x->dims && i < x->rank; i++) {
        mix(hash, (uint64_t)x->dims[i].per_batch);
        mix(hash, (uint64_t)x->dims[i].fixed);
    }
    mix_origin(c, hash, tensor, part);
}

static void mix_node(const comparing *c, int32_t node)
{
    const cm_node *n = &c->g->nodes[node];
    int32_t        part = c->part[node];
    uint64_t      *hash = &c->hash[part];
    mix(hash, ((uint64_t)n->op << 32) ^ ((uint64_t)n->phase << 16) ^ ((uint64_t)n->view << 1) ^ n->plain);
    mix(hash, n->source >= 0 ? (uint64_t)c->place[n->source] : UINT64_MAX);
    mix_attributes(hash, n);
    for (int32_t i = 0; i < n->n_inputs; i++) mix_tensor(c, hash, n->inputs[i], part);
    for (int32_t i = 0; i < n->n_outputs; i++) mix_tensor(c, hash, n->outputs[i], part);
}

static void find_readers(cm__ctx *ctx, comparing *c)
{
    c->reader = cm__alloc_array(ctx, (size_t)c->g->n_tensors + 1, sizeof *c->reader);
    for (int32_t i = 0; i < c->g->n_nodes; i++)
        for (int32_t k = 0; k < c->g->nodes[i].n_inputs; k++) {
            int32_t tensor = c->g->nodes[i].inputs[k], part = c->part[i] + 1;
            if (tensor >= 0) c->reader[tensor] = !c->reader[tensor] || c->reader[tensor] == part ? part : SEVERAL;
        }
}

static void hash_parts(cm__ctx *ctx, comparing *c, int32_t parts)
{
    int32_t *seen = cm__alloc_array(ctx, (size_t)parts + 1, sizeof *seen);
    c->place = cm__alloc_array(ctx, (size_t)c->g->n_nodes + 1, sizeof *c->place);
    c->hash = cm__alloc_array(ctx, (size_t)parts + 1, sizeof *c->hash);
    find_readers(ctx, c);
    for (int32_t i = 0; i < c->g->n_nodes; i++) c->place[i] = seen[c->part[i]]++;
    for (int32_t i = 0; i < c->g->n_nodes; i++)
        if (c->g->nodes[i].phase != CM_UPDATE) mix_node(c, i);
}

static const int32_t *next_nodes(cm__ctx *ctx, const cm__twins *t, const cm_graph *g, const int32_t *part)
{
    int32_t *next = cm__alloc_array(ctx, (size_t)g->n_nodes + 1, sizeof *next);
    next[g->n_nodes] = g->n_nodes;
    for (int32_t i = g->n_nodes - 1; i >= 0; i--) next[i] = cm__twin_count(t, g, part, i) ? i : next[i + 1];
    return next;
}

const cm__twins *cm__twins_of(cm__ctx *ctx, const cm_graph *step)
{
    int32_t    parts = cm__part_count(step);
    cm__ctx   *scratch = cm__scratch_new(ctx);
    cm__twins *t = cm__alloc(ctx, sizeof *t);
    int32_t   *of = cm__alloc_array(ctx, (size_t)parts, sizeof *of);
    int32_t   *count = cm__alloc_array(ctx, (size_t)parts, sizeof *count);
    comparing  c = {.g = step, .part = cm__part_map(ctx, step)};
    hash_parts(scratch, &c, parts);
    for (int32_t i = 0; i < parts; i++) {
        of[i] = i == 0 || i == parts - 1 ? i : 1;
        while (of[i] < i && c.hash[of[i]] != c.hash[i]) of[i]++;
        count[of[i]]++;
        t->any |= of[i] < i;
    }
    cm__scratch_free(scratch);
    t->of = of;
    t->count = count;
    t->next = next_nodes(ctx, t, step, c.part);
    return t;
}
