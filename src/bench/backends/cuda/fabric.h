/* SPDX-License-Identifier: Apache-2.0 */
/* fabric.h - the GPUs of one machine as NCCL ranks; shared by nccl.c and nccl_case.c. */
#ifndef CM_BENCH_CUDA_FABRIC_H
#define CM_BENCH_CUDA_FABRIC_H

#include "bench/backends/cuda/load.h"
#include "centimani_backend.h"

#define MOST_GPUS 16

typedef struct cm__gpu {
    int        device;
    cu_context context;
    cu_stream  stream;
    cu_event   start, end;
    nccl_comm  comm;
} cm__gpu;

typedef struct cm__nccl_fabric {
    cm__ctx   *ctx;
    cm__driver driver;
    cm__nccl   nccl;
    cm__gpu    gpus[MOST_GPUS];
    int        n, version;
} cm__nccl_fabric;

/* Fail with the error text of the driver or NCCL if the result is not 0. */
void cm__nccl_need(cm__ctx *ctx, const cm__nccl_fabric *f, int result, const char *call);
void cm__nccl_need_nccl(cm__ctx *ctx, const cm__nccl_fabric *f, int result, const char *call);
void cm__nccl_enter(cm__ctx *ctx, const cm__nccl_fabric *f, int rank); /* makes the rank's CUDA context current */

cm_status cm__nccl_prepare(void *state, cm_collective_op op, int64_t bytes, void **a_case, cm_diag *diag);
cm_status cm__nccl_run(void *a_case, int64_t repetitions, double *time_s, cm_diag *diag);
cm_status cm__nccl_verify(void *a_case, int64_t *wrong, cm_diag *diag);
void      cm__nccl_release(void *a_case);

#endif
