/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sharing.c - separate parameters that an exporter merged because they were equal.
 *
 * PyTorch's exporter stores equal small tensors once: in an untrained BERT, one vector of zeros is the bias of every
 * linear layer. Models that really share parameters, like ALBERT, share the matrices too. So a vector that is read in
 * several places stays one parameter only among places that are next to uses of the same matrix by different nodes.
 * Each other place gets its own parameter.
 */
#include "graph/rewrite/roles.h"

#include <string.h>

#define STEPS_MAX 64  /* most nodes between a vector and the next matrix */
#define INPUTS_MAX 16 /* most inputs of a node that are followed */

/* The nearest use of a matrix. */
typedef struct matrix {
    int32_t node, weight; /* weight -1: none found */
} matrix;

static matrix matrix_at(const cm_graph *g, int32_t node)
{
    int32_t input = cm__ops[g->nodes[node].op].matrix;
    int32_t weight = input ? cm__origin_of(g, g->nodes[node].inputs[input]) : -1;
    bool is = weight >= 0 && cm__t(g, weight)->role == CM_ROLE_PARAMETER && cm__t(g, weight)->rank >= 2;
    return (matrix){node, is ? weight : -1};
}

static matrix matrix_before(const cm_graph *g, int32_t node)
{
    for (int steps = 0; steps < STEPS_MAX; steps++) {
        matrix m = matrix_at(g, node);
        if (m.weight >= 0) return m;
        const cm_node *n = &g->nodes[node];
        int32_t        before = -1;
        for (int32_t i = 0; i < n->n_inputs && i < INPUTS_MAX && before < 0; i++)
            if (n->inputs[i] >= 0) before = cm__t(g, n->inputs[i])->producer;
        if (before < 0) break;
        node = before;
    }
    return (matrix){-1, -1};
}

static matrix matrix_after(const cm_graph *g, const cm__uses *uses, int32_t node)
{
    for (int steps = 0; steps < STEPS_MAX; steps++) {
        int32_t out = g->nodes[node].n_outputs ? g->nodes[node].outputs[0] : -1;
        if (out < 0 || uses->first[out] == uses->first[out + 1]) break;
        node = uses->list[uses->first[out]].node;
        matrix m = matrix_at(g, node);
        if (m.weight >= 0) return m;
    }
    return (matrix){-1, -1};
}

/* The last place found that uses a matrix: its group of places, its node, and the parameter of the place. */
typedef struct place {
    int32_t group, node, parameter;
} place;

typedef struct splitter {
    cm_graph *g;
    cm__uses  uses;
    place    *before, *after; /* per matrix: the last place near it */
    int32_t   group;          /* current group: one vector read in one kind of place */
    int32_t   split, merged;
} splitter;

static int32_t shared_with(const splitter *s, const place *places, matrix m)
{
    if (m.weight < 0) return -1;
    const place *p = &places[m.weight];
    return p->group == s->group && p->node != m.node ? p->parameter : -1;
}

static void remember(const splitter *s, place *places, matrix m, int32_t parameter)
{
    if (m.weight >= 0) places[m.weight] = (place){s->group, m.node, parameter};
}

static int32_t own_parameter(splitter *s, int32_t vector, cm__use use)
{
    cm_graph        *g = s->g;
    const cm_node   *n = &g->nodes[use.node];
    const cm_tensor *t = cm__t(g, vector);
    bool scale = n->op == CM_OP_MUL || n->op == CM_OP_DIV || (cm__class(n) == CM_CLASS_NORM && use.slot == 1);
    int32_t id = cm__leaf(g, cm__format(g->ctx, "%s.%s", n->name, scale ? "weight" : "bias"), CM_ROLE_PARAMETER,
                          t->dtype, 1, t->dims);
    s->split++;
    return id;
}

static void split_at(splitter *s, int32_t vector, cm__use use, bool first)
{
    matrix  before = matrix_before(s->g, use.node), after = matrix_after(s->g, &s->uses, use.node);
    int32_t parameter = shared_with(s, s->before, before);
    if (parameter < 0) parameter = shared_with(s, s->after, after);
    if (parameter < 0) parameter = first ? vector : own_parameter(s, vector, use);
    remember(s, s->before, before, parameter);
    remember(s, s->after, after, parameter);
    ((int32_t *)s->g->nodes[use.node].inputs)[use.slot] = parameter;
}

static bool is_place(const splitter *s, cm__use use)
{
    cm__place_kind kind = cm__place_of(s->g, &s->uses, use);
    return kind == CM__PLACE_WEIGHT || kind == CM__PLACE_OPERAND;
}

/* Biases of linear layers are one kind of place, scales of normalisations another. */
static int32_t kind_of(const splitter *s, cm__use use) { return s->g->nodes[use.node].op * 16 + (use.slot & 15); }

#define KINDS_MAX 8 /* further kinds count as the last */

static int32_t kind_index(int32_t kinds[KINDS_MAX], int32_t *n, int32_t kind)
{
    for (int32_t i = 0; i < *n; i++)
        if (kinds[i] == kind) return i;
    if (*n == KINDS_MAX) return KINDS_MAX - 1;
    kinds[*n] = kind;
    return (*n)++;
}

/* In an untrained batch normalisation the variance equals the weight and the mean the bias: statistics get their own
   buffer. */
static void free_statistics(splitter *s, int32_t vector)
{
    for (int32_t u = s->uses.first[vector]; u < s->uses.first[vector + 1]; u++) {
        cm__use use = s->uses.list[u];
        if (cm__place_of(s->g, &s->uses, use) != CM__PLACE_STATISTICS) continue;
        const cm_tensor *t = cm__t(s->g, vector);
        const char      *name = cm__format(s->g->ctx, "%s.statistics%d", s->g->nodes[use.node].name, use.slot);
        ((int32_t *)s->g->nodes[use.node].inputs)[use.slot] =
            cm__leaf(s->g, name, CM_ROLE_BUFFER, t->dtype, 1, t->dims);
    }
}

static void split_vector(splitter *s, int32_t vector)
{
    int32_t        kinds[KINDS_MAX], n_kinds = 0, places = 0, before = s->split;
    const cm__use *first = s->uses.list + s->uses.first[vector], *end = s->uses.list + s->uses.first[vector + 1];
    for (const cm__use *u = first; u < end; u++) kind_index(kinds, &n_kinds, kind_of(s, *u));
    for (int32_t k = 0; k < n_kinds; k++, s->group++)
        for (const cm__use *u = first; u < end; u++)
            if (kind_index(kinds, &n_kinds, kind_of(s, *u)) == k && is_place(s, *u))
                split_at(s, vector, *u, places++ == 0);
    s->merged += s->split > before;
    free_statistics(s, vector);
}

void cm__split_merged(cm_graph *g)
{
    splitter s = {.g = g, .uses = cm__uses_of(g)};
    int32_t  count = g->n_tensors;
    s.before = cm__alloc_array(g->ctx, (size_t)count, sizeof *s.before);
    s.after = cm__alloc_array(g->ctx, (size_t)count, sizeof *s.after);
    s.group = 1; /* 0: no group */
    for (int32_t t = 0; t < count; t++)
        if (cm__t(g, t)->role == CM_ROLE_PARAMETER && cm__t(g, t)->rank == 1) split_vector(&s, t);
    if (s.split)
        cm__warn(g,
                 "%d parameters were merged with %d others in the export because they were equal; here they are "
                 "separate again", s.split, s.merged);
}
