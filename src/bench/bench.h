/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench.h - how measuring is put together.
 *
 *     suites ─► plan: cases, each once, and the rows of the suites that count them
 *     plan ─► runner: one case after the other, by its backend, within the budget, into the journal
 *     results ─► ceilings ─► profile
 *
 * A case is named by what it is; a name found in the journal of an earlier run is not measured again.
 */
#ifndef CM_BENCH_BENCH_H
#define CM_BENCH_BENCH_H

#include "base/map.h"
#include "bench/measure.h"
#include "centimani_backend.h"
#include "device/calls.h"

#define BACKEND(name) extern const cm_backend cm__backend_##name;
#define FABRIC(name) extern const cm_fabric cm__fabric_##name;
#include "bench/backends.def"
#undef BACKEND
#undef FABRIC

/* NULL: none of this name, which is said in `ctx`'s diagnosis. */
const cm_backend *cm__backend_find(cm__ctx *ctx, const char *name);
const cm_backend *cm__backend_at(int index);       /* NULL: no more */
const cm_fabric  *cm__fabric_at(int index);

/* What the host does beside a device: reading, decoding, batching. A test is prepared and timed as a backend's case is.
 */
typedef struct cm__host_test {
    const char *name, *unit; /* unit of the work one repetition does */
    cm_status (*prepare)(const char *storage, void **a_case, double *work, cm_diag *diag);
    cm_status (*run)(void *a_case, int64_t repetitions, double *time_s, cm_diag *diag);
    cm_status (*verify)(void *a_case, int64_t *wrong, cm_diag *diag);
    void (*release)(void *a_case);
} cm__host_test;

extern const cm__host_test *const cm__host_tests[]; /* ends with NULL */
extern const cm__host_test        cm__host_pretended; /* what the null backend measures in their place */

typedef enum cm__case_kind { CM__CASE_CALL, CM__CASE_PROBE, CM__CASE_HOST, CM__CASE_COLLECTIVE } cm__case_kind;

typedef struct cm__bench_case {
    cm__case_kind        kind;
    cm__call             call;
    cm_probe_request     probe;
    const cm__host_test *host;
    cm_collective_op     collective;
    int64_t              collective_bytes;
} cm__bench_case;

struct cm_bench {
    cm__ctx           *ctx;
    cm_bench_options   asked;
    double             began_s;
    const cm_backend  *backend;
    const cm_fabric   *fabric; /* NULL: none is needed */
    void              *state, *fabric_state;
    cm_bench_device    device;
    cm_bench_machine   machine;
    cm__bench_case    *cases;
    cm_bench_result   *results; /* one per case */
    cm_bench_row      *rows;
    cm_bench_ceiling  *ceilings;
    int32_t            n_cases, n_rows, n_ceilings, cases_capacity, rows_capacity, results_capacity, ceilings_capacity;
    cm__map            by_name;
    struct cm__journal *journal; /* NULL: none is kept */
    int32_t            unmeasured;
    char              *profile;
};

/* ---- the plan ---------------------------------------------------------------------------------------------------- */

extern const char *const cm__probe_names[CM_PROBES];
extern const char *const cm__probe_units[CM_PROBES];
extern const char *const cm__collective_names[CM_COLLECTIVE_OPS];

/* Add a case, unless it is there, and a row that counts it. A call the backend cannot run is left out: false. */
bool cm__plan_call(cm_bench *b, const char *suite, const char *label, const cm__call *call, int32_t times,
                   double paper_flop);
/* The same of a call that was asked for by itself: one that cannot be run is told as skipped. */
void cm__plan_call_asked(cm_bench *b, const char *suite, const char *label, const cm__call *call, int32_t times);
void cm__plan_probe(cm_bench *b, const char *suite, const char *label, cm_probe_request request);
void cm__plan_host(cm_bench *b, const char *suite, const cm__host_test *test);
void cm__plan_collective(cm_bench *b, const char *suite, const char *label, cm_collective_op op, int64_t bytes);

/* A call by its text: "gemm forward nn fp32 1,64,64,64". It must be one. */
cm__call cm__call_of(const char *format, ...) __attribute__((format(printf, 1, 2)));
cm_call  cm__call_for_backend(const cm__call *call); /* points into `call` */
/* The types the device computes in, in the order told; NULL: no more. */
const char *cm__bench_dtype(const cm_bench *b, int index);
bool        cm__is_half(const char *dtype);
/* The best rate the device claims of any type, or a guess by its cores where it claims none. */
double      cm__told_flop_s(const cm_bench *b);

void cm__plan(cm_bench *b); /* by the suites, model or cases asked for */
void cm__suite_primitives(cm_bench *b);
void cm__suite_sweep(cm_bench *b);
void cm__suite_roofline(cm_bench *b);
void cm__suite_host(cm_bench *b);
void cm__suite_collectives(cm_bench *b);
void cm__suite_lookup(cm_bench *b);

/* Calls of {"schema": 1, "cases": [...]}. */
void cm__plan_cases(cm_bench *b, const char *path);
void cm__cases_parse(cm__ctx *ctx, const char *text, size_t size, void (*take)(void *user, const cm__call *call),
                     void *user);
void cm__plan_model(cm_bench *b);

/* ---- running it -------------------------------------------------------------------------------------------------- */

double cm__now_s(void); /* any fixed moment, steady */
void   cm__bench_measure(cm_bench *b);

/* ---- what comes of it -------------------------------------------------------------------------------------------- */

/* The result of a case by its name; NULL: not planned, or no time. */
const cm_bench_result *cm__result_named(const cm_bench *b, const char *name);
void                   cm__find_ceilings(cm_bench *b);
/* The best rate of calls of a type on the matrix units, or a memory's bandwidth; NAN: not measured. */
double cm__ceiling(const cm_bench *b, const char *what, const char *name);
/* algorithm bandwidth times this is bus bandwidth, as nccl-tests has it. */
double cm__bus_factor(cm_collective_op op, int32_t ranks);
char  *cm__bench_profile_text(cm_bench *b);

#endif
