/* SPDX-License-Identifier: Apache-2.0 */
/* ops.h - declarations of the functions in the table of ops.c. */
#ifndef CM_BENCH_CUDA_OPS_H
#define CM_BENCH_CUDA_OPS_H

#include "bench/backends/cuda/cuda.h"

#define OP(name)                                                                                                       \
    void    cm__cuda_##name##_declare(cm__cuda_case *c);                                                               \
    void    cm__cuda_##name##_setup(cm__cuda_case *c);                                                                 \
    int64_t cm__cuda_##name##_check(cm__cuda_case *c);
#define LIBRARY_OP(name)                                                                                               \
    OP(name)                                                                                                           \
    bool cm__cuda_##name##_known(const cm_call *call);                                                                 \
    int  cm__cuda_##name##_call(cm__cuda_case *c, int64_t copy);

LIBRARY_OP(gemm)
LIBRARY_OP(conv)
LIBRARY_OP(attention)
LIBRARY_OP(batch_norm)
LIBRARY_OP(pool)
LIBRARY_OP(rnn)
OP(elementwise)
OP(norm)
OP(softmax)
OP(loss)
OP(reduce)
OP(embedding)
OP(optimizer)
OP(group_norm)
OP(resize)
bool cm__cuda_elementwise_known(const cm_call *call);
bool cm__cuda_optimizer_known(const cm_call *call);
bool cm__cuda_group_norm_known(const cm_call *call);
bool cm__cuda_resize_known(const cm_call *call);
#undef OP
#undef LIBRARY_OP

#endif
