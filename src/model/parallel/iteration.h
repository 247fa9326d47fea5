/* SPDX-License-Identifier: Apache-2.0 */
/*
 * iteration.h - the time of an iteration under a parallel plan, in closed form from the parts of a step.
 *
 * Letters: p stages, v pieces of each, M micro-batches, t_s forward and backward of stage s.
 */
#ifndef CM_MODEL_PARALLEL_ITERATION_H
#define CM_MODEL_PARALLEL_ITERATION_H

#include "graph/plan_counts.h"
#include "model/parallel/buckets.h"

/* A pipeline's stages as the schedule needs them. */
typedef struct cm__stages {
    double sum_s, longest_s;           /* of t_s: over all stages, and of the slowest */
    double backward_s, busy_s;         /* of the slowest: busy_s without communication and waiting for the host */
    double sum_comm_s, longest_comm_s; /* tensor-parallel communication within these */
    double parameters, host_s;         /* of the stage with most */
    double exchange_bytes;             /* between two stages, one way, of each device; 0: no pipeline */
    double update_s, update_host_s;    /* of its parameters, were replicas not to share it */
    double offload_update_s;           /* moving gradients to the host, and weights back */
    double offload_kept_s;             /* moving a micro-batch's activations there and back */
    double offload_weights_s;          /* weights for forward, and again for backward */
    double  stretch;                   /* of the first stage's time, that waiting for the host makes of the device's */
    int32_t parts, first_parts;        /* of the slowest, and of the first stage; the latter 0: layers alike */
} cm__stages;

/* One of each communication that a plan has. */
typedef struct cm__waits {
    double exchange_s;                      /* between two stages, one way */
    double reduce_s, scatter_s, gather_s;   /* of all gradients or weights, between replicas */
    double tied_s;                          /* weights that first and last stage share */
    double compress_s;                      /* gradients before and after they are sent */
    cm__sent reduced, scattered;            /* in buckets while backward runs */
} cm__waits;

/* Where an iteration's time goes. Only what nothing hides adds up to step_s. */
typedef struct cm__iteration {
    double step_s;
    double compute_s, bubble_s, update_s, offload_s;
    double tensor_s, pipeline_s, data_s;          /* communication, hidden or not */
    double hidden_s;                              /* of data_s */
} cm__iteration;

/* Layers dealt to the stages: equally, or so that the slowest is as fast as can be. */
cm__stages cm__stages_new(cm__ctx *ctx, const cm__parts *parts, const cm_plan *plan, bool equal);

cm__waits     cm__waits_new(const cm__parts *parts, const cm__stages *stages, const cm_plan *plan,
                            const cm_fabric *fabric);
/* late: gradients are summed when backward is done. */
cm__iteration cm__iterate(const cm__stages *stages, const cm__waits *waits, const cm_plan *plan, bool late);

#endif
