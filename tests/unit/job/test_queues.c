/* SPDX-License-Identifier: Apache-2.0 */
/* test_queues.c - queues of a facility: node limits, the fewest jobs in a row, unknown names. */
#include "job_case.h"

static void choice(void **state)
{
    (void)state;
    cm__ctx *ctx = context();
    if (setjmp(ctx->trap)) fail_msg("%s", diag.reason);
    cm__queues all = cm__queues_of(ctx, "polaris", NULL), prod = cm__queues_of(ctx, "polaris", "prod");
    assert_string_equal(cm__queue_for(&all, 64, 3600)->class, "medium");
    assert_string_equal(cm__queue_for(&prod, 12, 3600)->class, "small");
    assert_null(cm__queue_for(&prod, 4, 3600));    /* production jobs have at least 10 nodes */
    assert_null(cm__queue_for(&all, 600, 3600));   /* more than the machine has */
    assert_string_equal(cm__queue_for(&all, 2, 3000)->class, "debug");
    assert_string_equal(cm__queue_for(&all, 2, 7200)->class, "preemptable"); /* one job instead of two of an hour */
    assert_int_equal(cm__queues_of(ctx, "dgx-h100", "prod").count, 0);
    assert_string_equal(cm__queues_refuse(ctx, &prod, "prod", 4), "queue prod takes jobs of 10 to 496 nodes, not of 4");
    assert_string_equal(cm__queues_refuse(ctx, &all, NULL, 600), "the queues take jobs of 1 to 496 nodes, not of 600");
    assert_non_null(cm__queue_for(&all, 2, 7200)->note);
    REFUSES_IN(ctx, UNKNOWN, "has no queue 'night'", cm__queues_of(ctx, "polaris", "night"));
    cm__ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(choice)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
