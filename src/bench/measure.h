/* SPDX-License-Identifier: Apache-2.0 */
/* measure.h - time one case: verify it, warm up, and repeat until the median is accurate enough. */
#ifndef CM_BENCH_MEASURE_H
#define CM_BENCH_MEASURE_H

#include "centimani.h"

/* An object that can be run repeatedly and that reports the time taken. */
typedef struct cm__repeated {
    void *object;
    cm_status (*run)(void *object, int64_t repetitions, double *time_s, cm_diag *diag);
    cm_status (*verify)(void *object, int64_t *wrong, cm_diag *diag); /* NULL: nothing to verify */
} cm__repeated;

typedef struct cm__effort {
    double  sample_s;    /* shortest duration of one sample */
    double  uncertainty; /* sampling stops once the median's relative uncertainty is at most this */
    double  limit_s;     /* no sample starts after this much measured time */
    int32_t least_samples;
} cm__effort;

extern const cm__effort cm__usual_effort;

typedef struct cm__measured {
    double  time_s, spread; /* NAN: the results were wrong */
    int64_t repetitions;    /* per sample */
    int32_t samples;
    int64_t wrong;
} cm__measured;

/* All decisions depend only on the times that `run` reports, so ranks that receive the same times stay in step. */
cm_status cm__measure(const cm__repeated *timed, const cm__effort *effort, cm__measured *measured, cm_diag *diag);

#endif
