/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dispatch.h - which kernel calls a runtime makes for each node of a graph.
 *
 * A node becomes no call (views), one, or a few (a convolution with bias is two kernels in eager PyTorch). Sizes are
 * polynomials of the batch size, so that a graph is dispatched once and timed at many batch sizes. Equal calls are
 * stored once, with their number of runs.
 */
#ifndef CM_MODEL_DISPATCH_H
#define CM_MODEL_DISPATCH_H

#include "device/calls.h"
#include "graph/strides.h"
#include "graph/plan/twins.h"

/* A call whose sizes depend on the batch size. */
typedef struct cm__sized_call {
    int16_t     op, pass;
    cm__variant variant;
    cm__types   types;
    cm_poly     sizes[CM__CALL_SIZES];
} cm__sized_call;

/* The part of each layer that one device of a parallel plan runs. */
typedef struct cm__shards {
    int32_t     tp, ep, cp;
    bool        in_pieces; /* exchanges run behind products, piece by piece */
    bool        routes_behind; /* tokens are sent to experts while another micro-batch computes */
    bool        whole_experts; /* tensor parallelism does not divide experts (cm__whole_experts()) */
    double      imbalance; /* tokens of the fullest expert-parallel device over the mean */
    bool        sequence; /* sequence parallelism: tensors that are not split are divided by tokens */
    /* fraction updated by this device: of all parameters; of those it has without a pipeline */
    double      update, updated;
    double      here, experts; /* fractions of all parameters that this device has without a pipeline; of experts */
    const bool *split;    /* per tensor; NULL: nothing is split */
} cm__shards;
typedef struct cm__stacks cm__stacks; /* recurrent layers that run as one call: rnn.c */

typedef struct cm__dispatch {
    cm__ctx        *ctx;
    const cm_graph *g;
    bool            nhwc, tf32, trains; /* nhwc: the input images are channels last */
    bool            from_rows; /* torch.compile makes them so: those of the user, and the parameters, are not */
    cm_runtime      runtime;
    bool            recorded; /* generated kernels are those of cm_graph.recorded */
    bool            math;   /* attention runs as separate products and softmax */
    cm__shards      shards;
    cm__strides    *strides;
    cm__stacks     *stacks; /* NULL: no recurrent layers */
    const cm__twins *twins; /* only nodes of parts that represent others have calls; NULL: all have */
    cm__sized_call *calls; /* distinct calls */
    int32_t        *runs;  /* per call: number of runs in a step */
    int32_t        *of;    /* per call made, in order: its index in `calls` */
    int32_t        *node;  /* ... and the node that made it */
    int32_t         n_calls, cap_calls, cap_runs, n_of, cap_of, cap_node;
    int32_t         calls_before, of_before; /* of the nodes before the update; calls_before -1: unknown */
    double          generated; /* number of kernels in a step that a compiler generated */
    uint64_t       *hashes; /* per entry of `calls`, to find equal ones */
    int32_t        *slots;
    uint32_t        n_slots;
    int32_t         cap_hashes;
    const int32_t  *numbers; /* per entry of `calls` (numbers.h); NULL: none */
    /* the calls before the plan divides them, per entry of `of`; NULL: the plan divides nothing, or a compiler fuses */
    const struct cm__undivided *undivided;
    struct cm__collected *collected; /* the same while the rules make them; NULL: they are done, or not kept */
} cm__dispatch;

/* Whether images are channels last: as the layout says or, if it is open, as the graph is. */
bool          cm__in_nhwc(const cm_graph *g, cm_layout layout);
/* The layout that an answer names: without images, no other one is in use. */
cm_layout cm__layout_used(const cm_graph *g, bool nhwc);
cm__dispatch *cm__dispatch_new(cm__ctx *ctx, const cm_graph *g, cm_layout layout, cm_runtime runtime);
/* As cm__dispatch_new(), for one device of a plan whose counts are filled in. math: see cm__attention_math(). */
cm__dispatch *cm__dispatch_shard(cm__ctx *ctx, const cm_graph *g, cm_layout layout, cm_runtime runtime,
                                 const cm_plan *plan, bool math);
/* The same, where only one of several equal layers has calls; `runs` counts those of all of them. Runtimes that compile
   a graph as a whole ignore `twins`. other: of another plan for the same graph and layout with the same `twins`, which
   must outlive the result; NULL: none. */
cm__dispatch *cm__dispatch_twins(cm__ctx *ctx, const cm_graph *g, cm_layout layout, cm_runtime runtime,
                                 const cm_plan *plan, bool math, const cm__twins *twins, const cm__dispatch *other);
/* The same for a plan that divides each layer as that of `like` does, which must outlive the result: only the update
   differs. NULL: the runtime fuses the update's calls with others. */
cm__dispatch *cm__dispatch_like(cm__ctx *ctx, const cm__dispatch *like, const cm_plan *plan);
void          cm__dispatch_one(cm__dispatch *d, int32_t node);
void          cm__dispatch_megatron(cm__dispatch *d, int32_t node); /* megatron.c */

/* rnn.c */
cm__stacks *cm__stacks_of(cm__ctx *ctx, const cm_graph *g);

/* The stack that a forward layer belongs to: its first and last node, and whether it drops values between layers. */
typedef struct cm__stack {
    int32_t first, last, layers;
    double  directions;
    bool    drops;
} cm__stack;
cm__stack cm__stack_of(const cm__stacks *s, const cm_graph *g, int32_t layer);
/* True: a forward node between the layers of a stack. */
bool cm__between_layers(const cm__stacks *s, int32_t node);
/* True: the node lies between recurrent layers that run as one call, and is part of that call. */
bool        cm__inside_stack(const cm__dispatch *d, int32_t node);

/* Whether generated code makes the call (CM__WORK_NUMBERS). */
static inline bool cm__has_work(const cm__sized_call *c)
{
    return c->op == CM__CALL_ELEMENTWISE && (cm__poly_at(&c->sizes[CM__WORK_NUMBERS], 1) > 0 ||
                                             cm__poly_at(&c->sizes[CM__WORK_FUNCTIONS], 1) > 0);
}

/* Evaluates the call's sizes at a batch size. */
void cm__call_at(const cm__sized_call *sized, double batch, cm__call *call);

/* Adds a call for a node. The dispatch rules (rules.c) use it. */
void cm__dispatch_add(cm__dispatch *d, int32_t node, const cm__sized_call *call);

/* The rule of every operator. */
typedef void cm__dispatch_rule(cm__dispatch *d, int32_t node);
extern cm__dispatch_rule *const cm__dispatch_rules[CM_OPS];

#endif
