/* SPDX-License-Identifier: Apache-2.0 */
/*
 * section_traffic.c - what passes between a chip and its memory if the graph is laid out in several sections.
 *
 * Whatever the sections are: weights are read by every operator that uses them, their gradients are written, and
 * activations that backward reads are written in forward and read once. So are attention scores, because the chip keeps
 * no results between the passes. Heads of attention are laid out on tiles of the chip. If the gradient of a head's
 * scores exceeds its tile, backward writes the part beyond the tile to memory and reads it again, unless the software
 * computes scores in segments. Results that later sections of the phase read are written once, unless they have been
 * for backward, and read by each section that uses them. The chip rounds what it hands on to 16 bits in a 16-bit
 * precision, also logits that a model casts.
 *
 * Recomputed results do not leave the chip: each section of backward computes what it reads from the layer's input. The
 * part of a head's recomputed scores that exceeds a tile passes. GPT-2 XL compiled with recomputation is faster
 * than without (docs/dev/papers.md), although its activations would fit the memory.
 */
#include <math.h>
#include "device/number.h"
#include "model/execution/execution.h"

double cm__job_operand_bytes(const cm__job *j, const cm_node *n)
{
    return cm__poly_at(&n->read_bytes, j->batch) + cm__poly_at(&n->write_bytes, j->batch);
}

/* For each node, whether a recomputed layer computes its results again in backward. */
static bool *find_repeated(const cm__job *j)
{
    bool *repeated = cm__alloc_array(j->ctx, (size_t)j->g->n_nodes + 1, sizeof *repeated);
    for (int32_t i = 0; i < j->g->n_nodes; i++) {
        const cm_node *n = &j->g->nodes[i];
        if (n->phase == CM_RECOMPUTE && n->source >= 0) repeated[n->source] = true;
    }
    return repeated;
}

static double tile_bytes(const cm__job *j)
{
    return j->near_bytes / (cm__value_or(j->device->execution.tiles, 1) * (j->chips > 1 ? j->chips : 1));
}

/* Softmax of attention's scores, and its gradient. Forward writes the softmax and backward reads it. If it is
   recomputed, that happens in the section of its gradient, and it passes as far as a head's exceeds a tile. */
static double scores_bytes(const cm__job *j, const cm_node *n, const bool *repeated)
{
    if (cm__class(n) != CM_CLASS_ATTENTION) return 0;
    const cm_node *forward = n->phase == CM_FORWARD ? n : &j->g->nodes[n->source];
    if (forward->n_inputs < 2 || forward->inputs[0] < 0 || forward->inputs[1] < 0) return 0;
    const cm_tensor *q = cm__t(j->g, forward->inputs[0]), *k = cm__t(j->g, forward->inputs[1]);
    double           keys = (double)k->dims[k->rank - 2].fixed, width = (double)q->dims[q->rank - 1].fixed;
    double           rows = cm__tensor_elements_at(j->g, forward->inputs[0], 1) / width;
    double           heads = rows / (double)q->dims[q->rank - 2].fixed;
    bool             segmented = keys >= cm__value_or(j->device->execution.segmented, INFINITY);
    bool             again = repeated[forward - j->g->nodes];
    double           all = rows * keys * cm__job_element(j), beyond = fmax(0, all - heads * tile_bytes(j));
    if (n->phase != CM_BACKWARD) return again ? 0 : cm__job_trains(j) * all * j->batch;
    return ((again ? 2 * beyond : all) + (segmented ? 0 : 2 * beyond)) * j->batch;
}

static bool is_weight(cm_role role)
{
    return role == CM_ROLE_PARAMETER || role == CM_ROLE_CAST || role == CM_ROLE_PARAMETER_GRADIENT ||
           role == CM_ROLE_STATE;
}

static double weight_bytes(const cm__job *j, const cm_node *n)
{
    double bytes = 0;
    for (int32_t i = 0; i < n->n_inputs; i++)
        if (n->inputs[i] >= 0 && is_weight(cm__t(j->g, n->inputs[i])->role))
            bytes += cm__tensor_bytes_at(j->g, n->inputs[i], 1);
    for (int32_t i = 0; i < n->n_outputs; i++)
        if (n->outputs[i] >= 0 && is_weight(cm__t(j->g, n->outputs[i])->role))
            bytes += cm__tensor_bytes_at(j->g, n->outputs[i], 1);
    return fmin(bytes, cm__job_operand_bytes(j, n));
}

/* A 16-bit precision has no 32-bit results, with autocast there are some. */
double cm__handed_bytes(const cm_graph *g, int32_t tensor, double batch)
{
    double bytes = cm__tensor_bytes_at(g, tensor, batch);
    return cm__autocasts(cm_graph_precision(g)) ? bytes : fmin(bytes, cm__tensor_elements_at(g, tensor, batch) * cm__element_bytes(g));
}

/* Results that pass: those of weights do not, nor recomputed ones, which the section that reads them computes. */
static bool passes(const cm__job *j, int32_t storage)
{
    const cm_tensor *x = storage >= 0 ? cm__t(j->g, storage) : NULL;
    return x && x->born >= 0 && !is_weight(x->role) && j->g->nodes[x->born].phase != CM_RECOMPUTE;
}

/* Notes that a node reads a result: in its phase, or the first time in backward. */
static void add_read(const cm__job *j, cm__section_traffic *p, int32_t node, int32_t storage, int32_t *latest)
{
    int32_t born = cm__t(j->g, storage)->born, count = p->reads[node + 1];
    if (j->g->nodes[born].phase != j->g->nodes[node].phase) {
        if (j->g->nodes[node].phase != CM_BACKWARD || p->kept[storage]) return;
        p->kept[storage] = true;
        p->node[born] += p->result[storage];
        p->node[node] += p->result[storage];
        return;
    }
    if (p->last[storage] == node) return;
    if (p->last[storage] >= 0) p->again[latest[storage]] = node;
    else p->first[storage] = node;
    p->last[storage] = node;
    latest[storage] = count;
    p->read[count] = storage;
    p->again[count] = INT32_MAX;
    p->reads[node + 1]++;
}

static void find_reads(const cm__job *j, cm__section_traffic *p)
{
    int32_t *latest = cm__alloc_array(j->ctx, (size_t)j->g->n_tensors, sizeof *latest);
    for (int32_t i = 0; i < j->g->n_nodes; i++) {
        const cm_node *n = &j->g->nodes[i];
        p->reads[i + 1] = p->reads[i];
        for (int32_t k = 0; k < n->n_inputs && !n->view; k++) {
            int32_t storage = n->inputs[k] >= 0 ? cm__t(j->g, n->inputs[k])->storage : -1;
            if (passes(j, storage)) add_read(j, p, i, storage, latest);
        }
    }
}

void cm__section_extend(const cm__section_traffic *p, int32_t node, int32_t end, double *read, double *written)
{
    for (int32_t t = p->made[node]; t >= 0; t = p->next_made[t]) {
        if (p->first[t] < end) *read -= p->result[t];
        if (p->last[t] >= end && !p->kept[t]) *written += p->result[t];
    }
    for (int32_t i = p->reads[node]; i < p->reads[node + 1]; i++)
        if (p->again[i] >= end) *read += p->result[p->read[i]];
}

static void *zeros(const cm__job *j, size_t count, size_t size) { return cm__alloc_array(j->ctx, count, size); }

static cm__section_traffic empty(const cm__job *j)
{
    size_t nodes = (size_t)j->g->n_nodes + 1, tensors = (size_t)j->g->n_tensors + 1, inputs = 1;
    for (int32_t i = 0; i < j->g->n_nodes; i++) inputs += (size_t)j->g->nodes[i].n_inputs;
    cm__section_traffic p = {.node = zeros(j, nodes, sizeof *p.node), .made = zeros(j, nodes, sizeof *p.made),
                             .next_made = zeros(j, tensors, sizeof *p.next_made),
                             .reads = zeros(j, nodes, sizeof *p.reads), .read = zeros(j, inputs, sizeof *p.read),
                             .again = zeros(j, inputs, sizeof *p.again), .first = zeros(j, tensors, sizeof *p.first),
                             .last = zeros(j, tensors, sizeof *p.last), .result = zeros(j, tensors, sizeof *p.result),
                             .kept = zeros(j, tensors, sizeof *p.kept)};
    for (size_t i = 0; i < nodes; i++) p.made[i] = -1;
    for (size_t i = 0; i < tensors; i++) p.last[i] = -1;
    return p;
}

cm__section_traffic cm__section_traffic_new(const cm__job *j)
{
    cm__section_traffic p = empty(j);
    bool               *repeated = find_repeated(j);
    for (int32_t i = 0; i < j->g->n_nodes; i++) {
        const cm_node *n = &j->g->nodes[i];
        if (n->view || cm__is_parameter_cast(j->g, n)) continue;
        p.node[i] = n->phase == CM_UPDATE ? cm__job_operand_bytes(j, n)
                                          : weight_bytes(j, n) + scores_bytes(j, n, repeated);
    }
    for (int32_t t = 0; t < j->g->n_tensors; t++)
        if (cm__t(j->g, t)->storage == t && passes(j, t)) p.result[t] = cm__handed_bytes(j->g, t, j->batch);
    find_reads(j, &p);
    for (int32_t t = 0; t < j->g->n_tensors; t++) {
        if (p.last[t] < 0) continue; /* no node of its phase reads it */
        p.next_made[t] = p.made[cm__t(j->g, t)->born];
        p.made[cm__t(j->g, t)->born] = t;
    }
    return p;
}
