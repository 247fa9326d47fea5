/* SPDX-License-Identifier: Apache-2.0 */
/* layers_making.h - state that layers.c and layers_comm.c share while they build the parts. */
#ifndef CM_MODEL_LAYERS_MAKING_H
#define CM_MODEL_LAYERS_MAKING_H

#include "model/parallel/layering.h"
#include "model/parallel/layers.h"

typedef struct cm__making {
    const cm__step_model *m;
    const cm_graph       *g;
    const cm__layering   *layering;
    const cm_fabric      *fabric;
    cm__parts            *parts;
    const int32_t        *part; /* per node */
    double                batch; /* samples whose tokens this device has; a fraction with context parallelism */
    int32_t               cp;
    const cm__timed      *timed; /* per call; NULL: not known */
    bool                  least; /* times are not known, and exchanges run behind calls wherever they can */
    const double         *node_s; /* per node, on one device, where an execution model gives times; NULL: none does */
} cm__making;

/* Adds the parameters of each part. */
void cm__parts_add_parameters(cm__making *k);
/* Adds the activations that each part sends to the next. */
void cm__parts_add_boundaries(cm__making *k);
/* Adds the communication of each part: tensor, expert and context parallel. */
void cm__parts_communicate(cm__making *k, cm__ctx *ctx);

#endif
