/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resident.c - pipelined execution: every layer has its own region of the chip, forward and backward, for good.
 *
 * Samples follow each other through the regions. Regions are sized by their layers' arithmetic, so that a sample takes
 * the same time in each: its arithmetic on the whole chip, but at least `sample_interval`, which small layers do not
 * fall below. Copies of a small model run side by side and divide the batch. With B samples, c copies and d layers,
 *
 *     t = (B / c + d - 1) max(sample_interval, c arithmetic of a sample)
 *
 * The last d - 1 turns fill and drain the pipeline: weights change between batches. Weights, gradients, optimizer
 * states and the activations of d / 2 samples must fit the chip: of d samples in flight, each has half of its
 * activations on average. docs/dev/execution-models.md compares this with the published results.
 */
#include <math.h>
#include "device/number.h"
#include "model/execution/execution.h"

static bool has_weights(const cm__job *j, const cm_node *n)
{
    for (int32_t i = 0; i < n->n_inputs; i++) {
        cm_role role = n->inputs[i] >= 0 ? cm__t(j->g, n->inputs[i])->role : CM_ROLE_CONSTANT;
        if (role == CM_ROLE_PARAMETER || role == CM_ROLE_CAST) return true;
    }
    return false;
}

/* Layers that a sample passes, in forward and again in backward: convolutions, the products of a block together, and
   products outside of blocks. A transformer's block is one region: with one region per product, a batch of 1,024 would
   be 60 % faster than one of 256, and it is 10 % (Emani et al. 2022, footnote 7). */
static double depth_of(const cm__job *j)
{
    double  layers = 0;
    int32_t block = -1;
    for (int32_t i = 0; i < j->g->n_nodes; i++) {
        const cm_node *n = &j->g->nodes[i];
        cm_class       class = cm__class(n);
        bool product = class == CM_CLASS_GEMM || class == CM_CLASS_CONV || class == CM_CLASS_RNN;
        if (n->phase != CM_FORWARD || !product || !has_weights(j, n)) continue;
        layers += class == CM_CLASS_CONV || n->block < 0 || n->block != block;
        block = n->block;
    }
    return fmax(1, layers) * (cm__job_trains(j) ? 2 : 1);
}

static void must_fit(const cm__job *j, int64_t samples)
{
    double bytes = cm__job_use(j, samples).peak_bytes;
    if (bytes <= j->near_bytes) return;
    cm__fail(j->ctx, CM_ERR_FIT,
             "the layers of one copy take %.0f GB, and the chip has %.0f: a model is stored on %s as a whole; "
             "cerebras-cs2-wafer streams its weights",
             bytes / 1e9, j->near_bytes / 1e9, j->device->info.id);
}

void cm__execution_resident(const cm__job *j, cm__run *r)
{
    const cm__execution *e = &j->device->execution;
    double               depth = depth_of(j), sum_s = 0;
    r->micro_batch = (int64_t)fmax(1, fmin(j->batch, ceil(depth / 2)));
    must_fit(j, r->micro_batch);
    for (int32_t i = 0; i < j->g->n_nodes; i++) {
        if (j->g->nodes[i].view) continue;
        r->node_s[i] = cm__job_node_s(j, i, j->batch);
        sum_s += r->node_s[i];
        r->pieces++;
    }
    double copies = fmin(fmax(1, cm__value_or(e->copies, 1)), j->batch), each_s = sum_s / j->batch;
    /* more copies than the arithmetic of the chip feeds would only make each slower */
    copies = fmax(1, fmin(copies, floor(e->interval_s.value / each_s)));
    double interval_s = fmax(e->interval_s.value, copies * each_s);
    cm__run_spread(r, 0, j->g->n_nodes, (ceil(j->batch / copies) + depth - 1) * interval_s);
}
