/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cpu.h - internal interface of the CPU backend.
 *
 * Each operator is a row of one of the tables cm__cpu_ops_*. The row has functions that select supported calls, list
 * their operands, run a call, and check its result against a reference in double precision. Operands are fp32 numbers
 * or 32-bit indices. BLAS runs matrix products; oneDNN runs convolutions, pools, batch norms and recurrent layers; this
 * folder has kernels for the rest.
 */
#ifndef CM_BENCH_CPU_CPU_H
#define CM_BENCH_CPU_CPU_H

#include "bench/bench.h"
#include "bench/backends/cpu/blas.h"
#include "bench/backends/cpu/pool.h"
#include "device/machine/machine.h"

#define CM__OPERANDS 20

typedef struct cm__cpu {
    cm__pool       *pool;
    cm__blas        blas[CM__BLAS_MAX]; /* the installed ones, the preferred one first */
    int             n_blas;
    struct cm__dnn *dnn;                /* NULL: no oneDNN */
    cm__machine     machine;
    uint64_t        seed;
    double          last_cache_bytes;
} cm__cpu;

typedef enum cm__fill {
    CM__FILL_RANDOM,   /* between -1 and 1, not zero */
    CM__FILL_POSITIVE, /* between 0.1 and 1 */
    CM__FILL_INDEX,    /* 32-bit integers from 0 to `below` - 1 */
    CM__FILL_RESULT,   /* written by the call */
    CM__FILL_UPDATED,  /* random, then read and written by the call */
    CM__FILL_STATE,    /* positive, then read and written: second moments */
} cm__fill;

typedef struct cm__operand {
    int64_t  elements;
    cm__fill fill;
    int64_t  below;
} cm__operand;

typedef struct cm__cpu_case cm__cpu_case;

typedef struct cm__cpu_op {
    const char *op, *pass;
    bool (*takes)(const cm__cpu *cpu, const cm_call *call); /* checks variant, type and sizes */
    int  (*operands)(const cm_call *call, cm__operand *operands);
    cm_status (*setup)(cm__cpu_case *c, cm_diag *diag); /* NULL: nothing to do; `teardown` frees what it allocates */
    void (*teardown)(cm__cpu_case *c);
    void (*run)(cm__cpu_case *c, float *const *o);
    /* Returns the number of wrong results in a sample. `before`: copies of operands that the call updated in place. */
    int64_t (*check)(cm__cpu_case *c, float *const *o, float *const *before);
    int kernels;
} cm__cpu_op;

struct cm__cpu_case {
    cm__cpu            *cpu;
    const cm__cpu_op   *op;
    cm_call             call; /* its strings point to `texts` */
    char                texts[4][CM__CALL_TEXT];
    cm__operand         operands[CM__OPERANDS];
    int                 n_operands;
    float             **sets; /* n_sets times n_operands */
    int32_t             n_sets, at;
    const cm__blas     *blas;
    void               *extra; /* private data of the operator */
    const char         *algorithm;
};

extern const cm__cpu_op *const cm__cpu_tables[]; /* NULL-terminated; each table ends with a row without a name */
extern const cm__cpu_op cm__cpu_ops_matrix[], cm__cpu_ops_rows[], cm__cpu_ops_elements[], cm__cpu_ops_tables[],
    cm__cpu_ops_reduce[];

/* ---- memory ------------------------------------------------------------------------------------------------------ */

double    cm__free_bytes(void); /* memory available without swapping, within the limit of the control group */
cm_status cm__need_memory(double bytes, cm_diag *diag);
float    *cm__buffer_new(int64_t elements); /* page-aligned; NULL: no memory */
void      cm__fill_buffer(cm__pool *pool, float *buffer, const cm__operand *operand, uint64_t seed);
cm_status cm__make_operands(cm__cpu_case *c, bool cold, cm_diag *diag);
void      cm__free_operands(cm__cpu_case *c);
float   **cm__operand_set(const cm__cpu_case *c, int32_t set);

/* ---- checking ---------------------------------------------------------------------------------------------------- */

cm_status cm__verify_case(cm__cpu_case *c, int64_t *wrong, cm_diag *diag);

#define CM__SAMPLES 199
/* The i-th of cm__samples(n) indices spread over 0 to n - 1: CM__SAMPLES of them, or n if that is smaller. */
int64_t cm__sample(int64_t i, int64_t n);
int64_t cm__samples(int64_t n);
/* 1 if `got` differs from `want` by more than the rounding error of a sum whose terms have the total magnitude `scale`,
   0 otherwise. */
int64_t cm__differs(double got, double want, double scale);

/* ---- probes ------------------------------------------------------------------------------------------------------ */

typedef struct cm__cpu_probe {
    cm__cpu         *cpu;
    cm_probe_request request;
    float           *buffer, *second;
    double          *results; /* one per thread */
    int64_t          elements, turns;
    int32_t          threads;
} cm__cpu_probe;

cm_status cm__probe_fill(cm__cpu_probe *p, cm_diag *diag);
int64_t   cm__probe_check(cm__cpu_probe *p); /* runs the probe once; returns the number of wrong results */
void      cm__probe_free(cm__cpu_probe *p);

/* Each runs one repetition of a probe. */
void    cm__probe_once(cm__cpu_probe *p);
double  cm__probe_work(const cm__cpu_probe *p);
void    cm__lookup_table(cm__cpu_probe *p); /* fills in sorted energies, and cross sections that are linear in energy */
void    cm__lookup_once(cm__cpu_probe *p);
int64_t cm__lookup_check(cm__cpu_probe *p);

#define CM__LOOKUPS 65536 /* per repetition */

#endif
