/* SPDX-License-Identifier: Apache-2.0 */
/* four.h - four features at a time; gcc and clang turn these operations into vector instructions of any machine. */
#ifndef CM_MODEL_FOUR_H
#define CM_MODEL_FOUR_H

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

static inline cm__four cm__four_least(cm__four a, cm__four b) { return cm__four_choose(a < b, a, b); }
static inline cm__four cm__four_most(cm__four a, cm__four b) { return cm__four_choose(a > b, a, b); }
static inline float    cm__four_sum(cm__four a) { return (a[0] + a[1]) + (a[2] + a[3]); }

/* Compares the last features first: they differ most between rows. Stops when the sum exceeds `most`. */
static inline float cm__squared_distance(const float *a, const float *b, int count, float most)
{
    float sum = 0;
    for (int i = count - 4; i >= 0 && sum <= most; i -= 4) {
        cm__four d = cm__four_at(a + i) - cm__four_at(b + i);
        sum += cm__four_sum(d * d);
    }
    return sum;
}

#endif
