/* SPDX-License-Identifier: Apache-2.0 */
/* simulate.h - the allocations of a step, one after the other, through the allocator. */
#ifndef CM_MODEL_SIMULATE_H
#define CM_MODEL_SIMULATE_H

#include "model/memory/footprint.h"

/* Bytes that the allocator adds to what outlives a step (parameters, states) and to the gradients. */
double cm__simulate_slack(const cm_footprint *f);

#endif
