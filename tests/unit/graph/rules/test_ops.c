/* SPDX-License-Identifier: Apache-2.0 */
/* test_ops.c - the operator table is complete, and attributes are found. */
#include "graph_builder.h"

TEST(every_row_is_whole)
{
    for (int i = 0; i < CM_OPS; i++) {
        const cm__op *row = &cm__ops[i];
        assert_non_null(row->name);
        assert_true(row->name[0] != 0);
        assert_true(row->min_inputs >= 0 && (row->max_inputs < 0 || row->min_inputs <= row->max_inputs));
        assert_true(row->op_class < CM_CLASSES);
        assert_true(row->flop_per_element >= 0);
        assert_non_null(row->shape);
        assert_non_null(row->cost);
    }
}

TEST(names_are_unique)
{
    for (int i = 0; i < CM_OPS; i++)
        for (int k = 0; k < i; k++) assert_string_not_equal(cm__ops[i].name, cm__ops[k].name);
}

TEST(views_compute_nothing)
{
    for (int i = 0; i < CM_OPS; i++)
        if (cm__ops[i].view) {
            assert_true(cm__ops[i].flop_per_element == 0);
            assert_int_equal(cm__ops[i].op_class, CM_CLASS_MOVEMENT);
            assert_true(cm__ops[i].min_inputs >= 1);
        }
}

/* The inputs that a row's columns name are inputs of the operator, each in one column. */
TEST(columns_name_inputs_of_the_row)
{
    int named = 0;
    for (int i = 0; i < CM_OPS; i++) {
        const cm__op *row = &cm__ops[i];
        unsigned      own = row->max_inputs < 0 ? 0xffff : (1u << row->max_inputs) - 1;
        assert_int_equal((row->weights | row->statistics | row->table) & ~own, 0);
        assert_int_equal(row->weights & row->statistics, 0);
        assert_int_equal((row->weights | row->statistics) & row->table, 0);
        if (row->matrix) assert_true(row->weights >> row->matrix & 1);
        if (row->passes_weight) assert_true(row->min_inputs >= 1);
        named += row->weights != 0;
    }
    assert_true(named > 10); /* the columns are read */
}

/* Only operators with a gradient have columns about it, and only matrix products are divided as such. The products of a
   state space are inside its heads, which are divided as its input is. */
TEST(columns_fit_their_operators)
{
    for (int i = 0; i < CM_OPS; i++) {
        const cm__op *row = &cm__ops[i];
        if (row->saved_first || row->gate || row->weights) assert_non_null(row->gradient);
        bool inside = i == CM_OP_STATE_SPACE || i == CM_OP_STATE_SPACE_GRAD;
        assert_int_equal(row->shard >= CM__SHARD_product, row->op_class == CM_CLASS_GEMM && !inside);
    }
}

/* PyTorch's lists of autocast: https://docs.pytorch.org/docs/stable/amp.html */
TEST(autocast_follows_its_lists)
{
    static const int low[] = {CM_OP_GEMM,      CM_OP_MATMUL, CM_OP_CONV, CM_OP_CONV_TRANSPOSE,
                              CM_OP_ATTENTION, CM_OP_LSTM,   CM_OP_GRU,  CM_OP_RNN,
                              CM_OP_PRELU};
    static const int full[] = {CM_OP_ACOS,        CM_OP_ASIN,       CM_OP_COSH,     CM_OP_EXP,
                               CM_OP_GROUP_NORM,  CM_OP_LAYER_NORM, CM_OP_LOG,      CM_OP_POW,
                               CM_OP_LOG_SOFTMAX, CM_OP_MSE_LOSS,   CM_OP_NLL_LOSS, CM_OP_RECIPROCAL,
                               CM_OP_SOFTPLUS,    CM_OP_SINH,       CM_OP_SOFTMAX,  CM_OP_TAN};
    static const int widen[] = {CM_OP_CUM_SUM, CM_OP_REDUCE_PROD, CM_OP_REDUCE_SUM, CM_OP_REDUCE_L2};
    static const int keep[] = {CM_OP_ADD,        CM_OP_MUL,      CM_OP_RELU,   CM_OP_GELU,
                               CM_OP_BATCH_NORM, CM_OP_MAX_POOL, CM_OP_DROPOUT};
    for (size_t i = 0; i < COUNT(low); i++) assert_int_equal(cm__ops[low[i]].cast, CM__CAST_LOW);
    for (size_t i = 0; i < COUNT(full); i++) assert_int_equal(cm__ops[full[i]].cast, CM__CAST_FULL);
    for (size_t i = 0; i < COUNT(widen); i++) assert_int_equal(cm__ops[widen[i]].cast, CM__CAST_WIDEN);
    for (size_t i = 0; i < COUNT(keep); i++) assert_int_equal(cm__ops[keep[i]].cast, CM__CAST_KEEP);
    assert_int_equal(cm__ops[CM_OP_CONCAT].cast, CM__CAST_WIDEST);
}

TEST(attribute_names_are_unique)
{
    for (int i = 0; i < CM_ATTRS; i++) {
        assert_non_null(cm__attr_names[i]);
        for (int k = 0; k < i; k++) assert_string_not_equal(cm__attr_names[i], cm__attr_names[k]);
    }
}

TEST(attributes_have_defaults)
{
    OP(RELU, IN(input("B")), INTS(AXIS, -2), REAL(ALPHA, 0.25), INTS(PADS, 1, 2, 3), INTS(EPSILON, 3));
    const cm_node *n = cm__last(g);
    assert_int_equal(cm__attr_int(n, CM_ATTR_AXIS, 7), -2);
    assert_int_equal(cm__attr_int(n, CM_ATTR_GROUP, 7), 7);
    assert_int_equal(cm__attr_int(n, CM_ATTR_PADS, 7), 1);
    assert_true(cm__attr_real(n, CM_ATTR_ALPHA, 7) == 0.25);
    assert_true(cm__attr_real(n, CM_ATTR_SCALE, 7) == 7);
    assert_true(cm__attr_real(n, CM_ATTR_EPSILON, 7) == 3); /* an integer is accepted as a real */
    assert_int_equal(cm__attr_find(n, CM_ATTR_PADS)->count, 3);
    assert_null(cm__attr_find(n, CM_ATTR_GROUP));
    assert_string_equal(cm_node_type(n), "Relu");
    assert_int_equal(cm_node_class(n), CM_CLASS_ELEMENTWISE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_is_whole),
        cmocka_unit_test(names_are_unique),
        cmocka_unit_test(views_compute_nothing),
        cmocka_unit_test(columns_name_inputs_of_the_row),
        cmocka_unit_test(columns_fit_their_operators),
        cmocka_unit_test(autocast_follows_its_lists),
        cmocka_unit_test(attribute_names_are_unique),
        cmocka_unit_test(attributes_have_defaults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
