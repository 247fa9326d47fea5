/* SPDX-License-Identifier: Apache-2.0 */
/* execution_plan.h - tensor and pipeline parallelism on devices that run whole graphs operator by operator. */
#ifndef CM_MODEL_EXECUTION_PLAN_H
#define CM_MODEL_EXECUTION_PLAN_H

#include "model/execution/execution.h"
#include "model/parallel/iteration.h"

/* The time of an iteration under a plan whose counts are filled in. `run`: one micro-batch of the undivided step on one
   device. */
cm__iteration cm__execution_iterate(cm__ctx *ctx, const cm_graph *step, const cm_device *device, const cm__run *run,
                                    const cm_plan *plan, const cm_fabric *fabric);

#endif
