/* SPDX-License-Identifier: Apache-2.0 */
/* test_explain.c - operators on two devices: sums, order, and the roofline. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "report/report.h"

static cm_diag diag;

static cm__explain_report *made(const char *versus)
{
    cm__predict_request asked = {.graph = {.model = "resnet18"}, .device = "nvidia-h200", .options = {.batch = 64}};
    cm__explain_report *r;
    if (cm__explain_report_new(&asked, versus, &r, &diag)) fail_msg("%s", diag.reason);
    return r;
}

/* Operators and kinds both add up to the device's time; memory-bound and compute-bound ones make up the whole. */
static void test_sums(void **state)
{
    (void)state;
    cm__explain_report *r = made("nvidia-a100-80g");
    for (int side = 0; side < 2; side++) {
        double device_s = cm_prediction_get_info(r->sides[side]->prediction)->device_time_s, ops = 0, kinds = 0;
        for (int32_t i = 0; i < r->n_ops; i++) ops += r->ops[i].on[side].time_s;
        for (int32_t i = 0; i < r->n_kinds; i++) kinds += r->kinds[i].time_s[side];
        assert_true(fabs(ops / device_s - 1) < 1e-9 && fabs(kinds / device_s - 1) < 1e-9);
        assert_true(fabs((r->memory_s[side] + r->compute_s[side]) / device_s - 1) < 1e-9);
    }
    cm__explain_report_free(r);
}

/* The gradients of a convolution's input and weights share its name and phase, and are other kernels. */
static void test_gradients(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {{"ConvGradInput", "conv bwd_input"}, {"ConvGradWeight", "conv bwd_weight"}};
    cm__explain_report *r = made(NULL);
    const cm_prediction *p = r->sides[0]->prediction;
    for (int k = 0; k < 2; k++) {
        double types = 0, calls = 0;
        for (int32_t i = 0; i < r->n_ops; i++)
            if (strcmp(r->ops[i].type, pairs[k][0]) == 0) types += r->ops[i].on[0].time_s;
        for (int32_t i = 0; i < cm_prediction_ops(p); i++)
            if (strncmp(cm_prediction_op(p, i)->call, pairs[k][1], strlen(pairs[k][1])) == 0)
                calls += cm_prediction_op(p, i)->time_s;
        assert_true(calls > 0 && fabs(types / calls - 1) < 1e-9);
    }
    cm__explain_report_free(r);
}

/* Largest difference first. An operator's time at the ceiling is the longer of arithmetic and traffic. */
static void test_order(void **state)
{
    (void)state;
    cm__explain_report *r = made("nvidia-a100-80g");
    assert_true(r->roofs[0].peak_flop_s > r->roofs[1].peak_flop_s);
    for (int32_t i = 0; i < r->n_ops; i++) {
        const cm__explain_side *s = &r->ops[i].on[0];
        double arithmetic = s->flop / r->roofs[0].peak_flop_s, traffic = s->bytes / r->roofs[0].bw_bytes_s;
        if (i) assert_true(fabs(r->ops[i].weight) <= fabs(r->ops[i - 1].weight));
        if (s->time_s > 0 && s->bytes > 0) {
            assert_true(fabs(s->of_ceiling * s->time_s - fmax(arithmetic, traffic)) <= 1e-9 * s->time_s);
            assert_int_equal(s->memory_bound, !(arithmetic > traffic));
        }
    }
    cm__explain_report_free(r);
}

/* One roof per memory. An operator is under the roof of the nearest memory that holds all that it reads and writes. */
static void test_levels(void **state)
{
    (void)state;
    cm__explain_report *r = made(NULL);
    const cm__roof     *roof = &r->roofs[0];
    assert_true(roof->n_levels >= 2); /* a cache and HBM */
    for (int32_t i = 0; i < roof->n_levels; i++) {
        assert_true(fabs(roof->levels[i].ridge_flop_byte * roof->levels[i].bw_bytes_s / roof->peak_flop_s - 1) < 1e-9);
        if (i) assert_true(roof->levels[i].bw_bytes_s < roof->levels[i - 1].bw_bytes_s);
    }
    for (int32_t i = 0; i < r->n_ops; i++) {
        const cm__explain_side *s = &r->ops[i].on[0];
        assert_in_range(s->level, 0, roof->n_levels - 1);
        if (s->level) assert_true(s->bytes > roof->levels[s->level - 1].capacity_bytes);
        if (s->level + 1 < roof->n_levels) assert_true(s->bytes <= roof->levels[s->level].capacity_bytes);
        double slope = s->intensity * roof->levels[s->level].bw_bytes_s;
        if (s->bytes > 0)
            assert_true(fabs(s->attainable_flop_s - fmin(slope, roof->peak_flop_s)) <= 1e-9 * roof->peak_flop_s);
    }
    cm__explain_report_free(r);
}

static void test_alone(void **state)
{
    (void)state;
    cm__explain_report *r = made(NULL);
    assert_null(r->versus);
    assert_null(r->sides[1]);
    assert_non_null(r->bottleneck);
    for (int32_t i = 1; i < r->n_ops; i++) assert_true(r->ops[i].on[0].time_s <= r->ops[i - 1].on[0].time_s);
    cm__explain_report_free(r);
    cm__explain_report_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sums), cmocka_unit_test(test_order),
                                       cmocka_unit_test(test_levels), cmocka_unit_test(test_alone),
                                       cmocka_unit_test(test_gradients)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
