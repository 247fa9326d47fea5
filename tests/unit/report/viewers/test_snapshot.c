/* SPDX-License-Identifier: Apache-2.0 */
/* test_snapshot.c - the bytes of a memory snapshot: a pickle of protocol 2 whose marks are balanced. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "report/report.h"

/* Runs the pickle's few opcodes; returns the number of "alloc" events. */
static int run(const unsigned char *at, const unsigned char *end)
{
    int depth = 0, stack = 0, marks[64], allocations = 0;
    assert_memory_equal(at, "\x80\x02", 2);
    for (at += 2; at < end;) {
        unsigned char op = *at++;
        if (op == '}' || op == ']') stack++;
        else if (op == '(') marks[depth++] = stack;
        else if (op == 'u' || op == 'e') {
            assert_true(depth > 0);
            if (op == 'u') assert_int_equal((stack - marks[depth - 1]) % 2, 0);
            stack = marks[--depth];
        } else if (op == 'X') {
            uint32_t n = (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
            allocations += n == 5 && memcmp(at + 4, "alloc", 5) == 0;
            at += 4 + n;
            stack++;
        } else if (op == 0x8a) {
            at += 1 + at[0];
            stack++;
        } else {
            assert_int_equal(op, '.');
            assert_true(at == end);
        }
    }
    assert_int_equal(depth, 0);
    assert_int_equal(stack, 1);
    return allocations;
}

/* Blocks of what the runtime stores, of each node that needs memory while it runs, and one of the libraries. */
static int blocks_of(const cm__predict_report *r, int64_t batch)
{
    const cm_footprint *f = cm_step_footprint(r->step);
    int                 count = 1;
    for (int32_t i = 0; i < cm_footprint_pieces(f); i++) {
        cm_stored piece = cm_footprint_piece(f, batch, i);
        count += piece.bytes > 0 && (piece.born >= 0 || piece.dies >= 0);
    }
    for (int32_t i = 0; i < cm_graph_nodes(r->graph->step); i++) count += cm_footprint_temporary(f, batch, i) > 0;
    return count;
}

static int events_of(const char *runtime, int *blocks)
{
    cm__predict_request asked = {.graph = {.model = "resnet18"}, .device = "nvidia-h200", .options = {.batch = 4}};
    cm__predict_report *r;
    cm_diag             diag = {0};
    char               *bytes = NULL;
    size_t              size;
    assert_int_equal(cm_runtime_parse(runtime, &asked.options.runtime, &diag), CM_OK);
    if (cm__predict_report_new(&asked, &r, &diag)) fail_msg("%s", diag.reason);
    FILE *out = open_memstream(&bytes, &size);
    assert_int_equal(cm__predict_report_snapshot(r, out, &diag), CM_OK);
    fclose(out);
    int events = run((unsigned char *)bytes, (unsigned char *)bytes + size);
    *blocks = blocks_of(r, 4);
    free(bytes);
    cm__predict_report_free(r);
    return events;
}

static void one_event_for_each_block(void **state)
{
    (void)state;
    int blocks, events = events_of("torch-eager", &blocks);
    assert_int_equal(events, blocks);
}

/* Fused kernels do not store what is between their operators. */
static void a_compiled_step_has_fewer_blocks(void **state)
{
    (void)state;
    int blocks, eager = events_of("torch-eager", &blocks), compiled = events_of("torch-compile", &blocks);
    assert_int_equal(compiled, blocks);
    assert_true(compiled < eager);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_event_for_each_block),
                                       cmocka_unit_test(a_compiled_step_has_fewer_blocks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
