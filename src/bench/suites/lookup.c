/* SPDX-License-Identifier: Apache-2.0 */
/*
 * suite_lookup.c - random look-ups per second, in tables from the nearest cache to the main memory.
 *
 * The pattern is that of macroscopic cross sections in Monte Carlo particle transport (XSBench): draw an energy, find
 * it in a sorted grid by bisection, and interpolate five cross sections between two neighbouring rows.
 */
#include <math.h>
#include "bench/bench.h"

#define TABLE_LEAST 32768
#define TABLE_MOST  ((int64_t)4 << 30)

void cm__suite_lookup(cm_bench *b)
{
    double most = b->device.memory_bytes / 8;
    if (b->device.free_bytes > 0) most = fmin(most, b->device.free_bytes / 3);
    for (int64_t bytes = TABLE_LEAST; (double)bytes <= most && bytes <= TABLE_MOST; bytes *= 8)
        cm__plan_probe(b, "lookup", "lookup", (cm_probe_request){CM_PROBE_LOOKUP, bytes, NULL});
}
