/* SPDX-License-Identifier: Apache-2.0 */
/* test_routing.c - kernels that bring tokens to their experts and back. */
#include "graph/releases.h"
#include "plan_case.h"
#include "model/dispatch/routing.h"

/* Bytes that the kernels of the routing operators of a step move: tokens [64, 256] and rows of two experts each
   [128, 256], in bf16. Out and back in forward, and the same in backward: four kernels that read or write tokens and
   rows. Devices that share experts by all-to-all sort the rows four times, reading and writing them. No row is
   scattered. */
static void routed(void **state)
{
    (void)state;
    cm__ctx *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s", diag.reason);
    cm_graph *step = step_of("mixtral:layers=1,hidden=256,heads=4,kv_heads=4,ffn=512,seq=64,vocab=512,experts=8,"
                             "top_k=2", CM_RECOMPUTE_NONE);
    static const struct {
        int32_t ep, software;
        double  sorts;
    } cases[] = {{1, 0, 0}, {4, 0, 0}, {4, 2025, 4}};
    for (int i = 0; i < 3; i++) {
        cm_plan plan = {.tp = 1, .ep = cases[i].ep, .cp = 1};
        step->asked.software = cm__software_of_year(cases[i].software);
        cm__dispatch *d = cm__dispatch_shard(ctx, step, CM_LAYOUT_AUTO, CM_RUNTIME_MEGATRON, &plan, false);
        double        bytes = 0, tokens = 64 * 256 * 2, rows = 2 * tokens;
        for (int32_t k = 0; k < d->n_of; k++) {
            const cm__sized_call *c = &d->calls[d->of[k]];
            if (!cm__routes(step, &step->nodes[d->node[k]])) continue;
            assert_int_equal(c->op, CM__CALL_ELEMENTWISE);
            bytes += 8 * cm__poly_at(&c->sizes[CM__ELEMENTWISE_INNER], 1);
        }
        is(bytes, 4 * (tokens + rows) + cases[i].sorts * 2 * rows);
    }
    cm_graph_free(step);
    cm__ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(routed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
