/* SPDX-License-Identifier: Apache-2.0 */
/* step.h - a step on a device that runs kernel by kernel: its calls, their times, and the device's and host's
   timelines. */
#ifndef CM_MODEL_STEP_H
#define CM_MODEL_STEP_H

#include "model/step/clock.h"
#include "model/dispatch/dispatch.h"
#include "model/step/host.h"
#include "model/time/timer.h"

#define CM__SIGMAS_OF_90_PERCENT 1.645 /* standard deviations on each side of a 90 % interval */

/* The parts of a step that do not depend on the batch size. */
typedef struct cm__step_model {
    const cm_graph  *graph;
    const cm_device *device;
    cm__dispatch    *calls;
    cm__timer       *timer;
    cm__limits       limits;
    cm__power        power;
    cm_runtime       runtime;
    cm_poly          matrix_flop;
    double           host_s, host_update_s, gap_s, peak_flop_s;
    double           updates;       /* per pass: less than 1 if an update follows several micro-batches */
    double           host_launch_s; /* of a kernel that a call launches beyond the first few (step.c) */
    double           host_error; /* log error of host times */
    /* per exchange between stages, per micro-batch, per collective call */
    double         host_route_s;     /* of the device, per layer of experts and micro-batch: factors.h, expert_wait */
    double         host_unit_s;      /* host time per micro-batch of a module that FSDP gathers */
    double           host_exchange_s, host_batch_s, host_collective_s;
    const bool      *sparse;  /* per call: it runs on 2:4 sparse units; NULL: none does */
    double           gain;    /* peak of these units over the dense peak */
    cm__stretch     *stretches; /* one entry per call */
    const struct cm__layering *layering; /* of these calls (parallel/layering.h); NULL: made when it is needed */
} cm__step_model;

/* The built-in device of the same kind that has the most kernel tables; NULL: none. */
const cm_device *cm__reference_of(cm__ctx *ctx, const cm_device *device);

/* Objects that steps of one graph on many devices share under one runtime. */
typedef struct cm__common {
    cm__dispatch    *calls;
    const cm_device *reference; /* device whose tables are used for others; NULL: none */
    cm__memo        *memo;
    const struct cm__layering *layering; /* of a plan's devices; NULL: not made */
    cm__host_counts  host;
} cm__common;

/* As cm__common_new(), for one device and copies of it with other limits, with a memo of its own. */
cm__common cm__common_of_one(cm__ctx *ctx, const cm_graph *graph, const cm_device *device, cm_layout layout,
                             cm_runtime runtime);
cm__common cm__common_new(cm__ctx *ctx, const cm_graph *graph, const cm_device *first, cm_layout layout,
                          cm_runtime runtime, cm__memo *memo);

/* As cm__common_new(), for one device of a plan whose counts are filled in. math: see cm__attention_math(). twins: only
   one of several equal layers has calls (cm__dispatch_twins()). other: of any plan for the same graph, runtime, layout,
   math and twins; NULL: there is none. */
cm__common cm__common_divided(cm__ctx *ctx, const cm_graph *graph, const cm_device *first, cm_runtime runtime,
                              const cm_plan *plan, bool math, cm__memo *memo, const cm__common *other,
                              const cm__twins *twins);
/* The same from a plan that divides each layer in the same way. `calls` NULL: see cm__dispatch_like(). */
cm__common cm__common_like(cm__ctx *ctx, const cm__common *like, const cm_plan *plan);

/* Uses layout, runtime and sparsity of the options, and one device's part of the plan, whose counts are filled in or
   all zero. common NULL: nothing is shared. */
cm__step_model cm__step_model_new(cm__ctx *ctx, const cm_graph *graph, const cm_device *device,
                                  const cm_predict_options *options, const cm__common *common);

/* The same step on a copy of its device with other peaks, bandwidths, caches, launch time or power. Host times stay, and
   both models use one array for their clocks. */
cm__step_model cm__step_model_changed(cm__ctx *ctx, const cm__step_model *model, const cm_device *changed,
                                      const cm__common *common);

/* The time of one call, and of each call, at the full clock. */
cm__timed cm__step_time_call(const cm__step_model *m, double batch, int32_t call);
/* A lower bound of the time of one call and the gaps behind its kernels, which is found faster than the time; 0: none. */
double cm__step_least_call(const cm__step_model *m, double batch, int32_t call);
void cm__step_time(const cm__step_model *m, double batch, cm__timed *timed);
typedef struct cm__throttled {
    double clock;     /* as a fraction of the full clock */
    double dynamic_j; /* energy beyond that of the idle device; NAN: unknown */
} cm__throttled;
/* Exchanges with other devices: time that computing waits for them, and bytes that all of them, waited for or not, read
   and write in the device's own memory. Beside that traffic a waiting device draws idle power. */
typedef struct cm__exchanges {
    double time_s, bytes;
} cm__exchanges;
/* Scales the times to the clock under the power limit. */
cm__throttled cm__step_throttle(const cm__step_model *m, double batch, cm__exchanges waits, cm__timed *timed);
/* The host's time of a step whose calls launch as many kernels as `timed` says. */
double cm__step_host(const cm__step_model *m, const cm__timed *timed);
/* Fills in the prediction from call times, which it scales to the clock under the power limit. */
void cm__step_finish(const cm__step_model *m, cm__timed *timed, cm_prediction_info *info);
/* Fills in the average power of info->devices, each of which uses dynamic_j beyond its idle power in a step. */
void cm__step_power(const cm__step_model *m, double dynamic_j, cm_prediction_info *info);
/* Errors of a sum of calls: of those that are independent, the variance; of those that calls share, the sum. */
typedef struct cm__errors {
    double variance, shared_s;
} cm__errors;
void   cm__errors_add(cm__errors *errors, double time_s, const cm__timed *timed);
/* Relative error of a sum of calls. */
double cm__step_error(cm_runtime runtime, double time_s, const cm__errors *errors);
/* Fills in throughput and utilisation for info->step_time_s. */
void cm__step_rates(const cm_poly *matrix_flop, double peak_flop_s, cm_prediction_info *info);

#endif
