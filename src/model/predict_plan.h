/* SPDX-License-Identifier: Apache-2.0 */
/* predict_plan.h - a prediction under a parallel plan. */
#ifndef CM_MODEL_PREDICT_PLAN_H
#define CM_MODEL_PREDICT_PLAN_H

#include "model/parallel/iteration.h"

bool cm__has_plan(const cm_plan *plan);

/* Samples that a replica runs at once, out of `batch` samples per update. The plan's counts must be filled in. Fails if
   they cannot be divided equally. */
cm_status cm__plan_at_once(const cm_plan *plan, int64_t batch, int64_t *at_once, cm_diag *diag);

/* Fills in every count of the options' plan, and the batch of one iteration. */
void cm__plan_settle(cm__ctx *ctx, const cm_predict_options *options, cm_prediction_info *info);

/* Predicts an iteration on a device that runs kernel by kernel. Returns the calls of one micro-batch, and in *timed
   their times. common: the calls of this plan; NULL: nothing is shared. */
cm__step_model cm__predict_plan(cm__ctx *ctx, const cm_graph *step, const cm_device *device,
                                const cm_predict_options *options, const cm__common *common, cm_prediction_info *info,
                                cm__timed **timed);

/* Adds the communication of several copies of a step that runs as a whole; `info` is the prediction of one copy. */
void cm__add_replicas(const cm_graph *step, const cm_device *device, const cm_fabric *fabric, cm_prediction_info *info);

#endif
