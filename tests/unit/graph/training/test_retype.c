/* SPDX-License-Identifier: Apache-2.0 */
/* test_retype.c - a step whose 16-bit type was exchanged equals one that was trained in the other type. */
#include <string.h>
#include "graph/training/retype.h"
#include "graph_builder.h"

#define SAME(member) assert_true(a->member == b->member)

static void same_tensor(const cm_tensor *a, const cm_tensor *b)
{
    assert_string_equal(a->name, b->name);
    SAME(rank), SAME(dtype), SAME(role), SAME(producer), SAME(storage);
    SAME(born), SAME(dies), SAME(until), SAME(master);
    for (int32_t d = 0; d < a->rank; d++) assert_true(cm__dim_same(a->dims[d], b->dims[d]));
}

static void same_attrs(const cm__attr *a, const cm__attr *b)
{
    for (; a->key < CM_ATTRS; a++, b++) {
        SAME(key), SAME(count), SAME(real);
        for (int32_t i = 0; i < a->count; i++) SAME(ints[i]);
    }
    SAME(key);
}

static void same_node(const cm_node *a, const cm_node *b)
{
    assert_string_equal(a->name, b->name);
    SAME(op), SAME(phase), SAME(view), SAME(source), SAME(block), SAME(segment), SAME(n_inputs), SAME(n_outputs);
    for (int i = 0; i < CM_POLY_TERMS; i++) SAME(flop.c[i]), SAME(read_bytes.c[i]), SAME(write_bytes.c[i]);
    for (int32_t i = 0; i < a->n_inputs; i++) SAME(inputs[i]);
    for (int32_t i = 0; i < a->n_outputs; i++) SAME(outputs[i]);
    same_attrs(a->attrs, b->attrs);
}

static void same_graph(const cm_graph *a, const cm_graph *b)
{
    SAME(precision), SAME(n_nodes), SAME(n_tensors), SAME(n_inputs), SAME(n_outputs), SAME(n_warnings), SAME(loss);
    for (int32_t t = 0; t < a->n_tensors; t++) same_tensor(cm__t(a, t), cm__t(b, t));
    for (int32_t i = 0; i < a->n_nodes; i++) same_node(&a->nodes[i], &b->nodes[i]);
    for (int32_t i = 0; i < a->n_warnings; i++) assert_string_equal(a->warnings[i], b->warnings[i]);
}

static cm_graph *trained(const cm_graph *forward, cm_train_options o, cm_precision precision)
{
    cm_graph *graph;
    o.precision = precision;
    assert_int_equal(cm_graph_train(forward, &o, &graph, NULL), CM_OK);
    return graph;
}

static int32_t compare(const char *model, cm_train_options o)
{
    static const cm_precision pairs[][2] = {{CM_PRECISION_AMP_BF16, CM_PRECISION_AMP_FP16},
                                            {CM_PRECISION_AMP_FP16, CM_PRECISION_AMP_BF16},
                                            {CM_PRECISION_BF16, CM_PRECISION_FP16},
                                            {CM_PRECISION_FP16, CM_PRECISION_BF16}};
    cm_graph *forward, *changed;
    int32_t   compared = 0;
    assert_int_equal(cm_graph_load(model, &(cm_load_options){.fuse = CM_FUSE_EAGER}, &forward, NULL), CM_OK);
    for (size_t i = 0; i < COUNT(pairs); i++) {
        if (!cm__can_retype(forward, pairs[i][0], pairs[i][1])) continue;
        cm_graph *from = trained(forward, o, pairs[i][0]), *to = trained(forward, o, pairs[i][1]);
        assert_int_equal(cm__graph_retype(from, pairs[i][1], &changed, NULL), CM_OK);
        same_graph(changed, to);
        cm_graph_free(changed), cm_graph_free(from), cm_graph_free(to);
        compared++;
    }
    cm_graph_free(forward);
    return compared;
}

/* Every named model below 25 layers; larger ones repeat the same layers. */
TEST(exchanging_the_type_equals_training_in_it)
{
    const char *const models[] = {"resnet18", "unet", "uno", "mobilenet-v3-small", "bert-base", "gpt2",
                                  "llama:layers=2,hidden=64,heads=4,ffn=96,vocab=512,seq=32", "gemm_k1", "conv_k1"};
    for (size_t i = 0; i < COUNT(models); i++) {
        assert_int_equal(compare(models[i], (cm_train_options){0}), 4);
        assert_int_equal(compare(models[i], (cm_train_options){.recompute = CM_RECOMPUTE_FULL}), 4);
        assert_int_equal(compare(models[i], (cm_train_options){.inference = true}), 4);
        assert_int_equal(compare(models[i], (cm_train_options){.master = true}), 4);
    }
}

/* Autocast runs recurrent layers in fp16, whatever the type of the others. */
TEST(recurrent_layers_have_their_own_type) { assert_int_equal(compare("lstm", (cm_train_options){0}), 0); }

/* Autocast casts bf16 before a softmax, and leaves fp16 to its kernel: only steps without autocast have equal nodes. */
TEST(a_softmax_widens_fp16_itself) { assert_int_equal(compare("braggnn", (cm_train_options){0}), 2); }

TEST(only_the_two_16_bit_types_are_exchanged)
{
    cm__output(g, op(CM_OP_RELU, IN(input("B,8"))));
    cm__finish(g, CM_FUSE_NONE);
    assert_true(cm__can_retype(g, CM_PRECISION_BF16, CM_PRECISION_FP16));
    assert_false(cm__can_retype(g, CM_PRECISION_BF16, CM_PRECISION_BF16));
    assert_false(cm__can_retype(g, CM_PRECISION_AMP_BF16, CM_PRECISION_FP16));
    assert_false(cm__can_retype(g, CM_PRECISION_FP32, CM_PRECISION_TF32));
    assert_false(cm__can_retype(g, CM_PRECISION_FP8, CM_PRECISION_AMP_BF16));
    cm__t(g, 0)->dtype = CM_FP16; /* the model's own type stays */
    assert_false(cm__can_retype(g, CM_PRECISION_BF16, CM_PRECISION_FP16));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(exchanging_the_type_equals_training_in_it),
                                       cmocka_unit_test(recurrent_layers_have_their_own_type),
                                       cmocka_unit_test(a_softmax_widens_fp16_itself),
                                       cmocka_unit_test(only_the_two_16_bit_types_are_exchanged)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
