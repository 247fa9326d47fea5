/* SPDX-License-Identifier: Apache-2.0 */
/*
 * open_script.h - whether a step that does not fit as asked fits as other scripts run it.
 *
 * Nobody has to say which cross-entropy a script has. PyTorch's plain one is the default here. A fused one stores 2.5
 * times the fp32 logits less, and many scripts have one; trainers of adapters have a chunked one. A step that fits with
 * such a loss only is not refused, and not called sure. Scripts for vendors' compilers recompute layers where memory is
 * short; this costs time, so a step that fits only then is named beside the one that was asked.
 */
#ifndef CM_MODEL_OPEN_SCRIPT_H
#define CM_MODEL_OPEN_SCRIPT_H

#include <pthread.h>
#include "model/memory/footprint.h"

/* The graph of such a step, for several devices. It is built when one of them needs it. */
typedef struct cm__open_script_graph {
    pthread_mutex_t lock;
    cm_graph       *graph; /* NULL: not needed yet */
    cm_footprint   *like;  /* on the first device that needs it */
} cm__open_script_graph;

/* Such a step on one device. All zero but `shared`: not needed yet. */
typedef struct cm__open_script {
    cm__open_script_graph *shared; /* NULL: this step has a graph of its own */
    cm_graph       *graph;  /* its own */
    cm_footprint   *footprint;
} cm__open_script;

bool cm__open_script_graph_init(cm__open_script_graph *open); /* false: there is no lock */
void cm__open_script_graph_free(cm__open_script_graph *open);

/* Adds the step of another script to use->alternatives if the options leave it open. If the step does not fit otherwise
   and fits with another loss, use->fits becomes true and use->sure false; the other numbers stay. `forward`: the step's
   forward graph; NULL: unknown, nothing changes. `batch` is the micro-batch of one device. */
cm_status cm__open_script_use(cm__open_script *open, const cm_graph *forward, const cm_footprint *footprint,
                              const cm_step_options *options, int64_t batch, cm_memory_use *use, cm_diag *diag);
void      cm__open_script_free(cm__open_script *open);

#endif
