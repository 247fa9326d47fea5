/* SPDX-License-Identifier: Apache-2.0 */
/* generated.c - look up kernels of a compiler by counted bytes. */
#include "model/time/generated.h"

#include <math.h>
#include "model/time/factors.h"

#define FULL_BYTES 4.   /* bytes of an fp32 number */
#define HALF_BYTES 2. /* of a 16-bit number */

double cm__generated_weight(double number_bytes)
{
    double access = cm__time_factors.access_bytes;
    return (1 + access / number_bytes) / (1 + access / FULL_BYTES);
}

/* Kernels of columns' partial sums move fp32 numbers whatever they add up. */
static bool is_narrow(const cm__call *c)
{
    static const cm__variant kinds[] = {CM__V_FUSED,   CM__V_COLUMN_SUM,   CM__V_PLAIN_COLUMN_SUM,
                                        CM__V_ROW_SUM, CM__V_LONG_ROW_SUM, CM__V_STRIDED_ROW_SUM};
    for (size_t i = 0; c->op == CM__CALL_ELEMENTWISE && i < sizeof kinds / sizeof *kinds; i++)
        if (c->variant == kinds[i]) return cm__types_16_bits(c->types);
    return false;
}

double cm__generated_counted(const cm__call *call, double bytes)
{
    return is_narrow(call) ? bytes * cm__generated_weight(HALF_BYTES) : bytes;
}

cm__call cm__generated_as_tabled(const cm__call *call)
{
    cm__call tabled = *call;
    if (!is_narrow(call)) return tabled;
    double numbers = (double)call->sizes[CM__ELEMENTWISE_INNER] * cm__generated_weight(HALF_BYTES) * HALF_BYTES / FULL_BYTES;
    tabled.types = CM__ALL(CM_FP32);
    tabled.sizes[CM__ELEMENTWISE_INNER] = (int64_t)fmax(1, round(numbers));
    return tabled;
}
