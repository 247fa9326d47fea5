/* SPDX-License-Identifier: Apache-2.0 */
/* test_sparsity.c - which operators have pruned weights, and how much of their work remains. */
#include "time_device.h"
#include "model/step/sparsity.h"

static void test_work(void **state)
{
    (void)state;
    cm_device        *plain = device_of(TIME_DEVICE(""));
    const cm_sparsity most = {.pruned = 0.8}, two_of_four = {.pruned = 0.5, .structured = true}, none = {0};
    assert_true(cm__sparsity_kept(plain, &most) == 1); /* a device without support computes with all weights */
    assert_true(cm__sparsity_gain(plain, &two_of_four) == 1);
    cm_device *half = device_of(TIME_DEVICE(",\n\"sparsity\": {\"skipped\": " NUMBER("0.5", "1") ", \"structured\": "
                                            NUMBER("2", "1") "}"));
    assert_true(cm__sparsity_kept(half, &most) == 1 - 0.8 * 0.5);
    assert_true(cm__sparsity_kept(half, &none) == 1);
    assert_true(cm__sparsity_gain(half, &two_of_four) == 2);
    assert_true(cm__sparsity_gain(half, &most) == 1); /* unstructured */
    cm_device_free(plain);
    cm_device_free(half);
}

static int32_t pruned_nodes(const char *model, cm_class of)
{
    cm_graph        *forward, *step;
    cm_train_options train = {.precision = CM_PRECISION_AMP_BF16};
    int32_t          count = 0;
    assert_int_equal(cm_graph_load(model, NULL, &forward, NULL), CM_OK);
    assert_int_equal(cm_graph_train(forward, &train, &step, NULL), CM_OK);
    bool blocks = cm__has_blocks(step);
    for (int32_t i = 0; i < step->n_nodes; i++) {
        const cm_node *n = &step->nodes[i];
        if (cm_node_class(n) == of && n->phase == CM_FORWARD) count += cm__is_pruned(step, n, blocks);
    }
    cm_graph_free(step);
    cm_graph_free(forward);
    return count;
}

/* Two layers with 4 products each; the head, embeddings, norms and attention itself are not pruned. Without blocks
   every product with a weight is. */
static void test_operators(void **state)
{
    (void)state;
    const char *gpt = "gpt:layers=2,hidden=64,heads=2,seq=16,vocab=100";
    assert_int_equal(pruned_nodes(gpt, CM_CLASS_GEMM), 2 * 4);
    assert_int_equal(pruned_nodes(gpt, CM_CLASS_ATTENTION), 0);
    assert_int_equal(pruned_nodes(gpt, CM_CLASS_EMBEDDING), 0);
    assert_int_equal(pruned_nodes(gpt, CM_CLASS_NORM), 0);
    assert_int_equal(pruned_nodes("mlp:in=8,hidden=8x8,out=4", CM_CLASS_GEMM), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_work), cmocka_unit_test(test_operators)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
