/* SPDX-License-Identifier: Apache-2.0 */
/* caselist.c - the list of benchmark cases without duplicates, and the suites' table rows that refer to them. */
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "bench/bench.h"

const char *const cm__probe_names[CM_PROBES] = {
    [CM_PROBE_READ] = "read",
    [CM_PROBE_COPY] = "copy",
    [CM_PROBE_VECTOR] = "vector",
    [CM_PROBE_LAUNCH] = "launch",
    [CM_PROBE_SUBMIT] = "submit",
    [CM_PROBE_ROUND_TRIP] = "round-trip",
    [CM_PROBE_TO_PINNED] = "to-device-pinned",
    [CM_PROBE_TO_PAGEABLE] = "to-device-pageable",
    [CM_PROBE_FROM_PINNED] = "from-device-pinned",
    [CM_PROBE_FROM_PAGEABLE] = "from-device-pageable",
    [CM_PROBE_LOOKUP] = "lookup",
};

const char *const cm__probe_units[CM_PROBES] = {
    [CM_PROBE_READ] = "B",         [CM_PROBE_COPY] = "B",          [CM_PROBE_VECTOR] = "FLOP",
    [CM_PROBE_LAUNCH] = "launches", [CM_PROBE_SUBMIT] = "launches", [CM_PROBE_ROUND_TRIP] = "launches",
    [CM_PROBE_TO_PINNED] = "B",    [CM_PROBE_TO_PAGEABLE] = "B",   [CM_PROBE_FROM_PINNED] = "B",
    [CM_PROBE_FROM_PAGEABLE] = "B", [CM_PROBE_LOOKUP] = "look-ups",
};

const char *const cm__collective_names[CM_COLLECTIVE_OPS] = {
    [CM_ALL_REDUCE] = "all-reduce", [CM_ALL_GATHER] = "all-gather", [CM_REDUCE_SCATTER] = "reduce-scatter",
    [CM_BROADCAST] = "broadcast",   [CM_SEND] = "send",
};

/* ---- adding ------------------------------------------------------------------------------------------------------ */

/* Find or create the case of this name. Returns -1 if the pattern of --only excludes it. */
static int32_t case_named(cm_bench *b, const char *name, bool *fresh)
{
    int32_t at = cm__map_get(&b->by_name, cm__span_of(name));
    *fresh = at < 0;
    if (at >= 0) return at;
    if (b->options.only && fnmatch(b->options.only, name, 0) != 0) return -1;
    b->cases = cm__grow(b->ctx, b->cases, b->n_cases, &b->cases_capacity, sizeof *b->cases);
    b->results = cm__grow(b->ctx, b->results, b->n_cases, &b->results_capacity, sizeof *b->results);
    name = cm__text_copy(b->ctx, name);
    b->cases[b->n_cases] = (cm__bench_case){0};
    b->results[b->n_cases] = (cm_bench_result){.name = name, .pass = "", .variant = "", .dtype = "", .flop = NAN,
                                               .bytes = NAN, .work = NAN, .time_s = NAN, .spread = NAN};
    cm__map_put(&b->by_name, cm__span_of(name), b->n_cases);
    return b->n_cases++;
}

static void add_row(cm_bench *b, const char *suite, const char *label, int32_t result, int32_t times, double paper_flop)
{
    if (result < 0) return;
    b->rows = cm__grow(b->ctx, b->rows, b->n_rows, &b->rows_capacity, sizeof *b->rows);
    b->rows[b->n_rows++] = (cm_bench_row){suite, cm__text_copy(b->ctx, label), result, times, paper_flop};
}

static void describe_call(cm_bench *b, int32_t at, const cm__call *call)
{
    const cm__call_kind *kind = &cm__call_kinds[call->op];
    cm_bench_result     *r = &b->results[at];
    cm__call            *kept = cm__alloc(b->ctx, sizeof *kept);
    cm__call_texts      *texts = cm__alloc(b->ctx, sizeof *texts);
    *kept = *call;
    b->cases[at].kind = CM__CASE_CALL;
    b->cases[at].call = *call;
    r->op = kind->name;
    r->pass = cm__pass_names[call->pass];
    r->variant = cm__variant_text(call->variant, texts->variant);
    r->dtype = cm__types_text(call->types, texts->types);
    r->dims = kept->sizes;
    r->n_dims = kind->n_sizes;
    cm__call_work(call, &r->flop, &r->bytes);
}

static int32_t add_call(cm_bench *b, const char *suite, const char *label, const cm__call *call, int32_t times,
                        double paper_flop)
{
    char    name[256];
    bool    fresh;
    int32_t at = case_named(b, cm__call_text(call, name, sizeof name), &fresh);
    if (at >= 0 && fresh) describe_call(b, at, call);
    add_row(b, suite, label, at, times, paper_flop);
    return at;
}

bool cm__add_call(cm_bench *b, const char *suite, const char *label, const cm__call *call, int32_t times,
                   double paper_flop)
{
    cm__call_texts texts;
    cm_call        request = cm__call_for_backend(call, &texts);
    if (!b->backend->supports(b->state, &request)) return false;
    add_call(b, suite, label, call, times, paper_flop);
    return true;
}

void cm__add_requested_call(cm_bench *b, const char *suite, const char *label, const cm__call *call, int32_t times,
                            double paper_flop)
{
    if (cm__add_call(b, suite, label, call, times, paper_flop)) return;
    int32_t at = add_call(b, suite, label, call, times, paper_flop);
    if (at >= 0) b->results[at].skipped = cm__format(b->ctx, "the backend '%s' cannot run it", b->backend->name);
}

void cm__add_probe(cm_bench *b, const char *suite, const char *label, cm_probe_request request)
{
    char        name[96];
    const char *op = cm__probe_names[request.probe];
    bool        fresh;
    if (!b->backend->probe) return;
    int length = snprintf(name, sizeof name, "%s", op);
    if (request.dtype) length += snprintf(name + length, sizeof name - (size_t)length, " %s", request.dtype);
    if (request.bytes) snprintf(name + length, sizeof name - (size_t)length, " %lld", (long long)request.bytes);
    int32_t at = case_named(b, name, &fresh);
    if (at >= 0 && fresh) {
        int64_t *bytes = cm__alloc(b->ctx, sizeof *bytes);
        *bytes = request.bytes;
        b->cases[at].kind = CM__CASE_PROBE;
        b->cases[at].probe = request;
        b->results[at].op = op;
        b->results[at].dtype = request.dtype ? request.dtype : "";
        b->results[at].dims = bytes;
        b->results[at].n_dims = request.bytes ? 1 : 0;
        b->results[at].work_unit = cm__probe_units[request.probe];
    }
    add_row(b, suite, label, at, 1, NAN);
}

void cm__add_host_test(cm_bench *b, const char *suite, const cm__host_test *test)
{
    bool    fresh;
    int32_t at = case_named(b, test->name, &fresh);
    if (at >= 0 && fresh) {
        b->cases[at].kind = CM__CASE_HOST;
        b->cases[at].host = test;
        b->results[at].op = test->name;
        b->results[at].work_unit = test->unit;
    }
    add_row(b, suite, test->name, at, 1, NAN);
}

void cm__add_collective(cm_bench *b, const char *suite, const char *label, cm_collective_op op, int64_t bytes)
{
    char    name[96];
    bool    fresh;
    int32_t ranks = b->fabric->ranks(b->fabric_state);
    snprintf(name, sizeof name, "%s fp32 %lld ranks %d", cm__collective_names[op], (long long)bytes, ranks);
    int32_t at = case_named(b, name, &fresh);
    if (at >= 0 && fresh) {
        int64_t *dims = cm__alloc(b->ctx, 2 * sizeof *dims);
        dims[0] = bytes;
        dims[1] = ranks;
        b->cases[at].kind = CM__CASE_COLLECTIVE;
        b->cases[at].collective = op;
        b->cases[at].collective_bytes = bytes;
        b->results[at].op = cm__collective_names[op];
        b->results[at].dtype = "fp32";
        b->results[at].dims = dims;
        b->results[at].n_dims = 2;
        b->results[at].work = (double)bytes;
        b->results[at].work_unit = "B";
    }
    add_row(b, suite, label, at, 1, NAN);
}
