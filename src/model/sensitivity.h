/* SPDX-License-Identifier: Apache-2.0 */
/* sensitivity.h - the step time if one number of the device were 10 % better. */
#ifndef CM_MODEL_SENSITIVITY_H
#define CM_MODEL_SENSITIVITY_H

#include "model/step/loading.h"
#include "model/step/step.h"

#define CM__BETTER 1.1 /* factor on rates; divisor of times */

typedef struct cm__sensitivities {
    cm_sensitivity *items; /* largest gain first; changes without effect are left out */
    int32_t         count;
} cm__sensitivities;

/* Sensitivities of a device that runs kernel by kernel: each trial times the calls again. `full`: call times at the
   full clock; `common`: what `m` was built with. */
cm__sensitivities cm__call_sensitivities(cm__ctx *ctx, const cm__step_model *m, const cm__timed *full,
                                         const cm__common *common, const cm__loading *loading,
                                         const cm_prediction_info *base);
/* Sensitivities of a device with an execution model: each trial predicts the step again. */
cm__sensitivities cm__execution_sensitivities(cm__ctx *ctx, const cm_graph *step, const cm_device *device,
                                          const cm__loading *loading, const cm_prediction_info *base);

#endif
