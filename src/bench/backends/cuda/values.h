/* SPDX-License-Identifier: Apache-2.0 */
/* values.h - the number types of operands, and random values that host and device make alike. */
#ifndef CM_BENCH_CUDA_VALUES_H
#define CM_BENCH_CUDA_VALUES_H

#include <stdbool.h>
#include <stdint.h>

typedef enum cm__type {
    TYPE_FP32, TYPE_FP16, TYPE_BF16, TYPE_FP8, TYPE_FP64, TYPE_INT64, TYPE_INT32, TYPE_BYTE, TYPES
} cm__type;

typedef struct cm__type_info {
    const char *dtype;      /* in kernel tables */
    const char *device;     /* in kernels/types.cuh */
    int         bytes;
    double      round_off;  /* largest relative error of rounding to it */
    int         blaslt, cudnn; /* their names for it; -1: none */
} cm__type_info;
extern const cm__type_info cm__types[TYPES];

/* TYPES: no such. "tf32" is stored as fp32. */
cm__type cm__type_named(const char *name, int length);

uint64_t cm__cuda_hash(uint64_t key, uint64_t index);
/* Nearly normal, standard deviation 1.15, exact in fp32, never 0. */
float cm__cuda_random(uint64_t key, uint64_t index);
/* To the nearest of a type's values, ties to even. */
double cm__rounded(cm__type type, double value);
/* One stored number. */
double cm__stored(cm__type type, const void *bytes);

#endif
