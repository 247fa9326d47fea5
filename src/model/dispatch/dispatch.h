/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dispatch.h - what a runtime calls for each node of a graph.
 *
 * A node becomes no call (views), one, or a few (a convolution with bias is two kernels in eager PyTorch). Sizes are
 * polynomials of the batch size, so that a graph is dispatched once and timed at many batch sizes; equal calls are
 * kept once, with how often they run.
 */
#ifndef CM_MODEL_DISPATCH_H
#define CM_MODEL_DISPATCH_H

#include "device/calls.h"
#include "graph/strides.h"

/* A call whose sizes depend on the batch size. */
typedef struct cm__sized_call {
    int16_t op, pass;
    char    variant[CM__CALL_TEXT], dtype[CM__CALL_TEXT];
    cm_poly sizes[CM__CALL_SIZES];
} cm__sized_call;

/* What one device runs of a layer that several devices share. */
typedef struct cm__shards {
    int32_t     tp, ep, cp;
    bool        sequence; /* what is whole on every device is shared by tokens */
    double      update, updated; /* parts that this device updates: of all parameters, of those it has without a pipeline */
    const bool *split;    /* per tensor; NULL: the device has everything */
} cm__shards;
typedef struct cm__stacks cm__stacks; /* recurrent layers that one call runs: dispatch_rnn.c */

typedef struct cm__dispatch {
    cm__ctx        *ctx;
    const cm_graph *g;
    bool            nhwc, tf32, trains; /* nhwc: images are given with their channels last */
    cm_runtime      runtime;
    bool            math;   /* attention is products and a softmax, not one kernel */
    cm__shards      shards;
    cm__strides    *strides;
    cm__stacks     *stacks; /* NULL: no recurrent layers */
    cm__sized_call *calls; /* different ones */
    int32_t        *runs;  /* of each call: how often a step runs it */
    int32_t        *of;    /* every call made, in order: its number in `calls` */
    int32_t        *node;  /* ... and the node it was made for */
    int32_t         n_calls, cap_calls, cap_runs, n_of, cap_of, cap_node;
    double          generated; /* kernels of a step that a compiler wrote */
    uint64_t       *hashes; /* of `calls`, for finding equal ones */
    int32_t        *slots;
    uint32_t        n_slots;
    int32_t         cap_hashes;
} cm__dispatch;

cm__dispatch *cm__dispatch_new(cm__ctx *ctx, const cm_graph *g, cm_layout layout, cm_runtime runtime);
/* The same on one device of a plan, whose counts are filled in: its part of each layer. math: cm__attention_math(). */
cm__dispatch *cm__dispatch_shard(cm__ctx *ctx, const cm_graph *g, cm_layout layout, cm_runtime runtime,
                                 const cm_plan *plan, bool math);
void          cm__dispatch_one(cm__dispatch *d, int32_t node);
void          cm__dispatch_megatron(cm__dispatch *d); /* dispatch_megatron.c */
void          cm__dispatch_fused(cm__dispatch *d); /* dispatch_fused.c */

/* dispatch_rnn.c */
cm__stacks *cm__stacks_of(cm__ctx *ctx, const cm_graph *g);
bool        cm__inside_stack(const cm__dispatch *d, int32_t node); /* between layers that are one call: part of it */

/* The call at a batch size. */
void cm__call_at(const cm__sized_call *sized, double batch, cm__call *call);

/* One more call for a node: dispatch rules use it (dispatch_rules.c). */
void cm__dispatch_add(cm__dispatch *d, int32_t node, const cm__sized_call *call);

/* The rule of every operator; NULL: that of elementwise functions. */
typedef void cm__dispatch_rule(cm__dispatch *d, int32_t node);
extern cm__dispatch_rule *const cm__dispatch_rules[CM_OPS];

#endif
