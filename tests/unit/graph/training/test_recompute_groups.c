/* SPDX-License-Identifier: Apache-2.0 */
/* test_recompute_groups.c - selective recomputation that keeps products: FLOP and bytes of a layer by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "graph/graph.h"

enum { LAYERS = 2, HIDDEN = 64, INNER = 128, TOKENS = 16 };

static cm_graph *step_of(cm_recompute recompute, bool keep_products)
{
    cm_graph        *forward, *step;
    cm_train_options o = {.precision = CM_PRECISION_BF16, .recompute = recompute, .settled.keep_products = keep_products};
    assert_int_equal(cm_graph_load("llama:layers=2,hidden=64,heads=4,ffn=128,vocab=100,seq=16", NULL, &forward, NULL),
                     CM_OK);
    assert_int_equal(cm_graph_train(forward, &o, &step, NULL), CM_OK);
    cm_graph_free(forward);
    return step;
}

static double recomputed_flop(const cm_graph *step)
{
    cm_totals t;
    cm_graph_totals(step, 1, &t);
    return cm_totals_matrix_flop(&t, CM_RECOMPUTE);
}

static int32_t recomputed(const cm_graph *step, cm_class class)
{
    int32_t count = 0;
    for (int32_t i = 0; i < step->n_nodes; i++)
        count += step->nodes[i].phase == CM_RECOMPUTE && cm_node_class(&step->nodes[i]) == class;
    return count;
}

/* Among the products of a layer (queries, keys, values, output, gate, up, down) every second one is repeated: keys,
   output and up. Attention is not. */
static void test_products(void **state)
{
    (void)state;
    cm_graph *step = step_of(CM_RECOMPUTE_SELECTIVE, true);
    assert_int_equal(recomputed(step, CM_CLASS_GEMM), LAYERS * 3);
    assert_int_equal(recomputed(step, CM_CLASS_ATTENTION), 0);
    assert_true(recomputed(step, CM_CLASS_NORM) == LAYERS * 2);
    assert_true(recomputed_flop(step) == LAYERS * 2.0 * TOKENS * (2 * HIDDEN * HIDDEN + HIDDEN * INNER));
    cm_graph_free(step);
}

/* Tensors of the first layer that live from forward until the layer is recomputed, per token: queries, values, the
   attention's output and log-sum-exp (fp32, one number for each of 4 heads), the gate, and the last product's output,
   which nothing reads. The layer's input, also stored, belongs to the embedding. */
static void test_stored(void **state)
{
    (void)state;
    cm_graph *step = step_of(CM_RECOMPUTE_SELECTIVE, true);
    int32_t   last = 0, again = step->n_nodes;
    double    bytes = 0;
    for (int32_t i = 0; i < step->n_nodes; i++) {
        const cm_node *n = &step->nodes[i];
        if (n->phase == CM_FORWARD && n->block >= 0) last = i;
        if (n->phase == CM_RECOMPUTE && n->block == 0 && again > i) again = i;
    }
    for (int32_t t = 0; t < step->n_tensors; t++) {
        const cm_tensor *x = cm__t(step, t);
        bool             forward = x->storage == t && x->born >= 0 && step->nodes[x->born].phase == CM_FORWARD;
        if (!forward || step->nodes[x->born].block != 0 || x->born >= last) continue;
        if (x->dies >= again && x->dies < step->n_nodes) bytes += cm_tensor_bytes(x).c[1];
    }
    assert_true(bytes == TOKENS * (2.0 * (HIDDEN + HIDDEN + HIDDEN + INNER + HIDDEN) + 4 * 4));
    cm_graph_free(step);
}

/* Without keep_products attention alone is repeated, as in Megatron-LM. */
static void test_attention(void **state)
{
    (void)state;
    cm_graph *step = step_of(CM_RECOMPUTE_SELECTIVE, false), *full = step_of(CM_RECOMPUTE_FULL, true);
    assert_int_equal(recomputed(step, CM_CLASS_GEMM), 0);
    assert_int_equal(recomputed(step, CM_CLASS_ATTENTION), LAYERS);
    assert_int_equal(recomputed(full, CM_CLASS_ATTENTION), LAYERS);
    cm_graph_free(step);
    cm_graph_free(full);
}

/* Full recomputation ends before a layer's last product, whose result backward does not read. A reentrant checkpoint
   repeats it: down, HIDDEN x INNER. */
static void test_whole_layers(void **state)
{
    (void)state;
    cm_graph        *forward, *whole, *full = step_of(CM_RECOMPUTE_FULL, true);
    cm_train_options o = {.precision = CM_PRECISION_BF16, .recompute = CM_RECOMPUTE_FULL, .whole_layers = true};
    assert_int_equal(cm_graph_load("llama:layers=2,hidden=64,heads=4,ffn=128,vocab=100,seq=16", NULL, &forward, NULL),
                     CM_OK);
    assert_int_equal(cm_graph_train(forward, &o, &whole, NULL), CM_OK);
    assert_int_equal(recomputed(full, CM_CLASS_GEMM), LAYERS * 6);
    assert_int_equal(recomputed(whole, CM_CLASS_GEMM), LAYERS * 7);
    assert_true(recomputed_flop(whole) - recomputed_flop(full) == LAYERS * 2.0 * TOKENS * HIDDEN * INNER);
    cm_graph_free(forward);
    cm_graph_free(whole);
    cm_graph_free(full);
}

/* Among eight layers, three are repeated: 2, 5 and 7, where 3 (i + 1) / 8 passes a whole number. Each has six
   products, as above. The stages of two halves have one and two of them, those of four quarters at most one. */
static void test_some_layers(void **state)
{
    (void)state;
    static const bool repeated[8] = {[2] = true, [5] = true, [7] = true};
    cm_graph         *forward, *step;
    cm_train_options  o = {.precision = CM_PRECISION_BF16, .recompute = CM_RECOMPUTE_FULL, .recompute_layers = 3};
    cm_diag           diag;
    assert_int_equal(cm_graph_load("llama:layers=8,hidden=64,heads=4,ffn=128,vocab=100,seq=16", NULL, &forward, NULL),
                     CM_OK);
    assert_int_equal(cm_graph_train(forward, &o, &step, NULL), CM_OK);
    assert_int_equal(recomputed(step, CM_CLASS_GEMM), 3 * 6);
    for (int32_t i = 0; i < step->n_nodes; i++)
        if (step->nodes[i].phase == CM_RECOMPUTE) assert_true(repeated[step->nodes[i].block]);
    cm_graph_free(step);
    o.recompute_layers = 9;
    assert_int_equal(cm_graph_train(forward, &o, &step, &diag), CM_ERR_ARGUMENT);
    assert_non_null(strstr(diag.reason, "the model has 8"));
    cm_graph_free(forward);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_products), cmocka_unit_test(test_stored),
                                       cmocka_unit_test(test_attention), cmocka_unit_test(test_whole_layers),
                                       cmocka_unit_test(test_some_layers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
