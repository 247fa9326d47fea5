/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench.h - internal interface of `centimani bench`.
 *
 *     suites ─► case list: each case once, and the suites' table rows that refer to it
 *     case list ─► runner: measures the cases in order within the time budget, and logs each result in the journal
 *     results ─► ceilings ─► device profile
 *
 * A case's name contains its operator, type and sizes. A case whose name is in the journal is not measured again.
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

/* Fails in `ctx` if there is no backend of this name. */
const cm_backend *cm__backend_find(cm__ctx *ctx, const char *name);
const cm_backend *cm__backend_at(int index); /* NULL: index is past the end */
const cm_fabric  *cm__fabric_at(int index);

/* A test of work that the host does to feed a device: reading storage, decoding images, gathering token batches.
   Prepared and timed in the same way as a backend's case. */
typedef struct cm__host_test {
    const char *name, *unit; /* unit of `work` */
    cm_status (*prepare)(const char *storage, void **a_case, double *work, cm_diag *diag);
    cm_status (*run)(void *a_case, int64_t repetitions, double *time_s, cm_diag *diag);
    cm_status (*verify)(void *a_case, int64_t *wrong, cm_diag *diag);
    void (*release)(void *a_case);
} cm__host_test;

extern const cm__host_test *const cm__host_tests[]; /* NULL-terminated */
extern const cm__host_test        cm__host_simulated; /* replaces all host tests with the null backend */

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
    cm_bench_options   options;
    double             began_s;
    const cm_backend  *backend;
    const cm_fabric   *fabric; /* NULL: no collectives are measured */
    void              *state, *fabric_state;
    cm_bench_device    device;
    cm_bench_machine   machine;
    cm__bench_case    *cases;
    cm_bench_result   *results; /* one per case */
    cm_bench_row      *rows;
    cm_bench_ceiling  *ceilings;
    int32_t            n_cases, n_rows, n_ceilings, cases_capacity, rows_capacity, results_capacity, ceilings_capacity;
    cm__map            by_name;
    struct cm__journal *journal; /* NULL: no journal is kept */
    int32_t            unmeasured;
    char              *profile;
};

/* ---- case list --------------------------------------------------------------------------------------------------- */

extern const char *const cm__probe_names[CM_PROBES];
extern const char *const cm__probe_units[CM_PROBES];
extern const char *const cm__collective_names[CM_COLLECTIVE_OPS];

/* Add a row, and its case unless the list has it already. Returns false, and adds nothing, if the backend does not
   support the call. */
bool cm__add_call(cm_bench *b, const char *suite, const char *label, const cm__call *call, int32_t times,
                   double paper_flop);
/* The same for a call that must not be dropped silently, as one that the user requested: an unsupported one is added
   and marked as skipped. */
void cm__add_requested_call(cm_bench *b, const char *suite, const char *label, const cm__call *call, int32_t times,
                            double paper_flop);
void cm__add_probe(cm_bench *b, const char *suite, const char *label, cm_probe_request request);
void cm__add_host_test(cm_bench *b, const char *suite, const cm__host_test *test);
void cm__add_collective(cm_bench *b, const char *suite, const char *label, cm_collective_op op, int64_t bytes);

/* Parse a call such as "gemm forward nn fp32 1,64,64,64". The text must be valid. */
cm__call cm__call_of(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The texts of a call. The result of the function points into `call` and `texts`. */
typedef struct cm__call_texts {
    char variant[CM__CALL_TEXT], types[CM__CALL_TEXT];
} cm__call_texts;
cm_call  cm__call_for_backend(const cm__call *call, cm__call_texts *texts);
/* The data types that the device computes in, in the order of its description; NULL: index is past the end. */
const char *cm__bench_dtype(const cm_bench *b, int index);
bool        cm__is_half(const char *dtype);
/* The highest FLOP/s of any type in the device's description, or an estimate from its core count if it has none. */
double      cm__claimed_flop_s(const cm_bench *b);

void cm__list_cases(cm_bench *b); /* of the suites, model and case file in b->options */
void cm__suite_primitives(cm_bench *b);
void cm__suite_sweep(cm_bench *b);
void cm__suite_roofline(cm_bench *b);
void cm__suite_host(cm_bench *b);
void cm__suite_collectives(cm_bench *b);
void cm__suite_lookup(cm_bench *b);

/* Add the calls of a file {"schema": 1, "cases": [...]}. */
void cm__add_cases_of_file(cm_bench *b, const char *path);
void cm__cases_parse(cm__ctx *ctx, const char *text, size_t size, void (*take)(void *user, const cm__call *call),
                     void *user);
void cm__add_calls_of_model(cm_bench *b);

/* ---- running ----------------------------------------------------------------------------------------------------- */

double cm__now_s(void); /* monotonic clock, from an arbitrary start */
void   cm__bench_measure(cm_bench *b);

/* ---- results ----------------------------------------------------------------------------------------------------- */

/* The result of the case with this name; NULL: not in the list, or not timed. */
const cm_bench_result *cm__result_named(const cm_bench *b, const char *name);
void                   cm__find_ceilings(cm_bench *b);
/* A measured ceiling: the best matrix rate of a type, a memory level's bandwidth, and so on; NAN: not measured. */
double cm__ceiling(const cm_bench *b, const char *what, const char *name);
/* Bus bandwidth divided by algorithm bandwidth, as nccl-tests defines them. */
double cm__bus_factor(cm_collective_op op, int32_t ranks);
char  *cm__bench_profile_text(cm_bench *b);

#endif
