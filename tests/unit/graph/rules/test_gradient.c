/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_gradient.c - which inputs of an operator get a gradient, and which forward tensors its backward reads.
 *
 * Each operator is between h = x * w and a sum. The backward of neither reads h or the operator's result y. So if h or
 * y stays in memory until backward, the operator's own rule keeps it. The tensors that PyTorch's autograd saves are
 * listed in its tools/autograd/derivatives.yaml.
 */
#include "graph_builder.h"

static int32_t hidden(const char *shape, const char *last)
{
    return as("h", op(CM_OP_MUL, IN(input(shape), weight("w", last))));
}

static void train_sum(int32_t y) { train(OP(REDUCE_SUM, IN(y), INTS(KEEPDIMS, 0))); }

/* Train the sum of a node called "y"; returns its backward node of this type. */
static const cm_node *backward_of(int32_t y, const char *type)
{
    train_sum(as("y", y));
    return find_back("y", type);
}

static void keeps(bool h, bool y)
{
    assert_int_equal(is_kept("h"), h);
    assert_int_equal(is_kept("y"), y);
}

static int32_t back_nodes(const char *name)
{
    int32_t count = 0;
    for (int32_t i = 0; i < step->n_nodes; i++)
        count += step->nodes[i].phase == CM_BACKWARD && strcmp(step->nodes[i].name, name) == 0;
    return count;
}

/* ---- elementwise ------------------------------------------------------------------------------------------------ */

TEST(one_operand)
{
    static const struct {
        int  op;
        bool input, output;
    } cases[] = {
        {CM_OP_RELU, 0, 1},     {CM_OP_SIGMOID, 0, 1},    {CM_OP_TANH, 0, 1},         {CM_OP_EXP, 0, 1},
        {CM_OP_SQRT, 0, 1},     {CM_OP_RECIPROCAL, 0, 1}, {CM_OP_TAN, 0, 1},          {CM_OP_GELU, 1, 0},
        {CM_OP_SILU, 1, 0},     {CM_OP_ABS, 1, 0},        {CM_OP_ERF, 1, 0},          {CM_OP_LOG, 1, 0},
        {CM_OP_SIN, 1, 0},      {CM_OP_COS, 1, 0},        {CM_OP_MISH, 1, 0},         {CM_OP_HARD_SWISH, 1, 0},
        {CM_OP_SOFTPLUS, 1, 0}, {CM_OP_LEAKY_RELU, 1, 0}, {CM_OP_HARD_SIGMOID, 1, 0}, {CM_OP_CLIP, 1, 0},
        {CM_OP_ELU, 1, 0},      {CM_OP_SELU, 1, 0},       {CM_OP_NEG, 0, 0},          {CM_OP_TRILU, 0, 0},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        start_over();
        const cm_node *n = backward_of(op(cases[i].op, IN(hidden("B,4", "4"))), "ElementwiseGrad");
        if (is_kept("h") != cases[i].input || is_kept("y") != cases[i].output)
            fail_msg("%s keeps the other", cm__ops[cases[i].op].name);
        assert_int_equal(n->n_inputs, 1 + cases[i].input + cases[i].output);
        assert_int_equal(back_nodes("y"), 1);
    }
}

TEST(sums_pass_their_gradient_on)
{
    backward_of(op(CM_OP_ADD, IN(hidden("B,5,4", "4"), weight("b", "4"))), "SumTo"); /* the bias gradient */
    keeps(false, false);
    assert_int_equal(back_nodes("y"), 1); /* h gets the same tensor */
    assert_string_equal(gradient_made_by("b"), "SumTo");
}

TEST(differences_turn_the_second_gradient)
{
    const cm_node *n = backward_of(op(CM_OP_SUB, IN(hidden("B,4", "4"), op(CM_OP_RELU, IN(weight("p", "4"))))),
                                   "ElementwiseGrad");
    assert_int_equal(n->n_inputs, 1);
    assert_int_equal(n->phase, CM_BACKWARD);
    keeps(false, false);
}

TEST(products_read_the_other_operand)
{
    int32_t h = hidden("B,5,4", "4");
    train_sum(as("y", op(CM_OP_MUL, IN(h, weight("v", "4")))));
    keeps(true, false);
    assert_int_equal(back_nodes("y"), 3); /* two products, one of them summed over B and rows */
    assert_string_equal(gradient_made_by("v"), "SumTo");
}

TEST(products_by_constants_keep_nothing)
{
    backward_of(op(CM_OP_MUL, IN(hidden("B,4", "4"), number(2))), "ElementwiseGrad");
    keeps(false, false);
    assert_int_equal(back_nodes("y"), 1);
}

TEST(quotients)
{
    const cm_node *n = backward_of(op(CM_OP_DIV, IN(hidden("B,5,4", "4"), input("B,5,4"))), "ElementwiseGrad");
    keeps(false, false); /* only the divisor is read */
    assert_int_equal(n->n_inputs, 2);
}

TEST(quotients_by_a_parameter)
{
    train_sum(as("y", op(CM_OP_DIV, IN(hidden("B,5,4", "4"), weight("v", "4")))));
    keeps(true, false);
    assert_int_equal(back_nodes("y"), 3);
}

TEST(powers)
{
    backward_of(op(CM_OP_POW, IN(hidden("B,4", "4"), number(3))), "ElementwiseGrad");
    keeps(true, false);
}

TEST(trained_exponents_read_the_result)
{
    backward_of(op(CM_OP_POW, IN(hidden("B,5,4", "4"), weight("v", "4"))), "SumTo");
    keeps(true, true);
}

TEST(trained_slopes)
{
    const cm_node *n = backward_of(op(CM_OP_PRELU, IN(hidden("B,5,4", "4"), weight("slope", "5,1"))),
                                   "ElementwiseGrad");
    keeps(true, false);
    assert_true(reads_name(n, "h") && reads_name(n, "slope"));
    assert_string_equal(gradient_made_by("slope"), "SumTo");
}

TEST(where_reads_its_condition)
{
    int32_t condition = leaf("c", CM_ROLE_INPUT, CM_BOOL, "B,4");
    const cm_node *n = backward_of(op(CM_OP_WHERE, IN(condition, hidden("B,4", "4"), number(0))), "ElementwiseGrad");
    keeps(false, false);
    assert_true(reads_name(n, "c"));
    assert_int_equal(back_nodes("y"), 1);
}

TEST(extremes_read_both_operands)
{
    const cm_node *n = backward_of(op(CM_OP_MAX, IN(hidden("B,4", "4"), input("B,4"))), "ElementwiseGrad");
    keeps(true, false);
    assert_true(reads(n, find_node(step, "Max")->inputs[1]));
}

TEST(extremes_of_many_read_the_result)
{
    backward_of(op(CM_OP_MIN, IN(hidden("B,4", "4"), input("B,4"), input("B,4"))), "ElementwiseGrad");
    keeps(true, true);
}

TEST(dropout_reads_its_mask)
{
    const cm_node   *n = backward_of(op(CM_OP_DROPOUT, IN(hidden("B,4", "4"))), "DropoutGrad");
    const cm_tensor *mask = cm__t(step, find_node(step, "Dropout")->outputs[1]);
    keeps(false, false);
    assert_true(reads(n, find_node(step, "Dropout")->outputs[1]));
    assert_int_equal(mask->dtype, CM_BOOL);
    assert_int_equal(step->nodes[mask->dies].phase, CM_BACKWARD);
    poly_is(n->read_bytes, 4, 1 * 4, 0); /* the number that the sum broadcasts, and a byte per element */
}

TEST(casts_are_undone)
{
    train_sum(OP(CAST, IN(as("y", OP(CAST, IN(hidden("B,4", "4")), INTS(TO, CM_FP64)))), INTS(TO, CM_FP32)));
    const cm_node *n = find_back("y", "Cast");
    assert_int_equal(cm__t(step, n->outputs[0])->dtype, CM_FP32);
    keeps(false, false);
}

/* ---- matrix products -------------------------------------------------------------------------------------------- */

TEST(linear_layers)
{
    train_sum(as("y", op(CM_OP_GEMM, IN(hidden("B,7,4", "4"), weight("v", "4,6"), weight("b", "6")))));
    const cm_node *dx = find_back("y", "GemmGradInput"), *dw = find_back("y", "GemmGradWeight"),
                  *db = find_back("y", "SumTo");
    assert_true(reads_name(dx, "v") && !reads_name(dx, "h"));
    assert_true(reads_name(dw, "h") && !reads_name(dw, "v"));
    assert_int_equal(db->n_inputs, 1);
    keeps(true, false);
    SHAPE_IS(find_tensor(g, "v"), "[4, 6]");
    assert_int_equal(gradient_for("v"), dw->outputs[0]);
    assert_int_equal(gradient_for("b"), db->outputs[0]);
}

TEST(the_first_layer_has_no_input_gradient)
{
    train_sum(as("y", op(CM_OP_GEMM, IN(input("B,4"), weight("w", "4,6")))));
    assert_int_equal(count_type(step, "GemmGradInput"), 0);
    assert_true(reads_name(find_back("y", "GemmGradWeight"), "x"));
}

TEST(products_of_activations)
{
    int32_t h = hidden("B,8,7,4", "4");
    train_sum(as("y", op(CM_OP_MATMUL, IN(h, OP(TRANSPOSE, IN(h), INTS(PERM, 0, 1, 3, 2))))));
    assert_int_equal(count_type(step, "MatMulGrad"), 2);
    keeps(true, false);
}

TEST(einstein_sums_read_the_others)
{
    int64_t  text[] = {'b', 'i', ',', 'i', 'j', ',', 'j', '-', '>', 'b'};
    cm__attr equation = {.key = CM_ATTR_EQUATION, .count = COUNT(text), .ints = text};
    train_sum(as("y", cm__emit(g, CM_OP_EINSUM, NULL, IN(hidden("B,3", "3"), weight("u", "3,5"), weight("v", "5")),
                               &equation, 1)));
    assert_int_equal(count_type(step, "EinsumGrad"), 3);
    const cm_node *dh = find_back("y", "EinsumGrad");
    assert_true(reads_name(dh, "u") && reads_name(dh, "v") && !reads_name(dh, "h"));
    keeps(true, false);
}

TEST(einstein_sums_of_many_are_not_known)
{
    int64_t  text[] = {'i', ',', 'i', ',', 'i', ',', 'i', ',', 'i', ',', 'i', ',', 'i', ',', 'i', ',', 'i', '-', '>'};
    cm__attr equation = {.key = CM_ATTR_EQUATION, .count = COUNT(text), .ints = text};
    int32_t  w = weight("w", "3");
    train(cm__emit(g, CM_OP_EINSUM, NULL, IN(w, w, w, w, w, w, w, w, w), &equation, 1));
    assert_string_equal(step->unsupported[0], "gradient of Einsum");
    assert_true(gradient_for("w") >= 0);
}

TEST(convolutions)
{
    train_sum(as("y", op(CM_OP_CONV, IN(hidden("B,3,8,8", "8"), weight("v", "4,3,3,3"), weight("b", "4,1,1")))));
    const cm_node *dx = find_back("y", "ConvGradInput"), *dw = find_back("y", "ConvGradWeight");
    assert_true(reads_name(dx, "v") && !reads_name(dx, "h"));
    assert_true(reads_name(dw, "h") && !reads_name(dw, "v"));
    assert_string_equal(cm__dims_text(step, cm__t(step, dx->outputs[0])), "[B, 3, 8, 8]");
    assert_string_equal(gradient_made_by("b"), "SumTo");
    keeps(true, false);
}

TEST(attention_keeps_its_operands_and_one_number_per_row)
{
    int32_t q = as("q", op(CM_OP_MUL, IN(input("B,8,10,6"), weight("a", "6")))),
            k = as("k", op(CM_OP_MUL, IN(input("B,8,12,6"), weight("b", "6"))));
    int32_t v = as("v", op(CM_OP_MUL, IN(input("B,8,12,5"), weight("c", "5")))),
            mask = leaf("mask", CM_ROLE_INPUT, CM_BOOL, "10,12");
    train_sum(as("y", op(CM_OP_ATTENTION, IN(q, k, v, mask))));
    const cm_node *n = find_back("y", "AttentionGrad");
    static const char *const kept[] = {"q", "k", "v", "y", "mask"};
    for (size_t i = 0; i < COUNT(kept); i++) assert_true(reads_name(n, kept[i]));
    assert_true(reads(n, find_node(step, "Attention")->outputs[1]));
    assert_int_equal(n->n_inputs, 1 + 6);
    assert_int_equal(n->n_outputs, 3);
    assert_string_equal(cm__dims_text(step, cm__t(step, n->outputs[2])), "[B, 8, 12, 5]");
    for (int32_t t = 0; t < step->n_tensors; t++) { /* no scores */
        cm_poly elements = cm_tensor_elements(cm__t(step, t));
        assert_true(elements.c[1] != 8 * 10 * 12);
    }
}

TEST(recurrent_layers)
{
    int32_t x = as("h", op(CM_OP_MUL, IN(input("7,B,5"), weight("w", "5"))));
    train_sum(as("y", op(CM_OP_LSTM, IN(x, weight("wx", "1,12,5"), weight("wh", "1,12,3"), weight("b", "1,24")))));
    const cm_node *n = find_back("y", "RNNGrad");
    assert_true(reads_name(n, "h") && reads_name(n, "wx") && reads_name(n, "wh") && reads_name(n, "y"));
    assert_true(reads(n, find_node(step, "LSTM")->outputs[3]));
    assert_int_equal(n->n_outputs, 4);
    assert_string_equal(gradient_made_by("wh"), "RNNGrad");
    keeps(true, true);
}

TEST(the_last_state_alone_trains_a_recurrent_layer)
{
    op(CM_OP_GRU, IN(input("7,B,5"), weight("wx", "1,9,5"), weight("wh", "1,9,3")));
    int32_t last = cm__last(g)->outputs[1];
    train_sum(last);
    assert_string_equal(gradient_made_by("wx"), "RNNGrad");
}

/* ---- normalisation, softmax, reductions ------------------------------------------------------------------------- */

TEST(layer_norm_reads_input_scale_and_statistics)
{
    train_sum(as("y", op(CM_OP_LAYER_NORM, IN(hidden("B,7,4", "4"), weight("scale", "4"), weight("shift", "4")))));
    const cm_node *n = find_back("y", "NormalizationGrad"), *forward = find_node(step, "LayerNormalization");
    assert_int_equal(n->n_inputs, 1 + 4);
    assert_true(reads_name(n, "h") && reads_name(n, "scale") && !reads_name(n, "shift"));
    assert_true(reads(n, forward->outputs[1]) && reads(n, forward->outputs[2]));
    assert_int_equal(n->n_outputs, 3);
    assert_string_equal(gradient_made_by("shift"), "NormalizationGrad");
    keeps(true, false);
}

TEST(batch_norm_reads_this_batchs_statistics)
{
    int32_t mean = leaf("mean", CM_ROLE_BUFFER, CM_FP32, "3"),
            variance = leaf("variance", CM_ROLE_BUFFER, CM_FP32, "3");
    train_sum(as("y", op(CM_OP_BATCH_NORM,
                         IN(hidden("B,3,5", "5"), weight("scale", "3"), weight("shift", "3"), mean, variance))));
    const cm_node *n = find_back("y", "NormalizationGrad"), *forward = find_node(step, "BatchNormalization");
    assert_true(reads_name(n, "h") && reads(n, forward->outputs[1]) && reads(n, forward->outputs[2]));
    assert_false(reads_name(n, "mean") || reads_name(n, "variance"));
    assert_int_equal(n->n_outputs, 3);
    keeps(true, false);
}

TEST(rms_norm_has_no_shift)
{
    const cm_node *n = backward_of(op(CM_OP_RMS_NORM, IN(hidden("B,7,4", "4"), weight("scale", "4"))),
                                   "NormalizationGrad");
    assert_int_equal(n->n_inputs, 1 + 3);
    assert_int_equal(n->n_outputs, 2);
}

TEST(softmax_reads_its_output)
{
    backward_of(op(CM_OP_SOFTMAX, IN(hidden("B,4", "4"))), "SoftmaxGrad");
    keeps(false, true);
}

TEST(log_softmax_reads_its_output)
{
    backward_of(op(CM_OP_LOG_SOFTMAX, IN(hidden("B,4", "4"))), "SoftmaxGrad");
    keeps(false, true);
}

TEST(sums_are_spread_without_a_copy)
{
    const cm_node *n = backward_of(OP(REDUCE_SUM, IN(hidden("B,5,4", "4")), INTS(AXES, 1)), "View");
    keeps(false, false);
    assert_true(n->view);
    assert_string_equal(cm__dims_text(step, cm__t(step, n->outputs[0])), "[B, 5, 4]");
}

TEST(means_divide)
{
    const cm_node *n = backward_of(OP(REDUCE_MEAN, IN(hidden("B,5,4", "4")), INTS(AXES, 1)), "ElementwiseGrad");
    keeps(false, false);
    poly_is(n->write_bytes, 0, 4 * 5 * 4, 0);
}

TEST(other_reductions_read_both_sides)
{
    backward_of(OP(REDUCE_MAX, IN(hidden("B,5,4", "4")), INTS(AXES, 1)), "ElementwiseGrad");
    keeps(true, true);
}

TEST(max_pool_reads_the_positions)
{
    const cm_node   *n = backward_of(OP(MAX_POOL, IN(hidden("B,3,8", "8")), INTS(KERNEL_SHAPE, 2)), "PoolGrad");
    const cm_tensor *positions = cm__t(step, find_node(step, "MaxPool")->outputs[1]);
    assert_true(reads(n, find_node(step, "MaxPool")->outputs[1]));
    assert_int_equal(positions->dtype, CM_INT64);
    assert_int_equal(step->nodes[positions->dies].phase, CM_BACKWARD);
    keeps(true, false);
}

TEST(average_pool_needs_no_positions)
{
    const cm_node *n = backward_of(OP(AVERAGE_POOL, IN(hidden("B,3,8", "8")), INTS(KERNEL_SHAPE, 2)), "PoolGrad");
    assert_int_equal(n->n_inputs, 2);
}

/* ---- movement --------------------------------------------------------------------------------------------------- */

TEST(views_are_undone_by_views)
{
    int32_t y = OP(RESHAPE, IN(hidden("B,3,4", "4")), INTS(SHAPE, -1, 12));
    y = OP(TRANSPOSE, IN(OP(UNSQUEEZE, IN(y), INTS(AXES, 0))), INTS(PERM, 1, 2, 0));
    y = OP(FLATTEN, IN(OP(SQUEEZE, IN(y), INTS(AXES, 2))), INTS(AXIS, 1));
    train_sum(op(CM_OP_RELU, IN(op(CM_OP_IDENTITY, IN(y)))));
    assert_int_equal(count_type(step, "View"), 1 + 6); /* one of the sum, and one for each */
}

TEST(slices_write_zeros_around)
{
    const cm_node *n = backward_of(OP(SLICE, IN(hidden("B,9", "9")), INTS(STARTS, 2), INTS(ENDS, 5), INTS(AXES, 1)),
                                   "SliceGrad");
    poly_is(n->write_bytes, 0, 4 * 9, 0);
    keeps(false, false);
}

TEST(parts_are_joined_again)
{
    const cm_node *split = OUTPUTS(3, SPLIT, IN(hidden("B,9", "9")), INTS(AXIS, 1));
    int32_t        part[3] = {split->outputs[0], split->outputs[1], split->outputs[2]};
    train_sum(op(CM_OP_SUM, IN(op(CM_OP_RELU, IN(part[0])), op(CM_OP_TANH, IN(part[1])), op(CM_OP_RELU, IN(part[2])))));
    const cm_node *n = find_back("Split", "Concat");
    assert_int_equal(n->n_inputs, 3);
    assert_string_equal(cm__dims_text(step, cm__t(step, n->outputs[0])), "[B, 9]");
}

TEST(a_part_alone_is_a_slice)
{
    const cm_node *split = OUTPUTS(3, SPLIT, IN(hidden("B,9", "9")), INTS(AXIS, 1));
    train_sum(op(CM_OP_RELU, IN(split->outputs[1])));
    assert_int_equal(count_type(step, "SliceGrad"), 1);
    assert_int_equal(count_type(step, "Concat"), 0);
}

TEST(joined_tensors_get_views)
{
    int32_t h = hidden("B,3", "3"), u = op(CM_OP_MUL, IN(input("B,4"), weight("v", "4")));
    train_sum(op(CM_OP_RELU, IN(as("y", OP(CONCAT, IN(h, u, input("B,2")), INTS(AXIS, 1))))));
    assert_int_equal(back_nodes("y"), 2); /* model inputs get none */
    assert_true(find_back("y", "View")->view);
}

TEST(padding_is_cut_off_by_a_view)
{
    backward_of(op(CM_OP_PAD, IN(hidden("B,3", "3"), KNOWN(0, 1, 0, 1))), "View");
    keeps(false, false);
}

TEST(expanding_and_tiling_are_summed)
{
    int32_t h = hidden("B,1,3", "3"), wide = op(CM_OP_EXPAND, IN(h, known("1,5,1")));
    train_sum(as("z", op(CM_OP_TILE, IN(as("y", wide), KNOWN(1, 2, 1)))));
    assert_string_equal(cm_node_type(find_back("y", "SumTo")), "SumTo");
    poly_is(find_back("z", "SumTo")->flop, 0, 2 * 5 * 3, 0);
    poly_is(find_back("y", "SumTo")->flop, 0, 5 * 3, 0);
}

TEST(embeddings_get_dense_gradients)
{
    int32_t ids = leaf("ids", CM_ROLE_INPUT, CM_INT64, "B,7");
    const cm_node *n = backward_of(op(CM_OP_GATHER, IN(weight("table", "100,16"), ids)), "GatherGrad");
    assert_true(reads_name(n, "ids") && !reads_name(n, "table"));
    poly_is(n->write_bytes, 4 * 100 * 16, 0, 0);
    assert_int_equal(gradient_for("table"), n->outputs[0]);
}

TEST(one_fixed_row_is_a_slice)
{
    backward_of(OP(GATHER, IN(hidden("B,7,4", "4"), integer(0)), INTS(AXIS, 1)), "SliceGrad"); /* x[:, 0] */
    keeps(false, false);
}

TEST(chosen_values_are_put_back_by_position)
{
    op(CM_OP_TOP_K, IN(hidden("B,9", "9"), KNOWN(2)));
    const cm_node *n = backward_of(cm__last(g)->outputs[0], "GatherGrad");
    assert_true(reads(n, find_node(step, "TopK")->outputs[1]));
    keeps(false, false);
}

TEST(scattered_values_and_their_base_both_learn)
{
    int32_t ids = leaf("ids", CM_ROLE_INPUT, CM_INT64, "B,2"),
            values = op(CM_OP_MUL, IN(input("B,2"), weight("v", "2")));
    train_sum(as("y", OP(SCATTER_ELEMENTS, IN(hidden("B,9", "9"), ids, values), INTS(AXIS, 1))));
    assert_int_equal(back_nodes("y"), 2);
    assert_true(gradient_for("w") >= 0 && gradient_for("v") >= 0);
}

TEST(images)
{
    backward_of(op(CM_OP_RESIZE, IN(hidden("B,3,8,8", "8"), -1, reals(4, (double[]){1, 1, 2, 2}))), "ResizeGrad");
    keeps(false, false);
}

TEST(permuted_blocks_are_copied_back)
{
    const cm_node *n = backward_of(OP(DEPTH_TO_SPACE, IN(hidden("B,12,5,5", "5")), INTS(BLOCKSIZE, 2)),
                                   "ElementwiseGrad");
    assert_int_equal(n->n_inputs, 1);
}

/* ---- losses ----------------------------------------------------------------------------------------------------- */

TEST(cross_entropy_reads_logarithms_not_logits)
{
    int32_t labels = leaf("labels", CM_ROLE_INPUT, CM_INT64, "B");
    train(as("y", op(CM_OP_CROSS_ENTROPY, IN(hidden("B,10", "10"), labels))));
    const cm_node *likelihood = find_back("y", "LossGrad"), *softmax = find_back("y", "SoftmaxGrad");
    assert_true(reads_name(likelihood, "labels") && likelihood->n_inputs == 2);
    assert_true(reads(softmax, likelihood->outputs[0]));
    assert_true(reads(softmax, find_node(step, "SoftmaxCrossEntropyLoss")->outputs[1]));
    assert_false(is_kept("h"));
}

TEST(squared_error_reads_both_sides)
{
    int32_t target = leaf("target", CM_ROLE_INPUT, CM_FP32, "B,4");
    train(as("y", op(CM_OP_MSE_LOSS, IN(hidden("B,4", "4"), target))));
    assert_true(is_kept("h") && reads_name(find_back("y", "LossGrad"), "target"));
}

/* ---- where it ends ---------------------------------------------------------------------------------------------- */

TEST(rounding_and_positions_stop_gradients)
{
    static const int stops[] = {CM_OP_FLOOR, CM_OP_ROUND, CM_OP_SIGN, CM_OP_HARDMAX, CM_OP_BERNOULLI};
    for (size_t i = 0; i < COUNT(stops); i++) {
        start_over();
        train_sum(op(stops[i], IN(hidden("B,4", "4"))));
        assert_int_equal(count_phase(step, CM_BACKWARD), 0);
        assert_int_equal(count_phase(step, CM_UPDATE), 0);
    }
}

TEST(integers_stop_gradients)
{
    int32_t whole = OP(CAST, IN(hidden("B,4", "4")), INTS(TO, CM_INT64));
    train_sum(OP(CAST, IN(whole), INTS(TO, CM_FP32)));
    assert_int_equal(count_phase(step, CM_BACKWARD), 0);
}

TEST(unknown_gradients_are_named_and_counted)
{
    train_sum(as("y", op(CM_OP_DET, IN(hidden("B,8,8", "8")))));
    const cm_node *n = find_back("y", "UnknownGrad");
    assert_true(reads_name(n, "h"));
    assert_int_equal(step->n_unsupported, 1);
    assert_string_equal(step->unsupported[0], "gradient of Det");
    assert_true(gradient_for("w") >= 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_operand),
        cmocka_unit_test(sums_pass_their_gradient_on),
        cmocka_unit_test(differences_turn_the_second_gradient),
        cmocka_unit_test(products_read_the_other_operand),
        cmocka_unit_test(products_by_constants_keep_nothing),
        cmocka_unit_test(quotients),
        cmocka_unit_test(quotients_by_a_parameter),
        cmocka_unit_test(powers),
        cmocka_unit_test(trained_exponents_read_the_result),
        cmocka_unit_test(trained_slopes),
        cmocka_unit_test(where_reads_its_condition),
        cmocka_unit_test(extremes_read_both_operands),
        cmocka_unit_test(extremes_of_many_read_the_result),
        cmocka_unit_test(dropout_reads_its_mask),
        cmocka_unit_test(casts_are_undone),
        cmocka_unit_test(linear_layers),
        cmocka_unit_test(the_first_layer_has_no_input_gradient),
        cmocka_unit_test(products_of_activations),
        cmocka_unit_test(einstein_sums_read_the_others),
        cmocka_unit_test(einstein_sums_of_many_are_not_known),
        cmocka_unit_test(convolutions),
        cmocka_unit_test(attention_keeps_its_operands_and_one_number_per_row),
        cmocka_unit_test(recurrent_layers),
        cmocka_unit_test(the_last_state_alone_trains_a_recurrent_layer),
        cmocka_unit_test(layer_norm_reads_input_scale_and_statistics),
        cmocka_unit_test(batch_norm_reads_this_batchs_statistics),
        cmocka_unit_test(rms_norm_has_no_shift),
        cmocka_unit_test(softmax_reads_its_output),
        cmocka_unit_test(log_softmax_reads_its_output),
        cmocka_unit_test(sums_are_spread_without_a_copy),
        cmocka_unit_test(means_divide),
        cmocka_unit_test(other_reductions_read_both_sides),
        cmocka_unit_test(max_pool_reads_the_positions),
        cmocka_unit_test(average_pool_needs_no_positions),
        cmocka_unit_test(views_are_undone_by_views),
        cmocka_unit_test(slices_write_zeros_around),
        cmocka_unit_test(parts_are_joined_again),
        cmocka_unit_test(a_part_alone_is_a_slice),
        cmocka_unit_test(joined_tensors_get_views),
        cmocka_unit_test(padding_is_cut_off_by_a_view),
        cmocka_unit_test(expanding_and_tiling_are_summed),
        cmocka_unit_test(embeddings_get_dense_gradients),
        cmocka_unit_test(one_fixed_row_is_a_slice),
        cmocka_unit_test(chosen_values_are_put_back_by_position),
        cmocka_unit_test(scattered_values_and_their_base_both_learn),
        cmocka_unit_test(images),
        cmocka_unit_test(permuted_blocks_are_copied_back),
        cmocka_unit_test(cross_entropy_reads_logarithms_not_logits),
        cmocka_unit_test(squared_error_reads_both_sides),
        cmocka_unit_test(rounding_and_positions_stop_gradients),
        cmocka_unit_test(integers_stop_gradients),
        cmocka_unit_test(unknown_gradients_are_named_and_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
