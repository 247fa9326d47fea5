/* SPDX-License-Identifier: Apache-2.0 */
/*
 * section_traffic.c - what passes between a chip and its memory if the graph is laid out in several sections.
 *
 * Whatever the sections are: weights are read by every operator that uses them, their gradients are written, and
 * activations that backward reads are written in forward and read once. So are attention scores, because the chip keeps
 * no results between the passes. Heads of attention are laid out on tiles of the chip. If the gradient of a head's
 * scores exceeds its tile, backward writes the part beyond the tile to memory and reads it again, unless the software
 * computes scores in segments. At a cut between two sections, results that later operators of the phase read are written, unless they have been for
 * backward, and read. The chip rounds what it hands on to 16 bits in a 16-bit precision, also logits that a model casts.
 *
 * Recomputed results do not leave the chip: each section of backward computes what it reads from the layer's input. The
 * part of a head's recomputed scores that exceeds a tile passes. GPT-2 XL compiled with recomputation is faster
 * than without (docs/papers.md), although its activations would fit the memory.
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

/* The last node of the producer's phase that reads each storage, and the first node of backward that does. */
static void find_readers(const cm__job *j, int32_t *last, int32_t *backward)
{
    for (int32_t i = 0; i < j->g->n_tensors; i++) last[i] = backward[i] = -1;
    for (int32_t i = 0; i < j->g->n_nodes; i++) {
        const cm_node *n = &j->g->nodes[i];
        for (int32_t k = 0; k < n->n_inputs && !n->view; k++) {
            int32_t storage = n->inputs[k] >= 0 ? cm__t(j->g, n->inputs[k])->storage : -1;
            int32_t born = storage >= 0 ? cm__t(j->g, storage)->born : -1;
            if (born < 0) continue;
            if (j->g->nodes[born].phase == n->phase) last[storage] = i;
            else if (n->phase == CM_BACKWARD && backward[storage] < 0) backward[storage] = i;
        }
    }
}

/* Bytes of a result as the chip hands it on: a 16-bit precision has no 32-bit results, with autocast there are some. */
static double result_bytes(const cm__job *j, int32_t tensor)
{
    cm_precision precision = cm_graph_precision(j->g);
    double       bytes = cm__tensor_bytes_at(j->g, tensor, j->batch);
    bool         mixed = precision == CM_PRECISION_AMP_BF16 || precision == CM_PRECISION_AMP_FP16;
    return mixed ? bytes : fmin(bytes, cm__tensor_elements_at(j->g, tensor, j->batch) * cm__job_element(j));
}

/* Adds a tensor's bytes to the nodes that write and read it for backward, and to the cuts that it crosses. */
static void add_tensor(const cm__job *j, cm__section_traffic *p, int32_t tensor, int32_t last, int32_t backward)
{
    int32_t born = cm__t(j->g, tensor)->born;
    double  bytes = result_bytes(j, tensor);
    if (backward >= 0) {
        p->node[born] += bytes;
        p->node[backward] += bytes;
    }
    if (last <= born) return;
    p->cut_read[born + 1] += bytes;
    p->cut_read[last + 1] -= bytes;
    if (backward >= 0) return;
    p->cut_written[born + 1] += bytes;
    p->cut_written[last + 1] -= bytes;
}

static double *zeros(const cm__job *j, size_t count) { return cm__alloc_array(j->ctx, count, sizeof(double)); }

cm__section_traffic cm__section_traffic_new(const cm__job *j)
{
    size_t              nodes = (size_t)j->g->n_nodes + 2, tensors = (size_t)j->g->n_tensors;
    cm__section_traffic p = {zeros(j, nodes), zeros(j, nodes), zeros(j, nodes)};
    int32_t            *last = cm__alloc_array(j->ctx, tensors, sizeof *last);
    int32_t            *backward = cm__alloc_array(j->ctx, tensors, sizeof *backward);
    bool               *repeated = find_repeated(j);
    find_readers(j, last, backward);
    for (int32_t i = 0; i < j->g->n_nodes; i++) {
        const cm_node *n = &j->g->nodes[i];
        if (n->view || cm__is_parameter_cast(j->g, n)) continue;
        p.node[i] = n->phase == CM_UPDATE ? cm__job_operand_bytes(j, n)
                                          : weight_bytes(j, n) + scores_bytes(j, n, repeated);
    }
    for (int32_t t = 0; t < j->g->n_tensors; t++) {
        const cm_tensor *x = cm__t(j->g, t);
        bool stays = x->born < 0 || is_weight(x->role) || j->g->nodes[x->born].phase == CM_RECOMPUTE;
        if (x->storage == t && !stays) add_tensor(j, &p, t, last[t], backward[t]);
    }
    for (int32_t i = 0; i < j->g->n_nodes; i++) {
        p.cut_read[i + 1] += p.cut_read[i];
        p.cut_written[i + 1] += p.cut_written[i];
    }
    return p;
}
