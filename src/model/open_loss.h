/* SPDX-License-Identifier: Apache-2.0 */
/*
 * open_loss.h - whether a step that does not fit with the usual loss fits with one that stores less.
 *
 * Nobody has to say which cross-entropy a script has. PyTorch's plain one is the default here. A fused one stores 2.5
 * times the fp32 logits less, and many scripts have one; trainers of adapters have a chunked one. A step that fits with
 * such a loss only is not refused, and not called sure.
 */
#ifndef CM_MODEL_OPEN_LOSS_H
#define CM_MODEL_OPEN_LOSS_H

#include <pthread.h>
#include "model/memory/footprint.h"

/* The graph of the step with a fused loss, for steps on several devices. It is built when one of them needs it. */
typedef struct cm__open_loss_graph {
    pthread_mutex_t lock;
    cm_graph       *graph; /* NULL: not needed yet */
    cm_footprint   *like;  /* on the first device that needs it */
} cm__open_loss_graph;

/* The step with a fused loss on one device. All zero but `shared`: not needed yet. */
typedef struct cm__open_loss {
    cm__open_loss_graph *shared; /* NULL: this step has a graph of its own */
    cm_graph       *graph;  /* its own */
    cm_footprint   *footprint;
} cm__open_loss;

bool cm__open_loss_graph_init(cm__open_loss_graph *open_loss); /* false: there is no lock */
void cm__open_loss_graph_free(cm__open_loss_graph *open_loss);

/* If the options leave the loss open, adds the step with such a loss to use->alternatives. If the step does not fit
   otherwise and fits with it, use->fits becomes true and use->sure false; the other numbers stay. `forward`: the step's
   forward graph; NULL: unknown, nothing changes. `batch` is the micro-batch of one device. */
cm_status cm__open_loss_use(cm__open_loss *open_loss, const cm_graph *forward, const cm_footprint *footprint,
                       const cm_step_options *options, int64_t batch, cm_memory_use *use, cm_diag *diag);
void      cm__open_loss_free(cm__open_loss *open_loss);

#endif
