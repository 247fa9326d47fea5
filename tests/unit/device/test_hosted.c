/* SPDX-License-Identifier: Apache-2.0 */
/* test_hosted.c - a device beside a host whose times were measured. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "base/versions.h"
#include "device/device.h"
#include "profile_texts.h"

#define TIME(value) "{\"value\": " value ", \"unit\": \"s\", \"kind\": \"measured\", \"source\": \"sheet\"}"
#define COST(what, value) "{\"runtime\": \"torch-eager\", \"what\": \"" what "\", \"time\": " TIME(value) "}"

static cm_diag diag;

static const cm__host_cost *cost(const cm_device *d, const char *what)
{
    const cm__host_cost *found = NULL;
    for (int32_t i = 0; i < d->n_host; i++)
        if (strcmp(d->host[i].what, what) == 0) {
            assert_null(found); /* a time is known once */
            found = &d->host[i];
        }
    assert_non_null(found);
    return found;
}

/* The file's time of a tiny operator replaces the device's; launches of the device stay, those of the file say nothing of steps. */
static void measured_times_replace_known_ones(void **state)
{
    (void)state;
    cm_device *d;
    write_file("device.json", DEVICE("a-device", ",\n\"host\": [" COST("probe", "1e-5") "," COST("launch", "2e-6") "]"));
    write_file("host.json", DEVICE("a-host", ",\n\"host\": [" COST("launch", "1e-6") "," COST("probe", "2e-5") "]"));
    assert_int_equal(cm_device_load(file_named("device.json"), &d, &diag), CM_OK);
    assert_int_equal(cm_device_use_host(d, file_named("host.json"), &diag), CM_OK);
    assert_int_equal(d->n_host, 2);
    assert_true(cost(d, "probe")->time_s.value == 2e-5);
    assert_true(cost(d, "launch")->time_s.value == 2e-6);
    cm_device_free(d);
}

static void files_without_times_are_refused(void **state)
{
    (void)state;
    cm_device *d;
    write_file("device.json", DEVICE("a-device", ""));
    assert_int_equal(cm_device_load("nvidia-h200", &d, &diag), CM_OK);
    int32_t known = d->n_host;
    assert_int_equal(cm_device_use_host(d, file_named("device.json"), &diag), CM_ERR_UNKNOWN);
    assert_non_null(strstr(diag.reason, "bench --suite host"));
    assert_int_equal(cm_device_use_host(d, file_named("nowhere.json"), &diag), CM_ERR_IO);
    assert_int_equal(d->n_host, known);
    cm_device_free(d);
}

/* A ranking gives one file to all devices; those that run whole graphs keep the host that they have. */
static void only_launched_devices_get_a_host(void **state)
{
    (void)state;
    cm_device *launched, *whole;
    write_file("host.json", DEVICE("a-host", ",\n\"host\": [" COST("probe", "2e-5") "]"));
    assert_int_equal(cm_device_load("nvidia-h200", &launched, &diag), CM_OK);
    assert_int_equal(cm_device_load("graphcore-bow", &whole, &diag), CM_OK);
    int32_t known = whole->n_host;
    assert_int_equal(cm__device_use_launcher(launched, NULL, &diag), CM_OK);
    assert_int_equal(cm__device_use_launcher(launched, file_named("host.json"), &diag), CM_OK);
    assert_int_equal(cm__device_use_launcher(whole, file_named("host.json"), &diag), CM_OK);
    assert_true(cost(launched, "probe")->time_s.value == 2e-5);
    assert_int_equal(whole->n_host, known);
    assert_int_equal(cm__device_use_launcher(launched, file_named("nowhere.json"), &diag), CM_ERR_IO);
    cm_device_free(launched);
    cm_device_free(whole);
}

/* A question of PyTorch 2.5 gets the times of that release, any other one the newest, wherever they stand. */
static void host_times_have_releases(void **state)
{
    (void)state;
    cm__host_cost     times[] = {{"torch-eager", "step", {.value = 1}, NULL, {{cm__version(2, 5)}}},
                                 {"torch-eager", "step", {.value = 2}, NULL, {{cm__version(2, 11)}}},
                                 {"torch-eager", "gap", {.value = 3}, NULL, {{0}}}};
    const cm_device   d = {.host = times, .n_host = 3}, plain = {.host = times + 1, .n_host = 2};
    const cm_versions newest = {{0}}, old = {{cm__version(2, 5)}}, none = {{cm__version(2, 4)}};
    cm__ctx          *ctx = cm__ctx_new(NULL);
    assert_true(cm__device_of_release(ctx, &d, newest)->host[0].time_s.value == 2);
    assert_true(cm__device_of_release(ctx, &d, old)->host[0].time_s.value == 1);
    assert_true(cm__device_of_release(ctx, &d, none)->host[0].time_s.value == 2);
    assert_int_equal(cm__device_of_release(ctx, &d, old)->n_host, 3);
    assert_ptr_equal(cm__device_of_release(ctx, &plain, old), &plain);
    cm__ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(measured_times_replace_known_ones),
                                       cmocka_unit_test(files_without_times_are_refused),
                                       cmocka_unit_test(only_launched_devices_get_a_host),
                                       cmocka_unit_test(host_times_have_releases)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
