/* SPDX-License-Identifier: Apache-2.0 */
/* test_volumes.c - convolutions of volumes in 32 bits: whole tiles at a share of the peak, by hand. */
#include <math.h>
#include <string.h>
#include "time_device.h"
#include "model/time/untabled.h"

/* 100 cores of 1 GHz, 1e12 B/s behind a cache of 1e7 B */
static const cm__limits limits = {.memory_bytes_s = 1e12, .cache_bytes_s = 4e12, .cache_bytes = 1e7, .cores = 100,
                                  .clock_hz = 1e9, .tile = 128};

static void near(double got, double expected, double fraction)
{
    if (!(fabs(got / expected - 1) <= fraction)) fail_msg("%g, expected %g", got, expected);
}

/* Measured, a transposed convolution of 64 to 32 channels with 3^3 filters and steps of 2, 16 images of 27 x 59 x 59 voxels: A100
   (156 TFLOP/s in TF32, 2.04 TB/s) 1.40 ms, H100 0.66, L40S 2.08, RTX A6000 2.83. */
static void volumes_in_32_bits(void **state)
{
    static const double measured[][3] = {
        {156e12, 2.039e12, 1.40e-3}, {495e12, 3.352e12, 0.66e-3}, {183e12, 0.864e12, 2.08e-3}, {77e12, 0.768e12, 2.83e-3}};
    cm__call tf32 = call_of("conv3d bwd_input nchw tf32 16,64,32,27,59,59,3,3,3,2,2,2,3,3,3,1,1,1,1"), bf16 = tf32;
    cm__call plane = call_of("conv forward nchw tf32 16,3,64,64,64,3,3,1,1,0,0,1,1,1");
    cm__limits l = limits;
    (void)state;
    memcpy(bf16.dtype, "bf16", 5);
    assert_true(cm__volume_time(&limits, &tf32) == 0); /* no peak is known */
    for (int i = 0; i < 4; i++) {
        l.peak[CM_ENGINE_MATRIX][CM_RATE_TF32] = measured[i][0], l.memory_bytes_s = measured[i][1];
        near(cm__volume_time(&l, &tf32), measured[i][2], 0.35);
    }
    assert_true(cm__volume_time(&l, &bf16) == 0 && cm__volume_time(&l, &plane) == 0);
}

/* 3 channels to 64: 16 summed ones are computed in TF32. Images of channels first are read and written three times. */
static void passes_and_types_of_volumes(void **state)
{
    cm__call   first = call_of("conv3d forward nchw tf32 16,3,64,64,64,64,3,3,3,1,1,1,0,0,0,1,1,1,1"), last = first, fp32 = first;
    cm__limits l = limits;
    double     flop, bytes;
    (void)state;
    memcpy(last.variant, "nhwc", 5);
    memcpy(fp32.dtype, "fp32", 5);
    cm__call_work(&first, &flop, &bytes);
    l.peak[CM_ENGINE_MATRIX][CM_RATE_TF32] = 1e14;
    near(cm__volume_time(&l, &first), hypot(flop * 16 / 3 / 0.4e14, 3 * bytes / 0.9e12), 1e-9);
    near(cm__volume_time(&l, &last), hypot(flop * 16 / 3 / 0.4e14, bytes / 0.9e12), 1e-9);
    l.peak[CM_ENGINE_VECTOR][CM_RATE_FP32] = 9e13;
    near(cm__volume_time(&l, &fp32), cm__volume_time(&l, &first), 1e-9); /* no faster in fp32 */
    l = limits, l.peak[CM_ENGINE_VECTOR][CM_RATE_FP32] = 8.1e12; /* no units for TF32 */
    near(cm__volume_time(&l, &fp32), hypot(flop / (0.2 * 8.1e12), 3 * bytes / 0.9e12), 1e-9);
}

/* Tiles of 64 channels: 8 take as long as 64, 65 as long as 128; 4 groups of 16 as long as all 64 in one. */
static void tiles_of_volumes(void **state)
{
    cm__call   one = call_of("conv3d forward nchw tf32 8,64,64,32,32,32,3,3,3,1,1,1,1,1,1,1,1,1,1");
    cm__call   narrow = one, more = one, groups = one;
    cm__limits l = limits;
    double     flop, bytes;
    (void)state;
    l.peak[CM_ENGINE_MATRIX][CM_RATE_TF32] = 1e14, l.memory_bytes_s = 1e18;
    narrow.sizes[CM__CONV3D_K] = 8, more.sizes[CM__CONV3D_K] = 65, groups.sizes[CM__CONV3D_GROUPS] = 4;
    near(cm__volume_time(&l, &narrow), cm__volume_time(&l, &one), 1e-6);
    near(cm__volume_time(&l, &more), 2 * cm__volume_time(&l, &one), 1e-6);
    near(cm__volume_time(&l, &groups), cm__volume_time(&l, &one), 1e-6);
    l.peak[CM_ENGINE_VECTOR][CM_RATE_FP32] = 1e13;
    groups.sizes[CM__CONV3D_GROUPS] = 64; /* kernels without tiles */
    cm__call_work(&groups, &flop, &bytes);
    near(cm__volume_time(&l, &groups), flop / (0.04 * 1e13), 1e-6);
}

/* cuDNN's direct kernel takes 1.05 ms for a window of 9 x 9 x 9 over 2 x 96 x 112 x 96 on an H200, whose vector units
   do 67 TFLOP/s: the step of a network that registers volumes. */
static void volumes_of_one_channel(void **state)
{
    cm__call   one = call_of("conv3d forward nchw fp32 2,1,1,96,112,96,9,9,9,1,1,1,4,4,4,1,1,1,1"),
             two = call_of("conv3d forward nchw fp32 2,2,1,96,112,96,9,9,9,1,1,1,4,4,4,1,1,1,1");
    cm__limits l = limits;
    (void)state;
    l.memory_bytes_s = 4.8e12;
    l.peak[CM_ENGINE_MATRIX][CM_RATE_TF32] = 495e12;
    l.peak[CM_ENGINE_VECTOR][CM_RATE_FP32] = l.peak[CM_ENGINE_MATRIX][CM_RATE_FP32] = 67e12;
    assert_true(cm__is_volume_of_one_channel(&one) && !cm__is_volume_of_one_channel(&two));
    near(cm__volume_time(&l, &one), 1.05e-3, 0.1);
    assert_true(cm__volume_time(&l, &two) > 3 * cm__volume_time(&l, &one)); /* whole tiles of 32 filters */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(volumes_in_32_bits), cmocka_unit_test(passes_and_types_of_volumes),
        cmocka_unit_test(tiles_of_volumes), cmocka_unit_test(volumes_of_one_channel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
