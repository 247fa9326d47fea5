/* SPDX-License-Identifier: Apache-2.0 */
/* simulate.h - a step's allocations, run through the simulated allocator. */
#ifndef CM_MODEL_SIMULATE_H
#define CM_MODEL_SIMULATE_H

#include "model/memory/footprint.h"

/* Bytes that the allocator's rounding adds to tensors that outlive a step (parameters, states) and to the gradients. */
double cm__simulate_slack(const cm_footprint *f);

/* Bytes that the runtime's allocator may reserve on the footprint's device; INFINITY: there is no limit. */
double cm__simulate_limit(const cm_footprint *f);

#endif
