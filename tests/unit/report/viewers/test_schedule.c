/* SPDX-License-Identifier: Apache-2.0 */
/* test_schedule.c - when kernels are launched and run: each after its launch, one after the other, within the step. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "report/viewers/viewers.h"

typedef struct seen {
    double  host_s, device_s, sum_s; /* ends of the last launch and kernel; time of all kernels */
    int32_t calls;
} seen;

static void look(void *user, const cm__launch *l)
{
    seen *s = user;
    assert_true(l->host_begin_s >= s->host_s - 1e-12);                            /* one launch after the other */
    assert_true(l->begin_s >= l->host_begin_s + l->launch_s - 1e-12);             /* not before it is launched */
    assert_true(l->begin_s >= s->device_s - 1e-12);                               /* one kernel after the other */
    s->host_s = l->host_begin_s + l->launch_s;
    s->device_s = l->begin_s + l->op->time_s;
    s->sum_s += l->op->time_s;
    s->calls++;
}

static seen walk(const char *model, int64_t batch, const cm_plan *plan, int32_t repeats, cm_prediction_info *info, int32_t *ops)
{
    cm__predict_request asked = {.graph = {.model = model}, .device = "nvidia-h200", .options = {.batch = batch}};
    cm__predict_report *r;
    cm_diag             diag = {0};
    seen                s = {0};
    if (plan) asked.options.plan = *plan;
    if (cm__predict_report_new(&asked, &r, &diag)) fail_msg("%s", diag.reason);
    cm__step_schedule(r, repeats, look, &s);
    *info = *cm_prediction_get_info(r->prediction);
    *ops = cm_prediction_ops(r->prediction);
    cm__predict_report_free(r);
    return s;
}

static void ends_with_the_step(void **state)
{
    (void)state;
    static const struct {
        const char *model;
        int64_t     batch;
    } cases[] = {{"resnet18", 256}, {"resnet50", 1}, {"gpt2", 8}}; /* the second one waits for the host */
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cm_prediction_info info;
        int32_t            ops;
        seen               s = walk(cases[i].model, cases[i].batch, NULL, 1, &info, &ops);
        assert_int_equal(s.calls, ops);
        assert_true(fabs(s.sum_s / info.device_time_s - 1) < 1e-6);
        assert_true(fabs(s.device_s / info.step_time_s - 1) < 0.01);
    }
}

/* Two of eight micro-batches take two eighths of the step, besides the update. */
static void part_of_the_micro_batches(void **state)
{
    (void)state;
    cm_plan            plan = {.devices = 1, .micro_batch = 2, .global_batch = 16};
    cm_prediction_info info;
    int32_t            ops;
    seen               all = walk("gpt2", 0, &plan, 8, &info, &ops), two = walk("gpt2", 0, &plan, 2, &info, &ops);
    assert_int_equal(info.plan.accumulate, 8);
    assert_true(all.calls > ops && two.calls < all.calls);
    assert_true(fabs(all.device_s / info.compute_s - 1) < 0.02);
    assert_true(two.device_s > 0.2 * info.compute_s && two.device_s < 0.4 * info.compute_s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(ends_with_the_step), cmocka_unit_test(part_of_the_micro_batches)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
