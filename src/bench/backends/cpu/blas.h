/* SPDX-License-Identifier: Apache-2.0 */
/* blas.h - BLAS libraries, loaded at run time. */
#ifndef CM_BENCH_CPU_BLAS_H
#define CM_BENCH_CPU_BLAS_H

#include "centimani.h"

#define CM__BLAS_MAX 3

enum { CM__ROW_MAJOR = 101, CM__AS_STORED = 111, CM__TRANSPOSED = 112 }; /* values of CBLAS's enumerations */

typedef void cm__sgemm(int order, int trans_a, int trans_b, int m, int n, int k, float alpha, const float *a, int lda,
                       const float *b, int ldb, float beta, float *c, int ldc);

typedef struct cm__blas {
    const char *name;
    char        version[64];
    cm__sgemm  *sgemm;
} cm__blas;

/* Load the installed libraries, at most CM__BLAS_MAX, and return their number. They stay loaded, because their threads
   cannot be stopped. */
int cm__blas_open(cm__blas *found, int32_t threads);

#endif
