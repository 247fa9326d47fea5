/* SPDX-License-Identifier: Apache-2.0 */
/* probe.h - the probes by the file that implements them, and functions that these share. */
#ifndef CM_BENCH_CUDA_PROBE_H
#define CM_BENCH_CUDA_PROBE_H

#include "bench/backends/cuda/cuda.h"

cu_function cm__cuda_probe_kernel(cm__cuda_case *c, const char *name); /* of kernels/probe.cu */
void        cm__cuda_probe_once(cm__cuda_case *c);                     /* run the launches, wait, and remove them */
/* Word i of an operand is i * 2654435761. */
void   cm__cuda_probe_pattern(cm__cuda_case *c, int operand, int64_t words);
double cm__cuda_probe_word(int64_t index);

#define PROBE(name)                                                                                                    \
    extern const cm__cuda_op cm__cuda_op_##name;                                                                       \
    void cm__cuda_make_##name(cm__cuda_case *c, const cm_probe_request *r, double *work);
PROBE(read)
PROBE(copy)
PROBE(vector)
PROBE(empty)
PROBE(transfer)
PROBE(lookup)
#undef PROBE

#endif
