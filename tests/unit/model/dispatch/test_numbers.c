/* SPDX-License-Identifier: Apache-2.0 */
/* test_numbers.c - equal calls of several dispatches have one number, others have different ones. */
#include "dispatch_calls.h"
#include "model/dispatch/numbers.h"

static cm__dispatch *dispatch_of(cm__ctx *ctx, cm_graph *step)
{
    return cm__dispatch_new(ctx, step, CM_LAYOUT_AUTO, CM_RUNTIME_TORCH_EAGER);
}

static void numbers(void **state)
{
    (void)state;
    cm__ctx *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s", diag.reason);
    cm_graph     *first = step_of(read(ctx, "input x 3 8 8\nconv 4 3\nrelu\nflatten\nlinear 10\n"), CM_PRECISION_FP32, false);
    cm_graph     *second = step_of(read(ctx, "input x 3 8 8\nconv 4 3\nrelu\nflatten\nlinear 12\n"), CM_PRECISION_FP32, false);
    cm__dispatch *d[] = {dispatch_of(ctx, first), dispatch_of(ctx, first), dispatch_of(ctx, second)};
    cm__numbers  *n = cm__numbers_new(ctx);
    int32_t       shared = 0;
    for (int i = 0; i < 3; i++) cm__numbers_give(n, d[i]);
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++)
            for (int32_t i = 0; i < d[a]->n_calls; i++)
                for (int32_t k = 0; k < d[b]->n_calls; k++) {
                    bool equal = memcmp(&d[a]->calls[i], &d[b]->calls[k], sizeof *d[a]->calls) == 0;
                    assert_int_equal(d[a]->numbers[i] == d[b]->numbers[k], equal);
                    shared += equal && a == 0 && b == 2;
                }
    assert_true(shared > 0 && shared < d[0]->n_calls); /* the convolution, but not the last product */
    assert_int_equal(d[0]->numbers[0], 0);
    cm_graph_free(first);
    cm_graph_free(second);
    cm__ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(numbers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
