/* SPDX-License-Identifier: Apache-2.0 */
/* lengths.c - the exponential distribution that is cut off at the longest sample. */
#include "model/memory/lengths.h"

#include <math.h>
#include <stdbool.h>

#define RATE_MOST 1e4 /* mean 1/10000 of the longest */
#define BISECTIONS 80
#define INTERVALS 4000 /* of numerical integrals */
#define DEVIATIONS 8.0 /* range of the integral over a normal distribution */

static bool flat(double rate) { return fabs(rate) < 1e-6; }

/* Moments of lengths between 0 and 1. */
static double mean_of(double rate) { return flat(rate) ? 0.5 - rate / 12 : 1 / rate - 1 / expm1(rate); }

cm__lengths cm__lengths_of(double mean, double longest)
{
    double low = -RATE_MOST, high = RATE_MOST, wanted = mean / longest;
    for (int i = 0; i < BISECTIONS; i++) {
        double middle = (low + high) / 2;
        *(mean_of(middle) > wanted ? &low : &high) = middle;
    }
    return (cm__lengths){longest, (low + high) / 2};
}

/* With a negative rate the distribution is the mirror image of the one with a positive rate. */
double cm__length_at(const cm__lengths *l, double fraction)
{
    double rate = fabs(l->rate), part = l->rate < 0 ? 1 - fraction : fraction;
    double x = flat(rate) ? part : -log1p(part * expm1(-rate)) / rate;
    return l->longest * (l->rate < 0 ? 1 - x : x);
}

static double share_below(const cm__lengths *l, double x)
{
    double rate = fabs(l->rate), at = l->rate < 0 ? 1 - x : x;
    double share = flat(rate) ? at : expm1(-rate * at) / expm1(-rate);
    return l->rate < 0 ? 1 - share : share;
}

double cm__length_deviation(const cm__lengths *l)
{
    double half = l->rate / 2, tail = half / sinh(half);
    double variance = flat(l->rate) ? 1.0 / 12 : (1 - tail * tail) / (l->rate * l->rate);
    return l->longest * sqrt(variance);
}

/* The integral of the probability that the longest exceeds x. */
double cm__longest_of(const cm__lengths *l, double count)
{
    double sum = 0;
    for (int i = 0; i < INTERVALS; i++) sum += 1 - pow(share_below(l, (i + 0.5) / INTERVALS), count);
    return l->longest * sum / INTERVALS;
}

/* The expected largest of so many standard normal numbers. */
static double largest_normal(double count)
{
    double sum = 0, width = 2 * DEVIATIONS / INTERVALS;
    for (int i = 0; i < INTERVALS; i++) {
        double x = -DEVIATIONS + (i + 0.5) * width, below = pow(0.5 * erfc(-x / sqrt(2)), count);
        sum += x > 0 ? 1 - below : -below;
    }
    return sum * width;
}

/* Sums of several lengths are nearly normal. */
double cm__busiest_of(const cm__lengths *l, double devices, double count)
{
    double mean = l->longest * mean_of(l->rate);
    return fmin(l->longest, mean + largest_normal(devices) * cm__length_deviation(l) / sqrt(count));
}
