/* SPDX-License-Identifier: Apache-2.0 */
/* test_abilities.c - precisions, runtimes and operators that a profile allows; others are refused with a remedy. */
#include "time_device.h"

/* bf16 and tf32 on matrix units, fp32 on vector units (time_device.h); the profile allows fp32 and bf16. */
static void test_precisions(void **state)
{
    (void)state;
    cm_device *d = device_of(TIME_DEVICE(""));
    cm_diag    diag = {0};
    assert_true(cm_device_supports(d, CM_PRECISION_FP32));
    assert_true(cm_device_supports(d, CM_PRECISION_BF16));
    assert_false(cm_device_supports(d, CM_PRECISION_FP8));
    assert_false(cm_device_supports(d, CM_PRECISIONS));
    assert_int_equal(cm_device_refusal(d, CM_PRECISION_FP8, CM_RUNTIME_DEFAULT, &diag), CM_ERR_UNSUPPORTED);
    assert_non_null(strstr(diag.reason, "timed has no fp8 units: --precision fp32"));
    assert_int_equal(cm_device_refusal(d, CM_PRECISION_BF16, CM_RUNTIME_DEFAULT, &diag), CM_OK);
    assert_int_equal(cm_device_refusal(d, CM_PRECISIONS, CM_RUNTIME_DEFAULT, &diag), CM_ERR_ARGUMENT);
    cm_device_free(d);
}

/* Asked for the usual runtime, a GPU's users compile; other devices have their default. */
static void test_usual(void **state)
{
    (void)state;
    cm_device *gpu = device_of(TIME_DEVICE("")), *other = device_of(TIME_DEVICE(",\n\"runtimes\": [\"native\"]"));
    assert_int_equal(cm__runtime_on(gpu, CM_RUNTIME_USUAL), CM_RUNTIME_TORCH_COMPILE);
    assert_int_equal(cm__runtime_on(gpu, CM_RUNTIME_DEFAULT), CM_RUNTIME_TORCH_EAGER);
    assert_int_equal(cm__runtime_on(gpu, CM_RUNTIME_MEGATRON), CM_RUNTIME_MEGATRON);
    assert_int_equal(cm__runtime_on(other, CM_RUNTIME_USUAL), CM_RUNTIME_NATIVE);
    cm_device_free(gpu);
    cm_device_free(other);
}

/* A profile without a list of runtimes allows all; a GPU's default is eager PyTorch. */
static void test_runtimes(void **state)
{
    (void)state;
    cm_diag    diag = {0};
    cm_device *any = device_of(TIME_DEVICE(""));
    for (int r = CM_RUNTIME_DEFAULT + 1; r < CM_RUNTIMES; r++)
        assert_true(cm_device_supports_runtime(any, (cm_runtime)r));
    assert_false(cm_device_supports_runtime(any, CM_RUNTIME_DEFAULT));
    assert_int_equal(cm_device_runtime(any), CM_RUNTIME_TORCH_EAGER);
    cm_device_free(any);
    cm_device *one = device_of(TIME_DEVICE(",\n\"runtimes\": [\"native\"]"));
    assert_int_equal(cm_device_runtime(one), CM_RUNTIME_NATIVE);
    assert_false(cm_device_supports_runtime(one, CM_RUNTIME_TORCH_EAGER));
    assert_int_equal(cm_device_refusal(one, CM_PRECISION_DEFAULT, CM_RUNTIME_MEGATRON, &diag), CM_ERR_UNSUPPORTED);
    assert_non_null(strstr(diag.reason, "--runtime native"));
    cm_device_free(one);
}

/* A step that contains an operator of the profile's list is refused; other steps are not. */
static void test_operators(void **state)
{
    (void)state;
    cm_device *d = device_of(TIME_DEVICE(",\n\"operators\": {\"unsupported\": [\"MaxPool\"]}"));
    cm_step   *step;
    cm_diag    diag = {0};
    assert_false(cm_device_runs(d, "MaxPool"));
    assert_true(cm_device_runs(d, "Conv"));
    assert_int_equal(cm_step_new("resnet18", d, NULL, &step, &diag), CM_ERR_UNSUPPORTED);
    assert_non_null(strstr(diag.reason, "timed does not run MaxPool (node 'maxpool')"));
    assert_int_equal(cm_step_new("bert-base", d, NULL, &step, &diag), CM_OK);
    cm_step_free(step);
    cm_device_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_precisions), cmocka_unit_test(test_runtimes), cmocka_unit_test(test_usual),
                                       cmocka_unit_test(test_operators)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
