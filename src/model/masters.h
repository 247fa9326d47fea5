/* SPDX-License-Identifier: Apache-2.0 */
/*
 * masters.h - whether a sharded step in 16 bits also fits with the fp32 weights that a trainer may keep.
 *
 * "bf16" names two kinds of training over shards. One has weights, gradients and moments of 16 bits; the program's
 * numbers are its numbers. In the other one a trainer that loads 16-bit weights stores fp32 shards of them: Hugging
 * Face's accelerate with mixed precision under FSDP (accelerator.py, "Upcasted low precision parameters", since 0.30,
 * pull request 2674) and DeepSpeed always (accelerate's guide concept_guides/fsdp_and_deepspeed). The second one needs
 * twice as much. So a step that does not surely fit as it was asked is asked again with fp32 shards.
 */
#ifndef CM_MODEL_MASTERS_H
#define CM_MODEL_MASTERS_H

#include "model/memory/footprint.h"

/* The step with fp32 shards. All zero: not needed yet. */
typedef struct cm__masters {
    cm_graph     *graph;
    cm_footprint *footprint;
} cm__masters;

/* Asks again for a step that fits, but not surely, and adds both kinds to use->alternatives. If it does not fit with
   fp32 shards, use->fits and use->sure become false: trainers that keep them are the usual ones. `forward`: the step's
   forward graph; NULL: unknown, nothing changes. `batch` is the micro-batch of one device. */
cm_status cm__masters_use(cm__masters *masters, const cm_graph *forward, const cm_footprint *footprint,
                          const cm_step_options *options, int64_t batch, cm_memory_use *use, cm_diag *diag);
void      cm__masters_free(cm__masters *masters);

#endif
