/* SPDX-License-Identifier: Apache-2.0 */
/*
 * search.h - evaluate every plan for a number of devices and a global batch, and test whether it fits the memory.
 *
 * A place is the set of choices that layer times depend on: tensor and context parallel size, stages, replicas,
 * micro-batch, sequence parallelism, recomputation. Each other choice (interleaving, ZeRO, schedule, offloading) costs
 * a few additions at a place. The search therefore evaluates millions of plans per second.
 */
#ifndef CM_PLAN_SEARCH_H
#define CM_PLAN_SEARCH_H

#include <stdatomic.h>
#include "model/open_script.h"
#include "model/memory/footprint.h"
#include "model/parallel/iteration.h"

/* shared.c: step graphs and kernel calls that searches on several devices share, also in several threads. The
   functions return NULL if an object could not be made; then the caller makes its own and reports the failure. */
typedef struct cm__plan_shared cm__plan_shared;
cm__plan_shared  *cm__plan_shared_new(cm__ctx *ctx);
const cm_graph   *cm__shared_graph(cm__plan_shared *shared, const cm_graph *forward, const cm_train_options *train);
/* The part of a model that does not depend on the device, for cm__model_on(). */
const struct cm__model *cm__shared_model(cm__plan_shared *shared, const cm_graph *graph, cm_runtime runtime);
/* The step as other scripts run it, of a graph of cm__shared_graph(). */
cm__open_script_graph *cm__shared_script(cm__plan_shared *shared, const cm_graph *graph);
/* The memory of a plan on some device with the same runtime, for cm__footprint_new_like(). */
const cm_footprint *cm__shared_memory(cm__plan_shared *shared, const cm_graph *graph, const cm_device *device,
                                      cm_runtime runtime, const cm_plan *plan);
/* The calls of one device of a plan, of which only the sizes that divide a layer count. */
const cm__common *cm__shared_common(cm__plan_shared *shared, const cm_graph *graph, const cm_device *device,
                                    cm_runtime runtime, const cm_plan *plan);
/* The same, with calls of only one of several equal layers (graph/plan/twins.h). */
const cm__common *cm__shared_layers(cm__plan_shared *shared, const cm_graph *graph, const cm_device *device,
                                    cm_runtime runtime, const cm_plan *plan);

/* Costs of one model's layers on `tp` devices, at one micro-batch. */
typedef struct cm__cost {
    int32_t  tp;
    bool     sequence;
    double   samples; /* samples of a micro-batch that one device has; a fraction with context parallelism */
    int32_t  cp, ep;
    cm__part first, layer, last;
    double   again_s, again_launches; /* forward calls of a layer that selective recomputation repeats */
    /* activations per layer: all, those that selective recomputation keeps, the layer's input */
    double   kept_bytes, selective_bytes, boundary_bytes;
    double   last_bytes;                                   /* working memory of the last part */
    cm__parts parts; /* without the parts and the gradients themselves: estimates assume equal layers */
    bool      timed; /* false: sizes, and the least communication */
    int32_t   older; /* the next cost with the same hash value, plus 1; 0: none */
} cm__cost;

#define CM__NEWEST 256

typedef struct cm__model {
    struct cm__model *sharded; /* for ZeRO 2 and 3, if their step is another one; NULL: it is the same */
    cm__ctx         *ctx;
    cm__plan_shared *shared; /* NULL: nothing is shared with other devices */
    const cm_device *device;
    const cm_fabric *fabric;
    const cm_graph  *step; /* without recomputation */
    cm_runtime       runtime;
    bool             usual; /* only plans in common use (space.c) */
    bool             native; /* the device has execution rules of its own: stages are not in common use there */
    bool             whole; /* the device runs whole graphs: only replicas and their devices can be chosen */
    bool             async_tensor; /* of the search's options */
    bool             pipelines; /* such a device may lay one copy out over several chips */
    int32_t          layers, heads, experts; /* experts 0: none */
    int64_t          tokens; /* per sample; 1: not a sequence */
    double           weight_bytes, gradient_bytes, state_bytes; /* per parameter */
    /* bytes of frozen weights and their copies in other types, over those of the weights */
    double           frozen_copies;
    double           capacity_bytes, reserve_bytes;
    cm__units        units;    /* of ZeRO 2 and 3 */
    const bool      *keeps;    /* per node: selective recomputation keeps its outputs; NULL: it repeats attention */
    bool             buffered; /* gradients are added to a buffer, which is sent directly */
    cm__cost        *costs;
    int32_t          n_costs, cap_costs;
    int32_t          newest[CM__NEWEST]; /* per hash value: the cost last added, plus 1; 0: none */
    cm__step_model  *steps; /* per combination of tp and sequence, built on demand */
    int32_t          n_steps, cap_steps;
    cm__timer      **timer; /* of all steps, also of model->sharded; *timer NULL: none yet */
    int64_t         *step_key; /* per step model: its tp, ep, cp and sequence */
    const int32_t   *part;     /* per node */
    int32_t         *last, *middle; /* tensors of the last part; kept by selective recomputation of the middle layer */
    int32_t          n_last, n_middle;
} cm__model;

typedef struct cm__spot {
    cm_plan plan; /* the choices of the place are filled in */
    int32_t cost; /* -1: another rank evaluates it, CM__TOO_LARGE: no plan here can fit */
    int32_t sharded; /* index into the costs of model->sharded */
    bool    done; /* its plans have been evaluated */
    bool    slow; /* no plan here can be among the best: none was timed, and those that fit are counted only */
} cm__spot;

#define CM__TOO_LARGE (-2)

typedef struct cm__scored {
    double   score, step_s, peak_bytes;
    bool     tight; /* the exact memory may not fit, although the estimate does */
    uint64_t index; /* number of the plan in the enumeration, which orders equal scores */
    cm_plan  plan;
} cm__scored;

#define CM__KEPT 64

/* The best plans so far, best first. */
typedef struct cm__best {
    cm__scored list[CM__KEPT];
    int32_t    count;
    uint64_t   evaluated, feasible;
    uint64_t   too_slow;               /* plans that fit but exceed the time limit */
    double     fastest_s, least_bytes; /* shortest step of those; smallest peak of all plans; 0: none */
    bool       distinct;               /* one plan for each set of sizes; more where the first may not fit */
} cm__best;

/* costs.c */
cm__model *cm__model_new(cm__ctx *ctx, const cm_graph *step, const cm_device *device, const cm_fabric *fabric,
                         cm_runtime runtime);
/* The same in two steps: the part that does not depend on the device, which must outlive the model, and the model. */
cm__model *cm__model_of_step(cm__ctx *ctx, const cm_graph *step, cm_runtime runtime);
cm__model *cm__model_on(cm__ctx *ctx, const cm__model *step, const cm_device *device, const cm_fabric *fabric);
int32_t    cm__cost_at(cm__model *m, const cm_plan *plan, int64_t micro_batch, int32_t cp);
/* The same without times, and the times of such a cost. */
int32_t    cm__cost_sizes_at(cm__model *m, const cm_plan *plan, int64_t micro_batch, int32_t cp);
void       cm__cost_time(cm__model *m, int32_t cost, const cm_plan *plan, int64_t micro_batch);
int32_t    cm__cost_keep(cm__model *m, const cm__cost *cost); /* returns its index */

/* space.c: gives every place to `visit`, in a fixed order. */
typedef void cm__visit(void *user, const cm_plan *plan);
void         cm__space(const cm__model *m, int32_t devices, int64_t global_batch, cm__visit *visit, void *user);

/* found.c */
/* The layer costs of a model on a device, for the options of a search. */
cm__model *cm__model_for(cm__ctx *ctx, const cm_graph *forward, const cm_device *device, const cm_search_options *o,
                         cm__plan_shared *shared);

/* If the device runs operator by operator, but by its own execution rules (TPUs, Trainium): all plans in common use are
   possible, and estimates kernel by kernel order them. Returns whether this is so. */
bool       cm__model_runs_operators(cm__model *m);

/* The step of plans with the same weights and recomputation. */
typedef struct cm__plan_step {
    const cm_graph *graph;
    bool            master;
    cm_recompute    recompute;
    int32_t         layers; /* cm_train_options.recompute_layers */
} cm__plan_step;

/* Values that full predictions of plans share. Zero `steps`; usd_s, watts: per device, NAN: unknown. */
typedef struct cm__finding {
    cm__ctx                 *ctx;
    const cm_search_options *o;
    const cm_graph          *forward;
    const cm_device         *device;
    const cm__model         *m;
    double                   iterations, usd_s, watts;
    double                   slowest_s; /* plans that take as long are not wanted, whether they fit or not; 0: all are */
    cm__plan_step           *steps;
    int32_t                  n_steps, cap_steps;
} cm__finding;

typedef struct cm__outcome {
    cm_found           found;
    cm_prediction_info info;
    cm_memory_use      use;
} cm__outcome;

/* Predicts a plan as `predict` does; false: it is not wanted, or by the exact memory model it does not fit. known: the result of
   cm__time_plan(); NULL: it was not called. */
bool cm__find_plan(cm__finding *finding, const cm_plan *plan, const cm_prediction_info *known, cm__outcome *out);
/* The time alone, which takes a third as long; false: the device has execution rules of its own. */
bool cm__time_plan(cm__finding *finding, const cm_plan *plan, cm_prediction_info *info);

/* full.c */
typedef enum cm__try { CM__TRY_NONE, CM__TRY_FITS, CM__TRY_EXCEEDS, CM__TRY_FAILED } cm__try;

typedef struct cm__tried {
    cm_plan     plan;
    cm__try     how; /* CM__TRY_FAILED: cm__find_plan() says why if it is called again */
    cm__outcome out; /* of CM__TRY_FITS */
} cm__tried;

/* Calls cm__find_plan() for plans of one search on several threads. */
void cm__try_plans(const cm__finding *finding, cm__tried *const *tried, int32_t count, int32_t threads);

/* counts.c */
/* The best plan for a number of devices. */
typedef struct cm__count {
    int32_t     devices;
    bool        fits;
    const char *reason; /* why no plan fits; NULL: one fits */
    cm__outcome best;
} cm__count;

/* Searches the plans in common use (space.c) for each number of devices; all counts share the times of the layers.
   options->devices and ->objective are ignored. Fails like cm_search_run(). */
void cm__search_counts(cm__ctx *ctx, const cm_graph *forward, const cm_device *device, const cm_search_options *options,
                       cm__plan_shared *shared, cm__count *counts, int32_t n_counts);

/* evaluate.c */
typedef double cm__score(void *user, const cm_plan *plan, double step_s);
/* Whether a plan of the place fits by its costs' sizes: [0] one with whole gradients and weights, [1] one that shards
   them (ZeRO 2 and 3). Plans that do not fit need no time. */
void     cm__find_fitting(const cm__model *m, const cm__spot *place, bool fits[2]);
/* Seconds that no plan of the place is faster than, by its costs' sizes. */
double   cm__least_step(const cm__model *m, const cm__spot *place);
/* Evaluates all plans at a place; `index` is the number of the first. */
void     cm__evaluate(const cm__model *m, const cm__spot *place, uint64_t index, cm__score *score, void *user,
                      cm__best *best);
uint64_t cm__plans_at(const cm__model *m, const cm_plan *plan); /* number of plans at a place */
void     cm__best_merge(cm__best *best, const cm__best *other);
bool     cm__same_sizes(const cm_plan *a, const cm_plan *b); /* tp, cp, pp, ep and micro-batch */

#endif
