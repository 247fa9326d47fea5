/* SPDX-License-Identifier: Apache-2.0 */
/* test_transformer_state.c - hybrid models: each letter of the pattern makes one layer of its kind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "centimani.h"

#define MODEL "hybrid:layers=%d,hidden=256,heads=4,ffn=512,seq=32,vocab=0,head=none,pattern=%s"

static int64_t parameters(const char *pattern, int layers)
{
    char      spec[256];
    cm_graph *g;
    cm_diag   diag;
    cm_totals totals;
    snprintf(spec, sizeof spec, MODEL, layers, pattern);
    if (cm_graph_load(spec, NULL, &g, &diag)) fail_msg("%s: %s", spec, diag.reason);
    cm_graph_totals(g, 1, &totals);
    cm_graph_free(g);
    return totals.parameters;
}

/* Attention: 4 matrices; network: 3; Mamba 2 of width 512 with 8 heads: in 2 x 512 + 2 x 128 + 8, out 512. */
static void letters_say_what_a_layer_has(void **state)
{
    const int64_t h = 256, norm = h, attention = 4 * h * h, network = 3 * h * 512, channels = 512 + 2 * 128;
    const int64_t space = h * (512 + channels + 8) + 512 * h + channels * (4 + 1) + 3 * 8 + 512;
    (void)state;
    assert_int_equal(parameters("A", 1), norm + attention);
    assert_int_equal(parameters("F", 1), norm + network);
    assert_int_equal(parameters("S", 1), norm + space);
    assert_int_equal(parameters("a", 1), 2 * norm + attention + network);
    assert_int_equal(parameters("s", 1), 2 * norm + space + network);
    assert_int_equal(parameters("b", 1), 2 * norm + attention + space + network);
    assert_int_equal(parameters("sA", 4), 2 * (parameters("s", 1) + parameters("A", 1))); /* the pattern is repeated */
}

/* The description that a graph reports is the same model, also where one size follows from another by default. */
static void descriptions_are_complete(void **state)
{
    static const char *const rests[] = {"state_kind=delta,state_groups=4,rotary=0.5,query_gate=1",
                                        "state_kind=delta,state_dim=64", "state_dim=32,state_heads=8",
                                        "state_kind=mamba,state_rank=8,rotary=0"};
    (void)state;
    for (size_t i = 0; i < sizeof rests / sizeof *rests; i++) {
        char      spec[256];
        cm_graph *g, *again;
        cm_totals a, b;
        int       n = snprintf(spec, sizeof spec, MODEL, 3, "ssa");
        snprintf(spec + n, sizeof spec - (size_t)n, ",%s", rests[i]);
        assert_int_equal(cm_graph_load(spec, NULL, &g, NULL), CM_OK);
        assert_int_equal(cm_graph_load(cm_graph_description(g), NULL, &again, NULL), CM_OK);
        cm_graph_totals(g, 3, &a);
        cm_graph_totals(again, 3, &b);
        assert_int_equal(a.parameters, b.parameters);
        assert_true(cm_totals_matrix_flop(&a, CM_FORWARD) == cm_totals_matrix_flop(&b, CM_FORWARD));
        cm_graph_free(g);
        cm_graph_free(again);
    }
}

static void unknown_letters_are_refused(void **state)
{
    char      spec[256];
    cm_graph *g;
    cm_diag   diag;
    (void)state;
    snprintf(spec, sizeof spec, MODEL, 2, "sx");
    assert_int_equal(cm_graph_load(spec, NULL, &g, &diag), CM_ERR_ARGUMENT);
    assert_non_null(strstr(diag.reason, "'sx'"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(letters_say_what_a_layer_has),
                                       cmocka_unit_test(descriptions_are_complete),
                                       cmocka_unit_test(unknown_letters_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
