/* SPDX-License-Identifier: Apache-2.0 */
/* test_devices.c - the lists of devices and clusters have the numbers of their profiles. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "report/report.h"

static cm_diag diag;

static cm__devices_report *made(cm__devices_action action, const char *name)
{
    cm__devices_request asked = {.action = action, .name = name};
    cm__devices_report *r;
    if (cm__devices_report_new(&asked, &r, &diag)) fail_msg("%s", diag.reason);
    return r;
}

static void test_list(void **state)
{
    (void)state;
    cm__devices_report *r = made(CM__DEVICES_LIST, NULL);
    assert_int_equal(r->n_devices, cm_devices() + 1); /* the last one is the machine itself */
    assert_string_equal(r->devices[cm_devices()].id, "this-machine");
    for (int32_t i = 0; i < cm_devices(); i++) {
        cm_device *d;
        for (int32_t k = 0; k < i; k++) assert_string_not_equal(r->devices[i].id, r->devices[k].id);
        assert_int_equal(cm_device_load(r->devices[i].id, &d, NULL), CM_OK);
        cm_number tdp = cm_device_number(d, CM_TDP_W);
        assert_true(tdp.known ? r->devices[i].tdp_w == tdp.value : isnan(r->devices[i].tdp_w));
        const cm_memory *m = cm_device_main_memory(d);
        if (m && m->capacity_bytes.known) assert_true(r->devices[i].memory_bytes == m->capacity_bytes.value);
        cm_device_free(d);
    }
    cm__devices_report_free(r);
    r = made(CM__DEVICES_LIST_CLUSTERS, NULL);
    assert_int_equal(r->n_clusters, cm_clusters());
    cm__devices_report_free(r);
}

static void test_show(void **state)
{
    (void)state;
    cm__devices_report *r = made(CM__DEVICES_SHOW, "nvidia-h200");
    assert_non_null(strstr(r->profile, "nvidia-h200"));
    assert_false(r->of_cluster);
    cm__devices_report_free(r);
    r = made(CM__DEVICES_SHOW, cm_cluster_id(0));
    assert_true(r->of_cluster);
    cm__devices_report_free(r);
    cm__devices_request unknown = {.action = CM__DEVICES_SHOW, .name = "nvidia-h20x"};
    assert_int_equal(cm__devices_report_new(&unknown, &r, &diag), CM_ERR_UNKNOWN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_list), cmocka_unit_test(test_show)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
