/* SPDX-License-Identifier: Apache-2.0 */
/* test_onnx_sequence.c - sequences of tensors in ONNX files: made, read, joined and refused. */
#include "onnx_case.h"

/* ---- sequences -------------------------------------------------------------------------------------------------- */

/* x[B, 6] split on axis 1 into parts of these sizes, as the sequence "parts". */
static void split_x(bytes *graph, int count, const int64_t *sizes)
{
    bytes attrs = {0};
    x_input(graph, 2, (int64_t[]){-1, 6});
    w_int64s(graph, "sizes", count, sizes);
    w_attr_int(&attrs, "axis", 1);
    w_node(graph, "SplitToSequence", "split", "x sizes", "parts", &attrs);
    y_output(graph);
}

static void pick_y(bytes *graph, const char *from, int64_t position)
{
    char inputs[64];
    snprintf(inputs, sizeof inputs, "%s position", from);
    w_int64s(graph, "position", 1, &position);
    w_node(graph, "SequenceAt", "at", inputs, "y", NULL);
}

static void a_part_of_a_split_is_found_from_either_end(void **state)
{
    (void)state;
    static const struct {
        int64_t     position;
        const char *shape;
    } cases[] = {{0, "[B, 2]"}, {1, "[B, 4]"}, {-1, "[B, 4]"}, {-2, "[B, 2]"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bytes graph = {0};
        split_x(&graph, 2, (int64_t[]){2, 4});
        pick_y(&graph, "parts", cases[i].position);
        cm_graph *g = accepted(&graph);
        has_shape(g, output(g), cases[i].shape);
        assert_int_equal(count_ops(g, CM_OP_SPLIT), g->n_nodes);
    }
}

static void sequences_are_made_longer_and_shorter(void **state)
{
    (void)state;
    bytes graph = {0};
    split_x(&graph, 3, (int64_t[]){1, 2, 3});
    w_int64s(&graph, "one", 1, (int64_t[]){1});
    w_node(&graph, "SequenceErase", "erase", "parts one", "outer", NULL);          /* 1, 3 */
    w_node(&graph, "SequenceInsert", "insert", "outer x one", "longer", NULL);     /* 1, 6, 3 */
    pick_y(&graph, "longer", 1);
    cm_graph *g = accepted(&graph);
    has_shape(g, output(g), "[B, 6]");
    bytes constructed = {0};
    x_input(&constructed, 2, (int64_t[]){-1, 6});
    w_node(&constructed, "SequenceConstruct", "list", "x x x", "parts", NULL);
    bytes stack = {0};
    w_attr_int(&stack, "axis", 1);
    w_attr_int(&stack, "new_axis", 1);
    w_node(&constructed, "ConcatFromSequence", "stack", "parts", "y", &stack);
    y_output(&constructed);
    g = accepted(&constructed);
    has_shape(g, output(g), "[B, 3, 6]");
}

static void parts_are_joined_again(void **state)
{
    (void)state;
    bytes graph = {0}, attrs = {0};
    split_x(&graph, 2, (int64_t[]){2, 4});
    w_attr_int(&attrs, "axis", 1);
    w_node(&graph, "ConcatFromSequence", "join", "parts", "y", &attrs);
    cm_graph *g = accepted(&graph);
    has_shape(g, output(g), "[B, 6]");
}

static void bad_sequences_are_refused(void **state)
{
    (void)state;
    bytes past = {0}, sum = {0}, whole = {0}, none = {0};
    split_x(&past, 2, (int64_t[]){2, 4});
    pick_y(&past, "parts", 2);
    refused(&past, "position 2 of a sequence of 2");
    split_x(&sum, 2, (int64_t[]){2, 3});
    pick_y(&sum, "parts", 0);
    refused(&sum, "do not add up to 6");
    split_x(&whole, 2, (int64_t[]){2, 4});
    w_node(&whole, "Relu", "r", "parts", "y", NULL);
    refused(&whole, "'parts' is a sequence of tensors");
    x_input(&none, 2, (int64_t[]){-1, 6});
    y_output(&none);
    pick_y(&none, "x", 0);
    refused(&none, "is no sequence");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_part_of_a_split_is_found_from_either_end),
        cmocka_unit_test(sequences_are_made_longer_and_shorter),
        cmocka_unit_test(parts_are_joined_again),
        cmocka_unit_test(bad_sequences_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, teardown);
}
