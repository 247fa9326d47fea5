/* SPDX-License-Identifier: Apache-2.0 */
/* test_graph.c - leaves and nodes, readers of tensors, pruning, lifetimes and totals. */
#include "graph_builder.h"
#include "graph/uses.h"

/* ---- leaves and nodes ------------------------------------------------------------------------------------------- */

TEST(leaves_are_what_they_are_said_to_be)
{
    char    name[] = "x";
    int32_t x = cm__leaf(g, name, CM_ROLE_INPUT, CM_INT32, 1, (cm_dim[]){{2, 1}});
    int32_t w = cm__parameter(g, "w", 2, (int64_t[]){3, 4});
    name[0] = '?';
    assert_string_equal(cm__t(g, x)->name, "x");
    assert_int_equal(cm__t(g, x)->dtype, CM_INT32);
    assert_int_equal(cm__t(g, x)->producer, -1);
    assert_int_equal(cm__t(g, x)->storage, x);
    assert_int_equal(cm__t(g, w)->role, CM_ROLE_PARAMETER);
    assert_int_equal(cm__t(g, w)->dtype, CM_FP32);
    SHAPE_IS(w, "[3, 4]");
    assert_int_equal(g->n_inputs, 1); /* model inputs only */
    assert_int_equal(g->inputs[0], x);
}

TEST(constants_are_known)
{
    value_is(KNOWN(3, -1, 7), "3,-1,7");
    value_is(integer(-5), "-5");
    assert_true(cm__t(g, number(0.5))->value->f == 0.5);
    assert_int_equal(cm__t(g, number(0.5))->role, CM_ROLE_CONSTANT);
    SHAPE_IS(number(1), "[]");
}

TEST(sizes_have_limits)
{
    REFUSES(FORMAT, "dimension 1 is negative", input("B,-1"));
    REFUSES(LIMIT, "dimension 0 is above 2^40", input("1099511627777"));
    REFUSES(LIMIT, "dimension 0 is above 2^40", input("1099511627777B"));
    REFUSES(LIMIT, "more than 2^53 elements", input("1099511627776,1099511627776"));
    REFUSES(LIMIT, "more than 2^53 elements", input("1099511627776B-1,8193"));
    REFUSES(UNSUPPORTED, "grows with the batch size in 3 dimensions", input("B,B,B"));
    REFUSES(LIMIT, "17 dimensions", input("1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1"));
    REFUSES(LIMIT, "17 dimensions", cm__parameter(g, "w", 17, (int64_t[17]){0}));
    input("1099511627776");
    input("1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1");
    input("B,B");
}

TEST(nodes_take_as_many_inputs_as_their_row_says)
{
    int32_t x = input("B,4");
    REFUSES(FORMAT, "Relu with 2 inputs, expected 1", op(CM_OP_RELU, IN(x, x)));
    REFUSES(FORMAT, "Add with 1 inputs, expected 2", op(CM_OP_ADD, IN(x)));
    REFUSES(FORMAT, "Add without its input 1", op(CM_OP_ADD, IN(x, -1)));
    REFUSES(FORMAT, "input 1 does not exist", op(CM_OP_ADD, IN(x, 99)));
    REFUSES(FORMAT, "input 0 does not exist", op(CM_OP_RELU, IN(-2)));
    REFUSES(FORMAT, "input 0 does not exist", op(CM_OP_RELU, IN(g->n_tensors)));
    REFUSES(FORMAT, "Concat with 0 inputs, expected 1 or more", op(CM_OP_CONCAT, &x, 0));
    REFUSES(LIMIT, "outputs", OUTPUTS(CM__VALUE_MAX + 1, SPLIT, IN(x), INTS(AXIS, 1)));
}

TEST(nodes_make_their_outputs)
{
    char     name[] = "norm";
    int64_t  axis = -1;
    cm__attr attr = {.key = CM_ATTR_AXIS, .count = 1, .ints = &axis};
    int32_t  x = input("B,4"), inputs[] = {x, weight("scale", "4")};
    g->block = 7;
    int32_t        y = cm__emit(g, CM_OP_LAYER_NORM, name, inputs, 2, &attr, 1);
    const cm_node *n = cm__last(g);
    name[0] = '?', axis = 99, inputs[0] = -1; /* all were copied */
    assert_string_equal(n->name, "norm");
    assert_int_equal(cm__attr_int(n, CM_ATTR_AXIS, 0), -1);
    assert_int_equal(n->inputs[0], x);
    assert_int_equal(n->block, 7);
    assert_int_equal(n->n_outputs, 3);
    assert_int_equal(n->outputs[0], y);
    assert_int_equal(cm__t(g, y)->producer, 0);
    assert_string_equal(cm__t(g, y)->name, "norm");
    assert_string_equal(cm__t(g, n->outputs[1])->name, "norm:1");
    assert_int_equal(cm__t(g, n->outputs[1])->role, CM_ROLE_SAVED);
}

TEST(views_share_storage)
{
    int32_t h = op(CM_OP_RELU, IN(input("B,4"))), v = OP(RESHAPE, IN(h), INTS(SHAPE, -1)),
            w = OP(UNSQUEEZE, IN(v), INTS(AXES, 0));
    assert_int_equal(cm__t(g, v)->storage, h);
    assert_int_equal(cm__t(g, w)->storage, h);
    int32_t y = op(CM_OP_RELU, IN(w));
    assert_int_equal(cm__t(g, y)->storage, y);
}

TEST(texts_are_remembered_once)
{
    cm__warn(g, "%d of %s", 2, "a kind");
    cm__warn(g, "2 of a kind");
    cm__warn(g, "another");
    cm__not_supported(g, "this");
    cm__not_supported(g, "this");
    assert_int_equal(cm_graph_warnings(g), 2);
    assert_string_equal(cm_graph_warning(g, 0), "2 of a kind");
    assert_int_equal(cm_graph_unsupported_ops(g), 1);
    assert_string_equal(cm_graph_unsupported_op(g, 0), "this");
}

TEST(uses_list_every_reader_in_order)
{
    int32_t  x = input("B,4"), unused = input("B,4"), a = op(CM_OP_ADD, IN(x, x)), b = op(CM_OP_MUL, IN(a, x));
    cm__uses u = cm__uses_of(g);
    assert_int_equal(u.first[x + 1] - u.first[x], 3);
    const cm__use *list = u.list + u.first[x];
    assert_true(list[0].node == 0 && list[0].slot == 0);
    assert_true(list[1].node == 0 && list[1].slot == 1);
    assert_true(list[2].node == 1 && list[2].slot == 1);
    assert_int_equal(u.first[unused], u.first[unused + 1]);
    assert_int_equal(u.first[b], u.first[b + 1]);
    assert_int_equal(u.list[u.first[a]].node, 1);
}

/* ---- pruning ---------------------------------------------------------------------------------------------------- */

TEST(what_leads_nowhere_is_pruned)
{
    int32_t x = input("B,4"), dead = op(CM_OP_TANH, IN(x)), y = op(CM_OP_RELU, IN(x));
    op(CM_OP_SIGMOID, IN(dead));
    y = op(CM_OP_EXP, IN(y));
    g->nodes[3].source = 2; /* a node that is removed */
    cm__output(g, y);
    cm__prune(g);
    assert_int_equal(g->n_nodes, 2);
    assert_string_equal(cm_node_type(&g->nodes[0]), "Relu");
    assert_int_equal(cm__t(g, y)->producer, 1);
    assert_int_equal(g->nodes[1].source, -1);
    cm__check(g);
}

TEST(sources_move_with_their_nodes)
{
    int32_t x = input("B,4");
    op(CM_OP_TANH, IN(x));
    int32_t y = op(CM_OP_RELU, IN(x));
    cm__output(g, op(CM_OP_EXP, IN(y)));
    cm__last(g)->source = 1;
    cm__prune(g);
    assert_int_equal(g->nodes[1].source, 0);
}

TEST(what_is_known_is_not_computed)
{
    int32_t x = input("B,3,4"), shape = op(CM_OP_SHAPE, IN(x)), first = op(CM_OP_GATHER, IN(shape, KNOWN(0)));
    int32_t y = op(CM_OP_RESHAPE, IN(x, OP(CONCAT, IN(first, KNOWN(12)), INTS(AXIS, 0))));
    cm__output(g, y);
    cm__prune(g);
    assert_int_equal(g->n_nodes, 1);
    SHAPE_IS(y, "[B, 12]");
    assert_int_equal(cm__t(g, g->nodes[0].inputs[1])->role, CM_ROLE_CONSTANT);
    cm__check(g);
}

/* ---- lifetimes -------------------------------------------------------------------------------------------------- */

/*
 * 0 h = x W     1 v = view of h     2 a = relu(h)     3 c = relu(v)     4 d = view of c     5 y = a + d
 * Every activation is 4 B numbers of 4 bytes; h is read last, through its view, by node 3.
 */
static void fan_out_over_views(void)
{
    int32_t h = as("h", op(CM_OP_MATMUL, IN(input("B,4"), weight("w", "4,4"))));
    int32_t v = as("v", OP(RESHAPE, IN(h), INTS(SHAPE, -1, 2, 2)));
    int32_t a = as("a", op(CM_OP_RELU, IN(h))), c = as("c", op(CM_OP_RELU, IN(v)));
    int32_t d = as("d", OP(RESHAPE, IN(c), INTS(SHAPE, -1, 4)));
    cm__output(g, as("y", op(CM_OP_ADD, IN(a, d))));
    cm__cost_all(g);
    cm__lifetimes(g);
}

static void lives(const char *name, int32_t born, int32_t dies)
{
    const cm_tensor *t = cm__t(g, find_tensor(g, name));
    assert_int_equal(t->born, born);
    assert_int_equal(t->dies, dies);
}

TEST(storage_lives_from_first_write_to_last_read)
{
    fan_out_over_views();
    lives("x", -1, 6); /* the batch stays in memory until the next one */
    lives("w", -1, 6); /* parameters outlive the step */
    lives("h", 0, 3);
    lives("v", 0, 3);
    lives("a", 2, 5);
    lives("c", 3, 5);
    lives("d", 3, 5);
    lives("y", 5, 6); /* returned */
}

/* A variable of the program keeps a storage, also through a view, and the last of several counts. */
TEST(variables_keep_storage)
{
    fan_out_over_views();
    cm__hold(g, find_tensor(g, "v"), find_tensor(g, "c"));
    cm__hold(g, find_tensor(g, "v"), find_tensor(g, "y"));
    cm__hold(g, find_tensor(g, "v"), find_tensor(g, "a"));
    cm__hold(g, find_tensor(g, "a"), find_tensor(g, "c"));
    cm__lifetimes(g);
    lives("h", 0, 5);
    lives("v", 0, 5);
    lives("a", 2, 5); /* read after its variable ended */
}

TEST(alive_bytes_are_summed)
{
    enum { A = 4 * 4, W = 4 * 4 * 4 }; /* one activation per sample, the weight */
    static const double activations[] = {2, 2, 3, 4, 3, 4}; /* with x */
    cm_totals totals;
    fan_out_over_views();
    for (int i = 0; i < 6; i++) poly_is(cm__alive_bytes(g->ctx, g)[i], W, activations[i] * A, 0);
    cm_graph_totals(g, 5, &totals);
    assert_true(totals.peak_bytes == W + 4 * A * 5);
    assert_int_equal(totals.peak_node, 3); /* the first to reach it */
}

TEST(constants_take_no_memory)
{
    cm__output(g, op(CM_OP_ADD, IN(input("B,4"), number(1))));
    cm__lifetimes(g);
    poly_is(cm__alive_bytes(g->ctx, g)[0], 0, 2 * 4 * 4, 0);
}

TEST(unread_outputs_live_while_their_node_runs)
{
    int32_t x = input("B,4");
    op(CM_OP_DROPOUT, IN(x));
    int32_t y = cm__last(g)->outputs[0], mask = cm__last(g)->outputs[1];
    cm__output(g, op(CM_OP_RELU, IN(y)));
    cm__lifetimes(g);
    assert_int_equal(cm__t(g, mask)->dies, 0);
    poly_is(cm__alive_bytes(g->ctx, g)[0], 0, 4 * 4 + 4 * 4 + 4 * 1, 0);
    poly_is(cm__alive_bytes(g->ctx, g)[1], 0, 4 * 4 + 4 * 4 + 4 * 4, 0);
}

/* ---- totals ----------------------------------------------------------------------------------------------------- */

TEST(totals_are_sums_at_a_batch_size)
{
    cm_totals totals;
    int32_t   h = op(CM_OP_GEMM, IN(input("B,8"), weight("w", "8,6"), weight("b", "6")));
    leaf("mean", CM_ROLE_BUFFER, CM_FP32, "6");
    cm__output(g, op(CM_OP_ADD, IN(h, find_tensor(g, "mean"))));
    cm__cost_all(g);
    cm__lifetimes(g);
    cm_graph_totals(g, 10, &totals);
    assert_int_equal(totals.parameters, 8 * 6 + 6);
    assert_int_equal(totals.buffers, 6);
    assert_int_equal(totals.nodes[CM_FORWARD], 2);
    assert_int_equal(totals.nodes[CM_BACKWARD], 0);
    assert_true(totals.flop[CM_FORWARD][CM_CLASS_GEMM] == 2 * 10 * 8 * 6);
    assert_true(totals.flop[CM_FORWARD][CM_CLASS_ELEMENTWISE] == 10 * 6);
    assert_true(totals.read_bytes[CM_FORWARD][CM_CLASS_GEMM] == 4 * (10 * 8 + 8 * 6 + 6));
    assert_true(totals.write_bytes[CM_FORWARD][CM_CLASS_GEMM] == 4 * 10 * 6);
}

TEST(matrix_flop_are_those_of_matrix_units)
{
    cm_totals totals = {0};
    for (int c = 0; c < CM_CLASSES; c++) totals.flop[CM_BACKWARD][c] = 1 << c;
    assert_true(cm_totals_matrix_flop(&totals, CM_BACKWARD) ==
                (1 << CM_CLASS_GEMM) + (1 << CM_CLASS_CONV) + (1 << CM_CLASS_ATTENTION) + (1 << CM_CLASS_RNN));
    assert_true(cm_totals_matrix_flop(&totals, CM_FORWARD) == 0);
}

TEST(a_graph_can_be_read)
{
    fan_out_over_views();
    assert_string_equal(cm_graph_name(g), "test");
    assert_string_equal(cm_graph_source(g), "test");
    assert_null(cm_graph_description(g));
    assert_int_equal(cm_graph_nodes(g), 6);
    assert_string_equal(cm_node_type(cm_graph_node(g, 5)), "Add");
    assert_string_equal(cm_graph_tensor(g, cm_graph_node(g, 0)->inputs[0])->name, "x");
    assert_int_equal(cm_graph_tensors(g), g->n_tensors);
    cm_graph_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(leaves_are_what_they_are_said_to_be),
        cmocka_unit_test(constants_are_known),
        cmocka_unit_test(sizes_have_limits),
        cmocka_unit_test(nodes_take_as_many_inputs_as_their_row_says),
        cmocka_unit_test(nodes_make_their_outputs),
        cmocka_unit_test(views_share_storage),
        cmocka_unit_test(texts_are_remembered_once),
        cmocka_unit_test(uses_list_every_reader_in_order),
        cmocka_unit_test(what_leads_nowhere_is_pruned),
        cmocka_unit_test(sources_move_with_their_nodes),
        cmocka_unit_test(what_is_known_is_not_computed),
        cmocka_unit_test(storage_lives_from_first_write_to_last_read),
        cmocka_unit_test(variables_keep_storage),
        cmocka_unit_test(alive_bytes_are_summed),
        cmocka_unit_test(constants_take_no_memory),
        cmocka_unit_test(unread_outputs_live_while_their_node_runs),
        cmocka_unit_test(totals_are_sums_at_a_batch_size),
        cmocka_unit_test(matrix_flop_are_those_of_matrix_units),
        cmocka_unit_test(a_graph_can_be_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
