/* SPDX-License-Identifier: Apache-2.0 */
/* test_roofline.c - never faster than the ceilings, and only slightly slower if one of them dominates. */
#include <math.h>
#include "time_device.h"
#include "model/time/roofline.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static cm_device *device;
static cm__limits limits;

static int begin(void **state)
{
    if (make_folder(state)) return -1;
    device = device_of(TIME_DEVICE(""));
    limits = cm__limits_of(device);
    return 0;
}

static int end(void **state)
{
    cm_device_free(device);
    return remove_folder(state);
}

static double time_of(const char *text)
{
    cm__call c = call_of(text);
    return cm__roofline(&limits, &c);
}

static void near(double got, double expected, double fraction)
{
    if (!(fabs(got / expected - 1) <= fraction)) fail_msg("%g, expected %g", got, expected);
}

static void ceilings_of_the_profile(void **state)
{
    (void)state;
    assert_true(limits.cores == 100 && limits.floor_s == 1e-6);
    assert_true(limits.memory_bytes_s == 1e12 && limits.cache_bytes_s == 4e12 && limits.cache_bytes == 1e7);
    assert_true(limits.peak[CM_ENGINE_MATRIX][CM_RATE_BF16] == 1e14);
    assert_true(limits.peak[CM_ENGINE_MATRIX][CM_RATE_FP32] == 1e13); /* on the vector units */
}

/* 12800 x 12800 in tiles of 128 are 10,000 tiles, whole waves of 100 cores; arithmetic takes 26 times as long as
   traffic. */
static void a_large_product_is_arithmetic(void **state)
{
    (void)state;
    near(time_of("gemm forward nn bf16 1,12800,12800,12800"), 2 * pow(12800, 3) / 1e14, 0.001);
    near(time_of("gemm forward nn tf32 1,12800,12800,12800"), 2 * pow(12800, 3) / 5e13, 0.001);
    near(time_of("gemm forward nn fp16 1,12800,12800,12800"), 2 * pow(12800, 3) / 1e14,
         0.001); /* the bf16 peak: the profile gives none for this type */
    near(time_of("gemm forward nn fp32 1,12800,12800,12800"), 2 * pow(12800, 3) / 1e13, 0.001);
}

/* One more row of tiles than fills the cores takes one more wave. */
static void waves_are_whole(void **state)
{
    (void)state;
    double full = time_of("gemm forward nn bf16 1,1280,1280,12800"),
           more = time_of("gemm forward nn bf16 1,1408,1280,12800");
    near(more / full, 2, 0.05);
}

/* 32 columns are a quarter of a GPU's tile, and whole tiles of a CPU's registers. */
static void processors_have_small_tiles(void **state)
{
    (void)state;
    char  text[] = TIME_DEVICE("");
    char *class = strstr(text, "\"gpu\"");
    class[1] = 'c';
    cm_device *cpu = device_of(text);
    cm__limits of_cpu = cm__limits_of(cpu);
    cm__call   c = call_of("gemm forward nn fp32 1,12800,32,12800");
    double     least = 2. * 12800 * 32 * 12800 / 1e13;
    near(cm__roofline(&of_cpu, &c), least, 0.05); /* traffic takes 0.6 of that */
    near(cm__roofline(&limits, &c), 4 * least, 0.02);
    cm_device_free(cpu);
}

static void a_stream_is_traffic(void **state)
{
    (void)state;
    near(time_of("elementwise forward relu fp32 1,1000000000"), 8e9 / 1e12, 0.001);
    near(time_of("elementwise forward relu fp32 1,100000"), 1e-6 + 8e5 / 4e12, 0.05); /* from the cache */
    near(time_of("elementwise forward fill fp32 1,1"), 1e-6, 0.002);
}

static const char *const shapes[] = {
    "gemm forward nn bf16 %d,512,512,512",
    "gemm forward nn bf16 1,%d00,512,512",
    "gemm forward tn bf16 1,512,512,%d00",
    "conv forward nhwc bf16 %d,64,64,56,56,3,3,1,1,1,1,1,1,1",
    "conv bwd_weight nchw fp32 %d,64,64,56,56,3,3,1,1,1,1,1,1,64",
    "attention backward - bf16 %d,512,512,8,8,64,0",
    "batch_norm backward nhwc bf16 %d,64,3136",
    "elementwise forward add bf16 %d,100000",
    "reduce forward sum fp32 1,%d000,512",
    "pool forward max:nhwc bf16 %d,64,112,112,3,2,1",
    "embedding backward - fp32 %d00,50000,768",
    "rnn forward lstm fp32 %d,35,256,256,1,1",
    "optimizer update adamw fp32 %d,1000000",
    "cross_entropy forward - fp32 %d00,50257",
};

static void never_below_the_ceilings(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(shapes); i++)
        for (int batch = 1; batch <= 4096; batch *= 4) {
            char   text[128];
            double flop, bytes;
            snprintf(text, sizeof text, shapes[i], batch);
            cm__call c = call_of(text);
            cm__call_work(&c, &flop, &bytes);
            double peak = limits.peak[cm__call_kinds[c.op].engine][cm__call_rate(&c)],
                   least = fmax(flop / peak, bytes / 4e12);
            if (cm__roofline(&limits, &c) < least)
                fail_msg("%s: %g, at least %g", text, cm__roofline(&limits, &c), least);
        }
}

/* Twice the batch may fill idle cores, but never takes less time. The inner size alone is not tested: if it is long
   enough, libraries split it over idle cores. */
static void more_takes_longer(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(shapes); i++) {
        double before = 0;
        if (strstr(shapes[i], "512,512,%d")) continue;
        for (int batch = 1; batch <= 4096; batch *= 2) {
            char text[128];
            snprintf(text, sizeof text, shapes[i], batch);
            double now = time_of(text);
            if (now < before * 0.999) fail_msg("%s: %g after %g", text, now, before);
            before = now;
        }
    }
}

/* A profile may have rows of any sizes; meaningless sizes still give a finite time. */
static void sizes_of_no_sense(void **state)
{
    static const int64_t odd[] = {0, 1, 1000000000000000};
    (void)state;
    cm__limits none = {0};
    for (int op = 0; op < CM__CALLS; op++)
        for (int pattern = 0; pattern < 3 * 3 * 3; pattern++) {
            cm__call c = {.op = (int16_t)op, .types = CM__ALL(CM_BF16)};
            for (int i = 0; i < cm__call_kinds[op].n_sizes; i++)
                c.sizes[i] = odd[(i % 3 == 0 ? pattern : i % 3 == 1 ? pattern / 3 : pattern / 9) % 3];
            double known = cm__roofline(&limits, &c), bare = cm__roofline(&none, &c);
            if (!(known > 0 && isfinite(known) && bare > 0 && isfinite(bare)))
                fail_msg("%s, pattern %d: %g and %g s", cm__call_kinds[op].name, pattern, known, bare);
        }
}

static void products_of_a_convolution(void **state)
{
    (void)state;
    cm__call c = call_of("conv forward nhwc bf16 2,8,16,10,12,3,3,2,2,1,1,1,1,1");
    double   p[4];
    assert_true(cm__as_product(&c, p)); /* 2 images of 5 x 6 outputs by 16 over 8 x 9 */
    assert_true(p[0] == 1 && p[1] == 60 && p[2] == 16 && p[3] == 72);
    c.pass = CM__PASS_BWD_WEIGHT;
    assert_true(cm__as_product(&c, p));
    assert_true(p[0] == 1 && p[1] == 16 && p[2] == 72 && p[3] == 60);
    c.pass = CM__PASS_BWD_INPUT;
    assert_true(cm__as_product(&c, p));
    assert_true(p[0] == 1 && p[1] == 60 && p[2] == 8 && p[3] == 144);
    c = call_of("softmax forward - fp32 3,5");
    assert_false(cm__as_product(&c, p));
}

/* gpu-benches, gpu-l2-cache: of working sets of 0.7 and 1.33 of the cache, A100, H100, H200 and L40 deliver 0.83 to 1 and
   0.05 to 0.14 from the cache; at its size 0.41 to 0.96. */
static void a_cache_has_an_edge(void **state)
{
    (void)state;
    double below = cm__from_memory(1e7, 0.7e7), above = cm__from_memory(1e7, 1.33e7);
    assert_true(below < 0.17 && below > 0);
    assert_true(above > 0.86 && above < 0.95);
    near(cm__from_memory(1e7, 1e7), 0.5, 1e-12);
    assert_true(cm__from_memory(0, 1) == 1); /* no cache */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ceilings_of_the_profile), cmocka_unit_test(a_large_product_is_arithmetic),
        cmocka_unit_test(waves_are_whole),         cmocka_unit_test(a_stream_is_traffic),
        cmocka_unit_test(never_below_the_ceilings), cmocka_unit_test(more_takes_longer),
        cmocka_unit_test(sizes_of_no_sense),       cmocka_unit_test(products_of_a_convolution),
        cmocka_unit_test(processors_have_small_tiles), cmocka_unit_test(a_cache_has_an_edge),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
