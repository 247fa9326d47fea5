/* SPDX-License-Identifier: Apache-2.0 */
/* test_trace_ops.c - the translation of each kind of recorded operator, and of those that are not known. */
#include "recorded_step.h"

/* ---- operators --------------------------------------------------------------------------------------------------- */

/* One operator from x[B, 4, 6, 6] (and its other inputs) to one of our operators and an output. */
static void operators_become_ours(void **state)
{
    (void)state;
    static const struct {
        const char *ops, *tensors, *type;
    } cases[] = {
        {OPA("aten::convolution", "[0,1,-1]", "[2]",
         "\"stride\":[2,2],\"padding\":[1,1],\"dilation\":[1,1],\"groups\":2"),
         T("[8,2,3,3]", "fp32", "parameter") "," X("[[1,0],8,3,3]"), "Conv"},
        {OPA("aten::convolution", "[0,1,-1]", "[2]", "\"stride\":[2,2],\"padding\":[0,0],\"transposed\":1"),
         T("[4,5,2,2]", "fp32", "parameter") "," X("[[1,0],5,12,12]"), "ConvTranspose"},
        /* a filter for each sample: x as one image of 4 B channels */
        {OPA("aten::view", "[0]", "[3]", "") "," OPA("aten::convolution", "[3,1,-1]", "[2]",
         "\"stride\":[1,1],\"padding\":[1,1],\"groups\":{\"terms\":[1,0]}"),
         T("[[5,0],4,3,3]", "fp32", "input") "," X("[1,[5,0],6,6]") "," X("[1,[4,0],6,6]"), "Conv"},
        /* gradients that forward takes; an image of 12 pixels is half as large with stride 2, whatever is left over */
        {OPA("aten::convolution_backward", "[0,3,1]", "[2]", "\"stride\":[2,2],\"padding\":[1,1],\"groups\":1"),
         T("[4,5,3,3]", "fp32", "parameter") "," X("[[1,0],5,12,12]") "," X("[[1,0],5,12,12]"), "ConvTranspose"},
        {OP("aten::tanh_backward", "[0,0]", "[2]"), X("[]") "," X("[[1,0],4,6,6]"), "TanhSlope"},
        {OPA("aten::max_pool2d_with_indices", "[0]", "[2]", "\"kernel_size\":[3],\"stride\":[2],\"padding\":[1]"),
         X("[]") "," X("[[1,0],4,3,3]"), "MaxPool"},
        {OPA("aten::avg_pool2d", "[0]", "[2]", "\"kernel_size\":[2,2]"), X("[]") "," X("[[1,0],4,3,3]"), "AveragePool"},
        {OP("aten::_adaptive_avg_pool2d", "[0]", "[2]"), X("[]") "," X("[[1,0],4,2,2]"), "Resample"},
        {OPA("aten::mean.dim", "[0]", "[2]", "\"dim\":[-1,-2],\"keepdim\":1"), X("[]") "," X("[[1,0],4,1,1]"),
         "ReduceMean"},
        {OPA("aten::max.dim", "[0]", "[2,1]", "\"dim\":1"), T("[[1,0],6,6]", "int64", "activation") ","
         X("[[1,0],6,6]"),
         "ReduceMax"},
        {OPA("aten::permute", "[0]", "[2]", "\"dims\":[0,2,3,1]"), X("[]") "," X("[[1,0],6,6,4]"), "Transpose"},
        {OPA("aten::transpose.int", "[0]", "[2]", "\"dim0\":1,\"dim1\":-1"), X("[]") "," X("[[1,0],6,6,4]"),
         "Transpose"},
        {OPA("aten::slice.Tensor", "[0]", "[2]", "\"dim\":1,\"start\":1,\"end\":9223372036854775807"),
         X("[]") "," X("[[1,0],3,6,6]"), "Slice"},
        {OPA("aten::select.int", "[0]", "[2]", "\"dim\":1,\"index\":-1"), X("[]") "," X("[[1,0],6,6]"), "Gather"},
        {OPA("aten::constant_pad_nd", "[0]", "[2]", "\"pad\":[1,2]"), X("[]") "," X("[[1,0],4,6,9]"), "Pad"},
        {OPA("aten::upsample_nearest2d.vec", "[0]", "[2]", "\"scale_factors\":[2.0,2.0]"),
         X("[]") "," X("[[1,0],4,12,12]"), "Resize"},
        {OPA("aten::mul.Tensor", "[0,-1]", "[2]", "\"other\":0.5"), X("[]") "," X("[[1,0],4,6,6]"), "Mul"},
        {OPA("aten::native_dropout", "[0]", "[2]", "\"p\":0.1"), X("[]") "," X("[[1,0],4,6,6]"), "Dropout"},
        {OP("aten::clone", "[0]", "[2]"), X("[]") "," X("[[1,0],4,6,6]"), "Copy"},
        {OPA("aten::_to_copy", "[0]", "[2]", "\"dtype\":\"fp16\""), X("[]") "," T("[[1,0],4,6,6]", "fp16",
         "activation"),
         "Cast"},
        {OPA("aten::stack", "[0,0]", "[2]", "\"dim\":1"), X("[]") "," X("[[1,0],2,4,6,6]"), "Concat"},
        {OPA("aten::native_group_norm", "[0,-1,-1]", "[2]", "\"group\":2"), X("[]") "," X("[[1,0],4,6,6]"),
         "GroupNormalization"},
        {OP("aten::native_batch_norm", "[0,-1,-1,-1,-1]", "[2]"), X("[]") "," X("[[1,0],4,6,6]"), "BatchNormalization"},
        {OPA("aten::native_layer_norm", "[0,-1,-1]", "[2]", "\"normalized_shape\":[6]"), X("[]") "," X("[[1,0],4,6,6]"),
         "LayerNormalization"},
        {OPA("aten::scaled_dot_product_attention", "[0,0,0,-1]", "[2]", "\"is_causal\":1"),
         X("[]") "," X("[[1,0],4,6,6]"), "Attention"},
        {OPA("aten::topk", "[0]", "[2,1]", "\"k\":3,\"dim\":1"),
         T("[[1,0],3,6,6]", "int64", "activation") "," X("[[1,0],3,6,6]"), "TopK"},
        {OPA("aten::scatter_add", "[0,1,0]", "[2]", "\"dim\":1"),
         T("[[1,0],4,6,6]", "int64", "buffer") "," X("[[1,0],4,6,6]"), "ScatterElements"},
        {OP("aten::index_put", "[0,-1,1,0]", "[2]"), T("[4]", "int64", "buffer") "," X("[[1,0],4,6,6]"), "ScatterND"},
        {OPA("aten::repeat", "[0]", "[2]", "\"repeats\":[1,2,1,1]"), X("[]") "," X("[[1,0],8,6,6]"), "Tile"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[4096];
        snprintf(text, sizeof text, TRACE("\"loss\":-1,\"outputs\":[2]", "%s,%s", "%s"),
                 T("[[1,0],4,6,6]", "fp32", "input"), cases[i].tensors, cases[i].ops);
        cm_graph *g = accepted(text, 0);
        if (g->n_unsupported) fail_msg("%s is not known", g->unsupported[0]);
        only(g, cases[i].type);
        cm_graph_free(g);
    }
}

/* PyTorch's fused kernels need a mask that is contiguous along keys. Otherwise two products and a softmax run, in fp32:
   backward then has four products, a fused kernel five. */
static void a_mask_that_is_turned_stays_unfused(void **state)
{
    (void)state;
    static const struct {
        const char *layout, *attrs;
        bool        fused;
    } cases[] = {{"contiguous", "\"dropout_p\":0.1", true},
                 {"channels_last", "\"dropout_p\":0.1", false},
                 {"strided", "\"dropout_p\":0.1,\"mask_stride\":4", false},
                 {"strided", "\"dropout_p\":0.1", true}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[2048];
        snprintf(text, sizeof text,
                 TRACE("\"loss\":-1,\"outputs\":[2]", T("[[1,0],4,6,8]", "fp32", "input") ","
                       "{\"dims\":[1,4,6,6],\"dtype\":\"fp32\",\"storage\":0,\"role\":\"parameter\",\"layout\":\"%s\"},"
                       X("[[1,0],4,6,8]"), OPA("aten::scaled_dot_product_attention", "[0,0,0,1]", "[2]", "%s")),
                 cases[i].layout, cases[i].attrs);
        cm_graph *g = accepted(text, 0), *step = trained(g, (cm_train_options){.precision = CM_PRECISION_AMP_BF16});
        assert_int_equal(count_of(g, "Attention"), cases[i].fused);
        assert_int_equal(count_of(g, "MatMul"), cases[i].fused ? 0 : 2);
        assert_int_equal(count_of(g, "Dropout"), !cases[i].fused);
        if (!cases[i].fused) assert_int_equal(cm__in(step, only(step, "Softmax"), 0)->dtype, CM_FP32);
        cm_graph_free(step);
        cm_graph_free(g);
    }
}

/* A function that overwrites its input where its gradient needs it: autograd clones the input first. One that overwrites
   it without a clone, or a clone of something else, has no such mark. */
static void clones_for_gradients_are_noted(void **state)
{
    (void)state;
    static const struct {
        const char *ops;
        bool        noted;
    } cases[] = {{OP("aten::clone", "[1]", "[3]") "," OP("aten::silu_", "[1]", "[2]"), true},
                 {OP("aten::clone", "[0]", "[3]") "," OP("aten::silu_", "[1]", "[2]"), false},
                 {OP("aten::silu_", "[1]", "[2]"), false}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[2048];
        snprintf(text, sizeof text,
                 TRACE("\"loss\":-1,\"outputs\":[2]", T("[[1,0],4]", "fp32", "input") "," X("[[1,0],4]") ","
                       X("[[1,0],4]") "," X("[[1,0],4]"), OP("aten::tanh", "[0]", "[1]") ",%s"), cases[i].ops);
        cm_graph *g = accepted(text, 0);
        assert_int_equal(cm__attr_int(only(g, "Silu"), CM_ATTR_IN_PLACE, 0), cases[i].noted);
        cm_graph_free(g);
    }
}

/* leaky_relu_() overwrites its input without a clone, so autograd saves the result; leaky_relu() saves the input. */
static void functions_in_place_save_their_result(void **state)
{
    (void)state;
    static const char *const ops[] = {OP("aten::leaky_relu", "[2]", "[3]"), OP("aten::leaky_relu_", "[2]", "[3]")};
    for (int in_place = 0; in_place < 2; in_place++) {
        char text[2048];
        snprintf(text, sizeof text,
                 TRACE("\"loss\":-1,\"outputs\":[3]",
                       T("[[1,0],4]", "fp32", "input") "," T("[4]", "fp32", "parameter") "," X("[[1,0],4]") ","
                       X("[[1,0],4]"), OP("aten::mul.Tensor", "[0,1]", "[2]") ",%s"), ops[in_place]);
        cm_graph      *g = accepted(text, 0);
        cm_graph      *step = trained(g, (cm_train_options){.precision = CM_PRECISION_FP32, .loss = CM_LOSS_MSE});
        const cm_node *function = only(step, "LeakyRelu"), *gradient = NULL;
        for (int32_t i = 0; i < step->n_nodes; i++)
            if (step->nodes[i].op == CM_OP_ELEMENTWISE_GRAD && &step->nodes[step->nodes[i].source] == function)
                gradient = &step->nodes[i];
        assert_non_null(gradient);
        assert_int_equal(gradient->inputs[1], in_place ? function->outputs[0] : function->inputs[0]);
        cm_graph_free(step);
        cm_graph_free(g);
    }
}

/* Only the flash kernel takes fewer heads of keys than of queries, and it takes no mask. */
static void shared_keys_with_a_mask_stay_unfused(void **state)
{
    (void)state;
    static const char *const inputs[] = {"[0,3,3,-1]", "[0,3,3,1]", "[0,0,0,1]"};
    for (size_t i = 0; i < COUNT(inputs); i++) {
        char text[2048];
        snprintf(text, sizeof text,
                 TRACE("\"loss\":-1,\"outputs\":[2]", T("[[1,0],4,6,8]", "fp32", "input") ","
                       T("[1,1,6,6]", "fp32", "buffer") "," X("[[1,0],4,6,8]") "," T("[[1,0],1,6,8]", "fp32", "input"),
                       OP("aten::scaled_dot_product_attention", "%s", "[2]")),
                 inputs[i]);
        cm_graph *g = accepted(text, 0);
        assert_int_equal(count_of(g, "Attention"), i != 1);
        assert_int_equal(count_of(g, "MatMul"), i == 1 ? 2 : 0);
        cm_graph_free(g);
    }
}

/* No fused attention kernel takes operands of three dimensions: attention is recorded as its operators, and a causal
   mask is added to the scores. */
static void attention_of_three_dimensions_stays_unfused(void **state)
{
    (void)state;
    for (int causal = 0; causal < 2; causal++) {
        char text[1024];
        snprintf(text, sizeof text,
                 TRACE("\"loss\":-1,\"outputs\":[1]", T("[[12,0],6,8]", "fp32", "input") "," X("[[12,0],6,8]"),
                       OPA("aten::scaled_dot_product_attention", "[0,0,0,-1]", "[1]", "\"is_causal\":%d")), causal);
        cm_graph *g = accepted(text, 0);
        assert_int_equal(count_of(g, "MatMul"), 2);
        assert_int_equal(count_of(g, "Softmax"), 1);
        assert_int_equal(count_of(g, "Add"), causal);
        assert_int_equal(g->n_unsupported, 0);
        cm_graph_free(g);
    }
}

/* Three indices for each of B bags, or a number of them that is not the same for all. */
static void bags_are_look_ups_and_a_sum(void **state)
{
    (void)state;
    for (int bags = 0; bags < 2; bags++) {
        char text[1024];
        snprintf(text, sizeof text,
                 TRACE("\"loss\":-1,\"outputs\":[3]", T("[9,4]", "fp32", "parameter") ","
                       T("[[3,%d]]", "int64", "input") "," T("[[1,0]]", "int64", "input") "," X("[[1,0],4]"),
                       OP("aten::_embedding_bag", "[0,1,2]", "[3]")), bags);
        cm_graph *g = accepted(text, 0);
        assert_int_equal(count_of(g, "Gather"), !bags);
        assert_int_equal(count_of(g, "ReduceSum"), !bags);
        assert_int_equal(count_of(g, "Opaque"), bags);
        cm_graph_free(g);
    }
}

/* Points of two dimensions and more have distances; a capture whose operands differ in rank, or have none, is not one. */
static void distances_are_a_product(void **state)
{
    static const char *const ranks[][3] = {{"[[1,0],5,3]", "[[1,0],4,3]", "[[1,0],5,4]"},
                                           {"[5]", "[5]", "[5,5]"},
                                           {"[]", "[]", "[]"},
                                           {"[[1,0],5,3]", "[4,3]", "[[1,0],5,4]"}};
    (void)state;
    for (int i = 0; i < 4; i++) {
        char text[1024];
        snprintf(text, sizeof text,
                 TRACE("\"loss\":-1,\"outputs\":[2]", X("%s") "," X("%s") "," X("%s"),
                       OP("aten::_euclidean_dist", "[0,1]", "[2]")), ranks[i][0], ranks[i][1], ranks[i][2]);
        cm_graph *g = accepted(text, 0);
        assert_int_equal(count_of(g, "MatMul"), i == 0);
        assert_int_equal(count_of(g, "Opaque"), i > 0);
        cm_graph_free(g);
    }
}

/* 8 rows per sample for 4 experts: a batched product, which autocast leaves alone. One row more is not divided. */
static void experts_share_the_rows(void **state)
{
    (void)state;
    for (int more = 0; more < 2; more++) {
        char text[1024];
        snprintf(text, sizeof text,
                 TRACE("\"loss\":-1,\"outputs\":[3]", X("[[8,%d],5]") "," T("[4,5,6]", "fp32", "parameter") ","
                       T("[4]", "int32", "input") "," X("[[8,%d],6]"), OP("aten::_grouped_mm", "[0,1,2]", "[3]")),
                 more, more);
        cm_graph *g = accepted(text, 0);
        assert_int_equal(count_of(g, "MatMul"), !more);
        assert_int_equal(count_of(g, "Opaque"), more);
        for (int32_t i = 0; i < g->n_nodes; i++)
            if (g->nodes[i].op == CM_OP_MATMUL) assert_true(g->nodes[i].plain);
        cm_graph_free(g);
    }
}

static void channels_last_is_remembered(void **state)
{
    (void)state;
    static const char *const layouts[] = {"contiguous", "channels_last"};
    for (int last = 0; last < 2; last++) {
        char text[2048];
        snprintf(text, sizeof text,
                 TRACE("\"loss\":-1,\"outputs\":[2]",
                       "{\"dims\":[[1,0],3,4,4],\"dtype\":\"fp32\",\"storage\":0,\"role\":\"input\",\"layout\":\"%s\"},"
                       T("[3,3,1,1]", "fp32", "parameter") "," X("[[1,0],3,4,4]"),
                       OP("aten::convolution", "[0,1,-1]", "[2]")), layouts[last]);
        cm_graph *g = accepted(text, 0), *step = trained(g, (cm_train_options){0});
        assert_int_equal(g->channels_last, last);
        assert_int_equal(step->channels_last, last);
        cm_graph_free(step);
        cm_graph_free(g);
    }
}

static void parts_are_one_split(void **state)
{
    (void)state;
    cm_graph *g = accepted(TRACE("\"loss\":-1,\"outputs\":[4]",
                                 T("[[1,0],6]", "fp32", "input") "," X("[[1,0],2]") "," X("[[1,0],2]") ","
                                 X("[[1,0],2]") ","
                                 X("[[1,0],2]"),
                                 OPA("aten::split.Tensor", "[0]", "[1,2,3]", "\"dim\":-1,\"split_size\":2") ","
                                 OP("aten::add.Tensor", "[1,3]", "[4]")), 0);
    assert_int_equal(only(g, "Split")->n_outputs, 3);
    cm_graph_free(g);
}

/* Two layers, 4 gates of H = 8 over inputs of 3 and 8: 2 S B (|W| + |R|) each. */
static void a_recurrent_layer_is_one_operator(void **state)
{
    (void)state;
    cm_graph *g = accepted(
        TRACE("\"loss\":-1,\"outputs\":[11]",
              T("[[1,0],10,3]", "fp32", "input") "," T("[2,[1,0],8]", "fp32", "buffer") "," T("[2,[1,0],8]", "fp32",
              "buffer")
              "," T("[32,3]", "fp32", "parameter") "," T("[32,8]", "fp32", "parameter") "," T("[32]", "fp32",
              "parameter") ","
              T("[32]", "fp32", "parameter") "," T("[32,8]", "fp32", "parameter") "," T("[32,8]", "fp32",
              "parameter") ","
              T("[32]", "fp32", "parameter") "," T("[32]", "fp32", "parameter") "," X("[[1,0],10,8]") ","
              X("[2,[1,0],8]") "," X("[2,[1,0],8]"),
              OPA("aten::lstm", "[0,1,2,3,4,5,6,7,8,9,10]", "[11,12,13]",
                  "\"has_biases\":1,\"num_layers\":2,\"batch_first\":1,\"bidirectional\":0")), 0);
    cm_totals totals;
    cm_graph_totals(g, 1, &totals);
    assert_int_equal(count_of(g, "LSTM"), 2);
    assert_int_equal(totals.parameters, 32 * (3 + 8 + 2) + 32 * (8 + 8 + 2));
    assert_true(totals.flop[CM_FORWARD][CM_CLASS_RNN] == 2.0 * 10 * 32 * (3 + 8) + 2.0 * 10 * 32 * (8 + 8));
    cm_graph *step = trained(g, (cm_train_options){.precision = CM_PRECISION_FP32, .loss = CM_LOSS_MSE});
    assert_int_equal(step->n_unsupported, 0);
    assert_int_equal(step->n_warnings, 0); /* every parameter, both biases too, has a gradient */
    cm_graph_free(step);
    cm_graph_free(g);
}

/* The second layer starts from the final states of the first, whose other results nobody reads: backward reaches the
   first layer through them. States that are zeros need no gradient. */
static void a_recurrent_layer_hands_on_its_states(void **state)
{
    (void)state;
#define WEIGHTS T("[32,3]", "fp32", "parameter") "," T("[32,8]", "fp32", "parameter")
#define RESULTS X("[[1,0],10,8]") "," X("[1,[1,0],8]") "," X("[1,[1,0],8]")
    static const struct {
        const char *states;
        int         gradients, warnings;
    } cases[] = {{"6,7", 2, 0}, {"12,12", 1, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[4096];
        snprintf(text, sizeof text,
                 TRACE("\"loss\":-1,\"outputs\":[8]",
                       T("[[1,0],10,3]", "fp32", "input") "," WEIGHTS "," WEIGHTS "," RESULTS "," RESULTS ","
                       X("[[1,0],10,8]") "," X("[1,[1,0],8]"),
                       OPA("aten::zeros", "[]", "[12]", "\"size\":[1,[1,0],8]") ","
                       OPA("aten::lstm", "[0,12,12,1,2]", "[5,6,7]", "\"has_biases\":0,\"batch_first\":1") ","
                       OPA("aten::lstm", "[0,%s,3,4]", "[8,9,10]", "\"has_biases\":0,\"batch_first\":1")),
                 cases[i].states);
        cm_graph *g = accepted(text, 0);
        cm_graph *step = trained(g, (cm_train_options){.precision = CM_PRECISION_FP32, .loss = CM_LOSS_MSE});
        assert_int_equal(count_of(step, "RNNGrad"), cases[i].gradients);
        assert_int_equal(step->n_warnings, cases[i].warnings); /* parameters without a gradient */
        cm_graph_free(step);
        cm_graph_free(g);
    }
}

/* Two steps of a cell with shared weights, from a state of zeros: each is two products, 2 (3 + 8) gates FLOP per
   sample, and a kernel. For each number of an LSTM's state it adds four numbers for each of 4 gates, computes 5
   functions of 6 FLOP, and the cell and the state: 12 + 30 + 4. A GRU: 2 x (3 + 6), 3 + 1 + 6, and 3 for the state. The first step's
   state has no gradient. */
static void a_recurrent_cell_is_two_products_and_a_kernel(void **state)
{
    (void)state;
    static const struct {
        const char *ops, *type;
        int         gates, kernel;
    } cases[] = {{OP("aten::lstm_cell", "[0,5,5,1,2,3,4]", "[6,7]") ","
                  OP("aten::lstm_cell", "[0,6,7,1,2,3,4]", "[8,9]"), "LSTMCell", 32, 46},
                 {OP("aten::gru_cell", "[0,5,1,2,3,4]", "[6]") "," OP("aten::gru_cell", "[0,6,1,2,3,4]", "[8]"),
                  "GRUCell", 24, 31}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[4096];
        int  gates = cases[i].gates;
        snprintf(text, sizeof text,
                 TRACE("\"loss\":-1,\"outputs\":[8]",
                       T("[[1,0],3]", "fp32", "input") "," T("[%d,3]", "fp32", "parameter") "," T("[%d,8]", "fp32",
                       "parameter") "," T("[%d]", "fp32", "parameter") "," T("[%d]", "fp32", "parameter") ","
                       X("[[1,0],8]") "," X("[[1,0],8]") "," X("[[1,0],8]") "," X("[[1,0],8]") "," X("[[1,0],8]"),
                       OPA("aten::zeros", "[]", "[5]", "\"size\":[[1,0],8]") ",%s"),
                 gates, gates, gates, gates, cases[i].ops);
        cm_graph *g = accepted(text, 0);
        cm_totals totals;
        cm_graph_totals(g, 1, &totals);
        assert_int_equal(count_of(g, "Gemm"), 4);
        assert_int_equal(count_of(g, cases[i].type), 2);
        assert_int_equal(totals.parameters, gates * (3 + 8 + 2));
        assert_true(totals.flop[CM_FORWARD][CM_CLASS_GEMM] == 2 * 2.0 * gates * (3 + 8));
        assert_true(totals.flop[CM_FORWARD][CM_CLASS_ELEMENTWISE] == 2.0 * 8 * cases[i].kernel);
        cm_graph *step = trained(g, (cm_train_options){.precision = CM_PRECISION_FP32, .loss = CM_LOSS_MSE});
        assert_int_equal(count_of(step, "CellGrad"), 2);
        assert_int_equal(count_of(step, "GemmGradWeight"), 4);
        assert_int_equal(count_of(step, "GemmGradInput"), 1);
        assert_int_equal(step->n_warnings, 0); /* every parameter has a gradient */
        cm_graph_free(step);
        cm_graph_free(g);
    }
}

/* ---- what is not known ------------------------------------------------------------------------------------------- */

static void an_unknown_operator_is_counted_by_its_bytes(void **state)
{
    (void)state;
    cm_graph *g = accepted(TRACE("\"loss\":-1,\"outputs\":[2]",
                                 T("[[1,0],6]", "fp32", "input") "," T("[6]", "fp32", "parameter") "," X("[[1,0],2]"),
                                 OP("python::Mine", "[0,1]", "[2]")), 0);
    const cm_node *n = only(g, "Opaque");
    assert_true(cm_poly_at(&n->read_bytes, 10) == 4 * (60 + 6));
    assert_true(cm_poly_at(&n->write_bytes, 10) == 4 * 20);
    assert_int_equal(g->n_unsupported, 1);
    assert_string_equal(g->unsupported[0], "python::Mine");
    cm_graph *step = trained(g, (cm_train_options){.loss = CM_LOSS_MSE});
    only(step, "UnknownGrad");
    cm_graph_free(step);
    cm_graph_free(g);
}

/* Its result is not used, so there is no warning about it. */
static void an_unknown_operator_that_is_not_used_is_nothing(void **state)
{
    (void)state;
    cm_graph *g = accepted(TRACE("\"loss\":-1,\"outputs\":[1]",
                                 T("[[1,0],6]", "fp32", "input") "," X("[[1,0],6]") "," X("[[1,0],2]"),
                                 OP("aten::relu", "[0]", "[1]") "," OP("aten::_foreach_norm", "[0]", "[2]")), 0);
    assert_int_equal(g->n_nodes, 1);
    assert_int_equal(g->n_unsupported, 0);
    assert_int_equal(g->n_warnings, 0);
    cm_graph_free(g);
}

/* If the rule of a known operator gives another shape than recorded, the operator is opaque. */
static void an_operator_of_another_shape_is_opaque(void **state)
{
    (void)state;
    static const char *const ops[] = {
        OP("aten::relu", "[0]", "[1]"), OP("aten::relu", "[-1]", "[1]"), OP("aten::mm", "[0,0]", "[1]"),
        OPA("aten::mean.dim", "[0]", "[1]", "\"dim\":[9]"), OPA("aten::permute", "[0]", "[1]", "\"dims\":[0,0]"),
        OPA("aten::softmax", "[0]", "[1]", "\"dim\":7"), OP("aten::convolution", "[0,0,-1]", "[1]"),
        OP("aten::lstm", "[0,0,0]", "[1]"), OP("aten::gru_cell", "[0,0,0,0]", "[1]"),
        OP("aten::split.Tensor", "[0]", "[1]"), OP("aten::repeat", "[0]", "[1]"),
        OP("aten::scaled_dot_product_attention", "[0,0,0,-1]", "[1]"), OP("aten::copy_", "[0,-1]", "[1]"),
    };
    for (size_t i = 0; i < COUNT(ops); i++) {
        char text[2048];
        snprintf(text, sizeof text, TRACE("\"loss\":-1,\"outputs\":[1]", "%s,%s", "%s"), T("[[1,0],6]", "fp32",
        "input"),
                 X("[[1,0],7]"), ops[i]);
        cm_graph *g = accepted(text, 0);
        only(g, "Opaque");
        assert_int_equal(g->n_nodes, 1);
        cm_graph_free(g);
    }
}

/* Parts of complex numbers, complex numbers of neighbouring parts, and the only part of a split batch. */
static void views_share_the_memory(void **state)
{
    (void)state;
    static const struct {
        const char *op, *x, *y, *type;
    } cases[] = {
        {"aten::view_as_real", T("[[1,0],3,5]", "complex64", "activation"), X("[[1,0],3,5,2]"), "ComplexView"},
        {"aten::view_as_complex", X("[[1,0],3,5,2]"), T("[[1,0],3,5]", "complex64", "activation"), "ComplexView"},
        {"aten::split.Tensor", X("[[1,0],3]"), X("[[1,0],3]"), "Slice"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[2048];
        snprintf(text, sizeof text,
                 TRACE("\"loss\":-1,\"outputs\":[2]", T("[[1,0],3]", "fp32", "input") ",%s,%s",
                       OP("mine::make", "[0]", "[1]") "," OP("%s", "[1]", "[2]")), cases[i].x, cases[i].y, cases[i].op);
        cm_graph      *g = accepted(text, 0);
        const cm_node *n = only(g, cases[i].type);
        assert_int_equal(cm__t(g, n->outputs[0])->storage, only(g, "Opaque")->outputs[0]);
        cm_graph_free(g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operators_become_ours),
        cmocka_unit_test(a_mask_that_is_turned_stays_unfused),
        cmocka_unit_test(clones_for_gradients_are_noted),
        cmocka_unit_test(functions_in_place_save_their_result),
        cmocka_unit_test(shared_keys_with_a_mask_stay_unfused),
        cmocka_unit_test(attention_of_three_dimensions_stays_unfused),
        cmocka_unit_test(bags_are_look_ups_and_a_sum),
        cmocka_unit_test(experts_share_the_rows), cmocka_unit_test(distances_are_a_product),
        cmocka_unit_test(channels_last_is_remembered),
        cmocka_unit_test(parts_are_one_split),
        cmocka_unit_test(views_share_the_memory),
        cmocka_unit_test(a_recurrent_layer_is_one_operator),
        cmocka_unit_test(a_recurrent_layer_hands_on_its_states),
        cmocka_unit_test(a_recurrent_cell_is_two_products_and_a_kernel),
        cmocka_unit_test(an_unknown_operator_is_counted_by_its_bytes),
        cmocka_unit_test(an_unknown_operator_that_is_not_used_is_nothing),
        cmocka_unit_test(an_operator_of_another_shape_is_opaque),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
