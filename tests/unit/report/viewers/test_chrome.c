/* SPDX-License-Identifier: Apache-2.0 */
/* test_chrome.c - a predicted step as a trace: read back by the reader of profiler traces, it has the same times. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "report/report.h"
#include "small_timeline.h"

static cm__predict_report *predicted(const char *model, int64_t batch, const cm_plan *plan)
{
    cm__predict_request asked = {.graph = {.model = model}, .device = "nvidia-h200", .options = {.batch = batch}};
    cm__predict_report *r;
    cm_diag             diag = {0};
    if (plan) asked.options.plan = *plan;
    if (cm__predict_report_new(&asked, &r, &diag)) fail_msg("%s", diag.reason);
    return r;
}

static char *trace_of(const cm__predict_report *r)
{
    char   *text = NULL;
    size_t  size;
    cm_diag diag = {0};
    FILE   *out = open_memstream(&text, &size);
    if (cm__predict_report_trace(r, out, &diag)) fail_msg("%s", diag.reason);
    fclose(out);
    return text;
}

static void times_come_back(void **state)
{
    (void)state;
    static const struct {
        const char *model;
        int64_t     batch;
    } cases[] = {{"resnet18", 256}, {"resnet50", 1}, {"gpt2", 8}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cm__predict_report       *r = predicted(cases[i].model, cases[i].batch, NULL);
        const cm_prediction_info *p = cm_prediction_get_info(r->prediction);
        char                     *text = trace_of(r);
        cm_timeline              *t = timeline_of(text);
        const cm_timeline_info   *info = cm_timeline_get_info(t);
        assert_true(fabs(info->device_time_s / p->device_time_s - 1) < 1e-5); /* slices have whole nanoseconds */
        assert_true(fabs(info->step_time_s / p->step_time_s - 1) < 0.01); /* the annotated step */
        assert_true(fabs(info->overlapped_s) < 1e-6 * p->device_time_s);
        cm_timeline_free(t);
        free(text);
        cm__predict_report_free(r);
    }
}

/* One track per stage; the last update ends with the step. */
static void stages(void **state)
{
    (void)state;
    cm__predict_report *r = predicted("gpt2", 0, &(cm_plan){.devices = 4, .pp = 4, .micro_batch = 2, .global_batch = 16});
    char               *text = trace_of(r);
    json_t             *trace = json_loads(text, 0, NULL);
    double              end = 0, tracks[5] = {0};
    size_t              i;
    json_t             *event;
    json_array_foreach(json_object_get(trace, "traceEvents"), i, event) {
        const char *category = json_string_value(json_object_get(event, "cat"));
        if (!category || strcmp(category, "kernel") != 0) continue;
        json_int_t stage = json_integer_value(json_object_get(event, "tid"));
        assert_in_range(stage, 1, 4);
        tracks[stage]++;
        end = fmax(end, json_number_value(json_object_get(event, "ts")) + json_number_value(json_object_get(event, "dur")));
    }
    for (int stage = 1; stage <= 4; stage++) assert_true(tracks[stage] == 2 * 8 + 1); /* 8 micro-batches, update */
    assert_true(fabs(1e-6 * end / cm_prediction_get_info(r->prediction)->step_time_s - 1) < 1e-6);
    json_decref(trace);
    free(text);
    cm__predict_report_free(r);
}

static int64_t nanoseconds(const json_t *event, const char *key)
{
    return llround(1e3 * json_number_value(json_object_get(event, key)));
}

/* Perfetto drops slices of one track that overlap, even by less than a nanosecond. */
static void no_overlaps(void **state)
{
    (void)state;
    const cm_plan plan = {.devices = 4, .pp = 4, .micro_batch = 2, .global_batch = 16};
    for (int k = 0; k < 2; k++) {
        cm__predict_report *r = k ? predicted("gpt2", 0, &plan) : predicted("resnet50", 64, NULL);
        char               *text = trace_of(r);
        json_t             *trace = json_loads(text, 0, NULL), *event;
        int64_t             ends[2][32] = {{0}};
        size_t              i;
        json_array_foreach(json_object_get(trace, "traceEvents"), i, event) {
            const char *category = json_string_value(json_object_get(event, "cat"));
            if (!category || (strcmp(category, "kernel") != 0 && strcmp(category, "cpu_op") != 0)) continue;
            int64_t *end = &ends[json_integer_value(json_object_get(event, "pid"))][json_integer_value(json_object_get(event, "tid"))];
            if (!k) assert_true(nanoseconds(event, "ts") >= *end); /* those of stages are not in the order of time */
            *end = nanoseconds(event, "ts") + nanoseconds(event, "dur");
            double whole = 1e3 * json_number_value(json_object_get(event, "dur"));
            assert_true(fabs(whole - round(whole)) < 1e-3);
        }
        json_decref(trace);
        free(text);
        cm__predict_report_free(r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(times_come_back), cmocka_unit_test(stages), cmocka_unit_test(no_overlaps)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
