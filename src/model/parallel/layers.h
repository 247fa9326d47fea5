/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layers.h - a step divided into the parts that a pipeline places: the part before the repeated layers, each layer, and
 * the part after them; with the time, communication and parameters of each on one device of a plan.
 */
#ifndef CM_MODEL_LAYERS_H
#define CM_MODEL_LAYERS_H

#include "model/parallel/comm.h"
#include "model/step/step.h"

/* One part at one micro-batch on one device. Recomputation counts as backward. */
typedef struct cm__part {
    double forward_s, backward_s;           /* device time without communication */
    double forward_comm_s, backward_comm_s; /* tensor-parallel communication, which the device waits for */
    double host_s;                          /* time to launch all kernels, and to wait for a loss */
    double parameters, experts;             /* trained, on this device; those of experts that devices share */
    double frozen_bytes;                    /* of parameters that are not trained, likewise */
    double boundary_bytes;                  /* activations that the next part reads */
    double launches, forward_launches;
    double units;                           /* modules that FSDP gathers by themselves */
} cm__part;

/* The gradient of one parameter: complete when the fraction `done` of its part's backward has run. */
typedef struct cm__gradient {
    double  elements, done;
    int32_t part;
    bool    expert; /* of experts that devices share */
} cm__gradient;

typedef struct cm__parts {
    cm__part     *all;       /* the part before the layers, the layers, the part after them */
    cm__gradient *gradients; /* in the order in which they are sent: the last parameter's first */
    int32_t       count, n_gradients;
    bool      exchanges_behind;        /* model chunks exchange activations while others compute */
    bool      renews_behind;           /* forward of the next step runs while new weights are gathered */
    double    exchange_host_s;         /* host time per exchange between stages, during which the device waits */
    double    update_s, update_host_s; /* of `updated` parameters; of all */
    double    updated;
    double    batch_host_s;            /* host time per micro-batch before its layers, during which the device waits */
    double    unit_host_s;             /* host time per micro-batch of a module that FSDP gathers */
    bool      gathers_again;           /* recomputation gathers weights once more (add_gradients()) */
    double    accumulate_s;            /* to add all gradients to those of earlier micro-batches */
    bool      buffered;                /* gradients go to a buffer even without accumulation */
    double    parameters;
    double    tied_parameters;         /* shared by the last part and the first: both stages store them */
    double    gradient_bytes, weight_bytes; /* per parameter */
    double    kept_bytes;              /* activations of a layer, stored from forward to backward */
    double    scores_bytes;            /* part of kept_bytes: scores of unfused attention */
    double    compress_bytes_s;        /* memory bandwidth of the device, which limits compression */
    double    moved_s;                 /* to move what a checkpoint policy names to the host's memory and back, of all layers */
    double    host_bytes_s;            /* of the link to the host's memory */
    double    node_spread;             /* standard deviation of the times that nodes need for the same, a fraction */
    double    device_s, error;         /* over all parts and the update; error: a fraction */
    double    exchanged_bytes;         /* that exchanges of a micro-batch read and write in a device's own memory */
    cm__throttled throttled;           /* clock under the power limit, and energy of a micro-batch in all parts */
    double    share[CM_HOWS];          /* fractions of device_s by estimation method */
} cm__parts;

/* Times the parts at a micro-batch. With context parallelism a device has 1/cp of its tokens. `timed` receives the
   time of each call of m->calls. */
/* Seconds to copy to the host's memory and back what a checkpoint policy stores there. The copies run beside computing. */
double    cm__policy_seconds(cm__ctx *ctx, const cm_graph *g, const cm_device *device, double batch, int32_t tp);
cm__parts cm__parts_new(cm__ctx *ctx, const cm__step_model *m, const cm_fabric *fabric, double micro_batch, int32_t cp,
                        cm__timed *timed);
/* The numbers on which memory depends and, of all times, only the least communication: as if calls took long enough
   to hide whatever can run behind them. fabric NULL: none. */
cm__parts cm__parts_sizes(cm__ctx *ctx, const cm__step_model *m, const cm_fabric *fabric, double micro_batch,
                          int32_t cp);

/* Host time of gathering a part's weights and scattering its gradients under FSDP. */
static inline double cm__part_shard_host(const cm__parts *parts, const cm__part *p, const cm_plan *plan)
{
    return plan->zero == 3 && plan->dp * plan->cp > 1 ? p->units * parts->unit_host_s : 0;
}

/* Seconds per parameter and micro-batch to add gradients to those of earlier micro-batches. The first micro-batch of an
   update adds nothing: PyTorch keeps its gradients as they are (zero_grad(set_to_none=True), AccumulateGrad); a buffer is
   always added to. */
static inline double cm__accumulate_each(const cm__parts *parts, int32_t accumulate)
{
    double part = parts->buffered ? 1 : 1 - 1.0 / (accumulate > 1 ? accumulate : 1);
    return parts->parameters > 0 ? part * parts->accumulate_s / parts->parameters : 0;
}

#endif
