/* SPDX-License-Identifier: Apache-2.0 */
/* backend.h - the CUDA backend and the NCCL fabric. */
#ifndef CM_BENCH_CUDA_BACKEND_H
#define CM_BENCH_CUDA_BACKEND_H

#include "centimani_backend.h"

extern const cm_backend cm__backend_cuda;
extern const cm_fabric  cm__fabric_nccl;

#endif
