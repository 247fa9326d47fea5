/* SPDX-License-Identifier: Apache-2.0 */
/* test_compare.c - a trace beside a prediction: rows add up to both steps, equal calls are matched. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "report/report.h"

/* One product of 64 x 1760 x 1760 in two steps of 1 ms. */
static const char trace[] =
    "{\"traceEvents\":["
    "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#1\",\"tid\":1,\"ts\":0,\"dur\":900},"
    "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#2\",\"tid\":1,\"ts\":1000,\"dur\":900},"
    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::mm\",\"tid\":1,\"ts\":1,\"dur\":9,\"args\":{\"Input Dims\":[[64,1760],[1760,1760]],"
    "\"Input type\":[\"float\",\"float\"],\"Input Strides\":[[1760,1],[1760,1]]}},"
    "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"tid\":1,\"ts\":2,\"dur\":1,\"args\":{\"correlation\":1}},"
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"g\",\"tid\":7,\"ts\":10,\"dur\":20,\"args\":{\"correlation\":1}},"
    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::odd\",\"tid\":1,\"ts\":1001,\"dur\":9,\"args\":{}},"
    "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"tid\":1,\"ts\":1002,\"dur\":1,\"args\":{\"correlation\":2}},"
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"o\",\"tid\":7,\"ts\":1010,\"dur\":40,\"args\":{\"correlation\":2}}]}";

static void rows_add_up(void **state)
{
    (void)state;
    char  path[] = "/tmp/centimani-compare-XXXXXX";
    FILE *file = fdopen(mkstemp(path), "w");
    fputs(trace, file);
    fclose(file);
    cm__predict_request asked = {.graph = {.model = "gemm:m=64,n=1760,k=1760", .train = {.precision = CM_PRECISION_FP32}},
                                 .device = "nvidia-h200", .options = {.batch = 1}};
    cm__compare_report *r;
    cm_diag             diag = {0};
    if (cm__compare_report_new(path, &asked, &r, &diag)) fail_msg("%s", diag.reason);
    unlink(path);
    double measured = 0, predicted = 0;
    for (int32_t i = 0; i < r->n_differences; i++) {
        measured += r->differences[i].measured_s;
        predicted += r->differences[i].predicted_s;
    }
    assert_true(fabs(measured - 1e-3) < 1e-12);
    assert_true(fabs(predicted / cm_prediction_get_info(r->predicted->prediction)->step_time_s - 1) < 1e-9);
    assert_true(fabs(cm_timeline_get_info(r->timeline)->device_time_s - 30e-6) < 1e-12);
    bool found = false;
    for (int32_t i = 0; i < r->n_calls; i++)
        if (r->calls[i].measured_runs > 0 && r->calls[i].predicted_runs > 0) found = true;
    assert_true(found);
    assert_true(fabs(r->matched_s - 10e-6) < 1e-12);
    cm__compare_report_free(r);
}

static void bad_files(void **state)
{
    (void)state;
    cm__predict_request asked = {.graph = {.model = "resnet18"}, .device = "nvidia-h200", .options = {.batch = 1}};
    cm__compare_report *r;
    cm_diag             diag = {0};
    assert_int_equal(cm__compare_report_new("/no/such/trace.json", &asked, &r, &diag), CM_ERR_IO);
    cm__compare_report_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows_add_up), cmocka_unit_test(bad_files)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
