/* SPDX-License-Identifier: Apache-2.0 */
/* values.h - the number types of operands, and random values that host and device compute identically. */
#ifndef CM_BENCH_CUDA_VALUES_H
#define CM_BENCH_CUDA_VALUES_H

#include <stdbool.h>
#include <stdint.h>

typedef enum cm__type {
    TYPE_FP32, TYPE_FP16, TYPE_BF16, TYPE_FP8, TYPE_FP64, TYPE_INT64, TYPE_INT32, TYPE_BYTE, TYPES
} cm__type;

typedef struct cm__type_info {
    const char *dtype;      /* name in kernel tables */
    const char *device;     /* name in kernels/types.cuh */
    int         bytes;
    double      round_off;  /* largest relative rounding error */
    int         blaslt, cudnn; /* the libraries' constants; -1: not supported */
} cm__type_info;
extern const cm__type_info cm__types[TYPES];

/* Returns TYPES if there is no such type. "tf32" is stored as fp32. */
cm__type cm__type_named(const char *name, int length);

uint64_t cm__cuda_hash(uint64_t key, uint64_t index);
/* Approximately normal with standard deviation 1.15; exact in fp32, never 0. */
float cm__cuda_random(uint64_t key, uint64_t index);
/* Round to the nearest value of the type, ties to even. */
double cm__rounded(cm__type type, double value);
/* Decode one stored number. */
double cm__stored(cm__type type, const void *bytes);

#endif
