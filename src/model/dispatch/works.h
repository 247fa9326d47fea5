/* SPDX-License-Identifier: Apache-2.0 */
/* works.h - FLOP and bytes of a dispatch's calls, computed once for all devices that run them. */
#ifndef CM_MODEL_DISPATCH_WORKS_H
#define CM_MODEL_DISPATCH_WORKS_H

#include "model/dispatch/dispatch.h"

typedef struct cm__workload {
    double flop, bytes;
} cm__workload;

typedef struct cm__works cm__works;

cm__works *cm__works_new(cm__ctx *ctx); /* lives as long as the context; several threads may use it */

cm__workload cm__workload_of(const cm__sized_call *call, double batch);

/* The work of each call at a power of two; NULL: another batch size, or no memory. */
const cm__workload *cm__works_at(const cm__dispatch *d, double batch);

#endif
