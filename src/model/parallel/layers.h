/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parts.h - a step cut into what a pipeline can place: what comes before the repeated layers, each of them, what comes
 * after; with the time, the communication and the parameters of each on one of the devices that share it.
 */
#ifndef CM_MODEL_PARTS_H
#define CM_MODEL_PARTS_H

#include "model/parallel/comm.h"
#include "model/step/step.h"

/* Of one micro-batch, on one device. What is computed again is backward's. */
typedef struct cm__part {
    double forward_s, backward_s;           /* of the device alone */
    double forward_comm_s, backward_comm_s; /* between tensor-parallel devices, which wait for it */
    double host_s;                          /* that launching all this takes */
    double parameters;                      /* that this device has */
    double boundary_bytes;                  /* of activations that the next part reads */
    double launches, forward_launches;
} cm__part;

/* Of one parameter: `done` of its part's backward, as a fraction, completes it. */
typedef struct cm__gradient {
    double  elements, done;
    int32_t part;
} cm__gradient;

typedef struct cm__parts {
    cm__part     *all;       /* before the layers, the layers, after them */
    cm__gradient *gradients; /* in the order in which they are sent: the last parameter's first */
    int32_t       count, n_gradients;
    double    exchange_host_s;         /* that an exchange between stages keeps the host, and the device waiting */
    double    update_s, update_host_s; /* of `updated` parameters; of all */
    double    updated;
    double    batch_host_s;            /* that a micro-batch keeps the host before its layers, and the device waiting */
    double    accumulate_s;            /* adding all gradients to those of earlier micro-batches */
    bool      buffered;                /* even those of a single one are added, to a buffer */
    double    parameters;
    double    tied_parameters;         /* that the last part shares with the first: both stages keep them */
    double    gradient_bytes, weight_bytes; /* of one parameter */
    double    kept_bytes;              /* of a layer's activations, from forward to backward */
    double    scores_bytes;            /* of those: attention's, where it is not one kernel */
    double    compress_bytes_s;        /* at which a device reads its memory: what compressing is bound by */
    double    host_bytes_s;            /* of the link to the host's memory */
    double    device_s, error;         /* of all parts and the update; its doubt, as a fraction */
    double    clock;                   /* of the full clock, that the power limit leaves */
    double    share[CM_HOWS];          /* of device_s */
} cm__parts;

/* The parts at a micro-batch of which a device has the tokens of one of `cp`, timed; `timed` (as many as m->calls has)
   keeps each call's time. */
cm__parts cm__parts_new(cm__ctx *ctx, const cm__step_model *m, const cm_fabric *fabric, double micro_batch, int32_t cp,
                        cm__timed *timed);

#endif
