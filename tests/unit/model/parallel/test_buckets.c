/* SPDX-License-Identifier: Apache-2.0 */
/* test_buckets.c - gradient buckets sent while backward runs. */
#include "plan_case.h"

#define MIB (1024.0 * 1024)

/* sent_k = max(sent_{k-1}, complete_k) + t(bytes_k), over three parts of 1, 2 and 3 s of backward. */
static void buckets(void **state)
{
    (void)state;
    cm_device *d;
    cm_fabric *f;
    if (cm_device_load("nvidia-a100-80g", &d, &diag) || cm_fabric_new(d, NULL, &f, &diag)) fail_msg("%s", diag.reason);
    cm__channel  channel = {f, CM__ALL_REDUCE, {8, 8}, 1};
    cm__part     all[3] = {{.backward_s = 1}, {.backward_s = 1.5, .backward_comm_s = 0.5}, {.backward_s = 3}};
    cm__gradient gradients[4] = {{15 * MIB, 0.5, 2}, {20 * MIB, 0.25, 1}, {5 * MIB, 1, 1}, {2 * MIB, 1, 0}};
    cm__parts    parts = {.all = all, .count = 3, .gradients = gradients, .n_gradients = 4, .gradient_bytes = 2};
    double       first = cm__comm_time(f, CM__ALL_REDUCE, channel.group, 30 * MIB),
                 second = cm__comm_time(f, CM__ALL_REDUCE, channel.group, 40 * MIB),
                 last = cm__comm_time(f, CM__ALL_REDUCE, channel.group, 14 * MIB);
    cm__sent     sent = cm__buckets_send(&parts, 3, 1, &channel);
    is(sent.time_s, first + second + last);
    is(sent.after_s, last); /* the first part's gradients are complete when backward ends */
    gradients[3].done = 0.5;
    is(cm__buckets_send(&parts, 3, 1, &channel).after_s, 0); /* half a second is enough to overlap everything */
    is(cm__buckets_send(&parts, 3, 0, &channel).after_s, sent.time_s); /* nothing to overlap with */
    is(cm__buckets_send(&parts, 2, 1, &channel).time_s, second + last); /* a first stage with two parts */
    gradients[1].expert = true; /* experts have buckets of their own, which fewer devices exchange */
    channel.experts = (cm__group){2, 2};
    is(cm__buckets_send(&parts, 3, 1, &channel).time_s,
       first + cm__comm_time(f, CM__ALL_REDUCE, channel.experts, 40 * MIB) + last);
    cm_fabric_free(f);
    cm_device_free(d);
}

/* The embedding table, which the logits share, is complete last: its all-reduce does not overlap. */
static void tied_last(void **state)
{
    (void)state;
    cm__ctx *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s", diag.reason);
    cm_device *d;
    cm_fabric *f;
    if (cm_device_load("nvidia-a100-80g", &d, &diag) || cm_fabric_new(d, NULL, &f, &diag)) fail_msg("%s", diag.reason);
    cm_graph          *step = step_of("gpt:layers=2,hidden=256,heads=8,seq=128,vocab=1000", CM_RECOMPUTE_NONE);
    cm_predict_options options = {.runtime = CM_RUNTIME_TORCH_EAGER, .plan = {.tp = 1, .ep = 1}};
    cm__step_model     m = cm__step_model_new(ctx, step, d, &options, NULL);
    cm__timed         *timed = cm__alloc_array(ctx, (size_t)m.calls->n_calls, sizeof *timed);
    cm__parts          parts = cm__parts_new(ctx, &m, f, 4, 1, timed);
    double             sum = 0, table = 0;
    for (int32_t i = 0; i < parts.n_gradients; i++) {
        const cm__gradient *g = &parts.gradients[i];
        sum += g->elements;
        assert_true(g->done > 0 && g->done <= 1 && g->part >= 0 && g->part < parts.count);
        if (g->elements == 1000 * 256) {
            table = g->elements;
            assert_int_equal(g->part, 0);
            assert_true(g->done > 0.5);
        }
    }
    is(sum, parts.parameters);
    is(table, 1000 * 256);
    cm_graph_free(step);
    cm_fabric_free(f);
    cm_device_free(d);
    cm__ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buckets),
        cmocka_unit_test(tied_last),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
