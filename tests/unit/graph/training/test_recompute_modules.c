/* SPDX-License-Identifier: Apache-2.0 */
/* test_recompute_modules.c - modules that Megatron-LM recomputes: which nodes run again, and what is not stored. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "graph/graph.h"

enum { LAYERS = 2, HIDDEN = 64, HEADS = 4, TOKENS = 16, INNER = 32, CHOSEN = 2, RANK = 48 };

static cm_graph *step_of(const char *modules)
{
    cm_graph        *forward, *step;
    cm_train_options o = {.precision = CM_PRECISION_BF16};
    assert_int_equal(cm_recompute_set(modules, &o, NULL), CM_OK);
    assert_int_equal(cm_graph_load("deepseek:layers=2,hidden=64,heads=4,ffn=96,vocab=100,seq=16,experts=4,top_k=2,"
                                   "expert_ffn=32,shared_ffn=0,dense_layers=0,q_rank=48", NULL, &forward, NULL), CM_OK);
    assert_int_equal(cm_graph_train(forward, &o, &step, NULL), CM_OK);
    cm_graph_free(forward);
    return step;
}

static int32_t repeated(const cm_graph *step, cm_class class)
{
    int32_t count = 0;
    for (int32_t i = 0; i < step->n_nodes; i++)
        count += step->nodes[i].phase == CM_RECOMPUTE && cm_node_class(&step->nodes[i]) == class;
    return count;
}

/* Bytes per token of the first layer's activations that backward reads. */
static double stored(const cm_graph *step)
{
    double bytes = 0;
    for (int32_t t = 0; t < step->n_tensors; t++) {
        const cm_tensor *x = cm__t(step, t);
        if (x->storage != t || x->born < 0 || x->dies >= step->n_nodes || step->nodes[x->born].block != 0) continue;
        if (step->nodes[x->born].phase == CM_FORWARD && step->nodes[x->dies].phase != CM_FORWARD)
            bytes += cm_tensor_bytes(x).c[1] / TOKENS;
    }
    return bytes;
}

static double saved(const char *modules, cm_class class, int32_t times)
{
    cm_graph *all = step_of("none"), *some = step_of(modules);
    double    less = stored(all) - stored(some);
    assert_int_equal(repeated(some, class), LAYERS * times);
    cm_graph_free(all);
    cm_graph_free(some);
    return less;
}

/* Both norms of a layer, 2 bytes per number and 4 for each token's deviation; those of compressed tensors stay. */
static void test_norms(void **state)
{
    (void)state;
    assert_true(saved("layernorm", CM_CLASS_NORM, 2) == 2 * (2 * HIDDEN + 4));
}

/* The activation and its product with the other half, between the first and the last product of experts. */
static void test_activations(void **state)
{
    (void)state;
    assert_true(saved("moe_act", CM_CLASS_ELEMENTWISE, 2) == 2 * 2 * CHOSEN * INNER);
}

/* Two products make queries (128 and 64 of positions per head), keys and values (128 each). */
static void test_latent(void **state)
{
    (void)state;
    cm_graph *step = step_of("mla_up_proj");
    cm_totals t;
    cm_graph_totals(step, 1, &t);
    double queries = RANK * HEADS * 192.0, keys = 512 * HEADS * 256.0;
    assert_true(cm_totals_matrix_flop(&t, CM_RECOMPUTE) == LAYERS * 2 * TOKENS * (queries + keys));
    assert_int_equal(repeated(step, CM_CLASS_GEMM), LAYERS * 2);
    cm_graph_free(step);
}

/* A module that is not there, and a word that is none. */
static void test_refused(void **state)
{
    (void)state;
    cm_graph        *forward, *step;
    cm_train_options o = {.precision = CM_PRECISION_BF16};
    assert_int_equal(cm_recompute_set("layernorm+norm", &o, NULL), CM_ERR_UNKNOWN);
    assert_int_equal(cm_recompute_set("mla_up_proj", &o, NULL), CM_OK);
    assert_int_equal(cm_graph_load("llama:layers=2,hidden=64,heads=4,ffn=128,vocab=100,seq=16", NULL, &forward, NULL),
                     CM_OK);
    assert_int_equal(cm_graph_train(forward, &o, &step, NULL), CM_ERR_ARGUMENT);
    cm_graph_free(forward);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_norms), cmocka_unit_test(test_activations),
                                       cmocka_unit_test(test_latent), cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
