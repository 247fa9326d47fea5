/* SPDX-License-Identifier: Apache-2.0 */
/* test_rule.c - helpers of rules: lists of numbers, axes, broadcasting, types and windows. */
#include "graph_builder.h"

/* A node outside the graph, for the functions that only read it. */
#define NODE(in, ...) node_of(in, (cm__attr[]){__VA_ARGS__}, (int32_t)COUNT(((cm__attr[]){__VA_ARGS__})))

static const cm_node *node_of(const int32_t *inputs, int32_t n, const cm__attr *attrs, int32_t n_attrs)
{
    int32_t *ins = cm__alloc_array(ctx, (size_t)n, sizeof *ins);
    cm__attr *list = cm__alloc_array(ctx, (size_t)n_attrs + 1, sizeof *list);
    memcpy(ins, inputs, (size_t)n * sizeof *ins);
    for (int32_t i = 0; i < n_attrs; i++) list[i] = attrs[i];
    list[n_attrs].key = CM_ATTRS;
    cm_node *node = cm__alloc(ctx, sizeof *node);
    *node = (cm_node){.name = "n", .inputs = ins, .n_inputs = n, .attrs = list};
    return node;
}

TEST(small_tensors_are_counted)
{
    static const struct {
        const char *shape;
        int64_t     count;
    } cases[] = {{"", 1},      {"0", 0},      {"32,32", 1024}, {"1024", CM__VALUE_MAX},
                 {"1025", -1}, {"32,33", -1}, {"B", -1},       {"2,B", -1}};
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_int_equal(cm__small_count(cm__t(g, input(cases[i].shape))), cases[i].count);
}

TEST(integers_come_from_an_attribute_or_an_input)
{
    int64_t        out[3];
    const cm_node *by_input = node_of(IN(input("5"), KNOWN(7, 8)), NULL, 0);
    assert_int_equal(cm__int_list(g, NODE(IN(input("5")), INTS(AXES, 4, 5, 6)), CM_ATTR_AXES, 1, out, 3), 3);
    assert_int_equal(out[2], 6);
    assert_int_equal(cm__int_list(g, by_input, CM_ATTR_AXES, 1, out, 3), 2);
    assert_int_equal(out[1], 8);
    assert_int_equal(cm__int_list(g, by_input, CM_ATTR_AXES, 2, out, 3), -1);
    assert_int_equal(cm__int_list(g, node_of(IN(-1, -1), NULL, 0), CM_ATTR_AXES, 1, out, 3), -1);
    assert_int_equal(cm__int_list(g, node_of(IN(typed(CM_INT64, "0")), NULL, 0), CM_ATTR_AXES, 0, out, 3), 0);
}

TEST(integers_that_cannot_be_known_are_refused)
{
    int64_t out[2];
    REFUSES(FORMAT, "3 entries, at most 2", cm__int_list(g, NODE(IN(0), INTS(AXES, 1, 2, 3)), CM_ATTR_AXES, 1, out, 2));
    REFUSES(FORMAT, "3 entries, at most 2",
            cm__int_list(g, node_of(IN(KNOWN(1, 2, 3)), NULL, 0), CM_ATTR_AXES, 0, out, 2));
    REFUSES(UNSUPPORTED, "depends on data",
            cm__int_list(g, node_of(IN(typed(CM_INT64, "2")), NULL, 0), CM_ATTR_AXES, 0, out, 2));
    REFUSES(UNSUPPORTED, "fixed integers",
            cm__int_list(g, node_of(IN(known("B,2")), NULL, 0), CM_ATTR_AXES, 0, out, 2));
    REFUSES(UNSUPPORTED, "fixed integers", cm__int_list(g, node_of(IN(number(2)), NULL, 0), CM_ATTR_AXES, 0, out, 2));
}

TEST(dimensions_may_depend_on_the_batch_size)
{
    cm_dim out[2];
    assert_int_equal(cm__dim_list(g, node_of(IN(known("2B+1,7")), NULL, 0), 0, out, 2), 2);
    assert_true(cm__dim_same(out[0], (cm_dim){2, 1}) && cm__dim_is(out[1], 7));
    REFUSES(FORMAT, "must hold integers", cm__dim_list(g, node_of(IN(number(2)), NULL, 0), 0, out, 2));
}

TEST(reals_come_from_either_and_from_integers)
{
    double  out[2], given[2] = {0.5, 2.5};
    int64_t bits[2];
    memcpy(bits, given, sizeof bits);
    assert_int_equal(cm__real_list(g, NODE(IN(0), INTS(SCALES, bits[0], bits[1])), CM_ATTR_SCALES, 1, out, 2), 2);
    assert_true(out[0] == 0.5 && out[1] == 2.5);
    assert_int_equal(cm__real_list(g, node_of(IN(reals(2, given)), NULL, 0), CM_ATTR_SCALES, 0, out, 2), 2);
    assert_true(out[1] == 2.5);
    assert_int_equal(cm__real_list(g, node_of(IN(integer(3)), NULL, 0), CM_ATTR_SCALES, 0, out, 2), 1);
    assert_true(out[0] == 3);
}

TEST(axes_count_from_either_end)
{
    assert_int_equal(cm__axis(g, 0, 3), 0);
    assert_int_equal(cm__axis(g, -1, 3), 2);
    assert_int_equal(cm__axis(g, -3, 3), 0);
    REFUSES(FORMAT, "axis 3 of a tensor with 3 dimensions", cm__axis(g, 3, 3));
    REFUSES(FORMAT, "axis -4", cm__axis(g, -4, 3));
    REFUSES(FORMAT, "axis 0", cm__axis(g, 0, 0));
}

static const char *broadcast(const char *a, const char *b)
{
    cm_dim    da[CM__RANK_MAX], db[CM__RANK_MAX], out[CM__RANK_MAX];
    int32_t   ra = dims_of(a, da), rb = dims_of(b, db);
    cm_tensor t = {.rank = cm__broadcast(g, ra, da, rb, db, out), .dims = out};
    return cm__dims_text(g, &t);
}

TEST(shapes_broadcast_from_the_last_dimension)
{
    assert_string_equal(broadcast("B,1,5", "4,1"), "[B, 4, 5]");
    assert_string_equal(broadcast("", "2,3"), "[2, 3]");
    assert_string_equal(broadcast("1", "B"), "[B]");
    assert_string_equal(broadcast("B", "B"), "[B]");
    assert_string_equal(broadcast("0", "1"), "[0]");
}

TEST(shapes_that_do_not_fit_are_both_named)
{
    REFUSES(FORMAT, "[2, 3] and [B, 4]", broadcast("2,3", "B,4"));
    REFUSES(FORMAT, "[B] and [2B]", broadcast("B", "2B"));
    REFUSES(FORMAT, "[B] and [8]", broadcast("B", "8"));
}

static cm_dtype widest(int32_t a, int32_t b) { return cm__widest(g, node_of(IN(a, b), NULL, 0), 0, 2); }

TEST(the_wider_type_wins)
{
    assert_int_equal(widest(typed(CM_BF16, "2"), typed(CM_FP32, "2")), CM_FP32);
    assert_int_equal(widest(typed(CM_FP64, "2"), typed(CM_FP32, "2")), CM_FP64);
    assert_int_equal(widest(typed(CM_INT64, "2"), typed(CM_FP16, "2")), CM_FP16);
    assert_int_equal(widest(typed(CM_INT32, "2"), typed(CM_INT64, "2")), CM_INT64);
    assert_int_equal(widest(typed(CM_BOOL, "2"), typed(CM_INT8, "2")), CM_INT8);
    assert_int_equal(widest(-1, typed(CM_FP16, "2")), CM_FP16);
}

TEST(numbers_do_not_widen_tensors)
{
    assert_int_equal(widest(typed(CM_BF16, "2"), number(1)), CM_BF16);
    assert_int_equal(widest(number(1), typed(CM_FP16, "2")), CM_FP16);
    assert_int_equal(widest(typed(CM_BF16, ""), number(1)), CM_FP32); /* two scalars: the wider */
}

TEST(ranks_are_asked_for)
{
    REFUSES(FORMAT, "'x' is [B, 3], at least 3 dimensions", (cm__need_rank(g, cm__t(g, input("B,3")), 3), 0));
}

/* ---- windows ---------------------------------------------------------------------------------------------------- */

typedef struct window_case {
    int64_t size, kernel, stride, dilation, before, after, auto_pad;
    bool    ceil_mode;
    int64_t output;
} window_case;

static cm_dim slide(const window_case *c, const char *size)
{
    cm_dim         dims[1];
    cm__window     w;
    const cm_node *n = NODE(IN(0), INTS(STRIDES, c->stride), INTS(DILATIONS, c->dilation),
                            INTS(PADS, c->before, c->after), INTS(AUTO_PAD, c->auto_pad),
                            INTS(KERNEL_SHAPE, c->kernel));
    dims_of(size, dims);
    cm__window_read(g, n, 1, NULL, &w);
    return cm__window_output(g, &w, 0, dims[0], c->ceil_mode);
}

TEST(windows_slide_as_onnx_says)
{
    static const window_case cases[] = {
        {224, 7, 2, 1, 3, 3, 0, false, (224 + 6 - 7) / 2 + 1},
        {10, 3, 1, 2, 0, 0, 0, false, 10 - (2 * 2 + 1) + 1},
        {10, 3, 1, 1, 2, 0, 0, false, 10 + 2 - 3 + 1},
        {4, 3, 2, 1, 0, 0, 0, false, 1},
        {4, 3, 2, 1, 0, 0, 0, true, 2},  /* ceil((4 - 3) / 2) + 1 */
        {3, 2, 2, 1, 1, 1, 0, true, 2},  /* the third window would start in the padding */
        {7, 3, 2, 1, 0, 0, 2, false, 4}, /* SAME_UPPER: ceil(7 / 2) */
        {7, 3, 2, 1, 0, 0, 3, false, 4}, /* SAME_LOWER */
        {7, 3, 2, 1, 0, 0, 1, false, 3}, /* VALID: ceil((7 - 3 + 1) / 2) */
        {5, 5, 1, 1, 0, 0, 0, false, 1},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_true(cm__dim_is(slide(&cases[i], cm__format(ctx, "%lld", (long long)cases[i].size)), cases[i].output));
}

TEST(windows_that_cannot_slide_are_refused)
{
    REFUSES(FORMAT, "a window of 5 over 4", slide(&(window_case){4, 3, 1, 2, 0, 0, 0, false, 0}, "4"));
    REFUSES(UNSUPPORTED, "batch dimension", slide(&(window_case){0, 3, 1, 1, 0, 0, 0, false, 0}, "B"));
    REFUSES(FORMAT, "strides of 0", slide(&(window_case){4, 3, 0, 1, 0, 0, 0, false, 0}, "4"));
    REFUSES(FORMAT, "dilations of -1", slide(&(window_case){4, 3, 1, -1, 0, 0, 0, false, 0}, "4"));
    REFUSES(FORMAT, "pads of -1 and 0", slide(&(window_case){4, 3, 1, 1, -1, 0, 0, false, 0}, "4"));
    int64_t huge = CM__DIM_MAX;
    REFUSES(LIMIT, "a window of", slide(&(window_case){4, huge, 1, huge, 0, 0, 0, false, 0}, "4"));
}

TEST(windows_need_a_number_per_dimension)
{
    cm__window w;
    REFUSES(FORMAT, "3 pads, expected 4", (cm__window_read(g, NODE(IN(0), INTS(PADS, 1, 1, 1)), 2, NULL, &w), 0));
    REFUSES(FORMAT, "1 strides, expected 2", (cm__window_read(g, NODE(IN(0), INTS(STRIDES, 2)), 2, NULL, &w), 0));
    REFUSES(UNSUPPORTED, "7 spatial dimensions", (cm__window_read(g, node_of(IN(0), NULL, 0), 7, NULL, &w), 0));
    cm__window_read(g, NODE(IN(0), INTS(KERNEL_SHAPE, 9, 9)), 2, (int64_t[]){3, 5}, &w); /* the weight's shape counts */
    assert_int_equal(w.kernel[1], 5);
    assert_int_equal(w.stride[1], 1);
}

TEST(slices_need_as_many_of_each)
{
    cm__slices s;
    int32_t    x = input("8,8");
    REFUSES(FORMAT, "1 starts, 2 ends", (cm__slices_read(g, node_of(IN(x, KNOWN(0), KNOWN(1, 2)), NULL, 0), &s), 0));
    REFUSES(FORMAT, "2 axes", (cm__slices_read(g, node_of(IN(x, KNOWN(0), KNOWN(1), KNOWN(0, 1)), NULL, 0), &s), 0));
    REFUSES(FORMAT, "2 steps",
            (cm__slices_read(g, node_of(IN(x, KNOWN(0), KNOWN(1), -1, KNOWN(1, 1)), NULL, 0), &s), 0));
    cm__slices_read(g, NODE(IN(x), INTS(STARTS, 1), INTS(ENDS, 3), INTS(AXES, -1)), &s); /* opset 9 and before */
    assert_int_equal(s.axis[0], 1);
    assert_int_equal(s.step[0], 1);
    assert_true(cm__dim_is(s.start[0], 1) && cm__dim_is(s.end[0], 3));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_tensors_are_counted),
        cmocka_unit_test(integers_come_from_an_attribute_or_an_input),
        cmocka_unit_test(integers_that_cannot_be_known_are_refused),
        cmocka_unit_test(dimensions_may_depend_on_the_batch_size),
        cmocka_unit_test(reals_come_from_either_and_from_integers),
        cmocka_unit_test(axes_count_from_either_end),
        cmocka_unit_test(shapes_broadcast_from_the_last_dimension),
        cmocka_unit_test(shapes_that_do_not_fit_are_both_named),
        cmocka_unit_test(the_wider_type_wins),
        cmocka_unit_test(numbers_do_not_widen_tensors),
        cmocka_unit_test(ranks_are_asked_for),
        cmocka_unit_test(windows_slide_as_onnx_says),
        cmocka_unit_test(windows_that_cannot_slide_are_refused),
        cmocka_unit_test(windows_need_a_number_per_dimension),
        cmocka_unit_test(slices_need_as_many_of_each),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
