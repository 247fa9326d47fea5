/* SPDX-License-Identifier: Apache-2.0 */
/* measure.h - one case timed: verified, warmed up, and repeated until the median is known well enough. */
#ifndef CM_BENCH_MEASURE_H
#define CM_BENCH_MEASURE_H

#include "centimani.h"

/* Anything that can be repeated on a clock of its own. */
typedef struct cm__repeated {
    void *object;
    cm_status (*run)(void *object, int64_t repetitions, double *time_s, cm_diag *diag);
    cm_status (*verify)(void *object, int64_t *wrong, cm_diag *diag); /* NULL: there is no result */
} cm__repeated;

typedef struct cm__effort {
    double  sample_s;    /* one sample repeats until it lasts this long */
    double  uncertainty; /* of the median that is good enough */
    double  limit_s;     /* no sample is begun after so much measured time */
    int32_t least_samples;
} cm__effort;

extern const cm__effort cm__usual_effort;

typedef struct cm__measured {
    double  time_s, spread; /* NAN: wrong results have no time */
    int64_t repetitions;    /* of one sample */
    int32_t samples;
    int64_t wrong;
} cm__measured;

/* What is decided depends on the times that `run` tells alone: ranks that are told the same time decide the same. */
cm_status cm__measure(const cm__repeated *timed, const cm__effort *effort, cm__measured *measured, cm_diag *diag);

#endif
