/* SPDX-License-Identifier: Apache-2.0 */
/* test_lookups.c - random look-ups per second, by the formulas of docs/dev/lookups.md. */
#include <math.h>
#include <string.h>
#include "time_device.h"
#include "model/lookups.h"

static cm_diag diag;

static void is(double got, double expected)
{
    if (!(fabs(got - expected) <= 1e-9 * fabs(expected))) fail_msg("%.12g, expected %.12g", got, expected);
}

/* Rows of 24 bytes begin at 0, 24, 16 and 8 bytes of a sector of 32: two of them touch 2, 3, 2 and 2 sectors. */
static void sectors(void **state)
{
    (void)state;
    is(cm__sectors_touched(48, 24, 32), 9.0 / 4);
    is(cm__sectors_touched(96, 48, 32), 7.0 / 2); /* 3 from 0, 4 from 16 */
    is(cm__sectors_touched(48, 24, 4), 12);
}

static cm_lookup_rate rate_of(const char *id, cm_lookup_options o)
{
    cm_device     *device;
    cm_lookup_rate rate;
    assert_int_equal(cm_device_load(id, &device, &diag), CM_OK);
    if (cm_device_lookups(device, &o, &rate, &diag)) fail_msg("%s", diag.reason);
    rate.memory = NULL; /* it belongs to the device */
    cm_device_free(device);
    return rate;
}

static cm_status status_of(const char *id, cm_lookup_options o)
{
    cm_device     *device;
    cm_lookup_rate rate;
    assert_int_equal(cm_device_load(id, &device, &diag), CM_OK);
    cm_status status = cm_device_lookups(device, &o, &rate, &diag);
    cm_device_free(device);
    return status;
}

/* The mean of XSBench's large reactor: nuclides of its 12 materials by volume (load_num_nucs, pick_mat). */
static void visited(void **state)
{
    (void)state;
    static const double part[] = {0.140, 0.052, 0.275, 0.134, 0.154, 0.064, 0.066, 0.055, 0.008, 0.015, 0.025, 0.013};
    static const double count[] = {321, 5, 4, 4, 27, 21, 21, 21, 21, 21, 9, 9};
    double              mean = 0;
    for (int i = 0; i < 12; i++) mean += part[i] * count[i];
    assert_true(fabs(mean - 55.7) < 0.05);
    is(rate_of("nvidia-a100-40g", (cm_lookup_options){0}).lookups_s,
       rate_of("nvidia-a100-40g", (cm_lookup_options){.visited = 55.7, .nuclides = 355, .points = 11303, .bits = 64,
                                                      .longest = 321}).lookups_s);
}

/* Cycles per second of 108 multiprocessors of an A100 at 1.41 GHz. */
#define CYCLES (108 * 1.41e9)

/* Two points of a nuclide touch 2.25 sectors of 32 bytes; of the 13.3 levels of a search, those beyond 2,048 places take
   one each, but the last, which is one of the points. The tables fit the L2 cache. A multiprocessor takes 4 cycles for a sector that one thread reads alone. */
static void by_sectors(void **state)
{
    (void)state;
    double         sectors = 60 * (2.25 + log2(10000) - 1 - log2(2048));
    cm_lookup_rate r = rate_of("nvidia-a100-40g", (cm_lookup_options){.visited = 60, .nuclides = 60, .points = 10000,
                                                                   .bits = 32, .nuclide_grid = true});
    is(r.table_bytes, 60.0 * 10000 * 24);
    is(r.traffic_bytes, 0);
    assert_int_equal(r.bound, CM_LOOKUP_BANDWIDTH);
    is(r.lookups_s, CYCLES / (4 * sectors));
    is(r.times_s[CM_LOOKUP_LATENCY], 60 * (log2(10000) + 1) * 400 / 2048 / CYCLES);
    is(r.low_s * r.high_s, r.lookups_s * r.lookups_s);
    assert_true(r.low_s < r.lookups_s);
}

/* One nuclide of 2^29 points takes 26 GB: its points and the last levels of its search come from memory. */
static void by_memory(void **state)
{
    (void)state;
    double         l2 = 40 * 1048576.0, points = 536870912, table = points * 48;
    double         bytes = 3.5 * 32 * (1 - l2 / table) + (29 - log2(l2 / 32)) * 32;
    cm_lookup_rate r = rate_of("nvidia-a100-40g", (cm_lookup_options){.visited = 1, .nuclides = 1, .points = (int64_t)points,
                                                                   .bits = 64, .nuclide_grid = true});
    is(r.traffic_bytes, bytes);
    assert_true(r.times_s[CM_LOOKUP_BANDWIDTH] >= bytes / (0.4 * 1.555e12));
}

/* Sorted look-ups of 32 threads read the same points; sums in memory do not gain by it: for each of five sums of a
   nuclide a thread reads and writes three quarters of a sector, of 24 bytes, in 2.2 cycles a sector. */
static void sorted_by_energy(void **state)
{
    (void)state;
    cm_lookup_options o = {.visited = 250, .nuclides = 250, .points = 10000, .bits = 32, .sorted = true};
    double            shared = (250 * 2.25 + log2(2.5e6) - 1 - log2(2048)) / 32, own = 250 * 4.0 / 32;
    cm_lookup_rate    registers = rate_of("nvidia-a100-40g", o);
    assert_int_equal(registers.bound, CM_LOOKUP_BANDWIDTH);
    is(registers.lookups_s, CYCLES / (4 * (shared + own)));
    is(registers.traffic_bytes, 250 * 4);
    o.sums_in_memory = true;
    cm_lookup_rate memory = rate_of("nvidia-a100-40g", o);
    is(memory.lookups_s, CYCLES / (4 * (shared + own) + 5 * 250 * 0.75 * 2.2));
    /* printed by Emani 2023 for an A100, of which no number was read */
    assert_true(memory.low_s < 6.43e7 && 6.43e7 < memory.high_s);
}

/* Threads that run together wait for the longest look-up: 82 instructions for each of its nuclides. */
static void the_longest_decides(void **state)
{
    (void)state;
    cm_lookup_options o = {.visited = 20, .nuclides = 355, .points = 1000, .bits = 32, .sorted = true, .longest = 300};
    cm_lookup_rate    r = rate_of("nvidia-a100-40g", o);
    assert_int_equal(r.bound, CM_LOOKUP_INSTRUCTIONS);
    is(r.lookups_s, CYCLES * 128 / (7 * log2(355e3) + 82 * 300));
    o.longest = 10;
    assert_int_equal(status_of("nvidia-a100-40g", o), CM_ERR_ARGUMENT);
}

/* Measured on an H200 (evidence/kernels.tar.xz: lookups.tsv): look-ups/s of one nuclide in tables of 1 MiB and
   1 GiB, and of XSBench's large reactor. */
static void measured(void **state)
{
    (void)state;
    const struct {
        cm_lookup_options o;
        double            measured;
    } runs[] = {{{.visited = 1, .nuclides = 1, .points = 1048576 / 48, .bits = 64, .nuclide_grid = true}, 19.95e9},
                {{.visited = 1, .nuclides = 1, .points = 22369621, .bits = 64, .nuclide_grid = true}, 3.04e9}, {{0}, 3.23e8},
                {{.sorted = true}, 6.66e8}};
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        cm_lookup_rate r = rate_of("nvidia-h200", runs[i].o);
        if (!(r.low_s < runs[i].measured && runs[i].measured < r.high_s)) fail_msg("run %zu: %g", i, r.lookups_s);
    }
}

/* Cores with their own memory are bound by instructions: 16 for each step of a search among one of 90 parts of a nuclide's
   points, 191 for each nuclide, 106 if the hardware draws a point. */
static void by_instructions(void **state)
{
    (void)state;
    cm_lookup_options o = {.visited = 355, .nuclides = 355, .points = 11303, .bits = 32, .nuclide_grid = true};
    cm_lookup_rate    r = rate_of("cerebras-cs2-wafer", o);
    assert_int_equal(r.bound, CM_LOOKUP_INSTRUCTIONS);
    is(r.lookups_s, 850000 * 0.877 * 850e6 / (355 * (16 * log2(11303 / 90.0) + 191)));
    o.drawn = true;
    is(rate_of("cerebras-cs2-wafer", o).lookups_s, 850000 * 0.877 * 850e6 / (355 * (16 * log2(11303 / 90.0) + 106)));
    assert_int_equal(status_of("nvidia-t4", o), CM_ERR_UNSUPPORTED);
}

static void refused(void **state)
{
    (void)state;
    assert_int_equal(status_of("sambanova-sn30", (cm_lookup_options){0}), CM_ERR_UNSUPPORTED);
    assert_int_equal(status_of("graphcore-gc200", (cm_lookup_options){0}), CM_ERR_UNSUPPORTED); /* unionized */
    assert_int_equal(status_of("graphcore-gc200", (cm_lookup_options){.points = 100000, .nuclide_grid = true}),
                     CM_ERR_FIT);
    assert_int_equal(status_of("nvidia-t4", (cm_lookup_options){.points = 100000}), CM_ERR_FIT);
    assert_int_equal(status_of("nvidia-t4", (cm_lookup_options){.bits = 16}), CM_ERR_ARGUMENT);
    assert_int_equal(status_of("nvidia-t4", (cm_lookup_options){.visited = 356}), CM_ERR_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sectors), cmocka_unit_test(visited),
                                       cmocka_unit_test(by_sectors), cmocka_unit_test(by_memory),
                                       cmocka_unit_test(sorted_by_energy), cmocka_unit_test(the_longest_decides),
                                       cmocka_unit_test(measured), cmocka_unit_test(by_instructions),
                                       cmocka_unit_test(refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
