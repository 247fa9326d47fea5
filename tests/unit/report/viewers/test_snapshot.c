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

static void one_event_for_each_tensor(void **state)
{
    (void)state;
    cm__predict_request asked = {.graph = {.model = "resnet18"}, .device = "nvidia-h200", .options = {.batch = 4}};
    cm__predict_report *r;
    cm_diag             diag = {0};
    char               *bytes = NULL;
    size_t              size;
    int                 tensors = 0;
    if (cm__predict_report_new(&asked, &r, &diag)) fail_msg("%s", diag.reason);
    FILE *out = open_memstream(&bytes, &size);
    assert_int_equal(cm__predict_report_snapshot(r, out, &diag), CM_OK);
    fclose(out);
    for (int32_t i = 0; i < cm_graph_tensors(r->graph->step); i++) {
        const cm_tensor *t = cm_graph_tensor(r->graph->step, i);
        cm_poly          poly = cm_tensor_bytes(t);
        tensors += cm_tensor_storage(t) == i && cm_poly_at(&poly, 4) > 0;
    }
    assert_int_equal(run((unsigned char *)bytes, (unsigned char *)bytes + size), tensors + 1); /* one more: workspaces */
    free(bytes);
    cm__predict_report_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_event_for_each_tensor)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
