/* SPDX-License-Identifier: Apache-2.0 */
/* measure.c - time one case: verify its results, warm up, then sample. */
#include "bench/measure.h"

#include <math.h>
#include "base/ctx.h"
#include "bench/stats.h"

#define SAMPLES_MAX     200
#define REPETITIONS_MAX ((int64_t)1 << 24)
#define GROWTH_MAX      1000 /* largest factor by which one warm-up run increases the repetitions */

const cm__effort cm__usual_effort = {.sample_s = 0.005, .uncertainty = 0.01, .limit_s = 0.5, .least_samples = 5};

typedef struct timing {
    const cm__repeated *timed;
    double           spent_s;
    cm_diag         *diag;
} timing;

static cm_status run(timing *t, int64_t repetitions, double *time_s)
{
    cm_status status = t->timed->run(t->timed->object, repetitions, time_s, t->diag);
    if (status != CM_OK) return status;
    if (!isfinite(*time_s) || *time_s < 0)
        return cm__diag_set(t->diag, CM_ERR_UNSUPPORTED, "its clock reported %g s for %lld repetitions", *time_s,
                            (long long)repetitions);
    t->spent_s += *time_s;
    return CM_OK;
}

/* Find the repetitions that fill one sample. The runs that this takes are also the warm-up. */
static cm_status choose_repetitions(timing *t, const cm__effort *e, int64_t *repetitions)
{
    double time_s = 0;
    *repetitions = 1;
    for (;;) {
        cm_status status = run(t, *repetitions, &time_s);
        if (status != CM_OK || time_s >= e->sample_s || *repetitions >= REPETITIONS_MAX) return status;
        double factor = time_s > 0 ? 1.2 * e->sample_s / time_s : GROWTH_MAX;
        factor = fmax(2, fmin(factor, GROWTH_MAX));
        *repetitions = (int64_t)fmin((double)*repetitions * factor, (double)REPETITIONS_MAX);
    }
}

static cm_status take_samples(timing *t, const cm__effort *e, int64_t repetitions, cm__measured *m)
{
    double    samples[SAMPLES_MAX], time_s;
    cm__stats stats = {.uncertainty = INFINITY};
    int32_t   count = 0;
    bool      enough = false;
    while (!enough && count < SAMPLES_MAX) {
        cm_status status = run(t, repetitions, &time_s);
        if (status != CM_OK) return status;
        samples[count++] = time_s / (double)repetitions;
        stats = cm__stats_of(samples, count);
        enough = count >= e->least_samples && (stats.uncertainty <= e->uncertainty || t->spent_s >= e->limit_s);
        if (t->spent_s >= 4 * e->limit_s && count >= 1) enough = true; /* even single repetitions take too long */
    }
    m->time_s = stats.median;
    m->spread = stats.spread;
    m->repetitions = repetitions;
    m->samples = count;
    return CM_OK;
}

cm_status cm__measure(const cm__repeated *timed, const cm__effort *effort, cm__measured *measured, cm_diag *diag)
{
    timing    t = {.timed = timed, .diag = diag};
    int64_t   repetitions;
    cm_status status = CM_OK;
    *measured = (cm__measured){.time_s = NAN, .spread = NAN};
    if (timed->verify) status = timed->verify(timed->object, &measured->wrong, diag);
    if (status != CM_OK || measured->wrong) return status;
    status = choose_repetitions(&t, effort, &repetitions);
    return status != CM_OK ? status : take_samples(&t, effort, repetitions, measured);
}
