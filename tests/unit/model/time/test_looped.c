/* SPDX-License-Identifier: Apache-2.0 */
/* test_looped.c - depthwise convolutions with large filters and batch norms of many small images, by calls measured on the
   H200. */
#include <math.h>
#include "time_device.h"
#include "model/time/looped.h"

static const cm__limits h200 = {.memory_bytes_s = 4.8e12, .cores = 132, .clock_hz = 1.83e9, .tile = 128};

#define LARGE(pass, n, c, side, window, pad) \
    "conv " pass " nchw fp16 " n "," c "," c "," side "," side "," window "," window ",1,1," pad "," pad ",1,1," c

/* Recorded in steps (docs/results/first-sight: written:large_filters, written:tuned_ears). */
static void large_filters(void **state)
{
    static const struct {
        const char *call;
        double      measured_s;
    } cases[] = {
        {LARGE("forward", "8", "64", "48", "31", "15"), 389.1e-6},
        {LARGE("forward", "8", "128", "24", "29", "14"), 171.3e-6},
        {LARGE("bwd_input", "8", "64", "48", "31", "15"), 683.1e-6},
        {LARGE("bwd_input", "8", "128", "24", "29", "14"), 327.8e-6},
        {LARGE("bwd_input", "8", "192", "12", "27", "13"), 113.6e-6},
        {"conv bwd_input nchw fp32 24,64,64,1,16000,1,401,1,160,0,200,1,1,64", 14871.6e-6},
        {"conv bwd_input nchw bf16 64,40,40,96,96,14,14,14,14,0,0,1,1,40", 2564e-6},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cm__call c = call_of(cases[i].call);
        double   got = cm__looped_time(&h200, &c);
        if (fabs(got / cases[i].measured_s - 1) > 0.25) fail_msg("%s: %g", cases[i].call, got);
    }
}

/* Small filters are in tables, the gradient of filters and channels last have other kernels, and results that lie apart
   read the input so. */
static void other_convolutions(void **state)
{
    static const char *const calls[] = {
        LARGE("forward", "8", "64", "48", "9", "4"), LARGE("bwd_weight", "8", "64", "48", "31", "15"),
        "conv forward nhwc fp16 8,64,64,48,48,31,31,1,1,15,15,1,1,64",
        "conv forward nchw fp16 8,64,64,48,48,31,31,1,1,15,15,1,1,1",
        "conv forward nchw fp32 24,64,64,1,16000,1,401,1,160,0,200,1,1,64", "softmax forward - fp32 1,1",
    };
    (void)state;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        cm__call c = call_of(calls[i]);
        if (cm__looped_time(&h200, &c) != 0) fail_msg("%s", calls[i]);
    }
}

/* The measured time is at most 1.45 times the bound, and never less. Channels with fewer numbers are read once. */
static void norms_of_small_images(void **state)
{
    static const struct {
        const char *call;
        double      measured_s;
    } cases[] = {
        {"batch_norm forward nchw fp16 288000,64,1", 22.16e-3}, {"batch_norm backward nchw fp16 288000,64,1", 8.69e-3},
        {"batch_norm forward nchw fp32 65536,64,1", 3.892e-3},  {"batch_norm backward nchw fp32 65536,16,1", 1.831e-3},
        {"batch_norm backward nchw fp32 1024,16,49", 60.6e-6},  {"batch_norm forward nchw tf32 640,128,64", 37.1e-6},
    };
    static const char *const none[] = {
        "batch_norm forward nchw fp16 25088,256,1", "batch_norm backward nchw fp32 256,16,49",
        "batch_norm forward nchw bf16 288000,64,1", "batch_norm forward nhwc fp16 288000,64,1",
        "batch_norm forward nchw fp16 512,64,196",  "layer_norm forward - fp32 288000,64",
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cm__call c = call_of(cases[i].call);
        double   ratio = cases[i].measured_s / cm__looped_least(&h200, &c);
        if (!(ratio >= 1 && ratio <= 1.45)) fail_msg("%s: %g", cases[i].call, ratio);
    }
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        cm__call c = call_of(none[i]);
        if (cm__looped_least(&h200, &c) != 0) fail_msg("%s", none[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(large_filters),
        cmocka_unit_test(other_convolutions),
        cmocka_unit_test(norms_of_small_images),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
