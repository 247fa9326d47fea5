/* SPDX-License-Identifier: Apache-2.0 */
/* test_lookups.c - random look-ups per second, by the formulas of docs/lookups.md. */
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
       rate_of("nvidia-a100-40g", (cm_lookup_options){55.7, 355, 11303, 64, false}).lookups_s);
}

/* An A100 has 40 MiB of L2. The first levels of the 355 searches stay in it, up to 40 Mi / 32 / 355 places of 32 bytes
   each, and of the points that are read the part 40 Mi / table. The rest comes from memory, at 0.144 of its
   bandwidth. */
static void by_bandwidth(void **state)
{
    (void)state;
    double         l2 = 40 * 1048576.0, table = 355.0 * 11303 * 24;
    double         search = (log2(11303) - log2(l2 / 32 / 355) - log2(32.0 / 24)) * 32;
    double         bytes = 355 * (2.25 * 32 * (1 - l2 / table) + search);
    cm_lookup_rate r = rate_of("nvidia-a100-40g", (cm_lookup_options){355, 355, 11303, 32, true});
    is(r.table_bytes, table);
    is(r.traffic_bytes, bytes);
    assert_int_equal(r.bound, CM_LOOKUP_BANDWIDTH);
    is(r.lookups_s, 0.144 * 1.555e12 / bytes);
    is(r.times_s[CM_LOOKUP_LATENCY], 355 * (log2(11303) + 1) * 400 / 1.41e9 / (108 * 2048));
    is(r.low_s * r.high_s, r.lookups_s * r.lookups_s);
    assert_true(r.low_s < r.lookups_s);
}

/* Measured on an H200 (docs/results/cuda.md): 19.95e9 look-ups/s of one nuclide in tables of 1 MiB, 3.04e9 of 1 GiB. A
   table of 1 MiB is in the L2 cache, which each of log2(rows) steps and the points pass; no number was read from it. */
static void measured(void **state)
{
    (void)state;
    const int64_t  rows = 1048576 / 48;
    cm_lookup_rate small = rate_of("nvidia-h200", (cm_lookup_options){1, 1, rows, 64, true});
    cm_lookup_rate large = rate_of("nvidia-h200", (cm_lookup_options){1, 1, 1024 * rows, 64, true});
    is(small.lookups_s, 9.78e12 / (32 * (3.5 + log2((double)rows))));
    is(small.traffic_bytes, 0);
    assert_true(small.low_s < 19.95e9 && 19.95e9 < small.high_s);
    assert_true(fabs(large.lookups_s / 3.04e9 - 1) < 0.005); /* `reached` is from this result */
}

/* Cores with their own memory are bound by instructions: 7 for each step of a search, 45 for each point. */
static void by_instructions(void **state)
{
    (void)state;
    cm_lookup_rate r = rate_of("cerebras-cs2-wafer", (cm_lookup_options){355, 355, 11303, 32, true});
    assert_int_equal(r.bound, CM_LOOKUP_INSTRUCTIONS);
    is(r.lookups_s, 850000 * 0.877 * 850e6 / (355 * (7 * log2(11303) + 45)));
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
                                       cmocka_unit_test(by_bandwidth), cmocka_unit_test(measured),
                                       cmocka_unit_test(by_instructions),
                                       cmocka_unit_test(refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
