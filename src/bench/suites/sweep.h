/* SPDX-License-Identifier: Apache-2.0 */
/* sweep.h - the calls of the sweep suite, collected before they are shuffled. */
#ifndef CM_BENCH_SWEEP_H
#define CM_BENCH_SWEEP_H

#include "bench/bench.h"

typedef struct cm__sweep {
    cm_bench *b;
    cm__call *calls;
    int32_t   count, capacity;
} cm__sweep;

/* Skips calls that would take too long or too much memory. */
void cm__sweep_add(cm__sweep *sweep, const cm__call *call);
void cm__sweep_convs(cm__sweep *sweep, const char *dtype);  /* over the shapes of real networks */
void cm__sweep_planes(cm__sweep *sweep, const char *dtype); /* norms, pools and resizes of images */

#endif
