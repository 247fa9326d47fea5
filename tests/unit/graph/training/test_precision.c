/* SPDX-License-Identifier: Apache-2.0 */
/* test_precision.c - the casts that a precision inserts, and the operators that stay in fp32. */
#include "graph_builder.h"

static void train_in(cm_precision precision, int32_t y)
{
    train_with(y, (cm_train_options){.precision = precision, .optimizer = CM_OPTIMIZER_ADAM});
}

static int32_t sum(int32_t x) { return OP(REDUCE_SUM, IN(x), INTS(KEEPDIMS, 0)); }
static cm_dtype type_of(const char *name) { return cm__t(step, find_tensor(step, name))->dtype; }
static cm_dtype input_type(const cm_node *n, int32_t slot) { return cm__t(step, n->inputs[slot])->dtype; }
static cm_dtype output_type(const cm_node *n) { return cm__t(step, n->outputs[0])->dtype; }

/* The number of casts to one type in one phase. */
static int32_t casts(cm_phase phase, cm_dtype to)
{
    int32_t count = 0;
    for (int32_t i = 0; i < step->n_nodes; i++) {
        const cm_node *n = &step->nodes[i];
        count += n->op == CM_OP_CAST && n->phase == phase && output_type(n) == to;
    }
    return count;
}

/* Linear layer, normalisation, activation, linear layer, softmax. */
static int32_t small_model(void)
{
    int32_t h = as("fc1", op(CM_OP_GEMM, IN(input("B,8"), weight("w1", "8,8"), weight("b1", "8"))));
    h = as("norm", op(CM_OP_LAYER_NORM, IN(h, weight("scale", "8"), weight("shift", "8"))));
    h = as("relu", op(CM_OP_RELU, IN(h)));
    h = as("fc2", op(CM_OP_GEMM, IN(h, weight("w2", "8,8"))));
    return as("probability", op(CM_OP_SOFTMAX, IN(h)));
}

/* FSDP casts shards before it gathers them: autocast gets 16-bit parameters, casts none of them, and keeps its rules. */
TEST(autocast_beside_shards_gets_16_bit_parameters)
{
    static const cm_mixed_precision kinds[] = {CM_MIXED_PRECISION_AUTOCAST, CM_MIXED_PRECISION_FSDP};
    for (size_t i = 0; i < COUNT(kinds); i++) {
        start_over();
        train_with(small_model(), (cm_train_options){.precision = CM_PRECISION_AMP_BF16, .master = true,
                                                     .optimizer = CM_OPTIMIZER_ADAM, .mixed_precision = kinds[i]});
        assert_int_equal(type_of("w1"), CM_BF16);
        assert_int_equal(type_of("fc1"), CM_BF16);
        bool autocast = kinds[i] == CM_MIXED_PRECISION_AUTOCAST;
        assert_int_equal(type_of("norm"), autocast ? CM_FP32 : CM_BF16);
        assert_int_equal(cm_graph_storage(step), CM_FP32);
    }
}

TEST(full_precisions_need_no_casts)
{
    static const cm_precision full[] = {CM_PRECISION_FP32, CM_PRECISION_TF32};
    for (size_t i = 0; i < COUNT(full); i++) {
        start_over();
        train_in(full[i], sum(small_model()));
        assert_int_equal(count_type(step, "Cast"), 0);
        for (int32_t t = 0; t < step->n_tensors; t++) assert_int_equal(step->tensors[t].dtype, CM_FP32);
        assert_int_equal(cm_graph_precision(step), full[i]);
    }
}

/* A file contains the values of small parameters; they are still cast in every step. */
TEST(known_parameters_are_cast)
{
    static const cm__num numbers[8];
    int32_t              b = weight("b", "8");
    cm__t(g, b)->value = numbers;
    train_in(CM_PRECISION_AMP_BF16, sum(op(CM_OP_GEMM, IN(input("B,8"), weight("w", "8,8"), b))));
    assert_int_equal(casts(CM_FORWARD, CM_BF16), 3); /* the input, the weight, the bias */
}

TEST(half_precisions_are_half_throughout)
{
    static const struct {
        cm_precision precision;
        cm_dtype     dtype;
    } half[] = {{CM_PRECISION_BF16, CM_BF16}, {CM_PRECISION_FP16, CM_FP16}};
    for (size_t i = 0; i < COUNT(half); i++) {
        start_over();
        train_in(half[i].precision, sum(small_model()));
        assert_int_equal(count_type(step, "Cast"), 0);
        static const char *const names[] = {"x",    "w1",          "scale",     "fc1",      "norm",
                                            "relu", "probability", "w1.state1", "w1.state2"};
        for (size_t k = 0; k < COUNT(names); k++) assert_int_equal(type_of(names[k]), half[i].dtype);
        assert_int_equal(cm__t(step, gradient_for("w1"))->dtype, half[i].dtype);
    }
}

TEST(autocast_runs_products_in_16_bits_and_norms_in_fp32)
{
    static const struct {
        cm_precision precision;
        cm_dtype     low;
    } modes[] = {{CM_PRECISION_AMP_BF16, CM_BF16}, {CM_PRECISION_AMP_FP16, CM_FP16}};
    for (size_t i = 0; i < COUNT(modes); i++) {
        start_over();
        train_in(modes[i].precision, sum(small_model()));
        cm_dtype       low = modes[i].low;
        const cm_node *fc1 = find_node(step, "Gemm"), *norm = find_node(step, "LayerNormalization");
        for (int slot = 0; slot < 3; slot++) assert_int_equal(input_type(fc1, slot), low);
        assert_int_equal(output_type(fc1), low);
        assert_int_equal(input_type(norm, 0), CM_FP32);
        assert_int_equal(output_type(norm), CM_FP32);
        assert_int_equal(output_type(find_node(step, "Relu")), CM_FP32); /* in the type of its input */
        assert_int_equal(output_type(find_node(step, "Softmax")), CM_FP32);
        assert_int_equal(type_of("w1"), CM_FP32);
        assert_int_equal(type_of("x"), CM_FP32);
        assert_int_equal(casts(CM_FORWARD, low), 2 + 3);     /* x and relu; w1, b1, w2 */
        /* before the normalisation, and before the softmax of bf16: that of fp16 reads 16 bits and writes 32 itself */
        assert_int_equal(casts(CM_FORWARD, CM_FP32), 1 + (low == CM_BF16));
        assert_int_equal(input_type(find_node(step, "Softmax"), 0), low == CM_BF16 ? CM_FP32 : CM_FP16);
    }
}

TEST(gradients_of_parameters_are_cast_back)
{
    train_in(CM_PRECISION_AMP_BF16, sum(small_model()));
    static const char *const names[] = {"w1", "b1", "w2"};
    for (size_t i = 0; i < COUNT(names); i++) {
        const cm_tensor *gradient = cm__t(step, gradient_for(names[i]));
        assert_int_equal(gradient->dtype, CM_FP32);
        assert_string_equal(gradient_made_by(names[i]), "Cast");
        assert_int_equal(gradient->role, CM_ROLE_PARAMETER_GRADIENT);
    }
    assert_string_equal(gradient_made_by("scale"), "NormalizationGrad"); /* computed in fp32 */
    assert_int_equal(output_type(find_back("fc1", "GemmGradWeight")), CM_BF16);
    assert_int_equal(output_type(find_back("fc2", "GemmGradInput")), CM_BF16);
    assert_int_equal(type_of("w1.state2"), CM_FP32);
}

TEST(a_parameter_is_cast_once_per_step)
{
    int32_t w = weight("w", "8,8"), x = op(CM_OP_EXP, IN(input("B,8")));
    int32_t y = op(CM_OP_ADD, IN(op(CM_OP_GEMM, IN(x, w)), op(CM_OP_GEMM, IN(x, w))));
    train_in(CM_PRECISION_AMP_BF16, sum(y));
    int32_t of_w = 0, of_x = 0;
    for (int32_t i = 0; i < step->n_nodes; i++) {
        const cm_node *n = &step->nodes[i];
        if (n->op != CM_OP_CAST || n->phase != CM_FORWARD) continue;
        of_w += n->inputs[0] == find_tensor(step, "w");
        of_x += n->inputs[0] == find_tensor(step, "Exp");
        if (n->inputs[0] == find_tensor(step, "w")) assert_int_equal(cm__t(step, n->outputs[0])->role, CM_ROLE_CAST);
    }
    assert_int_equal(of_w, 1);
    assert_int_equal(of_x, 2); /* an activation once per use */
}

TEST(casts_have_bytes)
{
    train_in(CM_PRECISION_AMP_BF16, sum(op(CM_OP_GEMM, IN(input("B,8"), weight("w", "8,6")))));
    const cm_node *n = &step->nodes[cm__t(step, find_node(step, "Gemm")->inputs[1])->producer];
    assert_int_equal(n->op, CM_OP_CAST);
    poly_is(n->read_bytes, 4 * 8 * 6, 0, 0);
    poly_is(n->write_bytes, 2 * 8 * 6, 0, 0);
}

TEST(what_is_16_bit_already_is_not_cast)
{
    int32_t h = op(CM_OP_RELU, IN(op(CM_OP_CONV, IN(input("B,3,8,8"), weight("w1", "4,3,3,3")))));
    train_in(CM_PRECISION_AMP_BF16, sum(op(CM_OP_CONV, IN(h, weight("w2", "4,4,3,3")))));
    assert_int_equal(casts(CM_FORWARD, CM_BF16), 3); /* x, w1, w2 */
    assert_int_equal(output_type(find_node(step, "Relu")), CM_BF16);
}

TEST(batch_norm_keeps_16_bits_and_its_own_parameters)
{
    int32_t h = op(CM_OP_CONV, IN(input("B,3,8,8"), weight("w", "4,3,3,3")));
    int32_t mean = leaf("mean", CM_ROLE_BUFFER, CM_FP32, "4"),
            variance = leaf("variance", CM_ROLE_BUFFER, CM_FP32, "4");
    train_in(CM_PRECISION_AMP_BF16,
             sum(op(CM_OP_BATCH_NORM, IN(h, weight("scale", "4"), weight("shift", "4"), mean, variance))));
    const cm_node *n = find_node(step, "BatchNormalization");
    assert_int_equal(output_type(n), CM_BF16);
    assert_int_equal(n->inputs[1], find_tensor(step, "scale"));
    assert_int_equal(cm__t(step, n->outputs[1])->dtype, CM_FP32);
    assert_int_equal(cm__t(step, gradient_for("scale"))->dtype, CM_FP32);
}

TEST(concat_casts_to_the_widest)
{
    int32_t low = op(CM_OP_GEMM, IN(input("B,8"), weight("w", "8,8"))), full = op(CM_OP_EXP, IN(input("B,8")));
    train_in(CM_PRECISION_AMP_BF16, sum(OP(CONCAT, IN(low, full, low), INTS(AXIS, 1))));
    const cm_node *n = find_node(step, "Concat");
    for (int i = 0; i < 3; i++) assert_int_equal(input_type(n, i), CM_FP32);
    assert_int_equal(output_type(n), CM_FP32);
}

TEST(concat_of_16_bits_stays)
{
    int32_t w = weight("w", "8,8"), x = input("B,8"), a = op(CM_OP_GEMM, IN(x, w)), b = op(CM_OP_GEMM, IN(x, w));
    train_in(CM_PRECISION_AMP_BF16, sum(OP(CONCAT, IN(a, b), INTS(AXIS, 1))));
    assert_int_equal(output_type(find_node(step, "Concat")), CM_BF16);
}

TEST(numbers_integers_and_doubles_are_left_alone)
{
    int32_t h = op(CM_OP_GEMM, IN(input("B,8"), weight("w", "8,8")));
    h = op(CM_OP_POW, IN(op(CM_OP_MUL, IN(h, number(2))), number(3)));
    int32_t d = op(CM_OP_SOFTMAX, IN(leaf("d", CM_ROLE_INPUT, CM_FP64, "B,8")));
    cm__output(g, as("double", d));
    cm__output(g, op(CM_OP_GATHER, IN(h, leaf("ids", CM_ROLE_INPUT, CM_INT64, "B"))));
    train_with(-1, (cm_train_options){.precision = CM_PRECISION_AMP_BF16, .loss = CM_LOSS_NONE});
    assert_int_equal(output_type(find_node(step, "Mul")), CM_BF16); /* a scalar does not widen a tensor */
    assert_int_equal(input_type(find_node(step, "Pow"), 0), CM_FP32);
    assert_int_equal(cm__t(step, find_node(step, "Pow")->inputs[1])->producer, -1);
    assert_int_equal(type_of("double"), CM_FP64);
    assert_int_equal(type_of("ids"), CM_INT64);
}

TEST(constants_are_cast_unless_they_are_one_number)
{
    int32_t w = weight("w", "8,4"), ones = reals(4, (double[]){1, 1, 1, 1});
    train_in(CM_PRECISION_AMP_BF16, sum(op(CM_OP_GEMM, IN(input("B,8"), w, number(1)))));
    assert_int_equal(cm__t(step, find_node(step, "Gemm")->inputs[2])->producer, -1);
    start_over();
    w = weight("w", "8,4"), ones = reals(4, (double[]){1, 1, 1, 1});
    train_in(CM_PRECISION_AMP_BF16, sum(op(CM_OP_GEMM, IN(input("B,8"), w, ones))));
    assert_int_equal(input_type(find_node(step, "Gemm"), 2), CM_BF16);
}

/* A capture that records types also records where the model switches autocast off: elsewhere a product of a frozen network
   that reads no data is computed in 16 bits, as that of quantiles in the target network of a reinforcement learner. */
TEST(recorded_products_of_frozen_weights_are_low)
{
    int32_t x = input("B,8"), angle = leaf("angle", CM_ROLE_CONSTANT, CM_FP32, "1,8"),
            frozen = leaf("frozen", CM_ROLE_BUFFER, CM_FP32, "8,8");
    int32_t wave = as("wave", op(CM_OP_GEMM, IN(angle, frozen)));
    g->typed = true;
    int32_t q = op(CM_OP_GEMM, IN(x, weight("w", "8,8")));
    train_in(CM_PRECISION_AMP_BF16, sum(op(CM_OP_MUL, IN(q, wave))));
    assert_int_equal(type_of("wave"), CM_BF16);
}

/* Rotary embeddings: models compute the angles with autocast off, and rotated tensors are fp32 until the next
   product. */
TEST(products_of_constants_stay_fp32)
{
    int32_t x = input("B,4,8"), frequency = leaf("inv_freq", CM_ROLE_BUFFER, CM_FP32, "8,1"),
            position = OP(CAST, IN(leaf("position", CM_ROLE_CONSTANT, CM_INT64, "1,4")), INTS(TO, CM_FP32));
    int32_t angle = as("angle", op(CM_OP_MATMUL, IN(frequency, position)));
    int32_t q = as("q", op(CM_OP_GEMM, IN(x, weight("w", "8,8"))));
    int32_t cosines = OP(TRANSPOSE, IN(op(CM_OP_COS, IN(angle))), INTS(PERM, 1, 0));
    int32_t rotated = as("rotated", op(CM_OP_MUL, IN(q, cosines)));
    train_in(CM_PRECISION_AMP_BF16, sum(as("out", op(CM_OP_GEMM, IN(rotated, weight("v", "8,8"))))));
    assert_int_equal(type_of("angle"), CM_FP32);
    assert_int_equal(type_of("q"), CM_BF16);
    assert_int_equal(type_of("rotated"), CM_FP32);
    assert_int_equal(type_of("out"), CM_BF16);
    assert_int_equal(casts(CM_FORWARD, CM_BF16), 2 + 2);  /* x, rotated; w, v */
    assert_int_equal(casts(CM_BACKWARD, CM_FP32), 1 + 2); /* of rotated; gradients of w, v */
    assert_int_equal(input_type(find_back("q", "GemmGradWeight"), 0), CM_BF16); /* back in q's type */
}

/* The shape of a model input does not count as data; the input does. */
TEST(only_data_is_lowered)
{
    int32_t x = input("B,8"), table = leaf("table", CM_ROLE_BUFFER, CM_FP32, "8,6");
    int32_t ones = op(CM_OP_CONSTANT_OF_SHAPE, IN(op(CM_OP_SHAPE, IN(x))));
    int32_t fixed = as("fixed", op(CM_OP_MATMUL, IN(ones, table))),
            fed = as("fed", op(CM_OP_MATMUL, IN(x, table)));
    train_in(CM_PRECISION_AMP_BF16, sum(op(CM_OP_MUL, IN(op(CM_OP_ADD, IN(fixed, fed)), weight("w", "6")))));
    assert_int_equal(type_of("fixed"), CM_FP32);
    assert_int_equal(type_of("fed"), CM_BF16);
}

/* Attention that runs operator by operator: its 16-bit inputs are cast to fp32, and its result is cast back. */
static int32_t attention_in_fp32(void)
{
    int32_t x = input("B,8,8"), q = as("q", op(CM_OP_GEMM, IN(x, weight("w", "8,8")))), bias = weight("bias", "8,8");
    int32_t s = as("scores", OP(MATMUL, IN(q, op(CM_OP_EXP, IN(q))), INTS(MATH, 1)));
    int32_t masked = as("masked", OP(ADD, IN(s, bias), INTS(MATH, 1)));
    int32_t p = as("p", OP(SOFTMAX, IN(masked), INTS(MATH, 1)));
    return sum(op(CM_OP_RELU, IN(as("y", OP(MATMUL, IN(p, q), INTS(MATH, 2))))));
}

TEST(attention_run_as_operators_is_in_fp32)
{
    static const struct {
        cm_precision precision;
        cm_dtype     low;
        int32_t      down, up; /* casts forward */
    } cases[] = {
        {CM_PRECISION_AMP_BF16, CM_BF16, 5, 2 + 1 + 1}, /* x, w, exp, bias, y; q and exp; before exp; v */
        {CM_PRECISION_BF16, CM_BF16, 1, 2 + 1},         /* y; q and exp; v */
        {CM_PRECISION_TF32, CM_FP32, 0, 0},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        start_over();
        train_in(cases[i].precision, attention_in_fp32());
        assert_int_equal(type_of("q"), cases[i].low);
        assert_int_equal(type_of("scores"), CM_FP32);
        assert_int_equal(type_of("masked"), CM_FP32);
        assert_int_equal(type_of("p"), CM_FP32);
        assert_int_equal(output_type(find_node(step, "Relu")), cases[i].low);
        assert_int_equal(input_type(find_node(step, "Add"), 1), cases[i].low); /* the mask is added without a cast */
        assert_int_equal(output_type(find_back("scores", "MatMulGrad")), CM_FP32);
        assert_int_equal(casts(CM_FORWARD, CM_BF16), cases[i].down);
        if (cases[i].up) assert_int_equal(casts(CM_FORWARD, CM_FP32), cases[i].up);
    }
}

static int32_t marked(int32_t y, int64_t how)
{
    cm__attr_add(g->ctx, &g->nodes[cm__t(g, y)->producer], CM__INTS(CM_ATTR_WIDE, how));
    return y;
}

/* x divided by the root of its mean square, as in Llama's norm: x is cast once, and the result is cast back.
   Autocast does not recognise it. */
TEST(norms_written_by_hand_are_in_fp32)
{
    static const struct {
        cm_precision precision;
        int32_t      up, down;
        cm_dtype     inside, result;
    } cases[] = {{CM_PRECISION_BF16, 1, 1, CM_FP32, CM_BF16},
                 {CM_PRECISION_FP16, 1, 1, CM_FP32, CM_FP16},
                 {CM_PRECISION_FP32, 0, 0, CM_FP32, CM_FP32},
                 {CM_PRECISION_AMP_BF16, 0, 0, CM_FP32, CM_FP32}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        start_over();
        int32_t x = as("x", op(CM_OP_TANH, IN(input("B,8"))));
        int32_t y = as("square", marked(op(CM_OP_MUL, IN(x, x)), 1));
        y = as("root", marked(op(CM_OP_SQRT, IN(marked(OP(REDUCE_MEAN, IN(y), INTS(AXES, -1)), 1))), 1));
        y = as("wide", marked(op(CM_OP_DIV, IN(x, y)), 2));
        train_in(cases[i].precision, sum(as("scaled", op(CM_OP_MUL, IN(weight("w", "8"), y)))));
        assert_int_equal(casts(CM_FORWARD, CM_FP32), cases[i].up);
        assert_int_equal(casts(CM_FORWARD, cases[i].result), cases[i].down);
        assert_int_equal(type_of("root"), cases[i].inside);
        assert_int_equal(type_of("scaled"), cases[i].result);
    }
}

/* PyTorch's autocast runs cuDNN's recurrent layers in fp16 whatever its type; other layers cast the result again. */
TEST(recurrent_layers_are_lowered_to_fp16)
{
    static const struct {
        cm_precision precision;
        cm_dtype     layer, product;
    } cases[] = {
        {CM_PRECISION_AMP_BF16, CM_FP16, CM_BF16}, {CM_PRECISION_AMP_FP16, CM_FP16, CM_FP16},
        {CM_PRECISION_BF16, CM_BF16, CM_BF16},     {CM_PRECISION_TF32, CM_FP32, CM_FP32},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        start_over();
        int32_t y = OP(LSTM, IN(input("5,B,7"), weight("w", "1,24,7"), weight("r", "1,24,6")), INTS(HIDDEN_SIZE, 6));
        y = as("squeezed", OP(SQUEEZE, IN(as("layer", y)), INTS(AXES, 1)));
        train_in(cases[i].precision, sum(as("product", op(CM_OP_GEMM, IN(y, weight("v", "6,4"))))));
        assert_int_equal(type_of("layer"), cases[i].layer);
        assert_int_equal(type_of("squeezed"), cases[i].layer);
        assert_int_equal(type_of("product"), cases[i].product);
        assert_int_equal(input_type(find_node(step, "Gemm"), 0), cases[i].product);
        assert_int_equal(cm__t(step, gradient_for("w"))->dtype, type_of("w"));
    }
}

/* Sums read 16 bits and write fp32: no cast is needed before them. */
TEST(sums_widen_on_the_way_out)
{
    train_in(CM_PRECISION_AMP_BF16, sum(op(CM_OP_GEMM, IN(input("B,8"), weight("w", "8,8")))));
    const cm_node *n = find_node(step, "ReduceSum");
    assert_int_equal(input_type(n, 0), CM_BF16);
    assert_int_equal(output_type(n), CM_FP32);
    assert_int_equal(casts(CM_FORWARD, CM_FP32), 0);
    start_over();
    train_in(CM_PRECISION_BF16, sum(op(CM_OP_GEMM, IN(input("B,8"), weight("w", "8,8")))));
    assert_int_equal(output_type(find_node(step, "ReduceSum")), CM_BF16);
}

/* A file stored in 16 bits is trained in the requested precision. */
TEST(however_it_was_stored)
{
    static const struct {
        cm_precision precision;
        cm_dtype     parameter, product;
    } cases[] = {
        {CM_PRECISION_FP32, CM_FP32, CM_FP32},
        {CM_PRECISION_AMP_BF16, CM_FP32, CM_BF16},
        {CM_PRECISION_BF16, CM_BF16, CM_BF16},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        start_over();
        int32_t w = leaf("w", CM_ROLE_PARAMETER, CM_FP16, "8,8"), x = leaf("x", CM_ROLE_INPUT, CM_FP16, "B,8");
        int32_t y = OP(CAST, IN(as("product", op(CM_OP_GEMM, IN(x, w)))), INTS(TO, CM_FP16));
        train_in(cases[i].precision, sum(as("cast", y)));
        assert_int_equal(type_of("w"), cases[i].parameter);
        assert_int_equal(type_of("x"), cases[i].parameter);
        assert_int_equal(type_of("product"), cases[i].product);
        assert_int_equal(type_of("cast"), cases[i].product);
    }
}

TEST(a_loss_is_in_fp32_in_every_precision)
{
    for (int p = CM_PRECISION_FP32; p < CM_PRECISIONS; p++) {
        start_over();
        train_in((cm_precision)p, op(CM_OP_GEMM, IN(input("B,8"), weight("w", "8,10"))));
        const cm_node *loss = find_node(step, "SoftmaxCrossEntropyLoss");
        assert_int_equal(input_type(loss, 0), CM_FP32);
        assert_int_equal(input_type(loss, 1), CM_INT64);
        assert_int_equal(output_type(loss), CM_FP32);
    }
}

/* RMS norm with a weight in fp32. Of fp32 numbers it is one kernel; of a product's bf16 numbers PyTorch computes
   x * rsqrt(mean(x^2) + eps) * weight in fp32, and casts the result. */
TEST(an_rms_norm_of_two_types_is_an_expression)
{
    for (int narrow = 0; narrow < 2; narrow++) {
        start_over();
        int32_t x = input("B,8");
        x = narrow ? op(CM_OP_GEMM, IN(x, weight("w", "8,6"))) : op(CM_OP_MUL, IN(x, weight("w", "8")));
        g->typed = true;
        int32_t y = op(CM_OP_RMS_NORM, IN(x, weight("scale", narrow ? "6" : "8")));
        train_in(CM_PRECISION_AMP_BF16, sum(y));
        assert_int_equal(count_type(step, "RMSNormalization"), !narrow);
        assert_int_equal(count_type(step, "Pow"), narrow);
        assert_int_equal(count_type(step, "Reciprocal"), narrow);
        assert_int_equal(casts(CM_FORWARD, CM_FP32), narrow);
    }
}

/* PyTorch's cross-entropy of 16-bit logits under autocast: log-softmax in 16 bits, the likelihood in fp32. */
TEST(a_recorded_loss_of_16_bit_logits_is_cast_after_log_softmax)
{
    int32_t labels = cm__leaf(g, "labels", CM_ROLE_INPUT, CM_INT64, 1, (cm_dim[]){{1, 0}});
    int32_t y = op(CM_OP_GEMM, IN(input("B,8"), weight("w", "8,10")));
    g->typed = true;
    train_in(CM_PRECISION_AMP_BF16, op(CM_OP_CROSS_ENTROPY, IN(y, labels)));
    const cm_node *log = find_node(step, "LogSoftmax"), *likelihood = find_node(step, "NegativeLogLikelihoodLoss");
    assert_int_equal(output_type(log), CM_BF16);
    assert_int_equal(cm__attr_int(log, CM_ATTR_AXIS, -1), 1);
    assert_int_equal(input_type(likelihood, 0), CM_FP32);
    assert_int_equal(output_type(likelihood), CM_FP32);
    assert_int_equal(output_type(find_node(step, "LossGrad")), CM_FP32);
    assert_int_equal(input_type(find_node(step, "SoftmaxGrad"), 0), CM_BF16);
    assert_int_equal(count_type(step, "SoftmaxCrossEntropyLoss"), 0);
}

/* So is a loss in a file without types, whose casts are not known. */
TEST(a_recorded_loss_of_fp32_logits_is_one_operator)
{
    for (int typed = 0; typed < 2; typed++) {
        start_over();
        int32_t labels = cm__leaf(g, "labels", CM_ROLE_INPUT, CM_INT64, 1, (cm_dim[]){{1, 0}});
        int32_t y = op(CM_OP_GEMM, IN(input("B,8"), weight("w", "8,10")));
        g->typed = typed;
        train_in(CM_PRECISION_AMP_BF16, op(CM_OP_CROSS_ENTROPY, IN(typed ? op(CM_OP_EXP, IN(y)) : y, labels)));
        assert_int_equal(count_type(step, "SoftmaxCrossEntropyLoss"), 1);
        assert_int_equal(count_type(step, "LogSoftmax"), 0);
    }
}

TEST(variables_are_stored_in_every_precision)
{
    for (int p = CM_PRECISION_FP32; p < CM_PRECISIONS; p++) {
        start_over();
        int32_t h = as("h", op(CM_OP_NEG, IN(op(CM_OP_GEMM, IN(input("B,8"), weight("w", "8,8"))))));
        int32_t a = as("a", op(CM_OP_NEG, IN(h))), b = as("b", op(CM_OP_NEG, IN(a)));
        cm__hold(g, h, b);
        train_in((cm_precision)p, sum(b));
        assert_int_equal(cm__t(step, find_tensor(step, "h"))->dies, cm__t(step, find_tensor(step, "b"))->producer);
        assert_int_equal(cm__t(step, find_tensor(step, "a"))->dies, cm__t(step, find_tensor(step, "b"))->producer);
    }
}

/* ---- eight bits ------------------------------------------------------------------------------------------------- */

TEST(fp8_takes_products_with_parameters_down)
{
    int32_t h = op(CM_OP_RELU, IN(op(CM_OP_MUL, IN(input("B,8"), weight("v", "8")))));
    h = as("fc", op(CM_OP_GEMM, IN(h, weight("w", "8,6"), weight("b", "6"))));
    train_in(CM_PRECISION_FP8, sum(op(CM_OP_RELU, IN(h))));
    const cm_node *n = find_node(step, "Gemm"), *dx = find_back("fc", "GemmGradInput"),
                  *dw = find_back("fc", "GemmGradWeight");
    assert_int_equal(input_type(n, 0), CM_FP8);
    assert_int_equal(input_type(n, 1), CM_FP8);
    assert_int_equal(input_type(n, 2), CM_BF16);
    assert_int_equal(output_type(n), CM_BF16);
    assert_int_equal(input_type(dx, 0), CM_FP8); /* the gradient is cast too, once for both */
    assert_int_equal(dx->inputs[0], dw->inputs[0]);
    assert_int_equal(output_type(dx), CM_BF16);
    assert_int_equal(output_type(dw), CM_BF16);
    assert_int_equal(cm__t(step, gradient_for("w"))->dtype, CM_FP32);
    assert_int_equal(type_of("w"), CM_FP32);
}

/* Two layers and logits: the logits' product is the one that libraries leave out. */
TEST(fp8_leaves_the_last_of_several_products_in_16_bits)
{
    int32_t h = as("fc", op(CM_OP_GEMM, IN(input("B,8"), weight("w", "8,6"))));
    train_in(CM_PRECISION_FP8, sum(as("head", op(CM_OP_GEMM, IN(h, weight("v", "6,4"))))));
    const cm_node *dx = find_back("head", "GemmGradInput");
    assert_int_equal(casts(CM_FORWARD, CM_FP8), 2); /* both operands of the first */
    assert_int_equal(cm__t(step, find_tensor(step, "head"))->dtype, CM_BF16);
    assert_int_equal(input_type(dx, 0), CM_BF16);
    assert_int_equal(input_type(find_back("fc", "GemmGradWeight"), 0), CM_FP8);
}

TEST(fp8_leaves_other_products_in_16_bits)
{
    int32_t h = op(CM_OP_CONV, IN(input("B,3,8,8"), weight("w", "4,3,3,3")));
    train_in(CM_PRECISION_FP8, sum(op(CM_OP_MATMUL, IN(h, OP(TRANSPOSE, IN(h), INTS(PERM, 0, 1, 3, 2))))));
    assert_int_equal(casts(CM_FORWARD, CM_FP8), 0);
    assert_int_equal(output_type(find_node(step, "Conv")), CM_BF16);
    assert_int_equal(input_type(find_node(step, "MatMul"), 0), CM_BF16);
}

/* torchao converts the layers of a bf16 model and does not change its weights. */
TEST(fp8_of_a_captured_bf16_model_keeps_its_weights)
{
    int32_t h = as("fc", op(CM_OP_GEMM, IN(input("B,8"), weight("w", "8,6"))));
    g->precision = CM_PRECISION_BF16;
    train_in(CM_PRECISION_FP8, sum(op(CM_OP_RELU, IN(h))));
    assert_int_equal(input_type(find_node(step, "Gemm"), 1), CM_FP8);
    assert_int_equal(type_of("w"), CM_BF16);
    assert_int_equal(cm__t(step, gradient_for("w"))->dtype, CM_BF16);
    assert_int_equal(casts(CM_FORWARD, CM_BF16), 0);
}

/* ---- types that a capture recorded ------------------------------------------------------------------------------ */

static int32_t in_16_bits(int32_t tensor, cm_dtype low)
{
    cm__t(g, tensor)->converted = 1 + (int32_t)low;
    return tensor;
}

static int32_t cast_of(int32_t x, cm_dtype low) { return in_16_bits(OP(CAST, IN(x), INTS(TO, CM_FP32)), low); }

/* A linear layer, y.float(), exp, .to(y.dtype), a linear layer: in fp32 both casts are no-ops. */
static int32_t up_and_back(void)
{
    int32_t x = in_16_bits(input("B,8"), CM_BF16), w1 = in_16_bits(weight("w1", "8,8"), CM_BF16),
            w2 = in_16_bits(weight("w2", "8,8"), CM_BF16);
    int32_t h = in_16_bits(as("fc1", op(CM_OP_GEMM, IN(x, w1))), CM_BF16);
    h = in_16_bits(as("wide", op(CM_OP_EXP, IN(cast_of(h, CM_FP32)))), CM_FP32);
    g->typed = true;
    return in_16_bits(as("fc2", op(CM_OP_GEMM, IN(cast_of(h, CM_BF16), w2))), CM_BF16);
}

TEST(recorded_casts_are_made_where_they_change_something)
{
    static const struct {
        cm_precision precision;
        cm_dtype     product;
        int32_t      up, back; /* casts in forward to fp32 and to 16 bits, including autocast's */
    } rows[] = {{CM_PRECISION_FP32, CM_FP32, 0, 0}, {CM_PRECISION_TF32, CM_FP32, 0, 0},
                {CM_PRECISION_BF16, CM_BF16, 1, 1}, {CM_PRECISION_FP16, CM_FP16, 1, 1},
                {CM_PRECISION_AMP_BF16, CM_BF16, 1, 1 + 1 + 2}}; /* x and both weights; back to fc1's type */
    for (size_t i = 0; i < COUNT(rows); i++) {
        start_over();
        train_in(rows[i].precision, op(CM_OP_RELU, IN(up_and_back())));
        cm_dtype low = rows[i].product == CM_FP32 ? CM_BF16 : rows[i].product;
        assert_int_equal(type_of("fc1"), rows[i].product);
        assert_int_equal(type_of("wide"), CM_FP32);
        assert_int_equal(type_of("fc2"), rows[i].product);
        assert_int_equal(casts(CM_FORWARD, low), rows[i].back);
        assert_true(casts(CM_FORWARD, CM_FP32) >= rows[i].up);
    }
}

/* In a 16-bit model, a layer that was kept in fp32 stays in fp32. */
TEST(recorded_types_hold_for_each_parameter)
{
    int32_t x = in_16_bits(input("B,8"), CM_BF16), w = in_16_bits(weight("w", "8,8"), CM_BF16);
    int32_t h = in_16_bits(op(CM_OP_GEMM, IN(x, w)), CM_BF16);
    int32_t y = op(CM_OP_GEMM, IN(cast_of(h, CM_FP32), in_16_bits(weight("router", "8,4"), CM_FP32)));
    g->typed = true;
    train_in(CM_PRECISION_BF16, in_16_bits(as("routes", y), CM_FP32));
    assert_int_equal(type_of("w"), CM_BF16);
    assert_int_equal(type_of("router"), CM_FP32);
    assert_int_equal(type_of("routes"), CM_FP32);
}

TEST(a_copy_is_left_out_after_a_cast_that_runs)
{
    static const cm_precision precisions[] = {CM_PRECISION_FP32, CM_PRECISION_BF16};
    for (int i = 0; i < 2; i++) {
        start_over();
        int32_t wide = cast_of(up_and_back(), CM_FP32);
        train_in(precisions[i], in_16_bits(OP(COPY, IN(wide), INTS(UNLESS_CAST, 1)), CM_FP32));
        assert_int_equal(count_type(step, "Copy"), i == 0);
    }
}

/* ---- types that nobody recorded --------------------------------------------------------------------------------- */

/* Angles computed from constants are fp32 and are cast before the product, which PyTorch would otherwise refuse. */
TEST(constants_in_fp32_do_not_spread)
{
    int32_t positions = OP(CAST, IN(leaf("positions", CM_ROLE_CONSTANT, CM_INT64, "8")), INTS(TO, CM_FP32));
    int32_t angles = as("angles", op(CM_OP_COS, IN(positions)));
    int32_t h = as("rotated", op(CM_OP_MUL, IN(op(CM_OP_GEMM, IN(input("B,8"), weight("w1", "8,8"))), angles)));
    int32_t k = as("rotated_too", op(CM_OP_MUL, IN(h, angles)));
    train_in(CM_PRECISION_BF16, sum(as("fc", op(CM_OP_GEMM, IN(k, weight("w2", "8,8"))))));
    assert_int_equal(type_of("angles"), CM_FP32);
    assert_int_equal(type_of("rotated"), CM_BF16);
    assert_int_equal(type_of("fc"), CM_BF16);
    assert_int_equal(casts(CM_FORWARD, CM_BF16), 1); /* the angles, once */
}

TEST(products_never_mix_types)
{
    int32_t steps = OP(CAST, IN(leaf("x", CM_ROLE_INPUT, CM_INT64, "B,8")), INTS(TO, CM_FP32));
    train_in(CM_PRECISION_BF16, sum(as("fc", op(CM_OP_GEMM, IN(op(CM_OP_SIN, IN(steps)), weight("w", "8,8"))))));
    assert_int_equal(type_of("fc"), CM_BF16);
}


int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(autocast_beside_shards_gets_16_bit_parameters),
        cmocka_unit_test(full_precisions_need_no_casts),
        cmocka_unit_test(known_parameters_are_cast),
        cmocka_unit_test(half_precisions_are_half_throughout),
        cmocka_unit_test(autocast_runs_products_in_16_bits_and_norms_in_fp32),
        cmocka_unit_test(gradients_of_parameters_are_cast_back),
        cmocka_unit_test(a_parameter_is_cast_once_per_step),
        cmocka_unit_test(casts_have_bytes),
        cmocka_unit_test(what_is_16_bit_already_is_not_cast),
        cmocka_unit_test(batch_norm_keeps_16_bits_and_its_own_parameters),
        cmocka_unit_test(concat_casts_to_the_widest),
        cmocka_unit_test(concat_of_16_bits_stays),
        cmocka_unit_test(numbers_integers_and_doubles_are_left_alone),
        cmocka_unit_test(constants_are_cast_unless_they_are_one_number),
        cmocka_unit_test(products_of_constants_stay_fp32),
        cmocka_unit_test(recorded_products_of_frozen_weights_are_low),
        cmocka_unit_test(only_data_is_lowered),
        cmocka_unit_test(attention_run_as_operators_is_in_fp32),
        cmocka_unit_test(norms_written_by_hand_are_in_fp32),
        cmocka_unit_test(recurrent_layers_are_lowered_to_fp16),
        cmocka_unit_test(sums_widen_on_the_way_out),
        cmocka_unit_test(however_it_was_stored),
        cmocka_unit_test(a_loss_is_in_fp32_in_every_precision),
        cmocka_unit_test(an_rms_norm_of_two_types_is_an_expression),
        cmocka_unit_test(a_recorded_loss_of_16_bit_logits_is_cast_after_log_softmax),
        cmocka_unit_test(a_recorded_loss_of_fp32_logits_is_one_operator),
        cmocka_unit_test(variables_are_stored_in_every_precision),
        cmocka_unit_test(fp8_takes_products_with_parameters_down),
        cmocka_unit_test(fp8_leaves_the_last_of_several_products_in_16_bits),
        cmocka_unit_test(fp8_leaves_other_products_in_16_bits),
        cmocka_unit_test(fp8_of_a_captured_bf16_model_keeps_its_weights),
        cmocka_unit_test(recorded_casts_are_made_where_they_change_something),
        cmocka_unit_test(recorded_types_hold_for_each_parameter),
        cmocka_unit_test(a_copy_is_left_out_after_a_cast_that_runs),
        cmocka_unit_test(constants_in_fp32_do_not_spread),
        cmocka_unit_test(products_never_mix_types),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
