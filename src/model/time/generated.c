/* SPDX-License-Identifier: Apache-2.0 */
/* generated.c - look up kernels of a compiler by counted bytes. */
#include "model/time/generated.h"

#include <math.h>
#include <string.h>
#include "model/time/factors.h"

#define FULL_BYTES 4. /* bytes of an fp32 number */

/* Kernels of columns' partial sums move fp32 numbers whatever they add up. */
static bool is_narrow(const cm__call *c)
{
    static const cm__variant kinds[] = {CM__V_FUSED,   CM__V_COLUMN_SUM,   CM__V_PLAIN_COLUMN_SUM,
                                        CM__V_ROW_SUM, CM__V_LONG_ROW_SUM, CM__V_STRIDED_ROW_SUM};
    for (size_t i = 0; c->op == CM__CALL_ELEMENTWISE && i < sizeof kinds / sizeof *kinds; i++)
        if (c->variant == kinds[i]) return cm__types_16_bits(c->types);
    return false;
}

static double moved_by(const cm__call *c)
{
    return 2 * cm__call_element(c, -1) * cm__size(c, CM__ELEMENTWISE_INNER);
}

/* Counted bytes of a kernel over those that it moves. */
static double weight_of(const cm__call *c)
{
    double access = cm__time_factors.access_bytes, moved = moved_by(c), numbers = moved / FULL_BYTES;
    bool   known = c->op == CM__CALL_ELEMENTWISE && c->sizes[CM__WORK_NUMBERS] > 0;
    if (known) numbers = cm__size(c, CM__WORK_NUMBERS);
    else if (is_narrow(c)) numbers = 2 * cm__size(c, CM__ELEMENTWISE_INNER);
    return moved > 0 && (known || is_narrow(c)) ? (1 + access * numbers / moved) / (1 + access / FULL_BYTES) : 1;
}

double cm__generated_counted(const cm__call *call, double bytes) { return bytes * weight_of(call); }

static void count_as(cm__call *c, double bytes)
{
    c->types = CM__ALL(CM_FP32);
    c->sizes[CM__ELEMENTWISE_INNER] = (int64_t)fmax(1, round(bytes / (2 * FULL_BYTES)));
    c->sizes[CM__WORK_NUMBERS] = 0;
}

cm__call cm__generated_as_tabled(const cm__call *call)
{
    cm__call tabled = *call;
    double   weight = weight_of(call);
    if (weight != 1) count_as(&tabled, moved_by(call) * weight);
    else if (call->op == CM__CALL_ELEMENTWISE) tabled.sizes[CM__WORK_NUMBERS] = 0;
    return tabled;
}

/* Accesses beyond the first: additions wait for one another, or are tried again, whichever is less. */
static double repeated(const cm__call *c)
{
    const cm__factors *f = &cm__time_factors;
    double adds = fmax(cm__size(c, CM__WORK_ADDS), cm__size(c, CM__WORK_ADDS_IN_LINE) / f->atomic_add_lanes);
    double tried = fmin(f->contended_bf16 * cm__size(c, CM__WORK_COLLISIONS), f->contended_bf16_each * cm__size(c, CM__WORK_RETRIED));
    return f->pool_gradient * cm__size(c, CM__WORK_WINDOWS) + f->atomic_add * adds +
           f->atomic_add_nhwc * cm__size(c, CM__WORK_ADDS_NHWC) + tried;
}

/* Arithmetic and traffic overlap: what is longer counts, with a soft corner. Kernels that reduce have functions of their
   own, which their tables contain; random numbers come on top of them. */
cm__call cm__generated_priced(const cm__call *c)
{
    const cm__factors *f = &cm__time_factors;
    cm__call           priced = *c;
    if (c->op != CM__CALL_ELEMENTWISE || !(c->sizes[CM__WORK_NUMBERS] > 0 || c->sizes[CM__WORK_FUNCTIONS] > 0)) return priced;
    double counted = moved_by(c) * weight_of(c), moved = counted + repeated(c);
    double arithmetic = f->function_flop * cm__size(c, CM__WORK_FUNCTIONS) + f->random_number * cm__size(c, CM__WORK_RANDOM);
    bool   maps = c->variant == CM__V_FUSED || c->variant == CM__V_COPY;
    double all = maps ? cbrt(pow(moved, 3) + pow(arithmetic, 3)) : moved + arithmetic, more = counted > 0 ? all / counted : 0;
    memset(&priced.sizes[CM__WORK_FUNCTIONS], 0, (CM__WORK_END - CM__WORK_FUNCTIONS) * sizeof *priced.sizes);
    if (more == 1) return priced;
    if (!(more > 0)) count_as(&priced, all);
    for (int i = CM__ELEMENTWISE_INNER; more > 0 && i <= CM__WORK_NUMBERS; i++)
        priced.sizes[i] = (int64_t)fmin(round(cm__size(c, i) * more), 9e18);
    return priced;
}
