/* SPDX-License-Identifier: Apache-2.0 */
/* bench.c - the public functions: open a backend, list the cases, measure them, and return the results. */
#include "bench/bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/sized.h"
#include "bench/journal.h"

#define SEED 20260101 /* fixed, so that every run fills the same operands */

/* ---- opening ----------------------------------------------------------------------------------------------------- */

static void close_backend(void *object)
{
    cm_bench *b = object;
    if (b->state) b->backend->close(b->state);
    if (b->fabric_state) b->fabric->close(b->fabric_state);
    free(b->profile);
}

static cm_backend_options backend_options(const cm_bench *b)
{
    return (cm_backend_options){.device = b->options.device ? (int32_t)b->options.device - 1 : 0,
                                .threads = (int32_t)b->options.threads,
                                .seed = SEED};
}

static bool try_backend(cm_bench *b, const cm_backend *backend, cm_status *status, cm_diag *diag)
{
    cm_backend_options o = backend_options(b);
    *status = backend->open(&o, &b->state, diag);
    if (*status == CM_OK) b->backend = backend;
    return *status == CM_OK;
}

/* Open the backend that the options name, or else the first one that opens. */
static void open_backend(cm_bench *b)
{
    cm_diag   diag = {0};
    cm_status status = CM_ERR_UNSUPPORTED;
    if (b->options.backend) {
        if (try_backend(b, cm__backend_find(b->ctx, b->options.backend), &status, &diag)) return;
    } else
        for (int i = 0; cm__backend_at(i); i++)
            if (cm__backend_at(i) != &cm__backend_null && try_backend(b, cm__backend_at(i), &status, &diag)) return;
    cm__fail(b->ctx, status, "%s", *diag.reason ? diag.reason : "no backend can be opened on this machine");
}

static bool wants_ranks(const cm_bench *b) { return b->options.suites && strstr(b->options.suites, "collectives"); }

/* The null backend simulates its ranks. The other backends use the first fabric that opens. */
static void open_fabric(cm_bench *b)
{
    cm_backend_options o = backend_options(b);
    cm_diag            diag = {0}, first = {0};
    cm_status          status = CM_ERR_UNSUPPORTED;
    bool               simulated = b->backend == &cm__backend_null;
    for (int i = 0; cm__fabric_at(i) && status != CM_OK; i++) {
        if ((cm__fabric_at(i) == &cm__fabric_null) != simulated) continue;
        b->fabric = cm__fabric_at(i);
        status = b->fabric->open(&o, &b->fabric_state, &diag);
        if (status != CM_OK && !*first.reason) first = diag;
    }
    if (status != CM_OK) cm__fail(b->ctx, status, "%s", *first.reason ? first.reason : "no ranks to measure");
}

static void describe(cm_bench *b)
{
    b->backend->describe(b->state, &b->device);
    const cm_bench_device *d = &b->device;
    b->machine = (cm_bench_machine){.backend = b->backend->name, .id = d->id, .name = d->name, .software = d->software,
                                    .host = *d->host ? d->host : NULL, .cores = d->cores > 0 ? d->cores : NAN,
                                    .memory_bytes = d->memory_bytes > 0 ? d->memory_bytes : NAN};
    if (!b->fabric) return;
    char text[128] = "";
    b->fabric->describe(b->fabric_state, text, sizeof text);
    b->machine.ranks = b->fabric->ranks(b->fabric_state);
    b->machine.software = cm__format(b->ctx, "%s%s%s", d->software, *d->software ? ", " : "", text);
}

/* ---- resuming ---------------------------------------------------------------------------------------------------- */

static void take_result(void *user, const cm_bench_result *old)
{
    cm_bench *b = user;
    int32_t   at = cm__map_get(&b->by_name, cm__span_of(old->name));
    if (at < 0) return;
    cm_bench_result *r = &b->results[at];
    r->time_s = old->time_s;
    r->spread = old->spread;
    r->repetitions = old->repetitions;
    r->samples = old->samples;
    r->wrong = old->wrong;
    r->kernels = old->kernels;
    r->algorithm = old->algorithm;
    if (!isnan(old->work)) r->work = old->work;
    if (!isnan(old->bytes)) r->bytes = old->bytes;
    r->resumed = true;
    if (r->wrong) r->skipped = "its results are wrong, so it was not timed";
}

static void open_journal(cm_bench *b)
{
    const cm_bench_options *o = &b->options;
    if (!o->journal || !cm_bench_speaks(b)) return;
    const char *identity = cm__format(b->ctx, "%s on %s with %s, %d threads%s%s", b->machine.backend, b->machine.name,
                                      b->machine.software, (int)o->threads, o->cold ? ", cold" : "",
                                      o->search ? ", searched" : "");
    b->journal = cm__journal_open(b->ctx, o->journal, identity, take_result, b);
}

/* ---- the public calls -------------------------------------------------------------------------------------------- */

static void run(cm_bench *b)
{
    open_backend(b);
    if (wants_ranks(b)) open_fabric(b);
    describe(b);
    cm__list_cases(b);
    if (!b->options.list) {
        open_journal(b);
        cm__bench_measure(b);
    }
    cm__find_ceilings(b);
}

cm_status cm_bench_run(const cm_bench_options *options, cm_bench **bench, cm_diag *diag)
{
    cm__ctx *ctx = cm__ctx_new(diag);
    if (!ctx) return CM_ERR_MEMORY;
    if (setjmp(ctx->trap)) return cm__ctx_abandon(ctx);
    cm_bench *b = cm__alloc(ctx, sizeof *b);
    b->ctx = ctx;
    cm__take_options(&b->options, sizeof b->options, options);
    b->began_s = cm__now_s();
    cm__map_init(&b->by_name, ctx);
    cm__defer(ctx, close_backend, b);
    run(b);
    ctx->diag = NULL;
    *bench = b;
    return CM_OK;
}

void cm_bench_free(cm_bench *b)
{
    if (b) cm__ctx_free(b->ctx);
}

const cm_bench_machine *cm_bench_get_machine(const cm_bench *b) { return &b->machine; }

bool cm_bench_speaks(const cm_bench *b) { return !b->fabric || b->fabric->rank(b->fabric_state) == 0; }

int32_t cm_bench_results(const cm_bench *b) { return b->n_cases; }

const cm_bench_result *cm_bench_get_result(const cm_bench *b, int32_t i)
{
    return i >= 0 && i < b->n_cases ? &b->results[i] : NULL;
}

int32_t cm_bench_rows(const cm_bench *b) { return b->n_rows; }

const cm_bench_row *cm_bench_get_row(const cm_bench *b, int32_t i)
{
    return i >= 0 && i < b->n_rows ? &b->rows[i] : NULL;
}

int32_t cm_bench_ceilings(const cm_bench *b) { return b->n_ceilings; }

const cm_bench_ceiling *cm_bench_get_ceiling(const cm_bench *b, int32_t i)
{
    return i >= 0 && i < b->n_ceilings ? &b->ceilings[i] : NULL;
}

int64_t cm_bench_wrong(const cm_bench *b)
{
    int64_t wrong = 0;
    for (int32_t i = 0; i < b->n_cases; i++) wrong += b->results[i].wrong;
    return wrong;
}

int32_t cm_bench_unmeasured(const cm_bench *b) { return b->unmeasured; }

const char *cm_bench_profile(cm_bench *b)
{
    if (!b->profile) b->profile = cm__bench_profile_text(b);
    return b->profile;
}

void cm_bench_forget(cm_bench *b)
{
    if (b->journal && !b->unmeasured) cm__journal_remove(b->journal);
}

const cm_bench_result *cm__result_named(const cm_bench *b, const char *name)
{
    int32_t at = cm__map_get(&b->by_name, cm__span_of(name));
    return at >= 0 && b->results[at].time_s > 0 ? &b->results[at] : NULL;
}
