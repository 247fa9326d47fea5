/* SPDX-License-Identifier: Apache-2.0 */
/* stats.c - median, quartile spread and the uncertainty of the median: robust against a few disturbed samples. */
#include "bench/stats.h"

#include <math.h>
#include <stdlib.h>

/* A normal distribution's quartiles are 1.349 standard deviations apart. The standard error of its median is 1.2533
   times that of its mean. */
#define QUARTILES_PER_SIGMA 1.349
#define MEDIAN_PER_MEAN     1.2533
#define TWO_SIDED_95        1.96

static int ascending(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* A quantile of sorted values, by linear interpolation. */
static double quantile(const double *sorted, int32_t count, double q)
{
    double  at = q * (count - 1);
    int32_t below = (int32_t)at;
    if (below + 1 >= count) return sorted[count - 1];
    return sorted[below] + (at - below) * (sorted[below + 1] - sorted[below]);
}

cm__stats cm__stats_of(double *values, int32_t count)
{
    cm__stats s = {.median = NAN, .least = NAN, .spread = NAN, .uncertainty = INFINITY, .count = count};
    if (count < 1) return s;
    qsort(values, (size_t)count, sizeof *values, ascending);
    s.least = values[0];
    s.median = quantile(values, count, 0.5);
    double between = quantile(values, count, 0.75) - quantile(values, count, 0.25);
    s.spread = s.median > 0 ? between / s.median : 0;
    if (count >= 3)
        s.uncertainty = TWO_SIDED_95 * MEDIAN_PER_MEAN * s.spread / QUARTILES_PER_SIGMA / sqrt((double)count);
    return s;
}
