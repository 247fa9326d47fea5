/* SPDX-License-Identifier: Apache-2.0 */
/* test_works.c - the stored work of a step's calls is that of the calls at that batch size. */
#include "dispatch_calls.h"
#include "model/dispatch/works.h"

static void check(const cm__dispatch *d, double batch)
{
    const cm__workload *works = cm__works_at(d, batch);
    assert_non_null(works);
    assert_ptr_equal(cm__works_at(d, batch), works); /* computed once */
    for (int32_t i = 0; i < d->n_calls; i++) {
        cm__call call;
        double   flop, bytes;
        cm__call_at(&d->calls[i], batch, &call);
        cm__call_work(&call, &flop, &bytes);
        assert_true(works[i].flop == flop && works[i].bytes == bytes);
    }
}

static void work_at_powers_of_two(void **state)
{
    (void)state;
    cm__ctx *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s", diag.reason);
    const char   *net = "input x 3 8 8\nconv 4 3\nrelu\nflatten\nlinear 10\n";
    cm_graph     *step = step_of(read(ctx, net), CM_PRECISION_FP32, false);
    cm__dispatch *d = cm__dispatch_new(ctx, step, CM_LAYOUT_AUTO, CM_RUNTIME_TORCH_EAGER);
    assert_true(d->n_calls > 5);
    for (double batch = 1; batch <= 4096; batch *= 2) check(d, batch);
    assert_null(cm__works_at(d, 3));
    assert_null(cm__works_at(d, 0.5));
    assert_null(cm__works_at(d, 0x1p40)); /* more than any table has */
    assert_true(cm__workload_of(&d->calls[0], 3).bytes > cm__workload_of(&d->calls[0], 2).bytes);
    cm_graph_free(step);
    cm__ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(work_at_powers_of_two)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
