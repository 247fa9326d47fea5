/* SPDX-License-Identifier: Apache-2.0 */
/* test_detail.c - details of one device: throughput at batch sizes, on more devices, and sources without repetition. */
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

static void test_details(void **state)
{
    (void)state;
    cm__predict_request asked = {.graph = {.model = "resnet18"}, .device = "nvidia-a100-40g", .options = {.batch = 32}};
    cm__detail         *d;
    if (cm__detail_new(&asked, &d, &diag)) fail_msg("%s", diag.reason);
    for (int32_t i = 0; i < d->n_curve; i++) {
        const cm__batch_point *p = &d->curve[i];
        assert_int_equal(p->batch, (int64_t)1 << i);
        assert_true(p->interval[0] < p->throughput_samples_s && p->throughput_samples_s < p->interval[1]);
        assert_true(i == d->n_curve - 1 || p->chance.verdict != CM_DOES_NOT_FIT); /* only the last point may not fit */
    }
    assert_true(d->n_curve > 5);
    for (int32_t i = 0; i < d->n_scaling; i++) assert_int_equal(d->scaling[i].n, 1 << i);
    assert_true(d->n_scaling > 1 && d->scaling[0].efficiency == 1);
    assert_true(d->scaling_ends || d->n_scaling == CM__SCALE_POINTS); /* it says why there are no more points */
    for (int32_t i = 0; i < d->n_sources; i++)
        for (int32_t k = 0; k < i; k++) assert_ptr_not_equal(d->sources[i], d->sources[k]);
    assert_true(d->n_sources > 0 && d->use.fits);
    cm__detail_free(d);
    cm__detail_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_details)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
