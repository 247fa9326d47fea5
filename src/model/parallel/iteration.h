/* SPDX-License-Identifier: Apache-2.0 */
/*
 * iteration.h - the time of an iteration under a parallel plan, in closed form from the parts of a step.
 *
 * Symbols: p stages, v model chunks per stage, M micro-batches, t_s the forward and backward time of stage s.
 */
#ifndef CM_MODEL_PARALLEL_ITERATION_H
#define CM_MODEL_PARALLEL_ITERATION_H

#include "graph/plan/counts.h"
#include "model/parallel/buckets.h"

/* The stages of a pipeline, summarised for the schedule. */
typedef struct cm__stages {
    double sum_s, longest_s;           /* t_s: sum over all stages, and of the slowest */
    /* of the slowest stage; busy_s: without communication and waiting for the host */
    double backward_s, busy_s;
    double sum_comm_s, longest_comm_s; /* tensor-parallel communication within sum_s and longest_s */
    double parameters, experts, host_s; /* of the stage with most parameters; experts: as in cm__part */
    double frozen_bytes;               /* of the stage with most: of parameters that are not trained */
    double exchange_bytes;             /* per device, between two stages, one way; 0: no pipeline */
    double update_s, update_host_s;    /* time to update the stage's parameters without ZeRO */
    double offload_update_s;           /* time to move gradients to the host and weights back */
    double offload_kept_s;             /* time to move a micro-batch's activations to the host and back */
    double policy_s;                   /* the same of activations that a checkpoint policy names */
    double offload_weights_s;          /* time to move weights to the device for forward, and again for backward */
    /* first stage's time over its device time, which is shorter if the host is slow */
    double  stretch;
    int32_t parts, first_parts;        /* of the slowest and the first stage; first_parts 0: all layers alike */
    double  first_parameters;          /* of the part before the layers */
} cm__stages;

/* The time of each communication that a plan needs. */
typedef struct cm__waits {
    double exchange_s;                      /* between two stages, one way */
    bool   exchanges_behind;                /* if stages have several chunks, another one computes meanwhile */
    double reduce_s, scatter_s, gather_s, again_s;   /* of all gradients or weights, among replicas */
    double renew_s;                         /* gather of the weights that an update has changed */
    bool   renews_behind;                   /* with --overlap, while the first micro-batch's forward runs */
    double tied_s;                          /* all-reduce of weights that the first and the last stage share */
    double compress_s;                      /* to compress and decompress gradients */
    double slower;                          /* by which the slowest node with a replica exceeds the mean one; a fraction */
    cm__sent reduced, scattered;            /* in buckets while backward runs */
} cm__waits;

/* Breakdown of an iteration's time. Overlapped communication is not part of step_s. */
typedef struct cm__iteration {
    double step_s;
    double compute_s, bubble_s, update_s, offload_s;
    double tensor_s, pipeline_s, data_s;          /* communication, including overlapped parts */
    double hidden_s;                              /* overlapped part of data_s */
} cm__iteration;

/* Divides layers among the stages: equally, or so that the slowest stage is as fast as possible. */
cm__stages cm__stages_new(cm__ctx *ctx, const cm__parts *parts, const cm_plan *plan, bool equal);

cm__waits     cm__waits_new(const cm__parts *parts, const cm__stages *stages, const cm_plan *plan,
                            const cm_fabric *fabric);
/* late: gradients are summed after backward. */
cm__iteration cm__iterate(const cm__stages *stages, const cm__waits *waits, const cm_plan *plan, bool late);

#endif
