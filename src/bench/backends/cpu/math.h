/* SPDX-License-Identifier: Apache-2.0 */
/* math.h - functions as polynomials, which compilers can vectorize, unlike calls of the C library. */
#ifndef CM_BENCH_CPU_MATH_H
#define CM_BENCH_CPU_MATH_H

#include <math.h>
#include <stdint.h>
#include <string.h>

/* expf of Cephes: a power of two times a polynomial of the remainder; error at most 2 units in the last place. */
static inline float fast_exp(float x)
{
    x = x < -87 ? -87 : x > 88 ? 88 : x;
    float   n = x * 1.44269504f;
    n = (float)(int32_t)(n + (n < 0 ? -0.5f : 0.5f));
    float   r = x - n * 0.693359375f + n * 2.12194440e-4f;
    float   p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1;
    int32_t bits = ((int32_t)n + 127) * (1 << 23);
    float   power;
    memcpy(&power, &bits, sizeof power);
    return p * power;
}

static inline float fast_sigmoid(float x) { return 1 / (1 + fast_exp(-x)); }

static inline float fast_tanh(float x) { return 1 - 2 / (fast_exp(2 * x) + 1); }

/* Abramowitz and Stegun 7.1.26; error at most 1.5e-7. */
static inline float fast_erf(float x)
{
    float a = x < 0 ? -x : x, t = 1 / (1 + 0.3275911f * a);
    float p = ((((1.061405429f * t - 1.453152027f) * t + 1.421413741f) * t - 0.284496736f) * t + 0.254829592f) * t;
    float y = 1 - p * fast_exp(-a * a);
    return x < 0 ? -y : y;
}

#endif
