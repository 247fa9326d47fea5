/* SPDX-License-Identifier: Apache-2.0 */
/* attention.h - sizes and operands of attention, shared by the fused and the composed implementation. */
#ifndef CM_BENCH_CUDA_ATTENTION_H
#define CM_BENCH_CUDA_ATTENTION_H

#include "bench/backends/cuda/graph.h"
#include "bench/backends/cuda/rows.h"

typedef struct cm__cuda_attention {
    int64_t        batch, heads, kv_heads;
    int64_t        pairs, rows, q, kv, width; /* pairs: key-value heads times batch; rows: queries per pair */
    bool           causal, backward;
    float          scale;
    int            query, key, value, scores, weights, out, workspace, d_query, d_key, d_value, d_out, d_weights, sums;
    cm__cuda_gemm      *gemms[4];
    cm__cudnn_graph *fused;   /* NULL: composed */
    char           why[96]; /* reason for not using the fused kernel; "": not tried */
} cm__cuda_attention;

/* Use cuDNN's fused forward kernel if it supports these sizes and its results are right. */
void cm__cuda_attention_fuse(cm__cuda_case *c);

#endif
