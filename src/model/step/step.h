/* SPDX-License-Identifier: Apache-2.0 */
/* step.h - a step on a device that runs kernel by kernel: its calls, their times, the two timelines. */
#ifndef CM_MODEL_STEP_H
#define CM_MODEL_STEP_H

#include "model/step/clock.h"
#include "model/dispatch/dispatch.h"
#include "model/time/timer.h"

#define CM__SIGMAS_OF_90_PERCENT 1.645 /* standard deviations on each side */

/* All that does not depend on the batch size. */
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
    double           host_exchange_s, host_batch_s, host_collective_s; /* of one: between stages, micro-batch, call */
    const bool      *sparse;  /* of each call: units for two of four pruned weights run it; NULL: none */
    double           gain;    /* of these units, times the peak */
    cm__stretch     *stretches; /* room for one of each call */
} cm__step_model;

/* The built-in device whose tables tell most of another one of its kind; NULL: none. */
const cm_device *cm__reference_of(cm__ctx *ctx, const cm_device *device);

/* What the steps of one graph on many devices have in common under one runtime. */
typedef struct cm__common {
    cm__dispatch    *calls;
    const cm_device *reference; /* whose tables tell of others; NULL: there is none */
    cm__memo        *memo;
} cm__common;

/* The same of one device and of copies with other limits. */
cm__common cm__common_of_one(cm__ctx *ctx, const cm_graph *graph, const cm_device *device, cm_layout layout,
                             cm_runtime runtime, cm__memo *memo);
cm__common cm__common_new(cm__ctx *ctx, const cm_graph *graph, const cm_device *first, cm_layout layout,
                          cm_runtime runtime, cm__memo *memo);

/* Of the options: layout, runtime, sparsity, and of the plan, with its counts filled in or none, what one device runs.
   common NULL: nothing is shared. */
cm__step_model cm__step_model_new(cm__ctx *ctx, const cm_graph *graph, const cm_device *device,
                                  const cm_predict_options *options, const cm__common *common);

/* The time of each call at the full clock. */
void cm__step_time(const cm__step_model *m, double batch, cm__timed *timed);
/* Times at the clock that the power limit leaves; that clock, as a fraction of the full one. waits_s: that the device
   waits for others meanwhile, and draws no more than it does idle. */
double cm__step_throttle(const cm__step_model *m, double batch, double waits_s, cm__timed *timed);
/* The step that these times make; they are lowered to the clock that the power limit leaves. */
void cm__step_finish(const cm__step_model *m, cm__timed *timed, cm_prediction_info *info);
/* How uncertain a sum of calls is, as a fraction: their variance, and times by errors of those not measured. */
double cm__step_doubt(double time_s, double variance, double unmeasured_s);
/* FLOP of matrix units that the model needs: what is computed again does not count. */
cm_poly cm__matrix_flop(const cm_graph *graph);
/* Throughput and utilisation of info->step_time_s. */
void cm__step_rates(const cm_poly *matrix_flop, double peak_flop_s, cm_prediction_info *info);

#endif
