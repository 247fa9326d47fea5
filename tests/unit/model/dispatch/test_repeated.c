/* SPDX-License-Identifier: Apache-2.0 */
/* test_repeated.c - sums over more elements than their kernel reads or writes. */
#include "trace_calls.h"

#include <math.h>
#include "model/time/factors.h"

/* The sum over the last dimension of a product of two operands. */
static void has(cm_dim *a, cm_dim *b, double bytes)
{
    static listed got;
    char          call[128];
    cm__ctx      *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s: %s", diag.place, diag.reason);
    cm_graph      *g = cm__graph_new(ctx, "net", "test");
    const cm__attr axes[] = {CM__INTS(CM_ATTR_KEEPDIMS, 0), CM__INTS(CM_ATTR_AXES, 3)};
    int32_t        x = cm__leaf(g, "x", CM_ROLE_INPUT, CM_FP32, 4, a), y = cm__leaf(g, "y", CM_ROLE_INPUT, CM_FP32, 4, b);
    int32_t        product = cm__emit(g, CM_OP_MUL, "mul", (int32_t[]){x, y}, 2, NULL, 0);
    cm__output(g, cm__emit(g, CM_OP_REDUCE_SUM, "sum", &product, 1, axes, 2));
    cm__finish(g, CM_FUSE_NONE);
    cm_graph *step = step_of(g, CM_PRECISION_FP32, true);
    list(cm__dispatch_new(ctx, step, CM_LAYOUT_NCHW, CM_RUNTIME_TORCH_COMPILE), 2, &got);
    snprintf(call, sizeof call, "elementwise forward row_sum fp32 1,%lld", (long long)(bytes / 8 + 0.5));
    for (int k = 0; times(&got, call) != 1 && k < got.count; k++) fprintf(stderr, "# called: %s\n", got.texts[k]);
    if (times(&got, call) != 1) fail_msg("no call '%s'", call);
    cm_graph_free(step);
    cm__ctx_free(ctx);
}

/* 16 x 1 x 8 numbers times 1 x 16 x 8 are 2048 products in each of two samples, of which 256 sums are written: each
   product loads its two operands from the cache, beside what memory moves. The longer of the two counts. */
static void products_of_spread_tensors_load_from_the_cache(void **state)
{
    (void)state;
    double moved = 2 * 4 * (128 + 128 + 256.), loads = 2 * 2 * (2048 - 256.);
    has((cm_dim[]){{.per_batch = 1}, {.fixed = 16}, {.fixed = 1}, {.fixed = 8}},
        (cm_dim[]){{.per_batch = 1}, {.fixed = 1}, {.fixed = 16}, {.fixed = 8}},
        cbrt(pow(moved, 3) + pow(loads * cm__time_factors.cached_read, 3)));
}

/* A tensor as large as the products is read from memory anyway. */
static void whole_tensors_are_read_once(void **state)
{
    (void)state;
    has((cm_dim[]){{.per_batch = 1}, {.fixed = 16}, {.fixed = 16}, {.fixed = 8}},
        (cm_dim[]){{.per_batch = 1}, {.fixed = 1}, {.fixed = 16}, {.fixed = 8}}, 2 * 4 * (2048 + 128 + 256.));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(products_of_spread_tensors_load_from_the_cache),
                                       cmocka_unit_test(whole_tensors_are_read_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
