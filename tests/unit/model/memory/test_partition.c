/* SPDX-License-Identifier: Apache-2.0 */
/* test_partition.c - what torch.compile stores between forward and backward. */
#include "graph/rule.h"
#include "import/import.h"
#include "memory_case.h"
#include "model/memory/partition.h"

#define T(dims, role) "{\"dims\":" dims ",\"dtype\":\"fp32\",\"storage\":0,\"role\":\"" role "\"}"
#define OP(name, in, out) "{\"op\":\"aten::" name "\",\"in\":" in ",\"out\":" out "}"
#define WIDE T("[[1,0],4096]", "activation")

/* A linear layer without bias, whose result is tensor 3, and further operators; the last tensor is the loss. */
#define NETWORK(loss, tensors, ops)                                                                                    \
    "{\"schema\":1,\"kind\":\"trace\",\"name\":\"small\",\"loss\":" loss ",\"outputs\":[" loss "],\"tensors\":["       \
    T("[4096,8]", "parameter") "," T("[[1,0],8]", "input") "," T("[8,4096]", "activation") "," WIDE "," tensors        \
    "],\"ops\":[" OP("t", "[0]", "[2]") "," OP("mm", "[1,2]", "[3]") "," ops "]}"

typedef struct stored {
    bool whole[16], mask[16]; /* per result of an operator, in the order of `ops` */
    int  count;
} stored;

/* Results of the forward operators after the first product. */
static stored stored_by(const char *text)
{
    cm_graph         *step;
    cm_footprint     *f;
    cm_train_options  o = {.precision = CM_PRECISION_FP32, .optimizer = CM_OPTIMIZER_SGD};
    cm_memory_options memory = {.runtime = CM_RUNTIME_TORCH_COMPILE};
    cm_load_options   load = {0};
    cm__ctx          *ctx = cm__ctx_new(NULL);
    cm_graph         *forward = cm__import_trace(ctx, "small.cmt.json", text, strlen(text), &load);
    stored            s = {.count = 0};
    cm__finish(forward, CM_FUSE_NONE);
    assert_int_equal(cm_graph_train(forward, &o, &step, NULL), CM_OK);
    assert_int_equal(cm_footprint_new(step, h200, &memory, &f, NULL), CM_OK);
    cm__partition p = cm__partition_of(ctx, f);
    for (int32_t i = 0; i < step->n_nodes; i++) {
        const cm_node *n = &step->nodes[i];
        if (n->phase != CM_FORWARD || n->view || n->outputs[0] < 0) continue;
        s.whole[s.count] = p.stored[cm__t(step, n->outputs[0])->storage] >= 0;
        s.mask[s.count++] = p.mask[cm__t(step, n->outputs[0])->storage] >= 0;
    }
    cm_footprint_free(f);
    cm_graph_free(step);
    cm__ctx_free(ctx);
    return s;
}

/* The gradient of ReLU compares its result with 0: truth values of a byte are less than numbers of four. */
static void a_comparison_stores_truth_values(void **state)
{
    (void)state;
    stored s = stored_by(NETWORK("5", WIDE "," T("[]", "activation"),
                                 OP("relu", "[3]", "[4]") "," OP("mean", "[4]", "[5]")));
    assert_int_equal(s.count, 3);
    assert_false(s.whole[0] || s.whole[1]);
    assert_true(s.mask[1]);
}

/* The gradient of a largest value takes its image as an operand (aten::max_pool2d_with_indices_backward), and is no
   operator that the partitioner fuses with others: the image is stored, although the generated kernel needs its shape
   only, and the ReLU that made it needs no truth values. */
static void the_image_of_a_pool_is_stored(void **state)
{
    (void)state;
    cm_graph         *step = step_of("resnet18", CM_PRECISION_FP32, CM_OPTIMIZER_SGD);
    cm_footprint     *f;
    cm_memory_options memory = {.runtime = CM_RUNTIME_TORCH_COMPILE};
    cm__ctx          *ctx = cm__ctx_new(NULL);
    int32_t           pool = 0;
    assert_int_equal(cm_footprint_new(step, h200, &memory, &f, NULL), CM_OK);
    while (step->nodes[pool].op != CM_OP_MAX_POOL) pool++;
    cm__partition p = cm__partition_of(ctx, f);
    int32_t       image = cm__in(step, &step->nodes[pool], 0)->storage;
    assert_true(p.stored[image] >= 0);
    assert_true(p.mask[image] < 0);
    cm_footprint_free(f);
    cm_graph_free(step);
    cm__ctx_free(ctx);
}

/* A product's gradient needs the activation in memory, where the comparison reads it, too. */
static void operands_of_products_are_stored(void **state)
{
    (void)state;
    stored s = stored_by(NETWORK("7", WIDE "," T("[4,4096]", "parameter") "," T("[[1,0],4]", "activation") ","
                                 T("[]", "activation"),
                                 OP("relu", "[3]", "[4]") "," OP("linear", "[4,5,-1]", "[6]") ","
                                 OP("mean", "[6]", "[7]")));
    assert_true(s.whole[1]);
    assert_false(s.mask[1] || s.whole[0]);
}

/* A linear layer of tokens reads a view of its input. To store the ReLU's result would count twice, 2 * 2 bytes per
   number in 16 bits, because only generated code reads it; its view, which the product reads, counts once, and truth
   values 2 * 1 bytes. Of equal cuts PyTorch takes that nearest to backward: both are stored. In fp32, 8 > 4 + 2 bytes. */
static void a_view_is_stored_beside_truth_values(void **state)
{
    (void)state;
    static const cm_precision precisions[] = {CM_PRECISION_BF16, CM_PRECISION_FP32};
    for (size_t i = 0; i < sizeof precisions / sizeof *precisions; i++) {
        cm_graph         *step = step_of("gpt:layers=1,hidden=64,heads=2,seq=32,vocab=64,activation=relu", precisions[i],
                                         CM_OPTIMIZER_SGD);
        cm_memory_options memory = {.runtime = CM_RUNTIME_TORCH_COMPILE};
        cm_footprint     *f;
        cm__ctx          *ctx = cm__ctx_new(NULL);
        int32_t           relu = 0;
        assert_int_equal(cm_footprint_new(step, h200, &memory, &f, NULL), CM_OK);
        while (step->nodes[relu].op != CM_OP_RELU) relu++;
        cm__partition p = cm__partition_of(ctx, f);
        int32_t       made = cm__t(step, step->nodes[relu].outputs[0])->storage;
        assert_true(p.stored[made] >= 0);
        assert_true(p.mask[made] >= 0);
        cm_footprint_free(f);
        cm_graph_free(step);
        cm__ctx_free(ctx);
    }
}

/* Gradients of the two functions read their results. Both can be computed again from the product's result, which is in
   memory anyway: its four bytes count 1.1 * 1.1 times, for the two operators until backward. Those of the first
   function, from which the second can be computed, count 2 * 1.1 times: the functions' kernel would not write it. */
static void a_chain_stores_the_product_it_begins_with(void **state)
{
    (void)state;
    stored s = stored_by(NETWORK("6", WIDE "," WIDE "," T("[]", "activation"),
                                 OP("exp", "[3]", "[4]") "," OP("sigmoid", "[4]", "[5]") "," OP("mean", "[5]", "[6]")));
    assert_int_equal(s.count, 4);
    assert_true(s.whole[0]);
    assert_false(s.whole[1] || s.whole[2]);
}

#define BOOL(role) "{\"dims\":[4096],\"dtype\":\"bool\",\"storage\":0,\"role\":\"" role "\"}"

/* Two layers turn the same mask around. PyTorch computes that once, and computes nothing again that needs it after the
   product between them: the second exponential is stored, while the first is computed from its product, as it would be
   without a mask. */
static void a_mask_of_several_layers_keeps_what_it_masks(void **state)
{
    (void)state;
    stored s = stored_by(NETWORK("13", BOOL("input") "," BOOL("activation") "," WIDE "," WIDE ","
                                 T("[4096,4096]", "parameter") "," WIDE "," BOOL("activation") "," WIDE "," WIDE ","
                                 T("[]", "activation"),
                                 OP("bitwise_not", "[4]", "[5]") "," OP("masked_fill", "[3,5]", "[6]") ","
                                 OP("exp", "[6]", "[7]") "," OP("linear", "[7,8,-1]", "[9]") ","
                                 OP("bitwise_not", "[4]", "[10]") "," OP("masked_fill", "[9,10]", "[11]") ","
                                 OP("exp", "[11]", "[12]") "," OP("mean", "[12]", "[13]")));
    assert_int_equal(s.count, 9);
    assert_false(s.whole[4]); /* the second product */
    assert_true(s.whole[6] || s.whole[7]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_comparison_stores_truth_values),
                                       cmocka_unit_test(the_image_of_a_pool_is_stored),
                                       cmocka_unit_test(operands_of_products_are_stored),
                                       cmocka_unit_test(a_view_is_stored_beside_truth_values),
                                       cmocka_unit_test(a_chain_stores_the_product_it_begins_with),
                                       cmocka_unit_test(a_mask_of_several_layers_keeps_what_it_masks)};
    return cmocka_run_group_tests(tests, begin, end);
}
