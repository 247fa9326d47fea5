/* SPDX-License-Identifier: Apache-2.0 */
/* nccl.h - functions of NVIDIA's collectives library (libnccl.so.2), loaded at run time. */
#ifndef CM_BENCH_CUDA_NCCL_H
#define CM_BENCH_CUDA_NCCL_H

#include "bench/backends/cuda/driver.h"

typedef struct ncclComm *nccl_comm;

enum { NCCL_FP32 = 7, NCCL_SUM = 0 };

#define CM__NCCL_CALLS(X)                                                                                              \
    X(ncclGetVersion, int, (int *version))                                                                             \
    X(ncclGetErrorString, const char *, (int result))                                                                  \
    X(ncclCommInitAll, int, (nccl_comm * comms, int count, const int *devices))                                        \
    X(ncclCommDestroy, int, (nccl_comm comm))                                                                          \
    X(ncclGroupStart, int, (void))                                                                                     \
    X(ncclGroupEnd, int, (void))                                                                                       \
    X(ncclAllReduce, int,                                                                                              \
        (const void *from, void *to, size_t count, int type, int op, nccl_comm comm, cu_stream stream))                \
    X(ncclAllGather, int, (const void *from, void *to, size_t count, int type, nccl_comm comm, cu_stream stream))      \
    X(ncclReduceScatter, int,                                                                                          \
        (const void *from, void *to, size_t count, int type, int op, nccl_comm comm, cu_stream stream))                \
    X(ncclBroadcast, int,                                                                                              \
        (const void *from, void *to, size_t count, int type, int root, nccl_comm comm, cu_stream stream))              \
    X(ncclSend, int, (const void *from, size_t count, int type, int peer, nccl_comm comm, cu_stream stream))           \
    X(ncclRecv, int, (void *to, size_t count, int type, int peer, nccl_comm comm, cu_stream stream))

typedef struct cm__nccl {
#define X(field, result, arguments) result(*field) arguments;
    CM__NCCL_CALLS(X)
#undef X
} cm__nccl;

#endif
