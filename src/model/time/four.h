/* SPDX-License-Identifier: Apache-2.0 */
/* four.h - four features at a time; gcc and clang turn these operations into vector instructions of any machine. */
#ifndef CM_MODEL_FOUR_H
#define CM_MODEL_FOUR_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#ifdef __SSE2__
#include <immintrin.h>
#endif

typedef float   cm__four __attribute__((vector_size(16)));
typedef int32_t cm__four_mask __attribute__((vector_size(16)));
typedef uint32_t cm__four_bits __attribute__((vector_size(16)));

/* A function in two versions, of which the processor decides when the program starts: AVX2 needs a third fewer
   instructions. It has no fused multiplication and addition, so that both versions give the same numbers. */
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define CM__FAST __attribute__((target_clones("avx2", "default")))
#define CM__AVX2 __attribute__((target("avx2"))) /* of functions for such processors, if they are named so */
#else
#define CM__FAST
#endif

static inline cm__four cm__four_at(const float *from)
{
    cm__four x;
    memcpy(&x, from, sizeof x);
    return x;
}

/* Four bounds of boxes (blocks.h): the upper halves of floats. */
static inline cm__four cm__four_bounds(const uint16_t *from)
{
#ifdef __SSE2__
    return (cm__four)_mm_unpacklo_epi16(_mm_setzero_si128(), _mm_loadl_epi64((const void *)from));
#else
    cm__four_bits bits = {from[0], from[1], from[2], from[3]};
    return (cm__four)(bits << 16);
#endif
}

static inline cm__four cm__four_choose(cm__four_mask mask, cm__four a, cm__four b)
{
    return (cm__four)((mask & (cm__four_mask)a) | (~mask & (cm__four_mask)b));
}

/* x86 has one instruction for each of these, with the same result for zeros of both signs and for NAN. */
#ifdef __SSE__
static inline cm__four cm__four_least(cm__four a, cm__four b) { return __builtin_ia32_minps(a, b); }
static inline cm__four cm__four_most(cm__four a, cm__four b) { return __builtin_ia32_maxps(a, b); }
static inline unsigned cm__four_which(cm__four_mask mask) { return (unsigned)__builtin_ia32_movmskps((cm__four)mask); }
#else
static inline cm__four cm__four_least(cm__four a, cm__four b) { return cm__four_choose(a < b, a, b); }
static inline cm__four cm__four_most(cm__four a, cm__four b) { return cm__four_choose(a > b, a, b); }
static inline unsigned cm__four_which(cm__four_mask mask)
{
    const cm__four_mask bits = {1, 2, 4, 8};
    mask &= bits;
    return (unsigned)((mask[0] | mask[1]) | (mask[2] | mask[3]));
}
#endif
/* cm__four_which(): a bit for each of the four that is true. */
static inline bool     cm__four_any(cm__four_mask mask) { return cm__four_which(mask) != 0; }
static inline float    cm__four_sum(cm__four a) { return (a[0] + a[1]) + (a[2] + a[3]); }

/* Eight numbers; only in variables and behind pointers, because processors without AVX pass them in another way. */
typedef float   cm__eight __attribute__((vector_size(32), aligned(4), may_alias));
typedef int32_t cm__eight_mask __attribute__((vector_size(32), aligned(4), may_alias));

/* Eight bytes as numbers. Each is named: gcc makes two instructions of this, but many of a vector's conversion. */
#define CM__EIGHT_OF(p) \
    __builtin_convertvector(((cm__eight_mask){(p)[0], (p)[1], (p)[2], (p)[3], (p)[4], (p)[5], (p)[6], (p)[7]}), cm__eight)

/* x := exp(x) for x <= 0, with a relative error below 3e-7; 0 where it is below 1e-34. x = n ln 2 + r with |r| <= ln 2 / 2;
   exp(r) is a Taylor polynomial, and 2^n is made of its bits. */
static inline void cm__eight_exp(cm__eight *x)
{
    const float    round = 12582912; /* 1.5 * 2^23: adding it leaves a whole number in the low bits */
    cm__eight      shifted = *x * 1.44269504f + round, n = shifted - round;
    cm__eight      r = (*x - n * 0.693359375f) + n * 2.12194440e-4f; /* ln 2 in two parts */
    cm__eight      sum = 1 + r * (1 + r * (1 / 2.f + r * (1 / 6.f + r * (1 / 24.f + r * (1 / 120.f + r / 720.f)))));
    cm__eight_mask power = ((cm__eight_mask)shifted - 0x4b400000 + 127) << 23;
    *x = (cm__eight)((*x > -78) & (cm__eight_mask)(sum * (cm__eight)power));
}

#endif
