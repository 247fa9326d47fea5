/* SPDX-License-Identifier: Apache-2.0 */
/* test_predict.c - a report about a prediction: its batch size, its memory, and doubts about the device. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "report/report.h"

static cm_diag diag;

static cm__predict_report *made(cm__predict_request asked)
{
    cm__predict_report *r;
    if (cm__predict_report_new(&asked, &r, &diag)) fail_msg("%s", diag.reason);
    return r;
}

/* The report has the numbers of cm_step_*() for the same question. */
static void test_same_as_the_library(void **state)
{
    (void)state;
    cm__predict_report *r = made((cm__predict_request){.graph = {.model = "resnet18"}, .device = "nvidia-h200"});
    cm_step            *step;
    cm_memory_use       use;
    cm_prediction_info  info;
    int64_t             batch;
    assert_int_equal(cm_step_new("resnet18", r->device, NULL, &step, &diag), CM_OK);
    assert_int_equal(cm_step_usual_batch(step, &batch, &diag), CM_OK);
    assert_int_equal(cm_step_memory(step, batch, &use, &diag), CM_OK);
    assert_int_equal(cm_step_time(step, batch, &info, &diag), CM_OK);
    assert_int_equal(r->asked.options.batch, batch);
    assert_true(r->peak_bytes == use.peak_bytes && r->fits);
    assert_true(cm_prediction_get_info(r->prediction)->step_time_s == info.step_time_s);
    assert_int_equal(r->asked.graph.train.precision, CM_PRECISION_AMP_BF16);
    assert_true(r->graph->totals.parameters == 11689512); /* torchvision */
    assert_null(r->doubt);
    assert_null(r->fabric); /* one device */
    cm_step_free(step);
    cm__predict_report_free(r);
}

static void test_plans(void **state)
{
    (void)state;
    cm__predict_report *r = made((cm__predict_request){.graph = {.model = "gpt2"}, .device = "nvidia-a100-80g",
                                                       .options = {.batch = 2, .plan = {.dp = 4}}});
    assert_non_null(r->fabric);
    assert_int_equal(cm_prediction_get_info(r->prediction)->plan.devices, 4);
    cm__predict_report_free(r);
}

static void test_refusals(void **state)
{
    (void)state;
    cm__predict_report *r;
    cm__predict_request unknown = {.graph = {.model = "resnet18"}, .device = "nvidia-h20x"};
    assert_int_equal(cm__predict_report_new(&unknown, &r, &diag), CM_ERR_UNKNOWN);
    unknown.device = "nvidia-h200";
    unknown.graph.model = "resnet19";
    assert_int_not_equal(cm__predict_report_new(&unknown, &r, &diag), CM_OK);
    assert_non_null(strstr(diag.reason, "resnet1"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_same_as_the_library), cmocka_unit_test(test_plans),
                                       cmocka_unit_test(test_refusals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
