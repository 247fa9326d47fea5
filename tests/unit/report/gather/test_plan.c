/* SPDX-License-Identifier: Apache-2.0 */
/* test_plan.c - a search from names of a model and a device: defaults are settled, failures are passed on. */
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

#define GPT "gpt:layers=2,hidden=64,heads=4,seq=32,vocab=64"

static void test_search(void **state)
{
    (void)state;
    cm__plan_request asked = {.graph = {.model = GPT}, .device = "nvidia-a100-80g",
                              .options = {.devices = 4, .global_batch = 8, .threads = 1}};
    cm__plan_report *r;
    if (cm__plan_report_new(&asked, &r, &diag)) fail_msg("%s", diag.reason);
    assert_true(cm_search_plans(r->search) > 0);
    assert_int_equal(cm_search_plan(r->search, 0)->plan.devices, 4);
    assert_int_equal(r->asked.options.runtime, cm_device_runtime(r->device));
    assert_int_equal(r->asked.options.train.precision, r->asked.graph.train.precision);
    assert_int_not_equal(r->asked.graph.train.precision, CM_PRECISION_DEFAULT);
    cm__plan_report_free(r);
    cm__plan_report_free(NULL);
}

static void test_refused(void **state)
{
    (void)state;
    cm__plan_request asked = {.graph = {.model = GPT}, .device = "nvidia-a100-80g",
                              .options = {.devices = 4, .global_batch = 8, .objective = CM_OBJECTIVE_MEMORY}};
    cm__plan_report *r;
    assert_int_equal(cm__plan_report_new(&asked, &r, &diag), CM_ERR_ARGUMENT); /* no objective of plans */
    asked.options.objective = CM_OBJECTIVE_THROUGHPUT;
    asked.cluster = "node=x";
    assert_int_not_equal(cm__plan_report_new(&asked, &r, &diag), CM_OK);
    asked.cluster = NULL;
    asked.graph.model = "no-such-model";
    assert_int_not_equal(cm__plan_report_new(&asked, &r, &diag), CM_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_search), cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
