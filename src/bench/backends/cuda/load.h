/* SPDX-License-Identifier: Apache-2.0 */
/*
 * load.h - NVIDIA's libraries as tables of function pointers.
 *
 * Each function loads one library and fills its table. It returns false and sets `missing` if the library is not
 * installed. It fails if the library is broken or lacks a symbol, since a partial installation may give wrong numbers.
 */
#ifndef CM_BENCH_CUDA_LOAD_H
#define CM_BENCH_CUDA_LOAD_H

#include "base/ctx.h"
#include "bench/backends/cuda/blaslt.h"
#include "bench/backends/cuda/cudnn.h"
#include "bench/backends/cuda/nccl.h"
#include "bench/backends/cuda/nvml.h"
#include "bench/backends/cuda/nvrtc.h"

bool cm__cuda_load_driver(cm__ctx *ctx, cm__driver *driver, char *missing, size_t size);
bool cm__cuda_load_nvrtc(cm__ctx *ctx, cm__nvrtc *nvrtc, char *missing, size_t size);
bool cm__cuda_load_blaslt(cm__ctx *ctx, cm__blaslt *blaslt, char *missing, size_t size);
bool cm__cuda_load_cudnn(cm__ctx *ctx, cm__cudnn *cudnn, char *missing, size_t size);
bool cm__cuda_load_nvml(cm__ctx *ctx, cm__nvml *nvml, char *missing, size_t size);
bool cm__cuda_load_nccl(cm__ctx *ctx, cm__nccl *nccl, char *missing, size_t size);

#endif
