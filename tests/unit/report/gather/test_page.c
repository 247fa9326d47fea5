/* SPDX-License-Identifier: Apache-2.0 */
/* test_page.c - the contents of a page: details of the first ranked devices, and of the baseline. */
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

static void test_page(void **state)
{
    (void)state;
    cm_rank_options asked = {.devices = "nvidia-h200,nvidia-a100-40g", .baseline = "nvidia-l4"};
    cm__page_report *p;
    if (cm__page_report_new("resnet18", &asked, NULL, NULL, 0, &p, &diag)) fail_msg("%s", diag.reason);
    int32_t placed = cm_ranking_placed(p->ranking);
    assert_int_equal(placed, 2);
    assert_int_equal(p->n_details, 3); /* the baseline is not ranked, but has details */
    for (int32_t i = 0; i < placed; i++) {
        const cm_rank_entry *e = cm_ranking_entry(p->ranking, i);
        const cm__predict_report *side = p->details[i]->explain->sides[0];
        assert_string_equal(cm_device_get_info(side->device)->id, cm_device_get_info(e->device)->id);
        assert_true(cm_prediction_get_info(side->prediction)->step_time_s == e->prediction.step_time_s);
    }
    assert_string_equal(cm_device_get_info(p->details[2]->explain->sides[0]->device)->id, "nvidia-l4");
    cm__page_report_free(p);
    cm__page_report_free(NULL);
}

/* In a job, each device has one detail: its best number of devices, with the same step time. */
static void test_job(void **state)
{
    (void)state;
    cm_job_options   job = {.rank = {.devices = "nvidia-h100,nvidia-a100-80g", .samples = 1e6}, .max_devices = 8};
    cm__page_report *p;
    if (cm__page_report_new("resnet18", &job.rank, &job, NULL, 0, &p, &diag)) fail_msg("%s", diag.reason);
    assert_int_equal(p->n_details, 2);
    assert_true(cm__page_placed(p) >= 2 && cm__page_entries(p) >= cm__page_placed(p));
    for (int32_t i = 0, seen = 0; i < cm__page_placed(p) && seen < 2; i++) {
        const cm__predict_report *side = p->details[seen]->explain->sides[0];
        const cm_rank_entry      *e = cm__page_entry(p, i);
        if (strcmp(cm_device_get_info(side->device)->id, cm_device_get_info(e->device)->id) != 0) continue;
        assert_ptr_equal(e, &cm__page_job_entry(p, i)->at);
        double detail = cm_prediction_get_info(side->prediction)->step_time_s;
        if (fabs(detail / e->prediction.step_time_s - 1) > 0.02) fail_msg("%g s, %g in the ranking", detail, e->prediction.step_time_s);
        seen++;
    }
    assert_non_null(cm__page_graph(p, 0));
    cm__page_report_free(p);
}

/* Of several networks, each has its details on the best device, and the total is the sum with weights. */
static void test_networks(void **state)
{
    (void)state;
    cm_rank_options asked = {.devices = "nvidia-h100,nvidia-l4", .samples = 1e6};
    cm_job_options  job = {.rank = asked, .max_devices = 2};
    cm_network      networks[] = {{"resnet18", 3, asked}, {"resnet50", 1, asked}};
    for (int whole = 0; whole < 2; whole++) {
        cm__page_report *p;
        if (cm__page_report_new("resnet18*3 resnet50", &asked, whole ? &job : NULL, networks, 2, &p, &diag)) fail_msg("%s", diag.reason);
        assert_int_equal(p->n_details, 2);
        assert_int_equal(cm__page_graphs(p), 2);
        const cm_rank_entry *best = cm__page_entry(p, 0);
        double               hours = 0;
        for (int32_t i = 0; i < 2; i++) {
            const cm_rank_entry      *part = cm__page_part(p, 0, i);
            const cm__predict_report *side = p->details[i]->explain->sides[0];
            double                    detail = cm_prediction_get_info(side->prediction)->step_time_s;
            hours += networks[i].weight * part->hours;
            assert_string_equal(cm_device_get_info(side->device)->id, cm_device_get_info(best->device)->id);
            if (fabs(detail / part->prediction.step_time_s - 1) > 0.02) fail_msg("%g s, %g in the ranking", detail, part->prediction.step_time_s);
            assert_non_null(cm__page_graph(p, i));
        }
        if (fabs(hours / best->hours - 1) > 1e-9) fail_msg("%g h of %g", hours, best->hours);
        cm__page_report_free(p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_page), cmocka_unit_test(test_job), cmocka_unit_test(test_networks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
