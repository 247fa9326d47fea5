/* SPDX-License-Identifier: Apache-2.0 */
/* test_grids.c - carbon intensity: the default, a region by name, an unknown one. */
#include "job_case.h"

static void regions(void **state)
{
    (void)state;
    cm__ctx *ctx = context();
    assert_string_equal(cm__grid_find(ctx, NULL).region, "world");
    is(cm__grid_find(ctx, "world").g_kwh, 473); /* Ember 2025 */
    assert_true(cm__grid_find(ctx, "AWS_ca-central-1").g_kwh < cm__grid_find(ctx, "aws-us-east-2").g_kwh); /* hydro, coal */
    is(cm__grid_find(ctx, "56").g_kwh, 56);
    is(cm__grid_find(ctx, "12.5g").g_kwh, 12.5);
    REFUSES_IN(ctx, UNKNOWN, "such as 56", cm__grid_find(ctx, "-1"));
    REFUSES_IN(ctx, UNKNOWN, "such as 56", cm__grid_find(ctx, "nan"));
    REFUSES_IN(ctx, UNKNOWN, "such as 56", cm__grid_find(ctx, "56 kg"));
    REFUSES_IN(ctx, UNKNOWN, "did you mean 'world'", cm__grid_find(ctx, "worlds"));
    cm__ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(regions)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
