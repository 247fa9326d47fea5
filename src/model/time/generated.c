/* SPDX-License-Identifier: Apache-2.0 */
/* generated.c - look up kernels of a compiler by counted bytes. */
#include "model/time/generated.h"

#include <math.h>
#include <string.h>
#include "model/time/factors.h"

#define WIDE 4.   /* bytes of an fp32 number */
#define NARROW 2. /* of a 16-bit number */

double cm__generated_weight(double number_bytes)
{
    double access = cm__time_factors.access_bytes;
    return (1 + access / number_bytes) / (1 + access / WIDE);
}

/* Kernels of columns' partial sums move fp32 numbers whatever they add up. */
static bool is_narrow(const cm__call *c)
{
    static const char *const kinds[] = {"fused", "column_sum", "plain_column_sum", "row_sum", "long_row_sum", "strided_row_sum"};
    if (c->op != CM__CALL_ELEMENTWISE || (strcmp(c->dtype, "fp16") && strcmp(c->dtype, "bf16"))) return false;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(c->variant, kinds[i]) == 0) return true;
    return false;
}

double cm__generated_counted(const cm__call *call, double bytes)
{
    return is_narrow(call) ? bytes * cm__generated_weight(NARROW) : bytes;
}

cm__call cm__generated_as_tabled(const cm__call *call)
{
    cm__call tabled = *call;
    if (!is_narrow(call)) return tabled;
    double numbers = (double)call->sizes[CM__ELEMENTWISE_INNER] * cm__generated_weight(NARROW) * NARROW / WIDE;
    memcpy(tabled.dtype, "fp32", sizeof "fp32");
    tabled.sizes[CM__ELEMENTWISE_INNER] = (int64_t)fmax(1, round(numbers));
    return tabled;
}
