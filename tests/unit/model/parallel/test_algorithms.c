/* SPDX-License-Identifier: Apache-2.0 */
/* test_algorithms.c - latency and volume of collective algorithms, by the formulas of the literature; compression. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "model/parallel/comm.h"

#define LATENCY 1e-6
#define RATE 1e9

static double seconds(cm__algorithm a, cm__operation o, int32_t p, double bytes)
{
    return cm__algorithm_time(a, o, p, bytes, LATENCY, RATE);
}

static void is(double got, double expected)
{
    if (!(fabs(got - expected) <= 1e-12 * fabs(expected))) fail_msg("%.12g, expected %.12g", got, expected);
}

/* Thakur, Rabenseifner, Gropp 2005: 2 (p - 1) latencies, 2 (p - 1) / p buffers; half of that one way. */
static void test_ring(void **state)
{
    (void)state;
    is(seconds(CM__RING, CM__ALL_REDUCE, 8, 1e6), 14 * LATENCY + 2 * 7.0 / 8 * 1e6 / RATE);
    is(seconds(CM__RING, CM__REDUCE_SCATTER, 8, 1e6), 7 * LATENCY + 7.0 / 8 * 1e6 / RATE);
    is(seconds(CM__RING, CM__ALL_GATHER, 8, 1e6), 7 * LATENCY + 7.0 / 8 * 1e6 / RATE);
    is(seconds(CM__RING, CM__POINT_TO_POINT, 2, 1e6), LATENCY + 1e6 / RATE);
    is(seconds(CM__RING, CM__ALL_REDUCE, 8, 1e6),
       seconds(CM__RING, CM__REDUCE_SCATTER, 8, 1e6) + seconds(CM__RING, CM__ALL_GATHER, 8, 1e6));
}

/* A tree has ceil(log2 p) levels; 5 devices need 3. A server receives p buffers and answers with p. */
static void test_others(void **state)
{
    (void)state;
    is(seconds(CM__TREE, CM__ALL_REDUCE, 5, 1e6), 2 * (3 * LATENCY + 1e6 / RATE));
    is(seconds(CM__DOUBLE_TREE, CM__ALL_REDUCE, 16, 1e6), 2 * (4 * LATENCY + 15.0 / 16 * 1e6 / RATE));
    is(seconds(CM__DIRECT, CM__ALL_TO_ALL, 4, 1e6), LATENCY + 3.0 / 4 * 1e6 / RATE);
    is(seconds(CM__IN_NETWORK, CM__ALL_REDUCE, 1000, 1e6), LATENCY + 1e6 / RATE); /* independent of p */
    is(seconds(CM__PARAMETER_SERVER, CM__ALL_REDUCE, 4, 1e6), 2 * (LATENCY + 4 * 1e6 / RATE));
    assert_true(isnan(seconds(CM__TREE, CM__ALL_GATHER, 4, 1e6))); /* not supported */
}

/* One device sends nothing. More bytes never take less time; a ring's latency grows faster than a tree's. */
static void test_properties(void **state)
{
    (void)state;
    for (int a = 0; a < CM__ALGORITHMS; a++)
        for (int o = 0; o < CM__OPERATIONS; o++) {
            double two = seconds((cm__algorithm)a, (cm__operation)o, 2, 1e3);
            if (isnan(two)) continue;
            assert_true(seconds((cm__algorithm)a, (cm__operation)o, 1, 1e3) == 0);
            assert_true(two > 0 && seconds((cm__algorithm)a, (cm__operation)o, 2, 2e3) > two);
        }
    assert_true(seconds(CM__TREE, CM__ALL_REDUCE, 64, 8) < seconds(CM__RING, CM__ALL_REDUCE, 64, 8));
    assert_true(seconds(CM__TREE, CM__ALL_REDUCE, 64, 1e9) > seconds(CM__RING, CM__ALL_REDUCE, 64, 1e9));
}

/* nccl-tests, PERFORMANCE.md: all-reduce 2 (n - 1) / n, all-gather and reduce-scatter (n - 1) / n, broadcast 1. */
static void test_bus(void **state)
{
    (void)state;
    is(cm__bus_part(CM__ALL_REDUCE, 4), 1.5);
    is(cm__bus_part(CM__ALL_GATHER, 4), 0.75);
    is(cm__bus_part(CM__REDUCE_SCATTER, 4), 0.75);
    is(cm__bus_part(CM__ALL_TO_ALL, 4), 0.75);
    is(cm__bus_part(CM__BROADCAST, 4), 1);
    assert_true(cm__bus_part(CM__ALL_REDUCE, 1) == 0);
}

/* 1,000 fp32 gradients: in 8 bits a quarter; one in a hundred with its 32-bit position 10 x 64 bits. */
static void test_compression(void **state)
{
    (void)state;
    cm__compression none = {0}, eight = {.bits = 8, .compute_bytes_s = 1e9}, few = {.fraction = 0.01};
    cm__compression wide = {.bits = 64};
    is(cm__compressed_bytes(&none, 4000, 32), 4000);
    is(cm__compressed_bytes(&none, 4000, 16), 2000); /* sent in 16 bits anyway */
    is(cm__compressed_bytes(&eight, 4000, 32), 1000);
    is(cm__compressed_bytes(&wide, 4000, 16), 2000); /* compression never adds bits */
    is(cm__compressed_bytes(&few, 4000, 32), 10 * 64 / 8);
    is(cm__compression_time(&eight, 4000), 2 * 4000 / 1e9); /* compress and decompress */
    assert_true(cm__compression_time(&none, 4000) == 0);
    assert_true(cm__compression_time(&few, 4000) == 0); /* no rate: at no cost */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_ring), cmocka_unit_test(test_others),
                                       cmocka_unit_test(test_properties), cmocka_unit_test(test_bus),
                                       cmocka_unit_test(test_compression)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
