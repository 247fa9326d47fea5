/* SPDX-License-Identifier: Apache-2.0 */
/* test_losses.c - losses over rows and over planes. */
#include "dispatch_calls.h"

static void scores_of_pixels_are_planes(void **state)
{
    (void)state;
    static listed got;
    cm__ctx      *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s: %s", diag.place, diag.reason);
    cm_graph *step = step_of(read(ctx, "input x 3 8 8\nconv 5 1\n"), CM_PRECISION_FP32, false);
    list(cm__dispatch_new(ctx, step, CM_LAYOUT_AUTO, CM_RUNTIME_TORCH_EAGER), 2, &got);
    assert_int_equal(times(&got, "cross_entropy forward nchw fp32 128,5"), 1);
    assert_int_equal(times(&got, "cross_entropy backward nchw fp32 128,5"), 1);
    cm_graph_free(step);
    cm__ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(scores_of_pixels_are_planes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
