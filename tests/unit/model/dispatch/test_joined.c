/* SPDX-License-Identifier: Apache-2.0 */
/* test_joined.c - look-ups that a generated kernel concatenates. */
#include "trace_calls.h"

#include "model/time/factors.h"

/* 16 rows per sample of a table of 4 rows of 8 numbers, by each of two indices, joined. The rows are added to themselves
   so many times before. */
static void has(int doubled, double bytes)
{
    static listed got;
    char          call[128];
    cm__ctx      *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s: %s", diag.place, diag.reason);
    cm_graph      *g = cm__graph_new(ctx, "net", "test");
    const cm__attr axis = CM__INTS(CM_ATTR_AXIS, 1);
    const cm_dim   rows[] = {{.per_batch = 16}}, all[] = {{.fixed = 4}, {.fixed = 8}};
    int32_t        table = cm__leaf(g, "table", CM_ROLE_INPUT, CM_FP32, 2, all), parts[2];
    for (int k = 0; k < 2; k++) {
        int32_t index = cm__leaf(g, k ? "to" : "from", CM_ROLE_INPUT, CM_INT64, 1, rows);
        parts[k] = cm__emit(g, CM_OP_GATHER, "rows", (int32_t[]){table, index}, 2, NULL, 0);
        for (int i = 0; i < doubled; i++)
            parts[k] = cm__emit(g, CM_OP_ADD, "twice", (int32_t[]){parts[k], parts[k]}, 2, NULL, 0);
    }
    cm__output(g, cm__emit(g, CM_OP_CONCAT, "ends", parts, 2, &axis, 1));
    cm__finish(g, CM_FUSE_NONE);
    cm_graph *step = step_of(g, CM_PRECISION_FP32, true);
    list(cm__dispatch_new(ctx, step, CM_LAYOUT_NCHW, CM_RUNTIME_TORCH_COMPILE), 2, &got);
    snprintf(call, sizeof call, "elementwise forward fused fp32 1,%lld", (long long)(bytes / 8 + 0.5));
    for (int k = 0; times(&got, call) != 1 && k < got.count; k++) fprintf(stderr, "# called: %s\n", got.texts[k]);
    if (times(&got, call) != 1) fail_msg("no call '%s'", call);
    cm_graph_free(step);
    cm__ctx_free(ctx);
}

/* Bytes of indices as generated kernels count them beside numbers of 4 bytes. */
static double index_bytes(double indices)
{
    double access = cm__time_factors.access_bytes;
    return indices * (8 + access) / (1 + access / 4);
}

/* Each of 2 x 16 x 16 results loads two indices and two numbers, one by one, beside what memory moves. */
static void joined_look_ups_load_number_by_number(void **state)
{
    (void)state;
    double results = 2 * 16 * 16.;
    double bytes = 4 * (32 + results) + index_bytes(2 * 2 * 16) + 4 * results * cm__time_factors.single_load;
    has(0, bytes);
    has(1, bytes); /* what an operator reads twice is loaded once */
}

/* What several operators read is counted once: 2 to the 28th power of paths would take seconds. */
static void shared_results_are_counted_once(void **state)
{
    (void)state;
    double results = 2 * 16 * 16.;
    has(28, 4 * (32 + results) + index_bytes(2 * 2 * 16) + 4 * results * cm__time_factors.single_load);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(joined_look_ups_load_number_by_number),
                                       cmocka_unit_test(shared_results_are_counted_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
