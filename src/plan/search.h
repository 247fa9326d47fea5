/* SPDX-License-Identifier: Apache-2.0 */
/*
 * search.h - every plan for a number of devices and a global batch, timed and held against the memory.
 *
 * A place is what the times of layers depend on: how many devices share a layer and a sequence, stages, replicas,
 * micro-batch, sequence parallelism, recompute. At a place all other choices (pieces of a stage, ZeRO, schedule,
 * offloading) are a few additions each: that is what makes millions of plans a second.
 */
#ifndef CM_PLAN_SEARCH_H
#define CM_PLAN_SEARCH_H

#include <stdatomic.h>
#include "model/parallel/iteration.h"

/* Layers of one model shared by `tp` devices, at one micro-batch. */
typedef struct cm__cost {
    int32_t  tp;
    bool     sequence;
    double   samples; /* of a micro-batch that one device has: a fraction, where devices share a sequence */
    int32_t  cp, ep;
    cm__part first, layer, last;
    double   attention_s, attention_comm_s;                /* of a layer's forward */
    double   kept_bytes, attention_bytes, boundary_bytes;  /* of a layer's activations: all, attention's, its input */
    double   last_bytes;                                   /* that the last part works with */
    cm__parts parts;
} cm__cost;

typedef struct cm__model {
    cm__ctx         *ctx;
    const cm_device *device;
    const cm_fabric *fabric;
    const cm_graph  *step; /* nothing recomputed */
    cm_runtime       runtime;
    bool             whole; /* the device runs graphs as a whole: replicas are all there is to choose */
    int32_t          layers, heads, experts; /* experts 0: none */
    int64_t          tokens; /* of a sample; 1: not a sequence */
    double           weight_bytes, gradient_bytes, state_bytes; /* of one parameter */
    double           capacity_bytes, reserve_bytes;
    bool             buffered; /* gradients are added to a buffer that is also sent */
    cm__cost        *costs;
    int32_t          n_costs, cap_costs;
    cm__step_model  *steps; /* by tp and sequence, as they are needed */
    int32_t          n_steps, cap_steps;
    int64_t         *step_key; /* of each step model: its tp, ep, cp and sequence */
    int32_t         *part;     /* of each node */
} cm__model;

typedef struct cm__spot {
    cm_plan plan; /* the choices of a place filled in */
    int32_t cost; /* -1: another rank's, CM__TOO_LARGE: no plan here can fit */
} cm__spot;

#define CM__TOO_LARGE (-2)

typedef struct cm__scored {
    double   score, step_s, peak_bytes;
    uint64_t index; /* of the plan, in the order of the enumeration: equal scores are in this order */
    cm_plan  plan;
} cm__scored;

#define CM__KEPT 32

/* The best so far, best first. */
typedef struct cm__best {
    cm__scored list[CM__KEPT];
    int32_t    count;
    uint64_t   evaluated, feasible;
    uint64_t   too_slow;               /* fit, but do not end within the time given */
    double     fastest_s, least_bytes; /* of those; of all: of the smallest peak; 0: none */
} cm__best;

/* costs.c */
cm__model *cm__model_new(cm__ctx *ctx, const cm_graph *step, const cm_device *device, const cm_fabric *fabric,
                         cm_runtime runtime);
int32_t    cm__cost_at(cm__model *m, const cm_plan *plan, int64_t micro_batch, int32_t cp);

/* space.c: every place, in a fixed order; `visit` gets each. */
typedef void cm__visit(void *user, const cm_plan *plan);
void         cm__space(const cm__model *m, int32_t devices, int64_t global_batch, cm__visit *visit, void *user);

/* evaluate.c */
typedef double cm__score(void *user, const cm_plan *plan, double step_s);
/* All plans at a place; `index` numbers the first of them. */
void     cm__evaluate(const cm__model *m, const cm__spot *place, uint64_t index, cm__score *score, void *user,
                      cm__best *best);
uint64_t cm__plans_at(const cm__model *m, const cm_plan *plan); /* how many that are */
void     cm__best_add(cm__best *best, const cm__scored *new);
void     cm__best_merge(cm__best *best, const cm__best *other);

#endif
