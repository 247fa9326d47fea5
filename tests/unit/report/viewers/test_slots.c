/* SPDX-License-Identifier: Apache-2.0 */
/* test_slots.c - schedules of pipelines, and live bytes. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include "report/viewers/viewers.h"

static bool near(double a, double b) { return fabs(a - b) < 1e-9; }

/* Both schedules take (m + p - 1) (f + b) if all stages are equal; passes of a stage do not overlap, and no stage begins
   before the one that it needs has ended. */
static void lengths_and_order(void **state)
{
    (void)state;
    const double f = 1, b = 2;
    for (int32_t p = 1; p <= 5; p++)
        for (int32_t m = 1; m <= 9; m++)
            for (int gpipe = 0; gpipe < 2; gpipe++) {
                cm__slot *s = cm__pipeline_slots(p, m, f, b, gpipe);
                double    end = 0, busy = 0, free_at[8] = {0}, done[2][8][16] = {{{0}}};
                for (int32_t i = 0; i < 2 * p * m; i++) {
                    assert_true(s[i].begin_s >= free_at[s[i].stage] - 1e-12);
                    free_at[s[i].stage] = s[i].end_s;
                    done[s[i].backward][s[i].stage][s[i].micro_batch] = s[i].end_s;
                    int32_t before = s[i].stage + (s[i].backward ? 1 : -1);
                    if (before >= 0 && before < p) {
                        assert_true(done[s[i].backward][before][s[i].micro_batch] > 0);
                        assert_true(s[i].begin_s >= done[s[i].backward][before][s[i].micro_batch] - 1e-12);
                    }
                    if (s[i].backward) assert_true(done[0][s[i].stage][s[i].micro_batch] > 0);
                    end = fmax(end, s[i].end_s);
                    busy += s[i].end_s - s[i].begin_s;
                }
                assert_true(near(busy, p * m * (f + b)));
                assert_true(near(end, (m + p - 1) * (f + b)));
                free(s);
            }
}

/* Tensors that the runtime stores, without workspaces. */
static void live_bytes_reach_the_peak(void **state)
{
    (void)state;
    cm__predict_request asked = {.graph = {.model = "resnet18"}, .device = "nvidia-h200", .options = {.batch = 256}};
    cm__predict_report *r;
    cm_diag             diag = {0};
    if (cm__predict_report_new(&asked, &r, &diag)) fail_msg("%s", diag.reason);
    cm__ctx *ctx = cm__ctx_new(NULL);
    double  *live = cm__live_bytes(ctx, r), most = 0;
    for (int32_t i = 0; i < cm_graph_nodes(r->graph->step); i++) most = fmax(most, live[i]);
    assert_true(most > 0 && most <= r->peak_bytes);
    assert_true(most > 0.8 * r->peak_bytes); /* the rest is workspace and rounding */
    cm__ctx_free(ctx);
    cm__predict_report_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(lengths_and_order), cmocka_unit_test(live_bytes_reach_the_peak)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
