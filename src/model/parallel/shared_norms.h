/* SPDX-License-Identifier: Apache-2.0 */
/* shared_norms.h - the exchange of batch norms' statistics between replicas. */
#ifndef CM_MODEL_SHARED_NORMS_H
#define CM_MODEL_SHARED_NORMS_H

#include "base/ctx.h"

/* Time that one micro-batch waits for the exchange among `replicas` copies, `per_node` of which are in a node. */
double cm__shared_norms_s(const cm_graph *step, const cm_fabric *fabric, int32_t replicas, int32_t per_node);

#endif
