/* SPDX-License-Identifier: Apache-2.0 */
/*
 * centimani_backend.h - the interface of a benchmark backend: a const struct of functions.
 *
 *     open -> describe, calls, supports -> prepare | probe -> verify, run, run, ... -> release -> close
 *
 * A backend loads its device's libraries at run time; the program must build and start without them. A backend never
 * prints, exits or aborts. Functions that can fail return a cm_status; the diag's `reason` says in one line what is
 * missing and how to fix it: "no NVIDIA driver: libcuda.so.1 is not there". After a case fails, the backend must remain
 * usable. Only one thread uses a backend. Units are SI.
 */
#ifndef CENTIMANI_BACKEND_H
#define CENTIMANI_BACKEND_H

#include "centimani.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CM_BACKEND_VERSION 1
#define CM_CALL_DIMS 20 /* maximum number of sizes of a call */

/* One kernel call, as in the kernel tables of device profiles; docs/devices.md lists operators, variants and sizes. */
typedef struct cm_call {
    const char *op, *pass, *variant, *dtype; /* variant "": none */
    int64_t     dims[CM_CALL_DIMS];          /* in the order of docs/devices.md */
    int32_t     n_dims;
} cm_call;

/* A kind of call that a backend implements. */
typedef struct cm_call_kind {
    const char *op, *pass, *variant, *dtype; /* variant NULL: all of the operator's variants */
} cm_call_kind;

/* Measurements other than kernel calls. cm_probe_request gives the size (`bytes`) and the data type (`dtype`). */
typedef enum cm_probe {
    CM_PROBE_READ,           /* read a working set of `bytes` repeatedly; work: bytes read */
    CM_PROBE_COPY,           /* copy half of a working set of `bytes` to the other half; work: bytes read and written */
    CM_PROBE_VECTOR,         /* fused multiply-adds of `dtype` in registers, no matrix units; work: FLOP */
    CM_PROBE_LAUNCH,         /* queue empty kernels back to back; work: kernels; time: on the device */
    CM_PROBE_SUBMIT,         /* the same; time: what the host takes to queue them */
    CM_PROBE_ROUND_TRIP,     /* run one empty kernel and wait for it; work: kernels; time: on the host */
    CM_PROBE_TO_PINNED,      /* copy `bytes` of page-locked host memory to the device; work: bytes */
    CM_PROBE_TO_PAGEABLE,
    CM_PROBE_FROM_PINNED,    /* from the device to the host */
    CM_PROBE_FROM_PAGEABLE,
    CM_PROBE_LOOKUP,         /* random look-ups in a table of `bytes` (see docs/measuring.md); work: look-ups */
    CM_PROBES
} cm_probe;

typedef struct cm_probe_request {
    cm_probe    probe;
    int64_t     bytes; /* 0: the probe has no size */
    const char *dtype; /* NULL: the probe has no type */
} cm_probe_request;

typedef struct cm_backend_options {
    int32_t  device;  /* index, if there are several */
    int32_t  threads; /* host threads; 0: one per core */
    uint64_t seed;    /* for operands, which must be random and not zero */
} cm_backend_options;

typedef struct cm_case_options {
    bool cold;   /* no repetition finds its operands in a cache: repetitions rotate through copies, and the other copies
                    together exceed the last cache. If false, all repetitions use the same operands, as in a training
                    step that has just written them */
    bool search; /* use the library's fastest algorithm; if false, the one that PyTorch would choose */
} cm_case_options;

#define CM_BENCH_LEVELS 6
#define CM_BENCH_RATES  8

/* Properties that the device reports, before anything is measured. 0 or "": unknown. */
typedef struct cm_bench_device {
    char   id[64];           /* in data/devices, such as "nvidia-h200"; otherwise derived from the name */
    char   name[128], vendor[64];
    char   device_class[8];  /* "cpu", "gpu" */
    char   unit[16], core_name[48];
    char   software[256];    /* libraries and drivers with their versions: "OpenBLAS 0.3.21, oneDNN 2.6.3" */
    char   host[256];        /* the host's processor; "" if the device is the host */
    double cores, clock_hz, memory_clock_hz, tdp_w;
    double memory_bytes, free_bytes;
    struct {
        char   name[32];
        double bytes;        /* of the whole device */
        bool   per_core;
    } caches[CM_BENCH_LEVELS]; /* nearest to the cores first; excludes main memory */
    char   memory_name[32];    /* "HBM3e", "memory" */
    struct {
        const char *dtype;   /* "fp32", "tf32", "bf16", "fp16", "fp64", "fp8"; NULL: no more */
        double      matrix_flop_s, vector_flop_s; /* from clock and units; 0: unknown */
    } rates[CM_BENCH_RATES];  /* all types that the backend supports */
} cm_bench_device;

/* Current sensor readings. NAN: no such sensor. */
typedef struct cm_sense {
    double power_w, energy_j; /* energy since an arbitrary start */
    double clock_hz, memory_clock_hz, temperature_c;
} cm_sense;

typedef struct cm_backend {
    int32_t     version; /* CM_BACKEND_VERSION */
    const char *name, *summary;

    /* `state` is passed to all other functions. Fails with a one-line reason if the device or a library is missing. */
    cm_status (*open)(const cm_backend_options *options, void **state, cm_diag *diag);
    void      (*close)(void *state);
    void      (*describe)(void *state, cm_bench_device *device); /* the caller zeroes `device` */

    /* The kinds of calls that the backend implements, and whether it can run one call with these sizes. */
    const cm_call_kind *(*calls)(void *state, int32_t *count);
    bool                (*supports)(void *state, const cm_call *call);

    /* Create a case: allocate and fill operands, choose an algorithm. CM_ERR_UNSUPPORTED: the device or library cannot
       run it. CM_ERR_LIMIT: not enough memory; the reason says how much is needed and how much is free. */
    cm_status (*prepare)(void *state, const cm_call *call, const cm_case_options *options, void **a_case,
                         cm_diag *diag);
    /* The same for a probe. `work`: of one repetition, in the probe's unit. NULL function: no probes. */
    cm_status (*probe)(void *state, const cm_probe_request *request, void **a_case, double *work, cm_diag *diag);

    /* Run `repetitions` back to back and wait for them. `time_s`: the total, on the device's clock if it has one. */
    cm_status   (*run)(void *a_case, int64_t repetitions, double *time_s, cm_diag *diag);
    /* Run once and compare all results, or a sample spread over them, with a reference computed in another way.
       `wrong`: how many differ by more than rounding explains. The operands are restored afterwards. */
    cm_status   (*verify)(void *a_case, int64_t *wrong, cm_diag *diag);
    int32_t     (*kernels)(void *a_case); /* kernels launched per repetition; 0: unknown */
    const char *(*algorithm)(void *a_case); /* that the library chose; NULL function or result: unknown */
    void        (*release)(void *a_case);

    /* NULL: no sensors. */
    bool (*sense)(void *state, cm_sense *sense);
} cm_backend;

/* ---- several ranks ---------------------------------------------------------------------------------------------- */

typedef enum cm_collective_op {
    CM_ALL_REDUCE, CM_ALL_GATHER, CM_REDUCE_SCATTER, CM_BROADCAST, CM_SEND, CM_COLLECTIVE_OPS
} cm_collective_op;

/* A set of communicating ranks: MPI processes, or the GPUs of one machine. All ranks make the same calls in the same
   order. If one process drives all ranks, rank() is 0. */
typedef struct cm_fabric {
    int32_t     version; /* CM_BACKEND_VERSION */
    const char *name, *summary;
    cm_status (*open)(const cm_backend_options *options, void **state, cm_diag *diag);
    void      (*close)(void *state);
    int32_t   (*rank)(void *state);
    int32_t   (*ranks)(void *state);
    void      (*describe)(void *state, char *software, size_t size); /* "Open MPI 4.1.4, shared memory" */
    /* Elements are fp32. `bytes` is the size as nccl-tests defines it: the receive buffers of all ranks together for
       all-gather, the send buffers of all ranks together for reduce-scatter, one rank's buffer otherwise.
       CM_SEND sends from rank 0 to the last rank and back; its time is half a round trip. */
    cm_status (*prepare)(void *state, cm_collective_op op, int64_t bytes, void **a_case, cm_diag *diag);
    cm_status (*run)(void *a_case, int64_t repetitions, double *time_s, cm_diag *diag); /* slowest rank's, on all */
    cm_status (*verify)(void *a_case, int64_t *wrong, cm_diag *diag);                   /* sum over ranks, on all */
    void      (*release)(void *a_case);
    void      (*agree)(void *state, double *value); /* every rank gets rank 0's value */
} cm_fabric;

#ifdef __cplusplus
}
#endif

#endif
