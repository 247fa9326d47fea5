/* SPDX-License-Identifier: Apache-2.0 */
/* test_described.c - a GPU in one line is the profile with the same numbers; typos are refused by name. */
#include "device/described.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "device/device.h"

#define GPU "gpu:bf16=200T,fp32=50T,bw=1.2T,mem=48G,sms=128"

static void numbers(void **state)
{
    cm_device *d;
    (void)state;
    assert_int_equal(cm_device_load(GPU ",l2=64Mi,clock=2.5G,launch=2.5e-6,tdp=350", &d, NULL), CM_OK);
    assert_true(cm_device_peak(d, CM_ENGINE_MATRIX, CM_RATE_BF16).value == 200e12);
    assert_true(cm_device_peak(d, CM_ENGINE_VECTOR, CM_RATE_FP32).value == 50e12);
    assert_true(cm_device_main_memory(d)->capacity_bytes.value == 48e9);
    assert_true(cm_device_main_memory(d)->bw_bytes_s.value == 1.2e12);
    assert_true(cm_device_number(d, CM_CORES).value == 128 && cm_device_number(d, CM_TDP_W).value == 350);
    assert_true(cm_device_number(d, CM_CLOCK_HZ).value == 2.5e9);
    assert_true(cm_device_memory(d, 0)->capacity_bytes.value == 64 * 0x1p20);
    assert_true(cm_device_supports(d, CM_PRECISION_AMP_BF16) && !cm_device_supports(d, CM_PRECISION_FP16));
    assert_int_equal(cm_device_usual_precision(d), CM_PRECISION_AMP_BF16);
    cm_device_free(d);
    assert_int_equal(cm_device_load("gpu:fp32=10T,bw=500G,mem=8Gi", &d, NULL), CM_OK);
    assert_int_equal(cm_device_usual_precision(d), CM_PRECISION_FP32);
    assert_true(cm_device_assumptions(d) > 2); /* cores, clock, launch ... */
    cm_device_free(d);
}

static void refused(const char *name, const char *reason)
{
    cm_device *d;
    cm_diag    diag = {0};
    if (cm_device_load(name, &d, &diag) != CM_ERR_ARGUMENT || !strstr(diag.reason, reason))
        fail_msg("%s: '%s'", name, diag.reason);
}

static void typos(void **state)
{
    (void)state;
    refused("gpu:bf61=200T,bw=1T,mem=8G", "no 'bf61'; did you mean 'bf16'?");
    refused("gpu:bf16=200T,bw=1T,mem=8G,zzzzzzzz=1", "there are fp64, fp32");
    refused("gpu:bf16=200X,bw=1T,mem=8G", "'200X' is no amount");
    refused("gpu:bf16,bw=1T,mem=8G", "write bf16=1.5T");
    refused("gpu:bf16=-1T,bw=1T,mem=8G", "is no amount");
    refused("gpu:bf16=1T,bf16=2T,bw=1T,mem=8G", "'bf16' twice");
    refused("gpu:bf16=200T,bw=1T", "needs 'mem'");
    refused("gpu:bf16=200T,mem=8G", "needs 'bw'");
    refused("gpu:mem=8G,bw=1T", "needs 'bf16'");
    refused("gpu:", "needs 'mem'");
}

/* In a list of devices, words with '=' belong to the description before them. */
static void lists(void **state)
{
    (void)state;
    assert_int_equal(cm__device_name_length(GPU ",nvidia-h200"), strlen(GPU));
    assert_int_equal(cm__device_name_length(GPU "," GPU), strlen(GPU));
    assert_int_equal(cm__device_name_length(GPU), strlen(GPU));
    assert_int_equal(cm__device_name_length("nvidia-h200," GPU), strlen("nvidia-h200"));
    assert_int_equal(cm__device_name_length(""), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(numbers), cmocka_unit_test(typos), cmocka_unit_test(lists)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
