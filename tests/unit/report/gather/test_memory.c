/* SPDX-License-Identifier: Apache-2.0 */
/* test_memory.c - reports about memory and batch sizes: curve, largest tensors, and remedies that really fit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "report/report.h"

static cm_diag diag;

/* Peaks grow with the batch, all points but the last fit, and batches double. */
static void test_curve(void **state)
{
    (void)state;
    cm__memory_request asked = {.graph = {.model = "resnet18", .batch = 32}, .device = "nvidia-l4"};
    cm__memory_report *r;
    if (cm__memory_report_new(&asked, &r, &diag)) fail_msg("%s", diag.reason);
    assert_true(r->n_curve > 3);
    for (int32_t i = 0; i < r->n_curve; i++) {
        assert_int_equal(r->curve[i].batch, (int64_t)1 << i);
        if (i) assert_true(r->curve[i].peak_bytes >= r->curve[i - 1].peak_bytes);
        assert_int_equal(r->curve[i].chance.probability >= 0.5, i < r->n_curve - 1);
        if (r->curve[i].batch == 32) assert_true(r->curve[i].peak_bytes == r->use.peak_bytes);
    }
    assert_true(r->use.fits && r->n_remedies == 0);
    double sum = 0;
    for (int32_t i = 0; i < r->n_alive; i++) {
        if (i) assert_true(r->alive[i].bytes <= r->alive[i - 1].bytes); /* largest first */
        sum += r->alive[i].bytes;
    }
    assert_true(r->n_alive > 0 && sum <= r->use.peak_bytes);
    assert_true(r->timed && r->interval_s[0] < r->interval_s[1]);
    cm__memory_report_free(r);
}

/* Every remedy of a step that does not fit needs less memory than the step, and less than the device has. */
static void test_remedies(void **state)
{
    (void)state;
    cm__memory_request asked = {.graph = {.model = "gpt2-xl", .batch = 16}, .device = "nvidia-a100-40g"};
    cm__memory_report *r;
    if (cm__memory_report_new(&asked, &r, &diag)) fail_msg("%s", diag.reason);
    double capacity = cm_device_main_memory(r->device)->capacity_bytes.value;
    assert_false(r->use.fits);
    assert_true(r->n_remedies > 0);
    for (int32_t i = 0; i < r->n_remedies; i++) {
        assert_true(r->remedies[i].peak_bytes < r->use.peak_bytes && r->remedies[i].peak_bytes < capacity);
        assert_non_null(r->remedies[i].option);
    }
    cm__memory_report_free(r);
}

/* The chosen batch is one of the candidates and fits; a request without a device is refused. */
static void test_batch(void **state)
{
    (void)state;
    cm__memory_request asked = {.graph = {.model = "resnet18"}, .device = "nvidia-l4", .n_candidates = 3,
                                .candidates = {7, 30, 100000}};
    cm__memory_report *r;
    if (cm__batch_report_new(&asked, &r, &diag)) fail_msg("%s", diag.reason);
    assert_true(r->batch == 7 || r->batch == 30);
    assert_int_equal(r->choice.n_candidates, 3);
    assert_false(r->choice.candidates[2].fits);
    cm__memory_report_free(r);
    asked.device = NULL;
    assert_int_equal(cm__batch_report_new(&asked, &r, &diag), CM_ERR_ARGUMENT);
    assert_non_null(strstr(diag.reason, "--device"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_curve), cmocka_unit_test(test_remedies),
                                       cmocka_unit_test(test_batch)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
