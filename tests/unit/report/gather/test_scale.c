/* SPDX-License-Identifier: Apache-2.0 */
/* test_scale.c - one model on several numbers of devices: efficiency and where it is lost. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "report/report.h"

static cm_diag diag;

static cm__scale_report *made(cm_plan plan)
{
    cm__scale_request asked = {.graph = {.model = "resnet18"}, .device = "nvidia-a100-80g", .n_counts = 3,
                               .counts = {1, 2, 8}, .options = {.batch = 64, .plan = plan}};
    cm__scale_report *r;
    if (cm__scale_report_new(&asked, &r, &diag)) fail_msg("%s", diag.reason);
    return r;
}

/* Weak scaling: every replica has 64 samples. Efficiency is throughput per device over that of the first point. */
static void test_weak(void **state)
{
    (void)state;
    cm__scale_report *r = made((cm_plan){0});
    assert_false(r->strong);
    assert_true(r->points[0].efficiency == 1);
    for (int i = 0; i < 3; i++) {
        const cm__scale_point *p = &r->points[i];
        double                 one = r->points[0].info.throughput_samples_s;
        assert_int_equal(p->n, r->asked.counts[i]);
        assert_true(fabs(p->efficiency - p->info.throughput_samples_s / p->n / one) < 1e-12);
        assert_true(p->efficiency <= 1 + 1e-9 && p->chance.verdict == CM_FITS);
        double sum = 0;
        for (int k = 0; k < 3; k++) {
            assert_true(p->lost[k] >= 0);
            sum += p->lost[k];
        }
        assert_true(sum < 1);
    }
    assert_true(r->points[0].lost[0] == 0 && r->points[2].lost[0] > 0); /* one device does not communicate */
    cm__scale_report_free(r);
}

/* Strong scaling: the global batch stays, so replicas have fewer samples each. */
static void test_strong(void **state)
{
    (void)state;
    cm__scale_report *r = made((cm_plan){.global_batch = 4096}); /* large enough to be bound by the device */
    assert_true(r->strong);
    for (int i = 0; i < 3; i++)
        assert_true(fabs(r->points[i].info.throughput_samples_s * r->points[i].info.step_time_s - 4096) < 1e-6);
    assert_true(r->points[2].info.step_time_s < r->points[0].info.step_time_s);
    assert_true(r->points[2].peak_bytes < r->points[0].peak_bytes);
    cm__scale_report_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_weak), cmocka_unit_test(test_strong)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
