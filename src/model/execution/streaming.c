/* SPDX-License-Identifier: Apache-2.0 */
/*
 * streaming.c - weight streaming: activations stay on the chip, weights are streamed in layer by layer.
 *
 * Forward streams a layer's weights in. Backward streams them in again while the gradients go out; the update runs
 * where the weights are stored. A layer takes its arithmetic time plus the longer of its stream and its latency, part
 * of which overlaps with the arithmetic. The latency does not depend on the size of the layer.
 * The softmax of attention is work of the cores for each score, whatever the width of a head, beside its products.
 * If the activations of the whole batch do not fit, only layer inputs are stored and the rest is recomputed, except
 * behind the last repeated block, where backward begins. What does not fit of the inputs leaves the chip in forward and
 * comes back in backward, beside the weights. If the largest layer does not fit, the batch is divided into equal
 * micro-batches, each of which streams the weights again.
 */
#include <math.h>
#include "model/execution/execution.h"

typedef struct layer {
    double  compute_s, in_bytes, out_bytes;
    int32_t block;
    uint8_t phase;
    bool    weights;
} layer;

static double weights_in(const cm__job *j, const cm_node *n)
{
    double numbers = 0;
    for (int32_t i = 0; i < n->n_inputs; i++) {
        if (n->inputs[i] < 0) continue;
        cm_role role = cm__t(j->g, n->inputs[i])->role;
        if (role == CM_ROLE_PARAMETER || role == CM_ROLE_CAST) numbers += cm__tensor_elements_at(j->g, n->inputs[i], 1);
    }
    return numbers * cm__job_element(j) * cm__job_kept(j, n);
}

static double gradients_out(const cm__job *j, const cm_node *n)
{
    double numbers = 0;
    for (int32_t i = 0; i < n->n_outputs; i++) {
        if (n->outputs[i] < 0) continue;
        cm_role role = cm__t(j->g, n->outputs[i])->role;
        if (role == CM_ROLE_PARAMETER_GRADIENT) numbers += cm__tensor_elements_at(j->g, n->outputs[i], 1);
    }
    return numbers * cm__job_element(j) * cm__job_kept(j, n);
}

static double layer_s(const cm__job *j, const layer *l)
{
    double stream = j->single_operator ? 0 : j->vector_scale * fmax(l->in_bytes, l->out_bytes) / j->far_bytes_s;
    return j->older * hypot(l->compute_s, l->weights ? fmax(stream, j->layer_s) : 0);
}

/* A repeated block of the model is one layer; outside blocks, every node with weights starts one. */
static bool begins(const layer *l, const cm_node *n, bool weights)
{
    if (n->phase != l->phase) return true;
    return n->block >= 0 ? n->block != l->block : weights && (l->weights || l->block >= 0);
}

/* A layer before its first node. The input of a repeated block goes out in forward and comes in again in backward, as
   far as it is not kept on the chip. */
static layer begin(const cm_node *n, double input_out_bytes)
{
    layer  l = {.block = n->block, .phase = n->phase};
    double moved = n->block >= 0 ? input_out_bytes : 0;
    if (n->phase == CM_FORWARD) l.out_bytes = moved;
    else l.in_bytes = moved;
    return l;
}

/* Mean over the repeated blocks. */
static double input_out_bytes(const cm__job *j, int64_t micro_batch)
{
    int32_t blocks = 0;
    for (int32_t i = 0; i < j->g->n_nodes; i++)
        if (j->g->nodes[i].block >= blocks) blocks = j->g->nodes[i].block + 1;
    return blocks ? cm__job_inputs_out_bytes(j, micro_batch) / blocks : 0;
}

/* The last forward node of the repeated blocks, whose results backward computes again; without blocks, of all. Backward
   begins behind it, with the results of the head still on the chip. */
static int32_t last_recomputed(const cm__job *j)
{
    int32_t last = -1;
    for (int32_t i = 0; i < j->g->n_nodes; i++)
        if (j->g->nodes[i].phase == CM_FORWARD && j->g->nodes[i].block >= 0) last = i;
    return last >= 0 ? last : j->g->n_nodes;
}

/* Micro-batches are equal: their number divides the batch. If nothing up to twice the least number does, the last one
   is smaller. Searches by number or by size, whichever is smaller. */
static double micro_batches(double batch, double most)
{
    double least = ceil(batch / most);
    for (double n = least; n <= 2 * least && least <= most; n++)
        if (fmod(batch, n) == 0) return n;
    for (double size = most; size * 2 * least >= batch && least > most; size--)
        if (fmod(batch, size) == 0) return batch / size;
    return least;
}

void cm__execution_streaming(const cm__job *j, cm__run *r)
{
    if (j->device->execution.interval_s.known && !j->single_operator) {
        cm__execution_resident(j, r);
        return;
    }
    bool    whole = j->single_operator || (cm__job_trains(j) && cm__job_use(j, (int64_t)j->batch).fits);
    bool    again = cm__job_trains(j) && !whole;
    int64_t most = again ? cm__job_largest_recomputed(j, 0) : whole ? (int64_t)j->batch : cm__job_largest(j);
    if (!most)
        cm__fail(j->ctx, CM_ERR_FIT,
                 "one sample's activations do not fit the on-chip memory of one %s; a shorter sequence would need less",
                 j->device->info.id);
    if (j->micro_batch > 0 && j->micro_batch < most) most = j->micro_batch;
    double micros = micro_batches(j->batch, (double)most), size = ceil(j->batch / micros), layers = 0;
    double  moved = again ? input_out_bytes(j, (int64_t)size) : 0;
    layer   now = {.block = -1};
    int32_t first = 0, last = last_recomputed(j);
    r->micro_batch = (int64_t)size;
    r->recomputes = again;
    for (int32_t i = 0; i < j->g->n_nodes; i++) {
        const cm_node *n = &j->g->nodes[i];
        if (n->view || n->phase == CM_UPDATE || cm__is_parameter_cast(j->g, n)) continue;
        double in = weights_in(j, n), out = gradients_out(j, n), runs = again && n->phase == CM_FORWARD && i <= last ? 2 : 1;
        bool   measured = cm__job_measured(j, i, size).time_s >= 0;
        double scores_s = measured ? 0 : j->vector_scale * j->score_s * cm__job_scores(j, n, size);
        double node = runs * (cm__job_node_s(j, i, size) + scores_s);
        if (begins(&now, n, in > 0)) {
            cm__run_spread(r, first, i, micros * layer_s(j, &now));
            layers += now.weights;
            first = i;
            now = begin(n, moved);
        }
        now.compute_s += node;
        now.in_bytes += in;
        now.out_bytes += out;
        now.weights = now.weights || in > 0 || out > 0;
        r->node_s[i] = node;
    }
    r->pieces = micros * (layers + now.weights);
    cm__run_spread(r, first, j->g->n_nodes, micros * layer_s(j, &now));
}
