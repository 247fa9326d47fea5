/* SPDX-License-Identifier: Apache-2.0 */
/* roofline.c - suite of bandwidths by working set, peak rates by type and launch latencies; and the device's ceilings
   that follow from them. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "bench/bench.h"

#define WORKING_SET_LEAST 8192
#define WORKING_SET_MOST  ((int64_t)4 << 30)
#define CACHES_OVER       8    /* largest working set, as a multiple of the last cache */
#define MEMORY_PART       8    /* no working set exceeds the memory divided by this */
#define PEAK_SECONDS      0.25 /* longest matrix product at the claimed peak */
#define LEVEL_PART        0.75 /* largest fraction of a cache that a working set may fill to count for that cache */

static double last_cache(const cm_bench *b)
{
    double bytes = 0;
    for (int i = 0; i < CM_BENCH_LEVELS; i++) bytes = fmax(bytes, b->device.caches[i].bytes);
    return bytes;
}

static int64_t largest_set(const cm_bench *b)
{
    double most = fmin(fmax(CACHES_OVER * last_cache(b), 256e6), b->device.memory_bytes / MEMORY_PART);
    if (b->device.free_bytes > 0) most = fmin(most, b->device.free_bytes / 2);
    int64_t set = WORKING_SET_LEAST;
    while (2 * (double)set <= most && 2 * set <= WORKING_SET_MOST) set *= 2;
    return set;
}

static void add_bandwidths(cm_bench *b)
{
    int64_t largest = largest_set(b);
    for (int64_t bytes = largest; bytes >= WORKING_SET_LEAST; bytes /= 2)
        cm__add_probe(b, "roofline", "read", (cm_probe_request){CM_PROBE_READ, bytes, NULL});
    for (int64_t bytes = largest; bytes >= WORKING_SET_LEAST; bytes /= 4)
        cm__add_probe(b, "roofline", "copy", (cm_probe_request){CM_PROBE_COPY, bytes, NULL});
}

static void add_peaks(cm_bench *b)
{
    for (int i = 0; cm__bench_dtype(b, i); i++) {
        const char *dtype = cm__bench_dtype(b, i);
        cm__add_probe(b, "roofline", "vector", (cm_probe_request){CM_PROBE_VECTOR, 0, dtype});
        for (long long n = 256; n <= 16384; n *= 2) {
            cm__call call = cm__call_of("gemm forward nn %s 1,%lld,%lld,%lld", dtype, n, n, n);
            double   nd = (double)n;
            if (2 * nd * nd * nd > PEAK_SECONDS * cm__claimed_flop_s(b)) break;
            cm__add_call(b, "roofline", "matrix", &call, 1, NAN);
        }
    }
}

void cm__suite_roofline(cm_bench *b)
{
    add_peaks(b);
    add_bandwidths(b);
    cm__add_probe(b, "roofline", "launch", (cm_probe_request){CM_PROBE_LAUNCH, 0, NULL});
    if (b->backend != &cm__backend_cpu) /* a CPU has no queue of kernels */
        cm__add_probe(b, "roofline", "submit", (cm_probe_request){CM_PROBE_SUBMIT, 0, NULL});
    cm__add_probe(b, "roofline", "round-trip", (cm_probe_request){CM_PROBE_ROUND_TRIP, 0, NULL});
}

/* ---- ceilings ---------------------------------------------------------------------------------------------------- */

static void add_ceiling(cm_bench *b, const char *what, const char *name, const char *unit, double value, double claimed)
{
    if (!(value > 0)) return;
    b->ceilings = cm__grow(b->ctx, b->ceilings, b->n_ceilings, &b->ceilings_capacity, sizeof *b->ceilings);
    b->ceilings[b->n_ceilings++] = (cm_bench_ceiling){what, name, unit, value, claimed > 0 ? claimed : NAN};
}

double cm__ceiling(const cm_bench *b, const char *what, const char *name)
{
    for (int32_t i = 0; i < b->n_ceilings; i++)
        if (strcmp(b->ceilings[i].what, what) == 0 && strcmp(b->ceilings[i].name, name) == 0)
            return b->ceilings[i].value;
    return NAN;
}

/* The highest rate among the cases of one operator, type and range of sizes. */
static double best_rate(const cm_bench *b, cm__case_kind kind, const char *op, const char *dtype, int64_t least,
                        double most)
{
    double best = NAN;
    for (int32_t i = 0; i < b->n_cases; i++) {
        const cm_bench_result *r = &b->results[i];
        if (b->cases[i].kind != kind || strcmp(r->op, op) || strcmp(r->dtype, dtype) || !(r->time_s > 0)) continue;
        if (kind == CM__CASE_PROBE && r->n_dims && (r->dims[0] < least || (double)r->dims[0] > most)) continue;
        best = fmax(best, (kind == CM__CASE_CALL ? r->flop : r->work) / r->time_s);
    }
    return best;
}

static double best_bandwidth(const cm_bench *b, double least, double most)
{
    return fmax(best_rate(b, CM__CASE_PROBE, "read", "", (int64_t)least, most),
                best_rate(b, CM__CASE_PROBE, "copy", "", (int64_t)least, most));
}

/* A level's bandwidth is measured with working sets that fit into it but not into the level before. */
static void find_bandwidths(cm_bench *b)
{
    double before = 0;
    for (int i = 0; i < CM_BENCH_LEVELS && b->device.caches[i].bytes > 0; i++) {
        double bytes = b->device.caches[i].bytes;
        add_ceiling(b, "memory", b->device.caches[i].name, "B/s", best_bandwidth(b, before + 1, LEVEL_PART * bytes),
                    NAN);
        before = bytes;
    }
    double last = last_cache(b);
    add_ceiling(b, "memory", *b->device.memory_name ? b->device.memory_name : "memory", "B/s",
                best_bandwidth(b, fmax(4 * last, 1 << 26), INFINITY), NAN);
}

static void find_peaks(cm_bench *b)
{
    for (int i = 0; cm__bench_dtype(b, i); i++) {
        const char *dtype = cm__bench_dtype(b, i);
        add_ceiling(b, "matrix", dtype, "FLOP/s", best_rate(b, CM__CASE_CALL, "gemm", dtype, 0, 0),
                    b->device.rates[i].matrix_flop_s);
        add_ceiling(b, "vector", dtype, "FLOP/s", best_rate(b, CM__CASE_PROBE, "vector", dtype, 0, INFINITY),
                    b->device.rates[i].vector_flop_s);
    }
}

void cm__find_ceilings(cm_bench *b)
{
    static const cm_probe latencies[] = {CM_PROBE_LAUNCH, CM_PROBE_SUBMIT, CM_PROBE_ROUND_TRIP};
    static const cm_probe links[] = {CM_PROBE_TO_PINNED, CM_PROBE_TO_PAGEABLE, CM_PROBE_FROM_PINNED,
                                     CM_PROBE_FROM_PAGEABLE};
    find_peaks(b);
    find_bandwidths(b);
    for (size_t i = 0; i < sizeof latencies / sizeof *latencies; i++) {
        const char *name = cm__probe_names[latencies[i]];
        add_ceiling(b, "latency", name, "s", 1 / best_rate(b, CM__CASE_PROBE, name, "", 0, INFINITY), NAN);
    }
    for (size_t i = 0; i < sizeof links / sizeof *links; i++) {
        const char *name = cm__probe_names[links[i]];
        add_ceiling(b, "link", name, "B/s", best_rate(b, CM__CASE_PROBE, name, "", 0, INFINITY), NAN);
    }
    add_ceiling(b, "look-ups", "random", "1/s",
                best_rate(b, CM__CASE_PROBE, "lookup", "", (int64_t)(2 * last_cache(b)), INFINITY), NAN);
}
