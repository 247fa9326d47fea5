/* SPDX-License-Identifier: Apache-2.0 */
/* test_watch.c - a log beside its prediction: inside the interval, slower, and slowing down. */
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

static const char *verdict(double first, double last, char *buf, size_t size, double *left)
{
    char  path[] = "/tmp/centimani-log-XXXXXX";
    FILE *out = fdopen(mkstemp(path), "w");
    for (int i = 0; i < 100; i++) fprintf(out, "step %d/200 step_time_s: %.9g\n", i + 1, i < 60 ? first : last);
    fclose(out);
    cm__predict_request asked = {.graph = {.model = "resnet18", .batch = 64}, .device = "nvidia-h100", .options = {.batch = 64}};
    cm__watch_report   *r;
    if (cm__watch_report_new(path, &asked, &r, &diag)) fail_msg("%s", diag.reason);
    remove(path);
    snprintf(buf, size, "%s", r->verdict);
    *left = r->remaining_s;
    double step = cm_prediction_get_info(r->predicted->prediction)->step_time_s;
    cm__watch_report_free(r);
    if (first == 1) return verdict(step, step, buf, size, left); /* the first call only asks for the prediction */
    return buf;
}

static void verdicts(void **state)
{
    (void)state;
    char   buf[256];
    double left, step;
    assert_non_null(strstr(verdict(1, 1, buf, sizeof buf, &left), "as predicted"));
    step = left / 100;
    assert_non_null(strstr(verdict(3 * step, 3 * step, buf, sizeof buf, &left), "3 times slower"));
    assert_non_null(strstr(verdict(step / 3, step / 3, buf, sizeof buf, &left), "3 times faster"));
    assert_non_null(strstr(verdict(step, 2 * step, buf, sizeof buf, &left), "slowed down"));
    assert_true(fabs(left / (200 * step) - 1) < 1e-6); /* 100 steps at twice the time */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(verdicts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
