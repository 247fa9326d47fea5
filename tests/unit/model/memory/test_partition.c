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

#define ROWS(width) T("[[64,0]," width "]", "activation")
#define INDEX "{\"dims\":[[64,0]],\"dtype\":\"int64\",\"storage\":0,\"role\":\"input\"}"

/* Backward needs the exponentials of 64 rows of 512 numbers that were looked up. index_select() can be done again: the
   product's result is stored, which is in memory anyway and counts 1.1^3 times, three operators before backward; what is
   looked up, and the exponentials, would count 2 * 1.1^2 and 2 * 1.1 times. */
static void selected_rows_are_selected_again(void **state)
{
    (void)state;
    stored s = stored_by("{\"schema\":1,\"kind\":\"trace\",\"name\":\"small\",\"loss\":7,\"outputs\":[7],\"tensors\":["
                         T("[512,8]", "parameter") "," T("[[64,0],8]", "input") "," T("[8,512]", "activation") ","
                         ROWS("512") "," INDEX "," ROWS("512") "," ROWS("512") "," T("[]", "activation") "],\"ops\":["
                         OP("t", "[0]", "[2]") "," OP("mm", "[1,2]", "[3]") "," OP("index_select", "[3,4]", "[5]") ","
                         OP("exp", "[5]", "[6]") "," OP("mean", "[6]", "[7]") "]}");
    assert_int_equal(s.count, 4);
    assert_true(s.whole[0]);
    assert_false(s.whole[1] || s.whole[2]);
}

/* The same rows of a table of weights: a look-up in it is not among the operators that are done again, although the table
   and the index are there. Its result counts 1.1^2 times, less than the exponentials. */
static void rows_of_a_table_are_stored(void **state)
{
    (void)state;
    stored s = stored_by("{\"schema\":1,\"kind\":\"trace\",\"name\":\"small\",\"loss\":4,\"outputs\":[4],\"tensors\":["
                         T("[100,512]", "parameter") "," INDEX "," ROWS("512") "," ROWS("512") "," T("[]", "activation")
                         "],\"ops\":[" OP("embedding", "[0,1]", "[2]") "," OP("exp", "[2]", "[3]") ","
                         OP("mean", "[3]", "[4]") "]}");
    assert_int_equal(s.count, 3);
    assert_true(s.whole[0]);
    assert_false(s.whole[1]);
}

/* Two layers with probabilities of scores, to which something is added before the next product, so that only the
   gradient of softmax reads them. `masks`: those that the model omits if no compiler traces it. */
#define SCORES(shape) T(shape, "activation")
#define PROBABILITIES(in, out) "{\"op\":\"aten::_softmax\",\"in\":" in ",\"out\":" out ",\"attrs\":{\"dim\":-1}}"
#define TWO_LAYERS(masks, shape)                                                                                       \
    "{\"schema\":1,\"kind\":\"trace\",\"name\":\"small\",\"loss\":11,\"outputs\":[11],\"omitted_masks\":" masks         \
    ",\"tensors\":[" T("[16,16]", "parameter") "," T(shape, "input") "," T("[16]", "parameter") "," SCORES(shape) ","   \
    SCORES(shape) "," SCORES(shape) "," T("[16,16]", "parameter") "," SCORES(shape) "," SCORES(shape) ","              \
    SCORES(shape) "," SCORES(shape) "," T("[]", "activation") "],\"ops\":[" OP("linear", "[1,0,-1]", "[3]") ","        \
    PROBABILITIES("[3]", "[4]") "," OP("add.Tensor", "[4,2]", "[5]") "," OP("linear", "[5,6,-1]", "[7]") ","           \
    PROBABILITIES("[7]", "[8]") "," OP("add.Tensor", "[8,2]", "[9]") "," OP("linear", "[9,6,-1]", "[10]") ","          \
    OP("mean", "[10]", "[11]") "]}"

/* Probabilities can be computed again from the scores, which a product has written: those count 1.1^2 times, and
   probabilities, that only generated code reads, 2 * 1.1 times. A mask that all layers add is first used far before the
   second layer: nothing that reads it there is computed again, and the probabilities are stored. Only attention, whose
   scores have four dimensions, has such a mask. */
static void layers_after_the_first_store_what_a_mask_was_added_to(void **state)
{
    (void)state;
    stored without = stored_by(TWO_LAYERS("[]", "[[1,0],2,16,16]"));
    assert_int_equal(without.count, 8);
    assert_true(without.whole[0] && without.whole[3]);
    assert_false(without.whole[1] || without.whole[4]);
    static const char *const masked[] = {TWO_LAYERS("[\"open\"]", "[[1,0],2,16,16]"),
                                         TWO_LAYERS("[\"causal\"]", "[[1,0],2,16,16]")};
    for (size_t i = 0; i < sizeof masked / sizeof *masked; i++) {
        stored s = stored_by(masked[i]);
        assert_true(s.whole[0] && s.whole[4]);
        assert_false(s.whole[1] || s.whole[3]);
    }
    stored rows = stored_by(TWO_LAYERS("[\"open\"]", "[[32,0],16,16]"));
    assert_true(rows.whole[3]);
    assert_false(rows.whole[4]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_comparison_stores_truth_values),
                                       cmocka_unit_test(the_image_of_a_pool_is_stored),
                                       cmocka_unit_test(operands_of_products_are_stored),
                                       cmocka_unit_test(a_view_is_stored_beside_truth_values),
                                       cmocka_unit_test(a_chain_stores_the_product_it_begins_with),
                                       cmocka_unit_test(a_mask_of_several_layers_keeps_what_it_masks),
                                       cmocka_unit_test(selected_rows_are_selected_again),
                                       cmocka_unit_test(rows_of_a_table_are_stored),
                                       cmocka_unit_test(layers_after_the_first_store_what_a_mask_was_added_to)};
    return cmocka_run_group_tests(tests, begin, end);
}
