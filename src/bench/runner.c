/* SPDX-License-Identifier: Apache-2.0 */
/* runner.c - measure the cases in order within the time budget; log each result before the next case begins. */
#include <math.h>
#include <time.h>
#include "bench/bench.h"
#include "bench/journal.h"

#define RUNS_LEAST       4     /* fewest runs of a case: one to verify, one to warm up, two samples */
#define RESERVE_S        1.5   /* of the budget, for writing the results */
#define RESERVE_FRACTION 0.03  /* of the budget, for cases that take longer than estimated */
#define EFFICIENCY       0.005 /* of the claimed FLOP/s; assumed for the first call of a kind: slow reference code */
#define FRACTION_MOST    0.25  /* largest fraction of the remaining time that one of many cases may need */
#define PILOT_FRACTION   0.02  /* of the budget: the first case of a kind is the largest that surely ends in this time */
#define OTHER_PASS       10    /* a pass is at most so many times as slow as another one of its operator */
#define SLOWNESS_DECAY   0.5   /* factor by which a slow call's rate decays with each later call of its kind */
#define PREPARING_DECAY  0.9   /* weight of earlier calls of a kind in the fit of preparation times */
#define PREPARING_B_S    1e9   /* bytes of operands prepared per second; assumed for the first two calls of a kind */

/* Measured costs of calls of one kind, used to estimate the next one. */
typedef struct history {
    double unit_s;          /* seconds per unit of work: of the slowest recent call */
    double n, x, y, xx, xy; /* weighted sums for the line fit of preparation seconds y over bytes x */
} history;

typedef struct runner {
    cm_bench *b;
    double    began_s;
    history   calls[CM__CALLS][CM__PASSES];
    int32_t   done;
    bool     *tried; /* by case: it was measured, or there was a reason not to */
} runner;

double cm__now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- budget ------------------------------------------------------------------------------------------------------ */

static double left_s(const runner *r)
{
    if (!r->b->options.budget_s) return INFINITY;
    return (1 - RESERVE_FRACTION) * (double)r->b->options.budget_s - RESERVE_S - (cm__now_s() - r->began_s);
}

static double units_of(const cm_bench_result *result) { return result->flop + 10 * result->bytes; }

/* The time of a call whose kind was not measured yet: that of slow reference code, or of the operator's other passes. */
static double first_guess_s(const runner *r, const cm__call *call, double units)
{
    double unit_s = 1 / (EFFICIENCY * cm__claimed_flop_s(r->b));
    for (int pass = 0; pass < CM__PASSES; pass++)
        if (r->calls[call->op][pass].n > 0) unit_s = fmin(unit_s, OTHER_PASS * r->calls[call->op][pass].unit_s);
    return unit_s * units;
}

/* Estimate the time to prepare and verify a call from a line fitted through recent calls of its kind. */
static double preparing_s(const history *s, double bytes)
{
    double scatter = s->n * s->xx - s->x * s->x, slope = 1 / PREPARING_B_S;
    if (scatter > 1e-6 * s->n * s->xx) slope = fmax(0, (s->n * s->xy - s->x * s->y) / scatter);
    return fmax(0, s->y / s->n + slope * (bytes - s->x / s->n));
}

static void note_preparing(history *s, double bytes, double time_s)
{
    double *sums[] = {&s->n, &s->x, &s->y, &s->xx, &s->xy}, terms[] = {1, bytes, time_s, bytes * bytes, bytes * time_s};
    for (int i = 0; i < 5; i++) *sums[i] = PREPARING_DECAY * *sums[i] + terms[i];
}

static bool is_known(const runner *r, const cm__bench_case *c)
{
    return c->kind != CM__CASE_CALL || r->calls[c->call.op][c->call.pass].n > 0;
}

/* The least time that a case will take; of a kind of call that was not measured yet, a cautious guess. */
static double estimate_s(const runner *r, int32_t i)
{
    const cm__bench_case  *c = &r->b->cases[i];
    const cm_bench_result *result = &r->b->results[i];
    if (c->kind == CM__CASE_COLLECTIVE) return RUNS_LEAST * (double)c->collective_bytes * 2e-9;
    if (c->kind != CM__CASE_CALL) return 0.1 + (double)c->probe.bytes * 2e-9;
    const history *s = &r->calls[c->call.op][c->call.pass];
    double      units = units_of(result);
    if (!is_known(r, c)) return RUNS_LEAST * first_guess_s(r, &c->call, units);
    return RUNS_LEAST * s->unit_s * units + preparing_s(s, result->bytes);
}

/* The last case may take all that is left, and the first of a kind, too: its guess is far above most calls' time. */
static bool has_time(runner *r, int32_t i)
{
    bool   known = is_known(r, &r->b->cases[i]);
    double part = known ? fmax(FRACTION_MOST, 1.0 / (r->b->n_cases - r->done)) : 1;
    double need = estimate_s(r, i), left = left_s(r), fits = need <= part * left && left > 0;
    if (r->b->fabric) r->b->fabric->agree(r->b->fabric_state, &fits); /* all ranks must decide alike */
    if (fits != 0) return true;
    r->b->results[i].skipped =
        !(left > 0) ? "no time left"
        : known     ? cm__format(r->b->ctx, "no time left: it would take about %.1f s", need)
                    : cm__format(r->b->ctx, "no time left: it may take %.1f s, if it runs at %g %% of the peak", need,
                                 100 * EFFICIENCY);
    r->b->unmeasured++;
    return false;
}

static cm__effort effort_for(const runner *r)
{
    cm__effort e = cm__usual_effort;
    double     left = left_s(r);
    if (isinf(left)) return e;
    double share = left / (r->b->n_cases - r->done) / 2;
    e.limit_s = fmax(0.005, fmin(e.limit_s, share));
    if (r->b->fabric) r->b->fabric->agree(r->b->fabric_state, &e.limit_s);
    e.sample_s = fmin(e.sample_s, e.limit_s / e.least_samples);
    return e;
}

/* ---- one case ---------------------------------------------------------------------------------------------------- */

static cm_status prepare_call(cm_bench *b, int32_t i, cm__repeated *timed, cm_diag *diag)
{
    cm__call_texts  texts;
    cm_call         call = cm__call_for_backend(&b->cases[i].call, &texts);
    cm_case_options options = {.cold = b->options.cold, .search = b->options.search};
    cm_status       status = b->backend->prepare(b->state, &call, &options, &timed->object, diag);
    if (status != CM_OK) return status;
    const char *algorithm = b->backend->algorithm ? b->backend->algorithm(timed->object) : NULL;
    b->results[i].algorithm = algorithm ? cm__text_copy(b->ctx, algorithm) : NULL;
    return CM_OK;
}

/* Prepare a case of any kind for timing; `release` frees it. */
static cm_status prepare(cm_bench *b, int32_t i, cm__repeated *timed, void (**release)(void *), cm_diag *diag)
{
    const cm__bench_case *c = &b->cases[i];
    cm_bench_result      *r = &b->results[i];
    timed->run = b->backend->run;
    timed->verify = b->backend->verify;
    *release = b->backend->release;
    if (c->kind == CM__CASE_CALL) return prepare_call(b, i, timed, diag);
    if (c->kind == CM__CASE_PROBE) return b->backend->probe(b->state, &c->probe, &timed->object, &r->work, diag);
    const cm__host_test *host = b->backend == &cm__backend_null ? &cm__host_simulated : c->host;
    bool                 of_host = c->kind == CM__CASE_HOST;
    timed->run = of_host ? host->run : b->fabric->run;
    timed->verify = of_host ? host->verify : b->fabric->verify;
    *release = of_host ? host->release : b->fabric->release;
    if (of_host) return host->prepare(b->options.storage, &timed->object, &r->work, diag);
    return b->fabric->prepare(b->fabric_state, c->collective, c->collective_bytes, &timed->object, diag);
}

static void note_result(runner *r, int32_t i, const cm__measured *m, double wall_s)
{
    cm_bench_result *result = &r->b->results[i];
    result->time_s = m->wrong ? NAN : m->time_s;
    result->spread = m->spread;
    result->repetitions = m->repetitions;
    result->samples = m->samples;
    result->wrong = m->wrong;
    if (r->b->journal) cm__journal_add(r->b->journal, result);
    if (r->b->cases[i].kind != CM__CASE_CALL || m->wrong) return;
    history *s = &r->calls[r->b->cases[i].call.op][r->b->cases[i].call.pass];
    s->unit_s = fmax(m->time_s / units_of(result), SLOWNESS_DECAY * s->unit_s);
    note_preparing(s, result->bytes, fmax(0, wall_s - m->time_s * (double)m->repetitions * m->samples));
}

static void measure_case(runner *r, int32_t i)
{
    cm_bench    *b = r->b;
    cm_diag      diag = {0};
    cm__repeated    timed = {0};
    cm__measured measured;
    cm__effort   effort = effort_for(r);
    void (*release)(void *);
    double    began = cm__now_s();
    cm_status status = prepare(b, i, &timed, &release, &diag);
    if (status == CM_OK) {
        status = cm__measure(&timed, &effort, &measured, &diag);
        /* after running: some backends only know the number of kernels then */
        if (b->cases[i].kind == CM__CASE_CALL) b->results[i].kernels = b->backend->kernels(timed.object);
        release(timed.object);
    }
    if (status == CM_OK) note_result(r, i, &measured, cm__now_s() - began);
    else b->results[i].skipped = cm__text_copy(b->ctx, *diag.reason ? diag.reason : cm_status_text(status));
    if (b->results[i].wrong) b->results[i].skipped = "its results are wrong, so it was not timed";
}

/* ---- all cases --------------------------------------------------------------------------------------------------- */

static void report_progress(const runner *r, const char *what)
{
    cm_bench *b = r->b;
    if (!b->options.progress) return;
    cm_bench_progress p = {.done = r->done, .total = b->n_cases, .elapsed_s = cm__now_s() - r->began_s, .what = what};
    double each = r->done ? p.elapsed_s / r->done : NAN;
    p.left_s = fmin(each * (b->n_cases - r->done), left_s(r) + RESERVE_S);
    b->options.progress(b->options.user, &p);
}

static bool measured_before(cm_bench *b, int32_t i)
{
    double before = b->results[i].resumed;
    if (b->fabric) b->fabric->agree(b->fabric_state, &before);
    if (before != 0 && !b->results[i].resumed) b->results[i].skipped = "measured earlier; rank 0 has the result";
    return before != 0;
}

static void try_case(runner *r, int32_t i)
{
    cm_bench *b = r->b;
    r->tried[i] = true;
    report_progress(r, b->results[i].name);
    bool before = measured_before(b, i); /* ask first: only rank 0 knows that a result in the journal is wrong */
    if (!before && !b->results[i].skipped && has_time(r, i)) measure_case(r, i);
}

/* Nothing is known about the speed of a kind of call before its first measurement, and the cautious guess would refuse
   large calls for ever. The case of the kind to measure first: the largest one whose guess is a small part of the
   budget, otherwise the smallest; -1: the speed is known, or all were tried. Ranks that must agree keep the order. */
static int32_t pilot_for(const runner *r, int32_t i)
{
    const cm_bench *b = r->b;
    double          most = PILOT_FRACTION * (double)b->options.budget_s, best_s = 0;
    int32_t         best = -1;
    if (!b->options.budget_s || b->fabric || is_known(r, &b->cases[i])) return -1;
    for (int32_t k = 0; k < b->n_cases; k++) {
        const cm__bench_case *c = &b->cases[k];
        if (r->tried[k] || c->kind != CM__CASE_CALL || c->call.op != b->cases[i].call.op ||
            c->call.pass != b->cases[i].call.pass)
            continue;
        double need = estimate_s(r, k);
        bool   better = best_s > most ? need < best_s : need <= most && need > best_s;
        if (best >= 0 && !better) continue;
        best = k;
        best_s = need;
    }
    return best;
}

void cm__bench_measure(cm_bench *b)
{
    runner r = {.b = b, .began_s = b->began_s};
    r.tried = cm__alloc_array(b->ctx, (size_t)b->n_cases, sizeof *r.tried);
    for (int32_t i = 0; i < b->n_cases; i++, r.done++) {
        for (int32_t pilot; !r.tried[i] && (pilot = pilot_for(&r, i)) >= 0;) try_case(&r, pilot);
        if (!r.tried[i]) try_case(&r, i);
    }
    report_progress(&r, "");
}
