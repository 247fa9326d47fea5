/* SPDX-License-Identifier: Apache-2.0 */
/* stats.h - median, spread and uncertainty of repeated measurements. */
#ifndef CM_BENCH_STATS_H
#define CM_BENCH_STATS_H

#include <stdint.h>

typedef struct cm__stats {
    double  median, least;
    double  spread;      /* distance between the quartiles, as a fraction of the median */
    double  uncertainty; /* half the median's 95 % interval, as a fraction of it; INFINITY for fewer than 3 values */
    int32_t count;
} cm__stats;

/* Sorts `values`. */
cm__stats cm__stats_of(double *values, int32_t count);

#endif
