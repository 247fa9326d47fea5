/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lookup.c - suite of random look-ups per second, in tables that fit the nearest cache up to main memory.
 *
 * The access pattern is that of XSBench, which looks up macroscopic cross sections for Monte Carlo particle transport:
 * draw an energy, find it in a sorted grid by bisection, and interpolate five values between two neighbouring rows.
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
        cm__add_probe(b, "lookup", "lookup", (cm_probe_request){CM_PROBE_LOOKUP, bytes, NULL});
}
