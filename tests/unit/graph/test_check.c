/* SPDX-License-Identifier: Apache-2.0 */
/* test_check.c - invalid graphs are refused, with the node's name. */
#include "graph_builder.h"

static void two_nodes(void)
{
    int32_t y = as("first", op(CM_OP_RELU, IN(input("B,4"))));
    y = as("second", op(CM_OP_TANH, IN(y)));
    cm__output(g, y);
}

static int checked(void)
{
    cm__check(g);
    return 0;
}

TEST(a_sound_graph_passes)
{
    two_nodes();
    checked();
    assert_string_equal(ctx->place, "");
}

TEST(inputs_exist)
{
    two_nodes();
    ((int32_t *)g->nodes[1].inputs)[0] = g->n_tensors;
    REFUSES(FORMAT, "input 0 does not exist", checked());
    assert_non_null(strstr(diag.place, "'second' (Tanh)"));
    ((int32_t *)g->nodes[1].inputs)[0] = -2;
    REFUSES(FORMAT, "input 0 does not exist", checked());
}

TEST(absent_inputs_are_fine)
{
    two_nodes();
    ((int32_t *)g->nodes[1].inputs)[0] = -1;
    checked();
}

TEST(nothing_is_read_before_it_is_written)
{
    two_nodes();
    ((int32_t *)g->nodes[0].inputs)[0] = g->nodes[1].outputs[0];
    REFUSES(FORMAT, "'second' is read before it is written", checked());
    assert_non_null(strstr(diag.place, "'first'"));
}

TEST(nothing_is_written_twice)
{
    two_nodes();
    ((int32_t *)g->nodes[1].outputs)[0] = g->nodes[0].outputs[0];
    REFUSES(FORMAT, "output 0 is not its own", checked());
    ((int32_t *)g->nodes[1].outputs)[0] = g->n_tensors;
    REFUSES(FORMAT, "output 0 is not its own", checked());
}

TEST(outputs_name_their_node)
{
    two_nodes();
    cm__t(g, g->nodes[1].outputs[0])->producer = 0;
    REFUSES(FORMAT, "output 'second' names another node", checked());
}

TEST(the_model_returns_something_that_exists)
{
    op(CM_OP_RELU, IN(input("B,4")));
    REFUSES(FORMAT, "the model has no output", checked());
    cm__output(g, g->n_tensors);
    REFUSES(FORMAT, "output 0 does not exist", checked());
    g->outputs[0] = -1;
    REFUSES(FORMAT, "output 0 does not exist", checked());
}

TEST(every_tensor_has_storage)
{
    two_nodes();
    cm__t(g, 1)->storage = g->n_tensors;
    REFUSES(FORMAT, "tensor 'first' has no storage", checked());
    cm__t(g, 1)->storage = 2; /* a view of a view */
    cm__t(g, 2)->storage = 0;
    REFUSES(FORMAT, "has no storage", checked());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sound_graph_passes),
        cmocka_unit_test(inputs_exist),
        cmocka_unit_test(absent_inputs_are_fine),
        cmocka_unit_test(nothing_is_read_before_it_is_written),
        cmocka_unit_test(nothing_is_written_twice),
        cmocka_unit_test(outputs_name_their_node),
        cmocka_unit_test(the_model_returns_something_that_exists),
        cmocka_unit_test(every_tensor_has_storage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
