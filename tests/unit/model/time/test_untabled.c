/* SPDX-License-Identifier: Apache-2.0 */
/* test_untabled.c - products with a vector, norms of few long rows, softmax of long rows, volumes in 32 bits: times from
   how the kernels work, by hand. */
#include <math.h>
#include "time_device.h"
#include "model/time/factors.h"
#include "model/time/timer.h"
#include "model/time/untabled.h"

/* 100 cores of 1 GHz, 1e12 B/s behind a cache of 1e7 B */
static const cm__limits limits = {.memory_bytes_s = 1e12, .cache_bytes_s = 4e12, .cache_bytes = 1e7, .cores = 100,
                                  .clock_hz = 1e9, .tile = 128};

static void near(double got, double expected, double fraction)
{
    if (!(fabs(got / expected - 1) <= fraction)) fail_msg("%g, expected %g", got, expected);
}

static void products_with_a_vector(void **state)
{
    static const struct {
        const char *call;
        bool        vector;
    } cases[] = {
        {"gemm forward nn fp32 1,256,1,131072", true},  {"gemm forward nn tf32 1,1,256,131072", true},
        {"gemm forward nn fp32 2,256,1,131072", false}, {"gemm forward nn fp32 1,256,2,131072", false},
        {"gemm forward nn bf16 1,256,1,131072", false}, {"softmax forward - fp32 1,1", false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cm__call c = call_of(cases[i].call);
        if (cm__is_vector_product(&c) != cases[i].vector) fail_msg("%s", cases[i].call);
    }
    cm__call c = call_of("gemm forward nn fp32 1,256,1,131072");
    near(cm__vector_product_time(&limits, &c), 4. * (256 * 131072. + 131072 + 256) / 0.9e12, 1e-9);
}

/* 16 rows of 4,194,304 numbers; measured on an A100 (1.41 GHz): 10.2 ms, on a T4 (1.59 GHz): 9.4, on an L40S (2.52): 6.2 */
static void layer_norms_of_few_rows(void **state)
{
    cm__call          c = call_of("layer_norm forward - fp32 16,4194304"), back = c;
    static const double measured[][2] = {{1.41e9, 10.2e-3}, {1.59e9, 9.4e-3}, {2.52e9, 6.2e-3}};
    (void)state;
    for (int i = 0; i < 3; i++) {
        cm__limits l = limits;
        l.clock_hz = measured[i][0];
        near(cm__least_time(&l, &c), measured[i][1], 0.06);
    }
    c.sizes[CM__LAYER_NORM_ROWS] = 64; /* other rows are other blocks' */
    near(cm__least_time(&limits, &c), 4194304 * 3.6e-9, 1e-9);
    back.pass = CM__PASS_BACKWARD;
    assert_true(cm__least_time(&limits, &back) == 0);
}

/* Rows of 100 blocks fit into 1e7 B up to 25,000 numbers each. */
static void softmax_of_long_rows(void **state)
{
    cm__call fits = call_of("softmax forward - fp32 4096,25000"), not = call_of("softmax forward - fp32 4096,25001");
    cm__call few = call_of("softmax forward - fp32 2,1000000");
    (void)state;
    assert_true(cm__least_time(&limits, &fits) == 0);
    near(cm__least_time(&limits, &not), 4 * 4. * 4096 * 25001 / 0.9e12, 1e-9);
    assert_true(cm__least_time(&limits, &few) == 0); /* 8 MB at a time */
}

static void volumes_in_32_bits(void **state)
{
    cm__call tf32 = call_of("conv3d forward nchw tf32 16,3,64,64,64,64,3,3,3,1,1,1,0,0,0,1,1,1,1");
    cm__call bf16 = call_of("conv3d forward nchw bf16 16,3,64,64,64,64,3,3,3,1,1,1,0,0,0,1,1,1,1");
    cm__call plane = call_of("conv forward nchw tf32 16,3,64,64,64,3,3,1,1,0,0,1,1,1");
    (void)state;
    assert_true(cm__far_factor(&tf32) == cm__time_factors.far_volume && cm__far_factor(&tf32) > 1);
    assert_true(cm__far_factor(&bf16) == 1 && cm__far_factor(&plane) == 1);
}

/* The timer uses them on GPUs, with and without tables of their own. */
static void in_the_timer(void **state)
{
    static const char *const devices[] = {"nvidia-h200", "nvidia-a100-80g", "nvidia-t4"};
    (void)state;
    for (int i = 0; i < 3; i++) {
        cm_diag    diag = {0};
        cm__ctx   *ctx = cm__ctx_new(&diag);
        cm_device *d, *h200;
        cm__call   norm = call_of("layer_norm forward - fp32 16,4194304"), product = call_of("gemm forward nn fp32 1,256,1,131072");
        assert_int_equal(cm_device_load(devices[i], &d, NULL), CM_OK);
        assert_int_equal(cm_device_load("nvidia-h200", &h200, NULL), CM_OK);
        if (setjmp(ctx->trap)) fail_msg("%s", diag.reason);
        cm__limits l = cm__limits_of(d);
        cm__timer *t = cm__timer_new(ctx, d, i ? h200 : NULL, CM_RUNTIME_TORCH_EAGER);
        assert_true(cm__timer_time(t, &norm).time_s >= cm__least_time(&l, &norm));
        near(cm__timer_time(t, &product).time_s, cm__vector_product_time(&l, &product), 1e-9);
        cm__ctx_free(ctx);
        cm_device_free(h200);
        cm_device_free(d);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_with_a_vector), cmocka_unit_test(layer_norms_of_few_rows),
        cmocka_unit_test(softmax_of_long_rows), cmocka_unit_test(volumes_in_32_bits), cmocka_unit_test(in_the_timer),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
