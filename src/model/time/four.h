/* SPDX-License-Identifier: Apache-2.0 */
/* four.h - four features at a time; gcc and clang turn these operations into vector instructions of any machine. */
#ifndef CM_MODEL_FOUR_H
#define CM_MODEL_FOUR_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef float   cm__four __attribute__((vector_size(16)));
typedef int32_t cm__four_mask __attribute__((vector_size(16)));

static inline cm__four cm__four_at(const float *from)
{
    cm__four x;
    memcpy(&x, from, sizeof x);
    return x;
}

static inline cm__four cm__four_choose(cm__four_mask mask, cm__four a, cm__four b)
{
    return (cm__four)((mask & (cm__four_mask)a) | (~mask & (cm__four_mask)b));
}

/* x86 has one instruction for each of these, with the same result for zeros of both signs and for NAN. */
#ifdef __SSE__
static inline cm__four cm__four_least(cm__four a, cm__four b) { return __builtin_ia32_minps(a, b); }
static inline cm__four cm__four_most(cm__four a, cm__four b) { return __builtin_ia32_maxps(a, b); }
static inline bool     cm__four_any(cm__four_mask mask) { return __builtin_ia32_movmskps((cm__four)mask) != 0; }
#else
static inline cm__four cm__four_least(cm__four a, cm__four b) { return cm__four_choose(a < b, a, b); }
static inline cm__four cm__four_most(cm__four a, cm__four b) { return cm__four_choose(a > b, a, b); }
static inline bool     cm__four_any(cm__four_mask mask)
{
    int64_t halves[2];
    memcpy(halves, &mask, sizeof halves);
    return (halves[0] | halves[1]) != 0;
}
#endif
static inline float    cm__four_sum(cm__four a) { return (a[0] + a[1]) + (a[2] + a[3]); }

#endif
