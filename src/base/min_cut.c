/* SPDX-License-Identifier: Apache-2.0 */
/*
 * min_cut.c - a minimum cut as the edges that a maximum flow fills (Dinic's algorithm).
 *
 * All edges that lead one level further from the source are filled until no path along them is left; then the levels
 * are found again, until the sink has none.
 */
#include "base/min_cut.h"

#include <math.h>

struct cm__min_cut {
    cm__ctx *ctx;
    int32_t  vertices;
    int32_t *first;      /* per vertex: its last edge; -1: none */
    int32_t *next, *to;  /* per edge; edge e and e ^ 1 are the two directions of one */
    double  *left;       /* per edge: what can still flow */
    int32_t  n_edges, cap_next, cap_to, cap_left;
    int32_t *level, *at; /* per vertex: its level; the next edge to try */
    int32_t *queue, *path;
};

cm__min_cut *cm__min_cut_new(cm__ctx *ctx, int32_t vertices)
{
    size_t       count = (size_t)vertices;
    cm__min_cut *f = cm__alloc(ctx, sizeof *f);
    *f = (cm__min_cut){.ctx = ctx, .vertices = vertices, .first = cm__alloc_array(ctx, count, sizeof *f->first),
                       .level = cm__alloc_array(ctx, count, sizeof *f->level),
                       .at = cm__alloc_array(ctx, count, sizeof *f->at),
                       .queue = cm__alloc_array(ctx, count, sizeof *f->queue),
                       .path = cm__alloc_array(ctx, count, sizeof *f->path)};
    for (int32_t v = 0; v < vertices; v++) f->first[v] = -1;
    return f;
}

static void add_direction(cm__min_cut *f, int32_t from, int32_t to, double most)
{
    f->next = cm__grow(f->ctx, f->next, f->n_edges, &f->cap_next, sizeof *f->next);
    f->to = cm__grow(f->ctx, f->to, f->n_edges, &f->cap_to, sizeof *f->to);
    f->left = cm__grow(f->ctx, f->left, f->n_edges, &f->cap_left, sizeof *f->left);
    f->next[f->n_edges] = f->first[from];
    f->to[f->n_edges] = to;
    f->left[f->n_edges] = most;
    f->first[from] = f->n_edges++;
}

void cm__min_cut_edge(cm__min_cut *f, int32_t from, int32_t to, double weight)
{
    add_direction(f, from, to, weight);
    add_direction(f, to, from, 0);
}

/* Levels of the vertices that the source reaches; false: the sink is none of them. */
static bool find_levels(cm__min_cut *f)
{
    int32_t count = 0;
    for (int32_t v = 0; v < f->vertices; v++) f->level[v] = -1;
    f->level[CM__SOURCE] = 0;
    f->queue[count++] = CM__SOURCE;
    for (int32_t i = 0; i < count; i++)
        for (int32_t e = f->first[f->queue[i]]; e >= 0; e = f->next[e])
            if (f->left[e] > 0 && f->level[f->to[e]] < 0) {
                f->level[f->to[e]] = f->level[f->queue[i]] + 1;
                f->queue[count++] = f->to[e];
            }
    return f->level[CM__SINK] >= 0;
}

/* Adds one path from the source to the sink that follows the levels; false: there is none left. */
static bool add_path(cm__min_cut *f)
{
    int32_t length = 0, v = CM__SOURCE;
    while (v != CM__SINK) {
        int32_t e = f->at[v];
        while (e >= 0 && !(f->left[e] > 0 && f->level[f->to[e]] == f->level[v] + 1)) e = f->next[e];
        f->at[v] = e;
        if (e >= 0) {
            f->path[length++] = e;
            v = f->to[e];
            continue;
        }
        if (!length) return false;
        v = f->to[f->path[--length] ^ 1];
        f->at[v] = f->next[f->at[v]];
    }
    double most = CM__UNCUT;
    for (int32_t i = 0; i < length; i++) most = fmin(most, f->left[f->path[i]]);
    for (int32_t i = 0; i < length; i++) {
        f->left[f->path[i]] -= most;
        f->left[f->path[i] ^ 1] += most;
    }
    return true;
}

/* Marks the vertices from which the sink can still be reached: of all minimum cuts, the one nearest to backward. */
static void mark_sink_side(cm__min_cut *f, bool *sink_side)
{
    int32_t count = 0;
    sink_side[CM__SINK] = true;
    f->queue[count++] = CM__SINK;
    for (int32_t i = 0; i < count; i++)
        for (int32_t e = f->first[f->queue[i]]; e >= 0; e = f->next[e])
            if (f->left[e ^ 1] > 0 && !sink_side[f->to[e]]) {
                sink_side[f->to[e]] = true;
                f->queue[count++] = f->to[e];
            }
}

const bool *cm__min_cut_sink_side(cm__min_cut *f)
{
    bool *sink_side = cm__alloc_array(f->ctx, (size_t)f->vertices, sizeof *sink_side);
    while (find_levels(f)) {
        for (int32_t v = 0; v < f->vertices; v++) f->at[v] = f->first[v];
        while (add_path(f)) continue;
    }
    mark_sink_side(f, sink_side);
    return sink_side;
}
