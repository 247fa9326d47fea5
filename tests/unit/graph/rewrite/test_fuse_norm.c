/* SPDX-License-Identifier: Apache-2.0 */
/* test_fuse_norm.c - written-out normalisations, and similar patterns that are none. */
#include "graph_builder.h"

static void fuse(int32_t y, cm_fuse what)
{
    cm__output(g, y);
    cm__finish(g, what);
    cm__check(g);
}

static int32_t hidden(void) { return as("h", op(CM_OP_TANH, IN(input("B,7,4")))); }
static int32_t mean(int32_t x) { return OP(REDUCE_MEAN, IN(x), INTS(AXES, -1)); }
static int32_t square(int32_t x) { return op(CM_OP_POW, IN(x, number(2))); }
static int32_t root(int32_t squares) { return op(CM_OP_SQRT, IN(op(CM_OP_ADD, IN(mean(squares), number(1e-5))))); }
static int32_t centre(int32_t x) { return op(CM_OP_SUB, IN(x, mean(x))); }

static int32_t affine(int32_t x)
{
    return op(CM_OP_ADD, IN(op(CM_OP_MUL, IN(x, weight("scale", "4"))), weight("shift", "4")));
}

static const cm_node *only(const char *type, int32_t inputs)
{
    assert_int_equal(g->n_nodes, 2); /* h and the fused node */
    const cm_node *n = find_node(g, type);
    assert_int_equal(n->n_inputs, inputs);
    assert_int_equal(n->inputs[0], find_tensor(g, "h"));
    assert_int_equal(cm__attr_int(n, CM_ATTR_AXIS, 0), -1);
    return n;
}

TEST(layer_norm_written_out)
{
    int32_t d = centre(hidden());
    fuse(affine(op(CM_OP_DIV, IN(d, root(square(d))))), CM_FUSE_ALL);
    const cm_node *n = only("LayerNormalization", 3);
    assert_string_equal(cm__t(g, n->inputs[1])->name, "scale");
    assert_string_equal(cm__t(g, n->inputs[2])->name, "shift");
    assert_string_equal(cm__dims_text(g, cm__t(g, n->outputs[1])), "[B, 7, 1]");
}

TEST(layer_norm_by_products)
{
    int32_t d = centre(hidden()), inverse = op(CM_OP_RECIPROCAL, IN(root(op(CM_OP_MUL, IN(d, d)))));
    fuse(affine(op(CM_OP_MUL, IN(d, inverse))), CM_FUSE_EAGER);
    only("LayerNormalization", 3);
}

TEST(layer_norm_without_scale)
{
    int32_t d = centre(hidden());
    fuse(op(CM_OP_DIV, IN(d, root(square(d)))), CM_FUSE_ALL);
    only("LayerNormalization", 1);
}

TEST(rms_norm_written_out)
{
    int32_t x = hidden();
    fuse(op(CM_OP_MUL, IN(weight("scale", "4"), op(CM_OP_DIV, IN(x, root(square(x)))))), CM_FUSE_ALL);
    only("RMSNormalization", 2);
    start_over();
    x = hidden();
    int32_t inverse = op(CM_OP_POW, IN(op(CM_OP_ADD, IN(number(1e-6), mean(square(x)))), number(-0.5)));
    fuse(op(CM_OP_MUL, IN(op(CM_OP_MUL, IN(inverse, x)), weight("scale", "4"))), CM_FUSE_ALL);
    only("RMSNormalization", 2);
}

/* RMS normalisation written by a user: rsqrt is one operator, and the kernel casts to fp32 as it reads. */
TEST(rms_norm_by_rsqrt)
{
    int32_t x = OP(CAST, IN(hidden()), INTS(TO, CM_FP32));
    cm__t(g, x)->converted = 1 + CM_FP32;
    int32_t inverse = op(CM_OP_RECIPROCAL, IN(op(CM_OP_ADD, IN(mean(square(x)), number(1e-5)))));
    fuse(op(CM_OP_MUL, IN(weight("scale", "4"), op(CM_OP_MUL, IN(x, inverse)))), CM_FUSE_ALL);
    only("RMSNormalization", 2);
}

TEST(eager_leaves_rms_norm)
{
    int32_t x = hidden();
    fuse(op(CM_OP_MUL, IN(weight("scale", "4"), op(CM_OP_DIV, IN(x, root(square(x)))))), CM_FUSE_EAGER);
    assert_int_equal(count_type(g, "RMSNormalization"), 0);
    static const char *const inside[] = {"Pow", "ReduceMean", "Add", "Sqrt"}; /* marked as computed in fp32 */
    for (size_t i = 0; i < COUNT(inside); i++)
        assert_int_equal(cm__attr_int(find_node(g, inside[i]), CM_ATTR_WIDE, 0), 1);
    assert_int_equal(cm__attr_int(find_node(g, "Div"), CM_ATTR_WIDE, 0), 2);
    assert_int_equal(cm__attr_int(find_node(g, "Mul"), CM_ATTR_WIDE, 0), 0);
}

TEST(the_scale_must_be_a_parameter)
{
    int32_t d = centre(hidden());
    fuse(op(CM_OP_MUL, IN(op(CM_OP_DIV, IN(d, root(square(d)))), input("B,7,4"))), CM_FUSE_ALL);
    assert_int_equal(find_node(g, "LayerNormalization")->n_inputs, 1);
    assert_int_equal(count_type(g, "Mul"), 1);
}

TEST(rms_norm_takes_no_shift)
{
    int32_t x = hidden();
    fuse(affine(op(CM_OP_DIV, IN(x, root(square(x))))), CM_FUSE_ALL);
    assert_int_equal(find_node(g, "RMSNormalization")->n_inputs, 2);
    assert_int_equal(count_type(g, "Add"), 1);
}

static int32_t norms(int32_t y)
{
    fuse(y, CM_FUSE_ALL);
    return count_type(g, "LayerNormalization") + count_type(g, "RMSNormalization");
}

TEST(what_only_looks_like_a_norm_stays)
{
    int32_t d = centre(hidden());
    assert_int_equal(norms(op(CM_OP_DIV, IN(d, root(op(CM_OP_POW, IN(d, number(3))))))), 0); /* cubes */
    start_over();
    d = centre(hidden());
    assert_int_equal(norms(op(CM_OP_DIV, IN(root(square(d)), d))), 0); /* inverted */
    start_over();
    d = centre(hidden());
    assert_int_equal(norms(op(CM_OP_DIV, IN(input("B,7,4"), root(square(d))))), 0); /* another x over it */
    start_over();
    d = centre(hidden());
    assert_int_equal(norms(op(CM_OP_MUL, IN(d, root(square(d))))), 0); /* multiplied, not divided */
    start_over();
    d = centre(hidden());
    assert_int_equal(norms(op(CM_OP_DIV, IN(d, op(CM_OP_SQRT, IN(mean(square(d))))))), 0); /* no epsilon */
}

static int32_t norm_over(int64_t axis)
{
    int32_t x = hidden(), d = op(CM_OP_SUB, IN(x, OP(REDUCE_MEAN, IN(x), INTS(AXES, axis))));
    int32_t variance = OP(REDUCE_MEAN, IN(square(d)), INTS(AXES, axis));
    return op(CM_OP_DIV, IN(d, op(CM_OP_SQRT, IN(op(CM_OP_ADD, IN(variance, number(1e-5)))))));
}

TEST(only_the_last_dimension_makes_a_layer_norm)
{
    assert_int_equal(norms(norm_over(2)), 1);
    start_over();
    assert_int_equal(norms(norm_over(1)), 0); /* over channels */
}

TEST(epsilon_is_a_number)
{
    int32_t x = hidden(), epsilon = op(CM_OP_RELU, IN(input("B,7,1")));
    int32_t deviation = op(CM_OP_SQRT, IN(op(CM_OP_ADD, IN(epsilon, mean(square(x))))));
    assert_int_equal(norms(op(CM_OP_DIV, IN(x, deviation))), 0);
}

TEST(a_deviation_that_is_read_elsewhere_stays)
{
    int32_t d = centre(hidden()), deviation = root(square(d));
    assert_int_equal(norms(op(CM_OP_ADD, IN(op(CM_OP_DIV, IN(d, deviation)), deviation))), 0);
    start_over();
    d = centre(hidden()), deviation = root(square(d));
    cm__output(g, deviation);
    assert_int_equal(norms(op(CM_OP_DIV, IN(d, deviation))), 0);
}

/* ---- groups ----------------------------------------------------------------------------------------------------- */

static int32_t shaped(int32_t x, int64_t a, int64_t b, int64_t c, int32_t rank)
{
    return op(CM_OP_RESHAPE, IN(x, cm__constant_ints(g, "shape", rank, (int64_t[]){0, a, b, c})));
}

static int32_t in_groups(int32_t x, int64_t groups)
{
    const char *each = groups == 2 ? "2" : "6";
    int32_t     apart = shaped(x, groups, -1, 0, 3);
    return shaped(op(CM_OP_INSTANCE_NORM, IN(apart, weight("ones", each), weight("zeros", each))), 6, 5, 5, 4);
}

static int32_t per_channel(const char *name)
{
    return op(CM_OP_UNSQUEEZE, IN(weight(name, "6"), cm__constant_ints(g, "axes", 2, (int64_t[]){1, 2})));
}

TEST(group_norm_as_exported)
{
    int32_t x = as("h", op(CM_OP_TANH, IN(input("B,6,5,5"))));
    int32_t scaled = op(CM_OP_MUL, IN(in_groups(x, 2), per_channel("scale")));
    fuse(op(CM_OP_ADD, IN(scaled, per_channel("shift"))), CM_FUSE_EAGER);
    assert_int_equal(g->n_nodes, 2); /* h and the fused node */
    const cm_node *n = find_node(g, "GroupNormalization");
    assert_int_equal(n->n_inputs, 3);
    assert_int_equal(n->inputs[0], find_tensor(g, "h"));
    assert_string_equal(cm__t(g, n->inputs[1])->name, "scale");
    assert_string_equal(cm__t(g, n->inputs[2])->name, "shift");
    assert_int_equal(cm__attr_int(n, CM_ATTR_NUM_GROUPS, 0), 2);
}

/* The exporter's scale and shift are ones and zeros; trained values are not, and stay. */
TEST(an_instance_norm_of_trained_groups_stays)
{
    int32_t x = op(CM_OP_TANH, IN(input("B,6,5,5"))), ones = weight("ones", "2"), zeros = weight("zeros", "2");
    cm__num contents[] = {{.f = 1}, {.f = 1}};
    cm__t(g, ones)->value = contents;
    int32_t y = shaped(op(CM_OP_INSTANCE_NORM, IN(shaped(x, 2, -1, 0, 3), ones, zeros)), 6, 5, 5, 4);
    contents[1].f = 1.5;
    fuse(y, CM_FUSE_ALL);
    assert_int_equal(count_type(g, "GroupNormalization"), 0);
    contents[1].f = 1;
    fuse(y, CM_FUSE_ALL);
    assert_int_equal(count_type(g, "GroupNormalization"), 1);
    assert_int_equal(cm__t(g, ones)->role, CM_ROLE_CONSTANT);
    assert_int_equal(cm__t(g, zeros)->role, CM_ROLE_CONSTANT);
}

/* Six columns and six channels: a vector that is not viewed as [6, 1, 1] belongs to the columns. */
TEST(a_scale_of_columns_is_none_of_a_group_norm)
{
    int32_t x = op(CM_OP_TANH, IN(input("B,6,6,6"))), apart = shaped(x, 2, -1, 0, 3);
    int32_t y = op(CM_OP_INSTANCE_NORM, IN(apart, weight("ones", "2"), weight("zeros", "2")));
    fuse(op(CM_OP_MUL, IN(shaped(y, 6, 6, 6, 4), weight("columns", "6"))), CM_FUSE_ALL);
    assert_int_equal(find_node(g, "GroupNormalization")->n_inputs, 1);
    assert_int_equal(count_type(g, "Mul"), 1);
}

TEST(groups_that_cut_channels_stay)
{
    int32_t x = op(CM_OP_TANH, IN(input("B,6,2,2"))), apart = shaped(x, 4, -1, 0, 3);
    int32_t y = op(CM_OP_INSTANCE_NORM, IN(apart, weight("ones", "4"), weight("zeros", "4")));
    fuse(shaped(y, 6, 2, 2, 4), CM_FUSE_ALL);
    assert_int_equal(count_type(g, "GroupNormalization"), 0);
}

/* By default PyTorch's exporter folds the views into the parameters and invents names for the results. */
TEST(group_norm_with_folded_parameters)
{
    int32_t x = op(CM_OP_TANH, IN(input("B,6,5,5")));
    int32_t scale = leaf("onnx::Mul_38", CM_ROLE_BUFFER, CM_FP32, "6,1,1");
    int32_t shift = leaf("onnx::Add_39", CM_ROLE_BUFFER, CM_FP32, "6,1,1");
    fuse(op(CM_OP_ADD, IN(op(CM_OP_MUL, IN(in_groups(x, 2), scale)), shift)), CM_FUSE_EAGER);
    const cm_node *n = find_node(g, "GroupNormalization");
    assert_int_equal(n->n_inputs, 3);
    for (int32_t i = 1; i < 3; i++) {
        SHAPE_IS(n->inputs[i], "[6]");
        assert_int_equal(cm__t(g, n->inputs[i])->role, CM_ROLE_PARAMETER);
    }
    cm_totals totals;
    cm_graph_totals(g, 1, &totals);
    assert_int_equal(totals.parameters, 2 * 6);
    assert_int_equal(totals.buffers, 0);
}

TEST(factors_of_channels_that_are_given_stay)
{
    int32_t x = op(CM_OP_TANH, IN(input("B,6,5,5"))), given = leaf("onnx::Mul_1", CM_ROLE_INPUT, CM_FP32, "6,1,1");
    int32_t named = leaf("mask", CM_ROLE_BUFFER, CM_FP32, "6,1,1");
    fuse(op(CM_OP_MUL, IN(op(CM_OP_MUL, IN(in_groups(x, 2), given)), named)), CM_FUSE_ALL);
    assert_int_equal(find_node(g, "GroupNormalization")->n_inputs, 1);
    assert_int_equal(count_type(g, "Mul"), 2);
}

TEST(group_norm_without_parameters)
{
    fuse(in_groups(op(CM_OP_TANH, IN(input("B,6,5,5"))), 2), CM_FUSE_ALL);
    assert_int_equal(find_node(g, "GroupNormalization")->n_inputs, 1);
}

TEST(an_instance_norm_of_every_channel_stays)
{
    fuse(in_groups(op(CM_OP_TANH, IN(input("B,6,5,5"))), 6), CM_FUSE_ALL);
    assert_int_equal(count_type(g, "GroupNormalization"), 0);
}

TEST(groups_that_are_read_elsewhere_stay)
{
    int32_t apart = shaped(op(CM_OP_TANH, IN(input("B,6,5,5"))), 2, -1, 0, 3);
    int32_t y = op(CM_OP_INSTANCE_NORM, IN(apart, weight("ones", "2"), weight("zeros", "2")));
    cm__output(g, op(CM_OP_RELU, IN(y)));
    fuse(shaped(y, 6, 5, 5, 4), CM_FUSE_ALL);
    assert_int_equal(count_type(g, "GroupNormalization"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layer_norm_written_out),
        cmocka_unit_test(layer_norm_by_products),
        cmocka_unit_test(layer_norm_without_scale),
        cmocka_unit_test(rms_norm_written_out),
        cmocka_unit_test(rms_norm_by_rsqrt),
        cmocka_unit_test(eager_leaves_rms_norm),
        cmocka_unit_test(the_scale_must_be_a_parameter),
        cmocka_unit_test(rms_norm_takes_no_shift),
        cmocka_unit_test(what_only_looks_like_a_norm_stays),
        cmocka_unit_test(only_the_last_dimension_makes_a_layer_norm),
        cmocka_unit_test(epsilon_is_a_number),
        cmocka_unit_test(a_deviation_that_is_read_elsewhere_stays),
        cmocka_unit_test(group_norm_as_exported),
        cmocka_unit_test(an_instance_norm_of_trained_groups_stays),
        cmocka_unit_test(a_scale_of_columns_is_none_of_a_group_norm),
        cmocka_unit_test(groups_that_cut_channels_stay),
        cmocka_unit_test(group_norm_with_folded_parameters),
        cmocka_unit_test(factors_of_channels_that_are_given_stay),
        cmocka_unit_test(group_norm_without_parameters),
        cmocka_unit_test(an_instance_norm_of_every_channel_stays),
        cmocka_unit_test(groups_that_are_read_elsewhere_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
