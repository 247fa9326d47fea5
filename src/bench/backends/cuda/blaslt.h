/* SPDX-License-Identifier: Apache-2.0 */
/* blaslt.h - functions and constants of cuBLASLt, loaded at run time. */
#ifndef CM_BENCH_CUDA_BLASLT_H
#define CM_BENCH_CUDA_BLASLT_H

#include "bench/backends/cuda/driver.h"

typedef struct cublasLtContext *lt_handle;
typedef void                   *lt_descriptor; /* a pointer to a matrix layout, a matmul descriptor or a preference */

typedef struct lt_algorithm {
    uint64_t data[8];
} lt_algorithm;

/* One result of the heuristic: an algorithm, its workspace size, and whether it can be used. */
typedef struct lt_choice {
    lt_algorithm algorithm;
    size_t       workspace_bytes;
    int          state;
    float        waves;
    int          reserved[4];
} lt_choice;

/* cudaDataType */
enum { LT_FP32 = 0, LT_FP16 = 2, LT_BF16 = 14, LT_FP8_E4M3 = 28 };
/* cublasComputeType_t */
enum { LT_COMPUTE_FP32 = 68, LT_COMPUTE_TF32 = 77 };
enum { LT_LAYOUT_BATCH_COUNT = 5, LT_LAYOUT_BATCH_STRIDE = 6 };
enum {
    LT_DESC_TRANSPOSE_A = 3,
    LT_DESC_TRANSPOSE_B = 4,
    LT_DESC_EPILOGUE = 7,
    LT_DESC_BIAS_POINTER = 8,
    LT_DESC_A_SCALE = 17,
    LT_DESC_B_SCALE = 18,
    LT_DESC_BIAS_TYPE = 26,
};
enum { LT_EPILOGUE_BIAS = 4, LT_PREFERENCE_WORKSPACE = 1, LT_OP_N = 0, LT_OP_T = 1 };

#define CM__BLASLT_CALLS(X)                                                                                            \
    X(cublasLtCreate, int, (lt_handle * handle))                                                                       \
    X(cublasLtDestroy, int, (lt_handle handle))                                                                        \
    X(cublasLtGetVersion, size_t, (void))                                                                              \
    X(cublasLtGetStatusString, const char *, (int status))                                                             \
    X(cublasLtMatrixLayoutCreate, int,                                                                                 \
        (lt_descriptor * layout, int type, uint64_t rows, uint64_t columns, int64_t leading))                          \
    X(cublasLtMatrixLayoutDestroy, int, (lt_descriptor layout))                                                        \
    X(cublasLtMatrixLayoutSetAttribute, int, (lt_descriptor layout, int attribute, const void *value, size_t size))    \
    X(cublasLtMatmulDescCreate, int, (lt_descriptor * desc, int compute, int scale))                                   \
    X(cublasLtMatmulDescDestroy, int, (lt_descriptor desc))                                                            \
    X(cublasLtMatmulDescSetAttribute, int, (lt_descriptor desc, int attribute, const void *value, size_t size))        \
    X(cublasLtMatmulPreferenceCreate, int, (lt_descriptor * preference))                                               \
    X(cublasLtMatmulPreferenceDestroy, int, (lt_descriptor preference))                                                \
    X(cublasLtMatmulPreferenceSetAttribute, int,                                                                       \
        (lt_descriptor preference, int attribute, const void *value, size_t size))                                     \
    X(cublasLtMatmulAlgoGetHeuristic, int,                                                                             \
        (lt_handle handle, lt_descriptor desc, lt_descriptor a, lt_descriptor b, lt_descriptor c, lt_descriptor d,     \
            lt_descriptor preference, int wanted, lt_choice *choices, int *found))                                     \
    X(cublasLtMatmul, int,                                                                                             \
        (lt_handle handle, lt_descriptor desc, const void *alpha, const void *a, lt_descriptor a_layout,               \
            const void *b, lt_descriptor b_layout, const void *beta, const void *c, lt_descriptor c_layout, void *d,   \
            lt_descriptor d_layout, const lt_algorithm *algorithm, void *workspace, size_t workspace_bytes,            \
            cu_stream stream))

typedef struct cm__blaslt {
#define X(field, result, arguments) result(*field) arguments;
    CM__BLASLT_CALLS(X)
#undef X
} cm__blaslt;

#endif
