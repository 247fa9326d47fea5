/* SPDX-License-Identifier: Apache-2.0 */
/* test_graph.c - what a report about a graph collects: counts, totals, the largest nodes, used tensors. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "report/render.h"

static cm_diag diag;

static cm__graph_report *made(cm__graph_request asked)
{
    cm__graph_report *r;
    if (cm__graph_report_new(&asked, &r, &diag)) fail_msg("%s", diag.reason);
    return r;
}

/* Two products of 4 x 8 and 8 x 2, one activation: FLOP per sample 2 (32 + 16) forward. */
static void test_counts(void **state)
{
    (void)state;
    cm__graph_report *r = made((cm__graph_request){.model = "mlp:in=4,hidden=8,out=2", .batch = 5});
    int32_t           nodes = 0;
    assert_true(r->forward_flop == 5 * 2 * (32 + 16));
    /* backward: the gradients of both weights, and of the second product's input */
    assert_true(r->training_flop == 5 * 2 * (32 + 16 + 32 + 16 + 16));
    for (int32_t i = 0; i < r->n_ops; i++) {
        nodes += r->ops[i].count;
        if (i) assert_true(r->ops[i - 1].count >= r->ops[i].count); /* most frequent first */
    }
    assert_int_equal(nodes, cm_graph_nodes(r->forward));
    assert_string_equal(r->ops[0].type, "Gemm");
    assert_int_equal(r->totals.parameters, 4 * 8 + 8 + 8 * 2 + 2);
    cm__graph_report_free(r);
}

/* The ten largest nodes, in order; no other node has more FLOP than the last of them. */
static void test_top(void **state)
{
    (void)state;
    cm__graph_report *r = made((cm__graph_request){.model = "resnet18"});
    assert_int_equal(r->n_top, CM__TOP_NODES);
    double last = INFINITY;
    for (int32_t i = 0; i < r->n_top; i++) {
        double flop = cm__node_cost_at(cm_graph_node(r->step, r->top[i]), 1).flop;
        assert_true(flop <= last);
        last = flop;
    }
    for (int32_t i = 0; i < cm_graph_nodes(r->step); i++) {
        bool listed = false;
        for (int32_t k = 0; k < r->n_top; k++) listed |= r->top[k] == i;
        if (!listed) assert_true(cm__node_cost_at(cm_graph_node(r->step, i), 1).flop <= last);
    }
    cm__graph_report_free(r);
}

/* A tensor is used if and only if some node reads or writes it; a request without a batch means one sample. */
static void test_used(void **state)
{
    (void)state;
    cm__graph_report *r = made((cm__graph_request){.model = "gpt:layers=1,hidden=8,heads=2,seq=4,vocab=16"});
    assert_int_equal(r->asked.batch, 1);
    for (int32_t i = 0; i < cm_graph_nodes(r->step); i++) {
        const cm_node *n = cm_graph_node(r->step, i);
        for (int32_t k = 0; k < cm_node_outputs(n); k++)
            if (cm_node_output(n, k) >= 0) assert_true(r->used[cm_node_output(n, k)]);
    }
    assert_non_null(cm__optimizer_used(r));
    cm__graph_report_free(r);
    r = made((cm__graph_request){.model = "resnet18", .train = {.inference = true}});
    assert_null(cm__optimizer_used(r));
    assert_null(cm__loss_used(r));
    assert_true(r->training_flop == r->forward_flop);
    cm__graph_report_free(r);
    cm__graph_report_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_counts), cmocka_unit_test(test_top),
                                       cmocka_unit_test(test_used)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
