/* SPDX-License-Identifier: Apache-2.0 */
/* tune.h - the parts of the fine-tuning pass: which products it changes, and how it stores their weights. */
#ifndef CM_GRAPH_REWRITE_TUNE_H
#define CM_GRAPH_REWRITE_TUNE_H

#include "graph/graph.h"

/* The forward graph with frozen and quantised weights and with adapters; `forward` itself if nothing is set. */
const cm_graph *cm__tuned(cm__ctx *ctx, const cm_graph *forward, const cm_tuning *tuning);

/* The state of the pass. */
typedef struct cm__tune {
    cm_graph        *out;
    const cm_graph  *in;
    const cm_tuning *o;
    int32_t         *map;       /* tensor of `in` -> tensor of `out`; -1: not copied yet */
    bool            *adapted;   /* per node of `in`: an adapter runs beside it */
    bool            *quantised; /* per tensor of `in`: a parameter that is stored in few bits */
    bool            *inner;     /* per tensor of `in`: a matrix of the layers' products */
    bool            *frozen;    /* per tensor of `in`: a parameter that is not trained */
} cm__tune;

/* tune_targets.c: fill in `adapted`, `inner`, `quantised` and `frozen`. Fails if an option names nothing in the
   model. */
void cm__tune_choose(cm__tune *t);

/* tune_quantize.c: the packed weight and its scales, as leaves named after it; and the node that unpacks it. */
int32_t cm__tune_pack(cm__tune *t, const cm_tensor *weight);
int32_t cm__tune_unpack(cm__tune *t, const cm_tensor *weight, int32_t packed);

#endif
