/* SPDX-License-Identifier: Apache-2.0 */
/* test_recorded_backward.c - custom autograd functions: their recorded backward replaces the derived one. */
#include "graph_builder.h"
#include "graph/rules/backward.h"

/* The function's backward: gradient * saved, negated. Its tensors: 0 the gradient, 1 the saved input, 2, 3 results. */
static cm_graph *backward_graph(int32_t *result)
{
    static const cm_dim dims[] = {{1, 0}, {0, 8}};
    cm_graph           *b = cm__graph_new(g->ctx, "backward", "trace");
    int32_t gradient = cm__leaf(b, "gradient", CM_ROLE_BUFFER, CM_FP32, 2, dims);
    int32_t saved = cm__leaf(b, "saved", CM_ROLE_BUFFER, CM_FP32, 2, dims);
    int32_t product = cm__emit(b, CM_OP_MUL, "product", (int32_t[]){gradient, saved}, 2, NULL, 0);
    *result = cm__emit(b, CM_OP_NEG, "negated", &product, 1, NULL, 0);
    return b;
}

/* x W, then a function of tanh and sine, then the sum. The function saves its input h. */
static void train_function(cm_precision precision, bool recorded)
{
    static cm__function f;
    static int32_t      input_of[1], output_of[1], gradient_of[1], leaf[4];
    start_over();
    int32_t h = as("h", op(CM_OP_GEMM, IN(input("B,8"), weight("w", "8,8"))));
    g->function = 0;
    int32_t y = as("y", op(CM_OP_SIN, IN(op(CM_OP_TANH, IN(h)))));
    g->function = -1;
    f = (cm__function){.inputs = input_of, .outputs = output_of, .gradients = gradient_of, .leaf = leaf, .n_inputs = 1,
                       .n_outputs = 1};
    if (recorded) f.backward = backward_graph(gradient_of);
    input_of[0] = h;
    output_of[0] = y;
    leaf[0] = CM__OF_OUTPUT(0);
    leaf[1] = h;
    leaf[2] = leaf[3] = -1;
    g->functions = &f;
    g->n_functions = 1;
    train_with(OP(REDUCE_SUM, IN(y), INTS(KEEPDIMS, 0)), (cm_train_options){.precision = precision});
}

static int32_t backward_nodes(const char *type)
{
    int32_t count = 0;
    for (int32_t i = 0; i < step->n_nodes; i++)
        count += step->nodes[i].phase == CM_BACKWARD && strcmp(cm_node_type(&step->nodes[i]), type) == 0;
    return count;
}

TEST(recorded_backward_replaces_the_derived)
{
    train_function(CM_PRECISION_FP32, true);
    assert_int_equal(backward_nodes("Mul"), 1);
    assert_int_equal(backward_nodes("Neg"), 1);
    assert_int_equal(backward_nodes("ElementwiseGrad"), 0);
    assert_int_equal(backward_nodes("GemmGradWeight"), 1); /* the gradient goes on to the layer before */
    assert_null(step->functions);
    const cm_tensor *t = cm__t(step, find_node(step, "Tanh")->outputs[0]), *h = cm__t(step, find_tensor(step, "h"));
    assert_int_equal(step->nodes[t->dies].phase, CM_FORWARD); /* not saved */
    assert_int_equal(step->nodes[h->dies].phase, CM_BACKWARD);
}

TEST(without_a_recording_it_is_derived)
{
    train_function(CM_PRECISION_FP32, false);
    assert_int_equal(backward_nodes("Mul"), 0);
    assert_int_equal(backward_nodes("ElementwiseGrad"), 2);
}

/* PyTorch runs it on the types that its operands have. */
TEST(types_follow_the_operands)
{
    static const struct {
        cm_precision precision;
        cm_dtype     dtype;
    } cases[] = {{CM_PRECISION_FP32, CM_FP32}, {CM_PRECISION_BF16, CM_BF16}, {CM_PRECISION_AMP_FP16, CM_FP16}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        train_function(cases[i].precision, true);
        assert_int_equal(cm__t(step, find_node(step, "Neg")->outputs[0])->dtype, cases[i].dtype);
    }
}

/* torch.compile traces it under the autocast of forward: products are in 16 bits, though their operands are not. */
TEST(traced_products_follow_autocast)
{
    static const struct {
        cm_precision precision;
        bool         traced;
        cm_dtype     dtype;
    } cases[] = {{CM_PRECISION_AMP_BF16, true, CM_BF16}, {CM_PRECISION_AMP_BF16, false, CM_FP32},
                 {CM_PRECISION_FP32, true, CM_FP32}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        static cm__function f;
        static int32_t      input_of[1], output_of[1], gradient_of[1], leaf[3];
        static const cm_dim dims[] = {{0, 4}, {0, 4}};
        start_over();
        int32_t h = op(CM_OP_EXP, IN(weight("w", "4,4")));
        g->function = 0;
        int32_t y = op(CM_OP_SIN, IN(h));
        g->function = -1;
        cm_graph *b = cm__graph_new(g->ctx, "backward", "trace");
        int32_t   gradient = cm__leaf(b, "gradient", CM_ROLE_BUFFER, CM_FP32, 2, dims);
        int32_t   saved = cm__leaf(b, "saved", CM_ROLE_BUFFER, CM_FP32, 2, dims);
        gradient_of[0] = cm__emit(b, CM_OP_MATMUL, "product", (int32_t[]){gradient, saved}, 2, NULL, 0);
        input_of[0] = leaf[1] = h;
        output_of[0] = y;
        leaf[0] = CM__OF_OUTPUT(0);
        leaf[2] = -1;
        f = (cm__function){.backward = b, .inputs = input_of, .outputs = output_of, .gradients = gradient_of,
                           .leaf = leaf, .n_inputs = 1, .n_outputs = 1};
        g->functions = &f;
        g->n_functions = 1;
        train_with(OP(REDUCE_SUM, IN(y), INTS(KEEPDIMS, 0)),
                   (cm_train_options){.precision = cases[i].precision, .settled.traced_backward = cases[i].traced});
        assert_int_equal(cm__t(step, find_node(step, "MatMul")->outputs[0])->dtype, cases[i].dtype);
    }
}

/* Operators that change nothing are dropped before and inside the function, but not its output: its backward still runs,
   and the gradient goes on to the layer before. */
TEST(no_ops_around_it_leave_its_backward)
{
    static cm__function f;
    static int32_t      input_of[1], output_of[1], gradient_of[1], leaf[4] = {CM__OF_OUTPUT(0), -1, -1, -1};
    int32_t             h = op(CM_OP_GEMM, IN(input("B,8"), weight("w", "8,8"))), same = op(CM_OP_IDENTITY, IN(h));
    g->function = 0;
    int32_t y = OP(RESHAPE, IN(op(CM_OP_TANH, IN(same))), INTS(SHAPE, -1, 8));
    g->function = -1;
    input_of[0] = leaf[1] = same;
    output_of[0] = y;
    f = (cm__function){.backward = backward_graph(gradient_of), .inputs = input_of, .outputs = output_of,
                       .gradients = gradient_of, .leaf = leaf, .n_inputs = 1, .n_outputs = 1};
    g->functions = &f;
    g->n_functions = 1;
    cm__output(g, OP(REDUCE_SUM, IN(y), INTS(KEEPDIMS, 0)));
    cm__finish(g, CM_FUSE_ALL);
    assert_int_equal(count_type(g, "Identity"), 0);
    train_with(-1, (cm_train_options){.precision = CM_PRECISION_FP32});
    assert_int_equal(backward_nodes("Mul"), 1);
    assert_int_equal(backward_nodes("ElementwiseGrad"), 0);
    assert_int_equal(backward_nodes("GemmGradWeight"), 1);
}

/* A saved tensor that forward does not need otherwise is computed all the same. */
TEST(saved_tensors_are_not_pruned)
{
    static cm__function f;
    static int32_t      leaf[4] = {CM__OF_OUTPUT(0), -1, -1, -1}, gradient_of[1], one[1];
    int32_t h = op(CM_OP_GEMM, IN(input("B,8"), weight("w", "8,8"))), sign = op(CM_OP_SIGN, IN(h));
    leaf[1] = sign;
    f = (cm__function){.backward = backward_graph(gradient_of), .inputs = one, .outputs = one, .leaf = leaf};
    g->functions = &f;
    g->n_functions = 1;
    cm__output(g, h);
    cm__prune(g);
    assert_int_equal(count_type(g, "Sign"), 1);
    g->n_functions = 0;
    cm__prune(g);
    assert_int_equal(count_type(g, "Sign"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recorded_backward_replaces_the_derived),
        cmocka_unit_test(without_a_recording_it_is_derived),
        cmocka_unit_test(types_follow_the_operands),
        cmocka_unit_test(traced_products_follow_autocast),
        cmocka_unit_test(no_ops_around_it_leave_its_backward),
        cmocka_unit_test(saved_tensors_are_not_pruned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
