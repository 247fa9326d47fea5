/* SPDX-License-Identifier: Apache-2.0 */
/*
 * centimani_backend.h - what `centimani bench` asks of a backend: a const struct of functions.
 *
 *     open -> describe, calls, supports -> prepare | probe -> verify, run, run, ... -> release -> close
 *
 * A backend is opened at run time; nothing of the device's software may be needed to build or to start. It never
 * prints, exits or aborts. Functions that can fail return a cm_status and say in the diag's `reason` what is missing
 * and how to mend it, in one line: "no NVIDIA driver: libcuda.so.1 is not there". A failure of one case leaves the
 * backend usable. Used by one thread. Units are SI.
 */
#ifndef CENTIMANI_BACKEND_H
#define CENTIMANI_BACKEND_H

#include "centimani.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CM_BACKEND_VERSION 1
#define CM_CALL_DIMS 20 /* most sizes a call has */

/* One call of a runtime's kernel tables, in the words of docs/profiles.md. */
typedef struct cm_call {
    const char *op, *pass, *variant, *dtype; /* variant "": none */
    int64_t     dims[CM_CALL_DIMS];          /* in the order docs/profiles.md gives */
    int32_t     n_dims;
} cm_call;

/* A kind of call a backend knows. */
typedef struct cm_call_kind {
    const char *op, *pass, *variant, *dtype; /* variant NULL: every one the vocabulary has */
} cm_call_kind;

/* What is measured beside the calls. `bytes` and `dtype` of cm_probe_request say how large and in what. */
typedef enum cm_probe {
    CM_PROBE_READ,           /* a working set of `bytes`, read again and again; work: bytes read */
    CM_PROBE_COPY,           /* half a working set of `bytes` onto the other half; work: bytes read and written */
    CM_PROBE_VECTOR,         /* fused multiply-adds of `dtype` in registers, no matrix units; work: FLOP */
    CM_PROBE_LAUNCH,         /* empty kernels, queued back to back; work: kernels; time on the device */
    CM_PROBE_SUBMIT,         /* the same, but the time the host needs to queue them */
    CM_PROBE_ROUND_TRIP,     /* one empty kernel, and waited for; work: kernels; time on the host */
    CM_PROBE_TO_PINNED,      /* host memory of `bytes`, page-locked, to the device; work: bytes */
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
    bool cold;   /* no repetition finds its operands in a cache: operands are rotated through copies of which all others
                    together are larger than the last cache. Otherwise each repetition has the same operands, as a
                    training step that has just produced them */
    bool search; /* take the fastest of the library's algorithms; otherwise the one PyTorch would take */
} cm_case_options;

#define CM_BENCH_LEVELS 6
#define CM_BENCH_RATES  8

/* What the device says of itself, before anything is measured. 0 or an empty text: not told. */
typedef struct cm_bench_device {
    char   id[64];           /* an id of data/devices if it is one of them: "nvidia-h200"; otherwise made of the name */
    char   name[128], vendor[64];
    char   device_class[8];  /* "cpu", "gpu" */
    char   unit[16], core_name[48];
    char   software[256];    /* libraries and drivers with their versions: "OpenBLAS 0.3.21, oneDNN 2.6.3" */
    char   host[256];        /* the host's processor, where the device is not itself the host */
    double cores, clock_hz, memory_clock_hz, tdp_w;
    double memory_bytes, free_bytes;
    struct {
        char   name[32];
        double bytes;        /* of the whole device */
        bool   per_core;
    } caches[CM_BENCH_LEVELS]; /* nearest to the cores first; without the main memory */
    char   memory_name[32];    /* "HBM3e", "memory" */
    struct {
        const char *dtype;   /* "fp32", "tf32", "bf16", "fp16", "fp64", "fp8"; NULL: no more */
        double      matrix_flop_s, vector_flop_s; /* by clock and units, if it can be told; 0: not */
    } rates[CM_BENCH_RATES];  /* every type the backend can compute in */
} cm_bench_device;

/* What sensors say now. NAN: no such sensor. */
typedef struct cm_sense {
    double power_w, energy_j; /* energy since any fixed moment */
    double clock_hz, memory_clock_hz, temperature_c;
} cm_sense;

typedef struct cm_backend {
    int32_t     version; /* CM_BACKEND_VERSION */
    const char *name, *summary;

    /* `state` is handed to all that follow. Not there, half there, too little memory: fails with one clear line. */
    cm_status (*open)(const cm_backend_options *options, void **state, cm_diag *diag);
    void      (*close)(void *state);
    void      (*describe)(void *state, cm_bench_device *device); /* `device` comes zeroed */

    /* The kinds of calls it knows, and whether it can run one call with these sizes. */
    const cm_call_kind *(*calls)(void *state, int32_t *count);
    bool                (*supports)(void *state, const cm_call *call);

    /* A case: operands allocated and filled, algorithm chosen. CM_ERR_UNSUPPORTED: not by this device or library;
       CM_ERR_LIMIT: its memory does not suffice, and the reason says how much was needed and is free. */
    cm_status (*prepare)(void *state, const cm_call *call, const cm_case_options *options, void **a_case,
                         cm_diag *diag);
    /* The same for a probe, `work`: what one repetition does, in the probe's unit. NULL: it has none. */
    cm_status (*probe)(void *state, const cm_probe_request *request, void **a_case, double *work, cm_diag *diag);

    /* `repetitions` back to back, and waited for; `time_s`: all of them, on the device's own clock where it has one. */
    cm_status   (*run)(void *a_case, int64_t repetitions, double *time_s, cm_diag *diag);
    /* Run once on known operands and hold every result, or a sample spread over all of it, against a reference computed
       another way. `wrong`: how many differ by more than rounding explains. Operands are afterwards as before. */
    cm_status   (*verify)(void *a_case, int64_t *wrong, cm_diag *diag);
    int32_t     (*kernels)(void *a_case); /* launched by one repetition; 0: not told */
    const char *(*algorithm)(void *a_case); /* which the library chose; NULL function or answer: not told */
    void        (*release)(void *a_case);

    /* NULL: no sensors. */
    bool (*sense)(void *state, cm_sense *sense);
} cm_backend;

/* ---- several ranks ---------------------------------------------------------------------------------------------- */

typedef enum cm_collective_op {
    CM_ALL_REDUCE, CM_ALL_GATHER, CM_REDUCE_SCATTER, CM_BROADCAST, CM_SEND, CM_COLLECTIVE_OPS
} cm_collective_op;

/* Ranks that talk to each other: MPI's processes, or the GPUs of one machine. All ranks make the same calls in the same
   order; where one process drives all ranks, rank is 0. */
typedef struct cm_fabric {
    int32_t     version; /* CM_BACKEND_VERSION */
    const char *name, *summary;
    cm_status (*open)(const cm_backend_options *options, void **state, cm_diag *diag);
    void      (*close)(void *state);
    int32_t   (*rank)(void *state);
    int32_t   (*ranks)(void *state);
    void      (*describe)(void *state, char *software, size_t size); /* "Open MPI 4.1.4, shared memory" */
    /* fp32; `bytes`: nccl-tests' size: what all ranks hold together for all-gather (receive) and reduce-scatter (send),
       what each holds otherwise. CM_SEND: rank 0 to the last and back; time is half a round trip. */
    cm_status (*prepare)(void *state, cm_collective_op op, int64_t bytes, void **a_case, cm_diag *diag);
    cm_status (*run)(void *a_case, int64_t repetitions, double *time_s, cm_diag *diag); /* the slowest rank's, on all */
    cm_status (*verify)(void *a_case, int64_t *wrong, cm_diag *diag);                   /* of all ranks, on all */
    void      (*release)(void *a_case);
    void      (*agree)(void *state, double *value); /* rank 0's becomes everyone's */
} cm_fabric;

#ifdef __cplusplus
}
#endif

#endif
