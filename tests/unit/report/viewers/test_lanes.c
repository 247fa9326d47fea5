/* SPDX-License-Identifier: Apache-2.0 */
/* test_lanes.c - the timeline of the pages: few slices, in order, with all calls, and one lane per stage of a pipeline. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "report/viewers/viewers.h"

static cm__predict_report *report;
static cm__ctx            *ctx;

static cm__lanes lanes_of(const char *model, const char *device, int64_t batch, cm_plan plan)
{
    cm__predict_request asked = {.graph = {.model = model}, .device = device, .options = {.batch = batch, .plan = plan}};
    cm__lanes           lanes;
    cm_diag             diag = {0};
    if (cm__predict_report_new(&asked, &report, &diag)) fail_msg("%s", diag.reason);
    ctx = cm__ctx_new(&diag);
    cm__lanes_of(ctx, report, &lanes);
    for (int32_t i = 0; i < lanes.n_lanes; i++) {
        double end = 0;
        for (int32_t k = 0; k < lanes.lanes[i].n_slices; k++) {
            const cm__lane_slice *s = &lanes.lanes[i].slices[k];
            assert_true(s->begin_s >= end - 1e-9 && s->count >= 1 && s->longest_s <= s->time_s * (1 + 1e-9));
            end = s->begin_s + s->time_s;
        }
        assert_true(end <= lanes.end_s * (1 + 1e-9));
    }
    return lanes;
}

static void done(void)
{
    cm__ctx_free(ctx);
    cm__predict_report_free(report);
}

static int32_t calls_of(const cm__lane *lane)
{
    int32_t calls = 0;
    for (int32_t k = 0; k < lane->n_slices; k++) calls += lane->slices[k].count;
    return calls;
}

static void one_device(void **state)
{
    (void)state;
    cm__lanes l = lanes_of("resnet50", "nvidia-h200", 64, (cm_plan){0});
    int32_t   ops = cm_prediction_ops(report->prediction);
    assert_int_equal(l.n_lanes, 2);
    assert_string_equal(l.lanes[0].name, "host");
    assert_string_equal(l.lanes[1].name, "device");
    for (int i = 0; i < 2; i++) {
        assert_int_equal(calls_of(&l.lanes[i]), ops);
        assert_true(l.lanes[i].n_slices < 1000);
    }
    assert_true(fabs(l.end_s / cm_prediction_get_info(report->prediction)->step_time_s - 1) < 0.01);
    done();
}

/* A device that runs whole graphs has no lane for launches. */
static void without_launches(void **state)
{
    (void)state;
    cm__lanes l = lanes_of("resnet50", "cerebras-cs2", 64, (cm_plan){0});
    assert_int_equal(l.n_lanes, 1);
    assert_string_equal(l.lanes[0].name, "device");
    done();
}

static void replicas(void **state)
{
    (void)state;
    cm__lanes l = lanes_of("gpt2", "nvidia-h200", 0, (cm_plan){.devices = 8, .dp = 8, .micro_batch = 2, .global_batch = 128});
    assert_int_equal(l.n_lanes, 3);
    assert_string_equal(l.lanes[2].name, "network");
    assert_string_equal(l.lanes[2].slices[0].phase, "communication");
    assert_non_null(strstr(l.about, "One of 8 micro-batches"));
    assert_true(l.end_s < 0.3 * cm_prediction_get_info(report->prediction)->step_time_s);
    done();
}

static void stages(void **state)
{
    (void)state;
    cm__lanes l = lanes_of("gpt2", "nvidia-h200", 0, (cm_plan){.devices = 4, .pp = 4, .micro_batch = 2, .global_batch = 16});
    assert_int_equal(l.n_lanes, 4);
    for (int i = 0; i < 4; i++) assert_int_equal(calls_of(&l.lanes[i]), 2 * 8 + 1); /* 8 micro-batches, update */
    assert_true(fabs(l.end_s / cm_prediction_get_info(report->prediction)->step_time_s - 1) < 0.01);
    done();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_device), cmocka_unit_test(without_launches),
                                       cmocka_unit_test(replicas), cmocka_unit_test(stages)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
