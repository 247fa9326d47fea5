/* SPDX-License-Identifier: Apache-2.0 */
/* test_laws.c - laws of kernel times: forms by hand, and calls that were measured on an H200. */
#include <math.h>
#include <string.h>
#include "time_device.h"
#include "model/time/laws.h"

static const cm__limits h200 = {.memory_bytes_s = 4.8e12, .cache_bytes_s = 9e12, .cache_bytes = 5e7, .cores = 132,
                                .clock_hz = 1.83e9, .tile = 128};

static double by_laws(const char *text, double estimate_s, bool *replaced)
{
    cm__call c = call_of(text);
    return cm__by_laws(&h200, &c, estimate_s, replaced);
}

/* Times of kernels in steps and alone, far above an estimate of 0: within 35 %, because a law serves a whole class. */
static void measured_calls(void **state)
{
    static const struct {
        const char *call;
        double      measured_s;
    } cases[] = {
        {"cross_entropy forward nchw fp32 16384,30522", 36.0e-3}, {"cross_entropy backward nchw fp32 16384,30522", 17.0e-3},
        {"softmax forward planes fp32 1024,2048", 1.09e-3},       {"softmax backward planes fp32 1024,2048", 0.47e-3},
        {"embedding forward - fp32 2097152,1000000,4", 2097152 * 0.603e-9},
        {"factor forward substitute fp32 32,365,64", 6 * 33e-6},
    };
    bool replaced;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double got = by_laws(cases[i].call, 1e-9, &replaced);
        if (fabs(log(got / cases[i].measured_s)) > log(1.35)) fail_msg("%s: %g", cases[i].call, got);
        assert_false(replaced);
        assert_true(by_laws(cases[i].call, 1, &replaced) == 1); /* a floor leaves what is longer as it is */
    }
}

/* Samples take the time of their loop, whatever the tables say. Where places are many, those at random apply. */
static void samples_replace_the_estimate(void **state)
{
    bool        replaced;
    const char *near = "resize backward sample:nchw fp32 8,64,128,128,128,128",
               *many = "resize backward sample:nchw fp32 8,64,16,16,128,128";
    double      places = 8 * 128 * 128 * (64 + 2.5);
    (void)state;
    assert_true(fabs(by_laws(near, 1, &replaced) / (places * 3.9 / (132 * 1.83e9)) - 1) < 1e-9 && replaced);
    assert_true(by_laws(many, 1, &replaced) == 1 && !replaced);
}

/* Other variants, types and passes have no law, and neither has a device whose clock is unknown. */
static void calls_without_a_law(void **state)
{
    bool             replaced;
    const cm__limits unknown = {.cores = 1};
    cm__call         c = call_of("factor forward substitute fp32 32,365,64");
    (void)state;
    assert_true(by_laws("softmax forward - fp32 1024,2048", 1e-9, &replaced) == 1e-9);
    assert_true(by_laws("embedding forward - fp32 2097152,1000000,3", 1e-9, &replaced) == 1e-9); /* rows of 12 bytes */
    assert_true(by_laws("gemm forward nn fp32 1,1,1,1", 1e-9, &replaced) == 1e-9);
    assert_true(cm__by_laws(&unknown, &c, 1e-9, &replaced) == 1e-9 && !replaced);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(measured_calls), cmocka_unit_test(samples_replace_the_estimate),
                                       cmocka_unit_test(calls_without_a_law)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
