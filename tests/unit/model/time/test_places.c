/* SPDX-License-Identifier: Apache-2.0 */
/* test_places.c - samples of images and deformed convolutions: loops of threads, by hand. */
#include <math.h>
#include <string.h>
#include "time_device.h"
#include "model/time/places.h"

/* 100 cores of 1 GHz */
static const cm__limits limits = {.memory_bytes_s = 1e12, .cache_bytes_s = 4e12, .cache_bytes = 1e7, .cores = 100,
                                  .clock_hz = 1e9, .tile = 128};

static void near(double got, double expected, double fraction)
{
    if (!(fabs(got / expected - 1) <= fraction)) fail_msg("%g, expected %g", got, expected);
}

/* Coordinates of places have blocks of 512 threads: up to 100 blocks run at once and wait for each channel; 350 have four
   turns of 512 x 2.29 cycles. */
static void places_of_deformed_filters(void **state)
{
    cm__call few = call_of("reduce forward deform_places fp32 40000,256,1");
    cm__call many = call_of("reduce forward deform_places fp32 179200,256,1");
    (void)state;
    near(cm__deformed_time(&limits, &few), 256 * 1640e-9, 1e-9);
    near(cm__deformed_time(&limits, &many), 256 * 4 * 512 * 2.29e-9, 1e-9);
    /* a million windows of 9 */
    cm__call columns = call_of("reduce forward deform_columns fp32 1000000,9,1");
    near(cm__deformed_time(&limits, &columns), 1e6 * (2.03 + 9 * 0.79) / 100e9, 1e-9);
}

/* A million places of 8 images of 20 channels take longer than the loop of a thread, 8,192 do not; backward adds, in 16 bits
   more slowly. Five places for each pixel wait for each other. */
static void samples_of_neighbours(void **state)
{
    cm__call many = call_of("resize forward sample:nchw fp32 8,20,400,400,250,500");
    cm__call few = call_of("resize forward sample:nchw fp32 8,20,32,32,32,32");
    cm__call adds = call_of("resize backward sample:nchw fp32 8,20,400,400,250,500");
    cm__call low = call_of("resize backward sample:nchw bf16 8,20,400,400,250,500");
    cm__call small = call_of("resize backward sample:nchw fp16 8,20,32,32,32,32");
    cm__call dense = call_of("resize backward sample:nchw fp32 8,20,10,10,25,20");
    (void)state;
    near(cm__samples_time(&limits, &many), 22.5 * 1e6 * 0.8 / 100e9, 1e-9);
    near(cm__samples_time(&limits, &few), 22.5 * 824e-9, 1e-9);
    near(cm__samples_time(&limits, &adds), 22.5 * 1e6 * 3.86 / 100e9, 1e-9);
    near(cm__samples_time(&limits, &low), 22.5 * 1e6 * 5.25 / 100e9, 1e-9);
    near(cm__samples_time(&limits, &small), 22.5 * 5400e-9, 1e-9);
    assert_true(cm__samples_wait(&dense) && !cm__samples_wait(&adds));
    dense.pass = CM__PASS_FORWARD;
    assert_true(!cm__samples_wait(&dense)); /* it only reads */
}

/* A million threads, and windows of 8 */
static void pools_of_volumes(void **state)
{
    static const struct {
        const char *call;
        double      cycles;
    } cases[] = {{"reduce forward max_pool3d bf16 1000000,8,1", 3.14 + 8 * 0.12},
                 {"reduce forward avg_pool3d fp32 1000000,8,1", 4.0 + 8 * 0.12},
                 {"reduce forward max_pool3d_grad fp32 1000000,1,1", 4.1},
                 {"reduce forward avg_pool3d_grad fp32 1000000,8,1", 3.14 + 8 * 0.12},
                 {"reduce forward avg_pool3d_add fp32 1000000,8,1", 3.14 + 8 * 0.41}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cm__call c = call_of(cases[i].call);
        near(cm__volume_pool_time(&limits, &c), 1e6 * cases[i].cycles / 100e9, 1e-9);
    }
    cm__call sum = call_of("reduce forward sum fp32 1000000,8,1");
    assert_true(cm__volume_pool_time(&limits, &sum) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(places_of_deformed_filters), cmocka_unit_test(samples_of_neighbours),
                                       cmocka_unit_test(pools_of_volumes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
