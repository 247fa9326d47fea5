/* SPDX-License-Identifier: Apache-2.0 */
/* sensitivity.h - what a step would take if one thing of its device were better by a tenth. */
#ifndef CM_MODEL_SENSITIVITY_H
#define CM_MODEL_SENSITIVITY_H

#include "model/step/loading.h"
#include "model/step/step.h"

#define CM__BETTER 1.1 /* rates; times are divided by it */

typedef struct cm__sensitivities {
    cm_sensitivity *items; /* most helpful first; what changes nothing is not there */
    int32_t         count;
} cm__sensitivities;

/* A step of calls, timed again on a device that differs in one number, as on one of a profile that says so. `full`:
   times of the calls at the full clock; `common`: what `m` was made with. */
cm__sensitivities cm__call_sensitivities(cm__ctx *ctx, const cm__step_model *m, const cm__timed *full,
                                         const cm__common *common, const cm__loading *loading,
                                         const cm_prediction_info *base);
/* A step by its style: predicted again on a device that differs in one number. */
cm__sensitivities cm__execution_sensitivities(cm__ctx *ctx, const cm_graph *step, const cm_device *device,
                                          const cm__loading *loading, const cm_prediction_info *base);

#endif
