/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stages.c - how a pipeline of chips divides a network, and what its longest stage takes.
 *
 * Chips store what enters them and recompute the rest in backward. What lies between the last checkpoint and the loss
 * is not recomputed, since its backward follows at once (graphcore/popart, Pipeline::setFinalFwdStageRecomputation();
 * TensorFlow's Poplar driver leaves out the last stage). Graphcore's configurations of transformers have a checkpoint
 * after each layer and divide layers by memory; those of convolutional networks have none inside a stage and balance
 * the times of stages.
 */
#include <math.h>
#include "model/execution/execution.h"

/* Times of all layers before each one: of their forward pass, and of forward and backward together. */
typedef struct times {
    double *forward, *once;
    int32_t layers, last; /* number of layers; the last forward node of a layer */
} times;

static times layers_of(const cm_graph *g)
{
    times t = {.last = -1};
    for (int32_t i = 0; i < g->n_nodes; i++) {
        if (g->nodes[i].phase != CM_FORWARD || g->nodes[i].block < 0) continue;
        if (g->nodes[i].block >= t.layers) t.layers = g->nodes[i].block + 1;
        t.last = i;
    }
    return t;
}

static bool counts(const cm_node *n) { return !n->view && n->phase != CM_UPDATE; }

/* True: an operator behind all layers (head, loss), or its gradient. */
static bool is_behind(const cm_graph *g, const times *t, int32_t i)
{
    const cm_node *n = &g->nodes[i];
    int32_t        forward = n->phase == CM_FORWARD ? i : n->source;
    return n->block < 0 && (forward < 0 || forward > t->last);
}

/* ---- by memory --------------------------------------------------------------------------------------------------- */

/* Time and parameters of the repeated layers and of the rest. */
typedef struct shares {
    double layers_s, rest_s, layers_bytes, rest_bytes;
} shares;

/* Bytes of the node's parameters that no earlier node has: the head may use the weights of the embedding. */
static double new_parameter_bytes(const cm_graph *g, const cm_node *n, bool *known)
{
    double bytes = 0;
    for (int32_t i = 0; i < n->n_inputs; i++) {
        int32_t t = n->inputs[i];
        if (t < 0 || known[t] || cm__t(g, t)->role != CM_ROLE_PARAMETER) continue;
        known[t] = true;
        bytes += cm__tensor_bytes_at(g, t, 1);
    }
    return bytes;
}

static shares shares_of(const cm__job *j, const times *t, const double *node_s, bool again)
{
    shares s = {0};
    bool  *known = cm__alloc_array(j->ctx, (size_t)j->g->n_tensors + 1, sizeof *known);
    for (int32_t i = 0; i < j->g->n_nodes; i++) {
        const cm_node *n = &j->g->nodes[i];
        if (!counts(n)) continue;
        bool   forward = n->phase == CM_FORWARD;
        double bytes = forward ? new_parameter_bytes(j->g, n, known) : 0;
        double time = node_s[i] * (forward && again && !is_behind(j->g, t, i) ? 2 : 1);
        s.layers_s += n->block >= 0 ? time : 0;
        s.rest_s += n->block >= 0 ? 0 : time;
        s.layers_bytes += n->block >= 0 ? bytes : 0;
        s.rest_bytes += n->block >= 0 ? 0 : bytes;
    }
    return s;
}

/* Memory decides what a chip holds, so stages have equal parameters: the first chip holds the embedding and the head,
   and fewer layers than the others. A layer is not divided. */
static double with_equal_parameters(const cm__job *j, const times *t, int32_t chips, const double *node_s, bool again)
{
    shares s = shares_of(j, t, node_s, again);
    double least = INFINITY, longest = 0, layer_s = s.layers_s / t->layers, layer_bytes = s.layers_bytes / t->layers;
    for (int32_t first = 0; first <= t->layers; first++) {
        double others = ceil((double)(t->layers - first) / (chips - 1));
        double most = fmax(s.rest_bytes + first * layer_bytes, others * layer_bytes);
        if (most >= least) continue;
        least = most;
        longest = fmax(s.rest_s + first * layer_s, others * layer_s);
    }
    return longest;
}

/* ---- by time ----------------------------------------------------------------------------------------------------- */

/* The layer that each operator counts to: its own, or that of the last operator before it that has one. The gradient of
   an operator counts to the same layer. */
static const int32_t *layers_by_node(const cm__job *j, const times *t)
{
    int32_t *layer = cm__alloc_array(j->ctx, (size_t)j->g->n_nodes + 1, sizeof *layer), last = 0;
    for (int32_t i = 0; i < j->g->n_nodes; i++) {
        const cm_node *n = &j->g->nodes[i];
        if (n->phase == CM_FORWARD && n->block >= 0) last = n->block;
        if (n->block >= 0) layer[i] = n->block;
        else if (n->phase == CM_FORWARD) layer[i] = last;
        else layer[i] = n->source >= 0 && n->source < i ? layer[n->source] : t->layers - 1;
    }
    return layer;
}

/* Sums over all layers before each one. */
static void sum_layers(const cm__job *j, times *t, const double *node_s)
{
    const int32_t *layers = layers_by_node(j, t);
    t->forward = cm__alloc_array(j->ctx, (size_t)t->layers + 1, sizeof *t->forward);
    t->once = cm__alloc_array(j->ctx, (size_t)t->layers + 1, sizeof *t->once);
    for (int32_t i = 0; i < j->g->n_nodes; i++) {
        const cm_node *n = &j->g->nodes[i];
        if (!counts(n)) continue;
        int32_t layer = layers[i];
        t->once[layer + 1] += node_s[i];
        if (n->phase == CM_FORWARD) t->forward[layer + 1] += node_s[i];
    }
    for (int32_t l = 0; l < t->layers; l++) {
        t->once[l + 1] += t->once[l];
        t->forward[l + 1] += t->forward[l];
    }
}

/* The time of the layers from `cut` on and before `end` as one stage. */
static double stage_of(const times *t, int32_t cut, int32_t end, bool again)
{
    return t->once[end] - t->once[cut] + (again ? t->forward[end] - t->forward[cut] : 0);
}

/* The longest of stages over the layers before `end`, if the last one may start at any layer from `low` on. A later
   start makes it shorter and those before it longer, so the best start is where the two cross. */
static double best_cut(const times *t, const double *longest, int32_t low, int32_t end, bool again)
{
    int32_t from = low, to = end - 1; /* the first start with which the stages before are the longer ones, or end - 1 */
    while (from < to) {
        int32_t cut = from + (to - from) / 2;
        if (longest[cut] >= stage_of(t, cut, end, again)) to = cut;
        else from = cut + 1;
    }
    double here = fmax(longest[from], stage_of(t, from, end, again));
    return from > low ? fmin(here, stage_of(t, from - 1, end, again)) : here;
}

/* The longest stage of the cuts between layers that make it the shortest. All stages but the last are recomputed. */
static double with_equal_times(const cm__job *j, times *t, int32_t chips, const double *node_s, bool again)
{
    double *longest = cm__alloc_array(j->ctx, (size_t)t->layers + 1, sizeof *longest); /* of the first layers */
    sum_layers(j, t, node_s);
    for (int32_t end = 0; end <= t->layers; end++) longest[end] = stage_of(t, 0, end, again);
    for (int32_t stage = 1; stage < chips - 1; stage++)
        for (int32_t end = t->layers; end > stage; end--) longest[end] = best_cut(t, longest, stage, end, again);
    return best_cut(t, longest, chips - 1, t->layers, false);
}

double cm__longest_stage_s(const cm__job *j, int32_t chips, const double *node_s, bool again)
{
    times  t = layers_of(j->g);
    double sum = 0;
    bool   attends = false;
    for (int32_t i = 0; i < j->g->n_nodes; i++) {
        const cm_node *n = &j->g->nodes[i];
        attends |= cm__class(n) == CM_CLASS_ATTENTION;
        if (counts(n)) sum += node_s[i] * (again && n->phase == CM_FORWARD ? 2 : 1);
    }
    if (t.layers < 1) return sum / chips;
    chips = chips < t.layers ? chips : t.layers; /* a layer is not divided: further chips have nothing to do */
    if (chips < 2) return sum;
    return attends ? with_equal_parameters(j, &t, chips, node_s, again) : with_equal_times(j, &t, chips, node_s, again);
}
