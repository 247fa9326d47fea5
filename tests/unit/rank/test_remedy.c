/* SPDX-License-Identifier: Apache-2.0 */
/* test_remedy.c - what would help a step that does not fit, by the bytes it needs. */
#include "rank_case.h"

#define GIB 1073741824.0

/* The reason of a device that lacks memory: states and working memory of the step, and what the device has, in GiB. */
static const char *reason_of(double states, double working, double capacity, cm__rank_step *step)
{
    static cm__rank_device d;
    d = (cm__rank_device){.step = step, .states_bytes = states * GIB, .working_bytes = working * GIB,
                          .capacity_bytes = capacity * GIB,
                          .entry = {.state = CM_RANK_NO_FIT, .peak_bytes = (states + working) * GIB}};
    r->devices = &d;
    r->n_devices = 1;
    r->steps = step;
    cm__rank_find_remedy(r, &d);
    return d.reason;
}

/* Inference has nothing to recompute. */
TEST(devices_that_share_the_states)
{
    cm__rank_step step = {.graph_of = NULL};
    r->options.train.inference = true;
    /* 100 / 2 + 1 > 30, 100 / 4 + 1 <= 30 */
    assert_string_equal(reason_of(100, 1, 30, &step),
                        "batch 1 needs 101 GiB, the device has 30.0 GiB; 4 devices would share it (--zero 3)");
    assert_non_null(strstr(reason_of(100, 1, 51, &step), "; 2 devices"));
    assert_non_null(strstr(reason_of(100, 1, 50.9, &step), "; 4 devices"));
    assert_non_null(strstr(reason_of(640, 1, 11, &step), "; 64 devices"));
}

/* No number of devices shares activations; more than 64 devices are not suggested. */
TEST(layers_must_be_split)
{
    cm__rank_step step = {.graph_of = NULL};
    r->options.train.inference = true;
    assert_string_equal(reason_of(10, 40, 30, &step), "batch 1 needs 50.0 GiB, the device has 30.0 GiB; its layers must "
                                                      "be split over devices (--tp, --pp)");
    assert_non_null(strstr(reason_of(1280, 1, 11, &step), "--pp"));
}

TEST(a_smaller_batch)
{
    cm__rank_step step = {.graph_of = NULL};
    r->options.train.inference = true;
    r->options.batch = 64;
    const char *reason = reason_of(100, 1, 30, &step);
    assert_non_null(strstr(reason, "batch 64 needs 101 GiB"));
    assert_non_null(strstr(reason, "; a smaller --batch; 4 devices"));
}

/* The bytes fit, but the allocator's blocks do not. */
TEST(fragmentation)
{
    cm__rank_step step = {.graph_of = NULL};
    r->options.train.inference = true;
    assert_non_null(strstr(reason_of(20, 9, 30, &step), "needs 29.0 GiB plus fragmentation, the device has 30.0 GiB"));
}

/* ---- which devices ----------------------------------------------------------------------------------------------- */

/* Only devices that lack memory and have no reason yet. */
TEST(others_are_left_alone)
{
    cm__rank_step   steps[2] = {[1] = {.graph_of = &steps[0]}};
    cm__rank_device lacking = {.states_bytes = 100 * GIB, .capacity_bytes = 60 * GIB, .entry = {.state = CM_RANK_NO_FIT}};
    cm__rank_device d[5];
    for (int i = 0; i < 5; i++) d[i] = lacking;
    d[0].step = &steps[0];
    d[1].step = &steps[1]; /* the graph of the first step */
    d[2].step = &steps[0], d[2].entry.state = CM_RANK_PLACED;
    d[3].step = &steps[0], strcpy(d[3].reason, "no such operator");
    d[4].step = NULL;
    r->options.train.inference = true;
    r->devices = d, r->n_devices = 5;
    r->steps = steps, r->n_steps = 2;
    for (int i = 0; i < 5; i++) cm__rank_find_remedy(r, &d[i]);
    assert_non_null(strstr(d[0].reason, "2 devices"));
    assert_non_null(strstr(d[1].reason, "2 devices"));
    assert_string_equal(d[3].reason, "no such operator");
    assert_true(!d[2].reason[0] && !d[4].reason[0]);
}

/* ---- recomputation ----------------------------------------------------------------------------------------------- */

#define MODEL "gpt:layers=12,hidden=512,heads=8,seq=1024,vocab=1000"

static const cm_rank_entry *only(cm_ranking **ranking, cm_rank_options o)
{
    o.devices = "nvidia-t4";
    o.train.precision = CM_PRECISION_FP16;
    if (cm_rank(MODEL, &o, ranking, &diag)) fail_msg("%s", diag.reason);
    return cm_ranking_entry(*ranking, 0);
}

/* If recomputation is suggested, the step fits with it, and needs the memory that the suggestion states. */
TEST(recomputation_is_true)
{
    int32_t suggested = 0;
    for (int64_t batch = 8; batch <= 128; batch *= 2) {
        cm_ranking          *plain, *again;
        cm_rank_options      o = {.batch = batch};
        const cm_rank_entry *a = only(&plain, o);
        o.train.recompute = CM_RECOMPUTE_FULL;
        const cm_rank_entry *b = only(&again, o);
        bool                 says = a->reason && strstr(a->reason, "--recompute full needs");
        if (!a->fits) assert_int_equal(says, b->fits);
        if (b->reason) assert_null(strstr(b->reason, "--recompute"));
        suggested += says;
        cm_ranking_free(plain);
        cm_ranking_free(again);
    }
    assert_true(suggested > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(devices_that_share_the_states), cmocka_unit_test(layers_must_be_split),
        cmocka_unit_test(a_smaller_batch),               cmocka_unit_test(fragmentation),
        cmocka_unit_test(others_are_left_alone),         cmocka_unit_test(recomputation_is_true),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
