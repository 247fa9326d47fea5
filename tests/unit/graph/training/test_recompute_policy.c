/* SPDX-License-Identifier: Apache-2.0 */
/* test_recompute_policy.c - checkpoint policies of JAX programs: their names, and which operators run again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "graph/graph.h"

#define LAYERS 3

/* Products and attentions of a layer that run again. */
static int32_t repeated(const char *model, const char *policy, cm_attention attention, cm_class class)
{
    cm_graph        *forward, *step;
    cm_train_options o = {.precision = CM_PRECISION_BF16, .attention = attention};
    int32_t          count = 0;
    assert_int_equal(cm_recompute_set(policy, &o, NULL), CM_OK);
    assert_int_equal(cm_graph_load(model, NULL, &forward, NULL), CM_OK);
    assert_int_equal(cm_graph_train(forward, &o, &step, NULL), CM_OK);
    for (int32_t i = 0; i < step->n_nodes; i++)
        count += step->nodes[i].phase == CM_RECOMPUTE && cm__class(&step->nodes[i]) == class;
    cm_graph_free(step);
    cm_graph_free(forward);
    assert_int_equal(count % LAYERS, 0);
    return count / LAYERS;
}

#define LLAMA "llama:layers=3,hidden=64,heads=4,ffn=128,vocab=100,seq=16"
#define GPT   "gpt:layers=3,hidden=64,heads=4,vocab=100,seq=16"

/* Six products of seven run again: backward does not read the result of the last. */
static void test_products(void **state)
{
    (void)state;
    assert_int_equal(repeated(LLAMA, "full", CM_ATTENTION_FLASH, CM_CLASS_GEMM), 6);
    assert_int_equal(repeated(LLAMA, "save_qkv_proj", CM_ATTENTION_FLASH, CM_CLASS_GEMM), 3);
    assert_int_equal(repeated(LLAMA, "save_out_proj", CM_ATTENTION_FLASH, CM_CLASS_GEMM), 5);
    assert_int_equal(repeated(LLAMA, "qkv_proj_offloaded", CM_ATTENTION_FLASH, CM_CLASS_GEMM), 3);
    assert_int_equal(repeated(LLAMA, "save_dot_except_mlp", CM_ATTENTION_FLASH, CM_CLASS_GEMM), 2);
    assert_int_equal(repeated(LLAMA, "minimal", CM_ATTENTION_FLASH, CM_CLASS_GEMM), 0);
    assert_int_equal(repeated(LLAMA, "custom:mlpwi_0+query_proj=offload", CM_ATTENTION_FLASH, CM_CLASS_GEMM), 1);
    assert_int_equal(repeated(GPT, "full", CM_ATTENTION_FLASH, CM_CLASS_GEMM), 4); /* dropout follows the last one */
    assert_int_equal(repeated(GPT, "save_qkv_proj", CM_ATTENTION_FLASH, CM_CLASS_GEMM), 3); /* one product for all three */
}

static void test_attention(void **state)
{
    (void)state;
    assert_int_equal(repeated(LLAMA, "minimal", CM_ATTENTION_FLASH, CM_CLASS_ATTENTION), 1);
    assert_int_equal(repeated(LLAMA, "minimal_with_context", CM_ATTENTION_FLASH, CM_CLASS_ATTENTION), 0);
    assert_int_equal(repeated(LLAMA, "minimal_with_context", CM_ATTENTION_MATH, CM_CLASS_ATTENTION), 1);
}

static void test_names(void **state)
{
    cm_train_options o = {0};
    cm_diag          diag;
    (void)state;
    assert_int_equal(cm_recompute_set("custom:mlpwo=device+context=offload", &o, NULL), CM_OK);
    assert_true(o.recompute_kept == CM_KEPT_MLP_OUT && o.recompute_moved == CM_KEPT_CONTEXT);
    assert_int_equal(cm_recompute_set("full", &o, NULL), CM_OK);
    assert_true(!o.recompute_kept && !o.recompute_moved);
    static const char *const wrong[] = {"maximal", "custom:", "custom:query", "custom:context=disk"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(cm_recompute_set(wrong[i], &o, &diag), CM_ERR_UNKNOWN);
        for (int k = 0; cm_recompute_policy(k); k++) assert_non_null(strstr(diag.reason, cm_recompute_policy(k)));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_products), cmocka_unit_test(test_attention),
                                       cmocka_unit_test(test_names)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
