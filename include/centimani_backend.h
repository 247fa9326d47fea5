/* SPDX-License-Identifier: Apache-2.0 */
/*
 * centimani_backend.h - the interface of a benchmark backend: a const struct of functions that `centimani bench` calls.
 *
 *     open -> describe, calls, supports -> prepare | probe -> verify, run, run, ... -> release -> close
 *
 * A backend loads the device's software at run time: neither the build nor the start of the program may need it. A
 * backend never prints, exits or aborts. A function that can fail returns a cm_status and writes one line into the
 * diag's `reason`: what is missing and how to correct it ("no NVIDIA driver: libcuda.so.1 is not there"). After a case
 * has failed the backend must still be usable. One thread uses a backend. Units are SI.
 */
#ifndef CENTIMANI_BACKEND_H
#define CENTIMANI_BACKEND_H

#include "centimani.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CM_BACKEND_VERSION 1
#define CM_CALL_DIMS 20 /* most sizes of a kernel call */

/* One kernel call; docs/profiles.md lists operators, passes, variants and the order of the sizes. */
typedef struct cm_call {
    const char *op, *pass, *variant, *dtype; /* variant "": none */
    int64_t     dims[CM_CALL_DIMS];
    int32_t     n_dims;
} cm_call;

/* A kind of kernel call that a backend supports. */
typedef struct cm_call_kind {
    const char *op, *pass, *variant, *dtype; /* variant NULL: all variants of the operator */
} cm_call_kind;

/* Measurements other than kernel calls. cm_probe_request gives `bytes` and `dtype`. */
typedef enum cm_probe {
    CM_PROBE_READ,           /* read a working set of `bytes` repeatedly; work: bytes read */
    CM_PROBE_COPY,           /* copy half of a working set of `bytes` to the other half; work: bytes read and written */
    CM_PROBE_VECTOR,         /* fused multiply-adds of `dtype` in registers, no matrix units; work: FLOP */
    CM_PROBE_LAUNCH,         /* empty kernels, queued back to back; work: kernels; time on the device */
    CM_PROBE_SUBMIT,         /* the same; time of the host to queue them */
    CM_PROBE_ROUND_TRIP,     /* launch one empty kernel and wait for it; work: kernels; time on the host */
    CM_PROBE_TO_PINNED,      /* copy `bytes` of page-locked host memory to the device; work: bytes */
    CM_PROBE_TO_PAGEABLE,
    CM_PROBE_FROM_PINNED,    /* from the device to the host */
    CM_PROBE_FROM_PAGEABLE,
    CM_PROBE_LOOKUP,         /* random look-ups in a table of `bytes` (see docs/bench.md); work: look-ups */
    CM_PROBES
} cm_probe;

typedef struct cm_probe_request {
    cm_probe    probe;
    int64_t     bytes; /* 0: the probe has no size */
    const char *dtype; /* NULL: the probe has no type */
} cm_probe_request;

typedef struct cm_backend_options {
    int32_t  device;  /* which of several */
    int32_t  threads; /* of the host; 0: one per core */
    uint64_t seed;    /* of the random, non-zero operands */
} cm_backend_options;

typedef struct cm_case_options {
    bool cold;   /* operands are never in a cache: the backend rotates through copies that exceed the last-level cache.
                    false: every repetition uses the same operands, like a training step that has just produced them */
    bool search; /* use the library's fastest algorithm; false: the algorithm that PyTorch would use */
} cm_case_options;

#define CM_BENCH_LEVELS 6
#define CM_BENCH_RATES  8

/* The device's own description, before any measurement. 0 or an empty text: unknown. */
typedef struct cm_bench_device {
    char   id[64];           /* the id in data/devices if there is one ("nvidia-h200"), otherwise made from the name */
    char   name[128], vendor[64];
    char   device_class[8];  /* "cpu", "gpu" */
    char   unit[16], core_name[48];
    char   software[256];    /* libraries and drivers with their versions: "OpenBLAS 0.3.21, oneDNN 2.6.3" */
    char   host[256];        /* the host's processor; empty if the device is the host */
    double cores, clock_hz, memory_clock_hz, tdp_w;
    double memory_bytes, free_bytes;
    struct {
        char   name[32];
        double bytes;        /* of the whole device */
        bool   per_core;
    } caches[CM_BENCH_LEVELS]; /* nearest to the cores first; main memory excluded */
    char   memory_name[32];    /* "HBM3e", "memory" */
    struct {
        const char *dtype;   /* "fp32", "tf32", "bf16", "fp16", "fp64", "fp8"; NULL: no more */
        double      matrix_flop_s, vector_flop_s; /* computed from clock and units; 0: unknown */
    } rates[CM_BENCH_RATES];  /* every type that the backend can compute in */
} cm_bench_device;

/* Current sensor readings. NAN: no such sensor. */
typedef struct cm_sense {
    double power_w, energy_j; /* energy since an arbitrary fixed time */
    double clock_hz, memory_clock_hz, temperature_c;
} cm_sense;

typedef struct cm_backend {
    int32_t     version; /* CM_BACKEND_VERSION */
    const char *name, *summary;

    /* `state` is passed to the functions below. Fails if the device or its software is missing or incomplete. */
    cm_status (*open)(const cm_backend_options *options, void **state, cm_diag *diag);
    void      (*close)(void *state);
    void      (*describe)(void *state, cm_bench_device *device); /* `device` is zeroed by the caller */

    /* The kinds of kernel calls that it supports; whether it supports one call with its sizes. */
    const cm_call_kind *(*calls)(void *state, int32_t *count);
    bool                (*supports)(void *state, const cm_call *call);

    /* Make a case: allocate and fill operands, choose an algorithm. CM_ERR_UNSUPPORTED: the device or library has no
       such kernel. CM_ERR_LIMIT: not enough memory; the reason gives the needed and the free amount. */
    cm_status (*prepare)(void *state, const cm_call *call, const cm_case_options *options, void **a_case,
                         cm_diag *diag);
    /* Make the case of a probe. `work`: work of one repetition in the probe's unit. NULL: the backend has no probes. */
    cm_status (*probe)(void *state, const cm_probe_request *request, void **a_case, double *work, cm_diag *diag);

    /* Run `repetitions` back to back and wait for them. `time_s`: total time, by the device's clock if it has one. */
    cm_status   (*run)(void *a_case, int64_t repetitions, double *time_s, cm_diag *diag);
    /* Run once on known operands and compare all results, or a sample spread over them, with a reference that is
       computed differently. `wrong`: results that differ by more than rounding explains. Restores the operands. */
    cm_status   (*verify)(void *a_case, int64_t *wrong, cm_diag *diag);
    int32_t     (*kernels)(void *a_case); /* launched by one repetition; 0: unknown */
    const char *(*algorithm)(void *a_case); /* chosen by the library; NULL function or result: unknown */
    void        (*release)(void *a_case);

    /* NULL: no sensors. */
    bool (*sense)(void *state, cm_sense *sense);
} cm_backend;

/* ---- several ranks ---------------------------------------------------------------------------------------------- */

typedef enum cm_collective_op {
    CM_ALL_REDUCE, CM_ALL_GATHER, CM_REDUCE_SCATTER, CM_BROADCAST, CM_SEND, CM_COLLECTIVE_OPS
} cm_collective_op;

/* Communicating ranks: MPI processes, or the GPUs of one machine. All ranks call the same functions in the same order.
   If one process drives all ranks, its rank is 0. */
typedef struct cm_fabric {
    int32_t     version; /* CM_BACKEND_VERSION */
    const char *name, *summary;
    cm_status (*open)(const cm_backend_options *options, void **state, cm_diag *diag);
    void      (*close)(void *state);
    int32_t   (*rank)(void *state);
    int32_t   (*ranks)(void *state);
    void      (*describe)(void *state, char *software, size_t size); /* "Open MPI 4.1.4, shared memory" */
    /* Data are fp32. `bytes` is the size as nccl-tests defines it: the sum over all ranks for all-gather (received) and
       reduce-scatter (sent), the buffer of one rank otherwise. CM_SEND: from rank 0 to the last rank and back; the time
       is half of the round trip. */
    cm_status (*prepare)(void *state, cm_collective_op op, int64_t bytes, void **a_case, cm_diag *diag);
    cm_status (*run)(void *a_case, int64_t repetitions, double *time_s, cm_diag *diag); /* time of the slowest rank */
    cm_status (*verify)(void *a_case, int64_t *wrong, cm_diag *diag);                   /* sum over all ranks */
    void      (*release)(void *a_case);
    void      (*agree)(void *state, double *value); /* broadcast rank 0's value to all ranks */
} cm_fabric;

#ifdef __cplusplus
}
#endif

#endif
