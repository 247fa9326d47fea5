/* SPDX-License-Identifier: Apache-2.0 */
/* test_collective.c - one collective on several numbers of devices; the JSON numbers are consistent. */
#include <jansson.h>
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

static json_t *asked(const char *model, int64_t n, cm_status expected)
{
    cm__scale_request r = {.graph = {.model = model}, .device = "nvidia-a100-80g", .n_counts = 1, .counts = {n}};
    char             *text = NULL;
    size_t            size;
    FILE             *out = open_memstream(&text, &size);
    assert_int_equal(cm__collective_report(&r, CM__FORMAT_JSON, out, &diag), expected);
    fclose(out);
    json_t *answer = expected ? NULL : json_loads(text, 0, NULL);
    free(text);
    return answer;
}

static double member(const json_t *answer, const char *name)
{
    return json_number_value(json_object_get(json_array_get(json_object_get(answer, "points"), 0), name));
}

/* bytes / time, and 2 (n - 1) / n of it on the bus: nccl-tests. */
static void test_numbers(void **state)
{
    (void)state;
    json_t *a = asked("all-reduce:bytes=64e6", 8, CM_OK);
    double  time_s = member(a, "step_time_s"), rate = member(a, "throughput_bytes_s");
    assert_true(fabs(rate * time_s / 64e6 - 1) < 1e-9);
    assert_true(fabs(member(a, "bus_bytes_s") / rate - 2 * 7.0 / 8) < 1e-9);
    assert_true(member(a, "efficiency") > 0 && member(a, "efficiency") <= 1);
    json_decref(a);
}

static void test_refused(void **state)
{
    (void)state;
    asked("all-reduce:bytes=0", 8, CM_ERR_ARGUMENT);
    asked("all-reduce:bytes=nan", 8, CM_ERR_ARGUMENT);
    asked("all-reduce", 8, CM_ERR_ARGUMENT);
    asked("all-reduce:bytes=10", 1, CM_ERR_ARGUMENT);
    assert_non_null(strstr(diag.reason, "at least 2 devices"));
}

static void test_names(void **state)
{
    (void)state;
    assert_true(cm__is_collective("all-reduce:bytes=1") && cm__is_collective("broadcast"));
    assert_false(cm__is_collective("all-reduces") || cm__is_collective("resnet50") || cm__is_collective(""));
    assert_false(cm__is_collective(NULL) || cm__is_collective("gpt:layers=2"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_numbers), cmocka_unit_test(test_refused),
                                       cmocka_unit_test(test_names)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
