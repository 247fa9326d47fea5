/* SPDX-License-Identifier: Apache-2.0 */
/* parts_making.h - parts while they are made: what parts.c and parts_comm.c share. */
#ifndef CM_MODEL_PARTS_MAKING_H
#define CM_MODEL_PARTS_MAKING_H

#include "model/parallel/layers.h"

typedef struct cm__making {
    const cm__step_model *m;
    const cm_graph       *g;
    const cm_fabric      *fabric;
    cm__parts            *parts;
    int32_t              *part; /* per node */
    double                batch; /* that a device has the tokens of: a fraction, where devices share a sequence */
    int32_t               cp;
} cm__making;

/* The time that devices of a part communicate: those that share its layers, its experts, its sequences. */
void cm__parts_communicate(cm__making *k, cm__ctx *ctx);

#endif
