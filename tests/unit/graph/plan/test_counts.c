/* SPDX-License-Identifier: Apache-2.0 */
/* test_plan_counts.c - open counts of a plan are filled in, and contradictions are refused. */
#include "graph/plan/counts.h"
#include "graph_builder.h"

static cm_plan filled(cm_plan p)
{
    cm__plan_fill(ctx, &p);
    return p;
}

TEST(counts_default_to_one)
{
    cm_plan p = filled((cm_plan){0});
    assert_true(p.devices == 1 && p.tp == 1 && p.pp == 1 && p.dp == 1 && p.cp == 1 && p.ep == 1);
    assert_true(p.interleave == 1 && p.accumulate == 1 && p.zero == 0);
}

TEST(replicas_use_the_other_devices)
{
    cm_plan p = filled((cm_plan){.devices = 24, .tp = 2, .pp = 3});
    assert_int_equal(p.dp, 4);
    assert_int_equal(filled((cm_plan){.tp = 2, .cp = 2, .dp = 4}).devices, 16);
    assert_int_equal(cm__replicas(&p), 4);
    p = filled((cm_plan){.cp = 2, .dp = 4}); /* context-parallel devices have the same weights */
    assert_int_equal(cm__replicas(&p), 8);
}

/* global batch = micro-batch x accumulation x replicas */
TEST(accumulation_follows_from_the_batches)
{
    assert_int_equal(filled((cm_plan){.dp = 4, .micro_batch = 2, .global_batch = 64}).accumulate, 8);
    assert_int_equal(filled((cm_plan){.dp = 64, .micro_batch = 2, .global_batch = 64}).accumulate, 1);
    assert_int_equal(filled((cm_plan){.accumulate = 3}).accumulate, 3);
}

/* Counts among eight layers between the parts before and after them; 0 and more than eight mean all. */
TEST(some_layers_are_offloaded)
{
    const double expected[] = {[0] = 1, [2] = 0.25, [8] = 1, [9] = 1};
    for (int32_t layers = 0; layers < 10; layers++) {
        cm_plan p = {.offload_activations = true, .offload_layers = layers};
        if (expected[layers] > 0) assert_true(cm__offloaded_layers(&p, 10) == expected[layers]);
    }
}

/* The padding between the members has arbitrary bytes; every member counts. */
TEST(equal_members_are_equal_plans)
{
    cm_plan a, b;
    memset(&a, 0x55, sizeof a);
    memset(&b, 0xaa, sizeof b);
    a = filled((cm_plan){.tp = 2, .dp = 4, .zero = 1});
    b = filled((cm_plan){.tp = 2, .dp = 4, .zero = 1});
    assert_true(cm__plan_same(&a, &b));
    b.zero = 2;
    assert_false(cm__plan_same(&a, &b));
    b = a, b.recompute = CM_RECOMPUTE_FULL;
    assert_false(cm__plan_same(&a, &b));
    b = a, b.offload_layers = 3;
    assert_false(cm__plan_same(&a, &b));
    b = a, b.offload_weights = true;
    assert_false(cm__plan_same(&a, &b));
    b = a, b.gradient_bits = 8;
    assert_false(cm__plan_same(&a, &b));
}

/* 6 replicas of 2 devices can share experts in groups of 4, but not with each expert divided between 2 devices. */
static void experts_of_more_devices_than_replicas_are_whole(void **state)
{
    (void)state;
    cm_plan apart = filled((cm_plan){.dp = 6, .tp = 2, .ep = 4}), within = filled((cm_plan){.dp = 8, .tp = 2, .ep = 4});
    assert_true(cm__whole_experts(&apart));
    assert_false(cm__whole_experts(&within));
}

TEST(contradictions)
{
    REFUSES(ARGUMENT, "tp 2 x pp 1 x dp 4 are not the 9 devices", filled((cm_plan){.devices = 9, .tp = 2}));
    REFUSES(ARGUMENT, "tp 2 x cp 2 x pp 1 x dp 2 are not the 6",
            filled((cm_plan){.devices = 6, .tp = 2, .cp = 2, .dp = 2}));
    REFUSES(ARGUMENT, "are not the 2 devices", filled((cm_plan){.devices = 2, .tp = 4}));
    REFUSES(ARGUMENT, "6 replicas cannot share experts in groups of 4", filled((cm_plan){.dp = 6, .ep = 4}));
    REFUSES(ARGUMENT, "6 replicas of 3 tensor-parallel devices cannot share experts in groups of 4",
            filled((cm_plan){.dp = 6, .tp = 3, .ep = 4}));
    REFUSES(ARGUMENT, "out of range", filled((cm_plan){.tp = -1}));
    REFUSES(ARGUMENT, "out of range", filled((cm_plan){.zero = 4}));
    REFUSES(ARGUMENT, "out of range", filled((cm_plan){.global_batch = -8}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_default_to_one), cmocka_unit_test(replicas_use_the_other_devices),
        cmocka_unit_test(accumulation_follows_from_the_batches),
        cmocka_unit_test(equal_members_are_equal_plans), cmocka_unit_test(contradictions),
        cmocka_unit_test(some_layers_are_offloaded),
        cmocka_unit_test(experts_of_more_devices_than_replicas_are_whole)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
