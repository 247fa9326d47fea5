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
    if (cm__page_report_new("resnet18", &asked, &p, &diag)) fail_msg("%s", diag.reason);
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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_page)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
