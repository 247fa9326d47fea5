/* SPDX-License-Identifier: Apache-2.0 */
/* planes.h - image tensor descriptors for cuDNN's legacy functions. */
#ifndef CM_BENCH_CUDA_PLANES_H
#define CM_BENCH_CUDA_PLANES_H

#include "bench/backends/cuda/ops.h"

dnn_object cm__cudnn_image(cm__cuda_case *c, int type, bool channels_last, int64_t n, int64_t channels,
                            int64_t h, int64_t w);

#endif
