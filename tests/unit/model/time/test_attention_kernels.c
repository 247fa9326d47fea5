/* SPDX-License-Identifier: Apache-2.0 */
/* test_attention_kernels.c - attention kernels that the user names: the usual call, and the factor of its time. */
#include <string.h>
#include "time_device.h"
#include "model/time/attention_kernels.h"
#include "model/time/factors.h"

static void names_are_recognised(void **state)
{
    static const struct {
        const char *call, *usual; /* usual NULL: no kernel is named */
    } cases[] = {
        {"attention forward flash1 bf16 1,64,64,2,2,64,1", ""},
        {"attention backward flash bf16 1,64,64,2,2,64,1", ""},
        {"attention forward efficient-mask-dropout bf16 1,64,64,2,2,64,0", "mask-dropout"},
        {"attention forward cudnn-bias bf16 1,64,64,2,2,64,0", "bias"},
        {"attention forward - bf16 1,64,64,2,2,64,1", NULL},
        {"attention forward mask bf16 1,64,64,2,2,64,1", NULL},
        {"gemm forward nt bf16 1,64,64,64", NULL},
    };
    cm_device *device = device_of(TIME_DEVICE(""));
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cm__call c = call_of(cases[i].call), usual;
        double   factor;
        bool     named = cm__attention_named(device, &c, &usual, &factor);
        if (named != (cases[i].usual != NULL)) fail_msg("%s", cases[i].call);
        if (!named) continue;
        assert_int_equal(usual.variant, cm__variant_find(cases[i].usual));
        assert_memory_equal(usual.sizes, c.sizes, sizeof c.sizes);
        assert_true(factor >= 1);
    }
    cm_device_free(device);
}

static double factor_on(const char *device, const char *text)
{
    cm_device *d;
    cm__call   c = call_of(text), usual;
    double     factor;
    if (cm_device_load(device, &d, NULL)) fail_msg("%s", device);
    assert_true(cm__attention_named(d, &c, &usual, &factor));
    cm_device_free(d);
    return factor;
}

/* PyTorch chooses cuDNN's kernel on Hopper and Blackwell, FlashAttention 2 on Ampere and Ada. */
static void factors_are_over_what_the_device_takes(void **state)
{
    const char *flash = "attention forward flash bf16 1,64,64,2,2,64,1",
               *efficient = "attention backward efficient bf16 1,64,64,2,2,64,1",
               *cudnn = "attention backward cudnn bf16 1,64,64,2,2,64,1";
    (void)state;
    assert_true(factor_on("nvidia-h100", flash) == cm__time_factors.flash_forward);
    assert_true(factor_on("nvidia-b200", flash) == cm__time_factors.flash_forward);
    assert_true(factor_on("nvidia-a100-80g", flash) == 1);
    assert_true(factor_on("nvidia-l4", flash) == 1);
    assert_true(factor_on("nvidia-l4", efficient) == cm__time_factors.efficient_backward);
    assert_true(factor_on("nvidia-h100", efficient) ==
                cm__time_factors.efficient_backward * cm__time_factors.flash_backward);
    assert_true(factor_on("nvidia-h100", cudnn) == 1);
}

/* Kernels of 2023 lose more with wide heads, in both passes and whatever the device takes today. */
static void old_kernels_depend_on_the_width_of_heads(void **state)
{
    const char *narrow = "attention forward flash1 bf16 1,64,64,2,2,64,1",
               *wide = "attention backward flash1 bf16 1,64,64,2,2,128,1";
    (void)state;
    assert_true(factor_on("nvidia-a100-80g", narrow) == cm__time_factors.flash1);
    assert_true(factor_on("nvidia-a100-80g", wide) == cm__time_factors.flash1_wide);
    assert_true(factor_on("nvidia-h100", wide) == cm__time_factors.flash1_wide * cm__time_factors.flash_backward);
    assert_true(cm__time_factors.flash1_wide > cm__time_factors.flash1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(names_are_recognised),
                                       cmocka_unit_test(old_kernels_depend_on_the_width_of_heads),
                                       cmocka_unit_test(factors_are_over_what_the_device_takes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
