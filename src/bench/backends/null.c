/* SPDX-License-Identifier: Apache-2.0 */
/*
 * null.c - a simulated device with exactly known times, to test the benchmark harness.
 *
 * A call takes 1 us for its one kernel and the longer of its FLOP at 1e12 FLOP/s (16-bit types: 4e12) and its bytes at
 * 1e11 B/s. It has 16 GiB of memory behind a cache of 1 MiB that is ten times as fast. A matrix product of 13 by 13 by
 * 13 reports a wrong result, to test how the harness handles one.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "bench/bench.h"

#define OVERHEAD_S   1e-6
#define FLOP_S       1e12
#define HALF_FLOP_S  4e12
#define BW_BYTES_S   1e11
#define CACHE_FACTOR 10
#define CACHE_BYTES  1048576.0
#define MEMORY_BYTES 17179869184.0
#define PROBE_WORK   1e6 /* FLOP, launches or look-ups per repetition */
#define RANKS        4
#define LINK_BYTES_S 1e10
#define LINK_S       5e-6

typedef struct null_case {
    double  time_s;
    int64_t wrong;
} null_case;

static cm_status make_case(double time_s, int64_t wrong, void **a_case, cm_diag *diag)
{
    null_case *c = malloc(sizeof *c);
    if (!c) return cm__diag_set(diag, CM_ERR_MEMORY, "out of memory");
    *c = (null_case){time_s, wrong};
    *a_case = c;
    return CM_OK;
}

static cm_status null_run(void *a_case, int64_t repetitions, double *time_s, cm_diag *diag)
{
    (void)diag;
    *time_s = ((null_case *)a_case)->time_s * (double)repetitions;
    return CM_OK;
}

static cm_status null_verify(void *a_case, int64_t *wrong, cm_diag *diag)
{
    (void)diag;
    *wrong = ((null_case *)a_case)->wrong;
    return CM_OK;
}

/* ---- the device -------------------------------------------------------------------------------------------------- */

static cm_status null_open(const cm_backend_options *options, void **state, cm_diag *diag)
{
    (void)options;
    *state = malloc(1);
    return *state ? CM_OK : cm__diag_set(diag, CM_ERR_MEMORY, "out of memory");
}

static void null_describe(void *state, cm_bench_device *d)
{
    (void)state;
    *d = (cm_bench_device){.id = "null-device", .name = "Null device", .vendor = "nobody", .device_class = "cpu",
                           .unit = "core", .core_name = "core", .software = "exact times by formula", .cores = 1,
                           .clock_hz = 1e9, .memory_bytes = MEMORY_BYTES, .free_bytes = MEMORY_BYTES,
                           .memory_name = "memory"};
    strcpy(d->caches[0].name, "cache");
    d->caches[0].bytes = CACHE_BYTES;
    d->rates[0].dtype = "fp32";
    d->rates[0].matrix_flop_s = d->rates[0].vector_flop_s = FLOP_S;
    d->rates[1].dtype = "bf16";
    d->rates[1].matrix_flop_s = d->rates[1].vector_flop_s = HALF_FLOP_S;
}

static const cm_call_kind *null_calls(void *state, int32_t *count)
{
    static cm_call_kind kinds[CM__CALLS];
    (void)state;
    for (int i = 0; i < CM__CALLS; i++) kinds[i] = (cm_call_kind){cm__call_kinds[i].name, "forward", NULL, "fp32"};
    *count = CM__CALLS;
    return kinds;
}

static bool known_call(const cm_call *request, cm__call *call)
{
    int op = cm__call_find(request->op), pass = cm__pass_find(request->pass);
    *call = (cm__call){.op = (int16_t)op, .pass = (int16_t)pass, .variant = cm__variant_find(request->variant),
                       .types = cm__types_find(request->dtype)};
    if (op < 0 || pass < 0 || call->variant == CM__NO_VARIANT || call->types == CM__NO_TYPES) return false;
    memcpy(call->sizes, request->dims, sizeof call->sizes);
    return request->n_dims == cm__call_kinds[op].n_sizes;
}

static bool null_supports(void *state, const cm_call *request)
{
    cm__call call;
    (void)state;
    bool cast = strpbrk(request->dtype, "+>") != NULL;
    return known_call(request, &call) && (cast || !strcmp(request->dtype, "fp32") || !strcmp(request->dtype, "bf16"));
}

static cm_status null_prepare(void *state, const cm_call *request, const cm_case_options *options, void **a_case,
                              cm_diag *diag)
{
    cm__call call;
    double   flop, bytes;
    (void)state, (void)options;
    if (!known_call(request, &call)) return cm__diag_set(diag, CM_ERR_UNSUPPORTED, "no such call");
    cm__call_work(&call, &flop, &bytes);
    if (bytes > MEMORY_BYTES)
        return cm__diag_set(diag, CM_ERR_LIMIT, "needs %.1f GiB of memory, %.1f GiB are free", bytes / 1073741824,
                            MEMORY_BYTES / 1073741824);
    bool unlucky = call.op == CM__CALL_GEMM && call.sizes[CM__GEMM_M] == 13 && call.sizes[CM__GEMM_N] == 13 &&
                   call.sizes[CM__GEMM_K] == 13;
    double rate = cm__types_16_bits(call.types) ? HALF_FLOP_S : FLOP_S;
    return make_case(OVERHEAD_S + fmax(flop / rate, bytes / BW_BYTES_S), unlucky, a_case, diag);
}

static cm_status null_probe(void *state, const cm_probe_request *r, void **a_case, double *work, cm_diag *diag)
{
    double bandwidth = BW_BYTES_S * ((double)r->bytes <= CACHE_BYTES ? CACHE_FACTOR : 1);
    (void)state;
    *work = r->bytes && r->probe != CM_PROBE_LOOKUP ? (double)r->bytes : PROBE_WORK;
    double each = r->probe == CM_PROBE_VECTOR ? 1 / (cm__is_half(r->dtype) ? HALF_FLOP_S : FLOP_S)
                  : r->probe == CM_PROBE_LOOKUP ? 64 / bandwidth
                  : r->bytes ? 1 / bandwidth : OVERHEAD_S;
    return make_case(*work * each, 0, a_case, diag);
}

static int32_t null_kernels(void *a_case)
{
    (void)a_case;
    return 1;
}

const cm_backend cm__backend_null = {
    .version = CM_BACKEND_VERSION,
    .name = "null",
    .summary = "no device: times computed by a formula, to test the harness",
    .open = null_open,
    .close = free,
    .describe = null_describe,
    .calls = null_calls,
    .supports = null_supports,
    .prepare = null_prepare,
    .probe = null_probe,
    .run = null_run,
    .verify = null_verify,
    .kernels = null_kernels,
    .release = free,
};

/* ---- host -------------------------------------------------------------------------------------------------------- */

static cm_status simulated_prepare(const char *storage, void **a_case, double *work, cm_diag *diag)
{
    (void)storage;
    *work = PROBE_WORK;
    return make_case(1, 0, a_case, diag);
}

const cm__host_test cm__host_simulated = {"simulated", "1", simulated_prepare, null_run, null_verify, free};

/* ---- ranks ------------------------------------------------------------------------------------------------------- */

static int32_t null_rank(void *state)
{
    (void)state;
    return 0;
}

static int32_t null_ranks(void *state)
{
    (void)state;
    return RANKS;
}

static void null_ranks_describe(void *state, char *software, size_t size)
{
    (void)state;
    snprintf(software, size, "%d simulated ranks", RANKS);
}

static cm_status null_collective(void *state, cm_collective_op op, int64_t bytes, void **a_case, cm_diag *diag)
{
    (void)state;
    return make_case(LINK_S + (double)bytes * cm__bus_factor(op, RANKS) / LINK_BYTES_S, 0, a_case, diag);
}

static void null_agree(void *state, double *value) { (void)state, (void)value; }

const cm_fabric cm__fabric_null = {
    .version = CM_BACKEND_VERSION,
    .name = "null",
    .summary = "no ranks: times computed by a formula",
    .open = null_open,
    .close = free,
    .rank = null_rank,
    .ranks = null_ranks,
    .describe = null_ranks_describe,
    .prepare = null_collective,
    .run = null_run,
    .verify = null_verify,
    .release = free,
    .agree = null_agree,
};
