/* SPDX-License-Identifier: Apache-2.0 */
/* test_layout.c - reshapes that only change strides, and reshapes for which PyTorch copies. */
#include "graph_builder.h"

static int32_t hidden(const char *shape) { return op(CM_OP_TANH, IN(input(shape))); }

/* Whether the last of these operators copies, and so has its own memory and costs. */
static bool copies(int32_t y)
{
    cm__output(g, y);
    cm__finish(g, CM_FUSE_NONE);
    const cm_node *n = &g->nodes[cm__t(g, y)->producer];
    cm_poly        bytes = cm_tensor_bytes(cm__t(g, y));
    assert_int_equal(cm__t(g, y)->storage == y, !n->view);
    poly_is(n->write_bytes, n->view ? 0 : bytes.c[0], n->view ? 0 : bytes.c[1], 0);
    poly_is(n->flop, 0, 0, 0);
    return !n->view;
}

static bool reshape_copies(int32_t x, const char *shape)
{
    bool answer = copies(op(CM_OP_RESHAPE, IN(x, known(shape))));
    start_over();
    return answer;
}

static int32_t transposed(int32_t x, int64_t a, int64_t b, int64_t c)
{
    return OP(TRANSPOSE, IN(x), INTS(PERM, a, b, c));
}

TEST(what_lies_side_by_side_is_viewed)
{
    assert_false(reshape_copies(hidden("B,3,4"), "-1,12"));
    assert_false(reshape_copies(hidden("B,12"), "0,3,4"));
    assert_false(reshape_copies(hidden("B,3,4"), "3B,4"));
    assert_false(reshape_copies(hidden("B,6,4"), "0,3,8"));
}

TEST(joining_turned_dimensions_copies)
{
    assert_true(reshape_copies(transposed(hidden("B,3,4"), 0, 2, 1), "-1,12"));
    assert_true(reshape_copies(transposed(hidden("B,3,4"), 1, 0, 2), "-1,4"));
}

TEST(splitting_turned_dimensions_does_not)
{
    assert_false(reshape_copies(transposed(hidden("B,3,4"), 0, 2, 1), "0,2,2,3"));
    assert_false(reshape_copies(transposed(hidden("B,3,4"), 2, 0, 1), "4,3B")); /* B and 3 are still adjacent */
    assert_false(reshape_copies(transposed(hidden("B,1,4"), 0, 2, 1), "0,4"));  /* size 1: any position */
}

TEST(turning_back_undoes)
{
    int32_t x = transposed(transposed(hidden("B,3,4"), 0, 2, 1), 0, 2, 1);
    assert_false(reshape_copies(x, "-1,12"));
}

/* [B, S, heads d] to [B, heads, S, d] is free; the way back copies, unless fused attention wrote it. */
TEST(heads_are_split_for_free_and_joined_by_a_copy)
{
    int32_t heads = OP(TRANSPOSE, IN(op(CM_OP_RESHAPE, IN(hidden("B,10,48"), known("0,0,8,6")))),
                       INTS(PERM, 0, 2, 1, 3));
    int32_t back = OP(TRANSPOSE, IN(op(CM_OP_SOFTMAX, IN(heads))), INTS(PERM, 0, 2, 1, 3));
    assert_true(reshape_copies(back, "0,0,48"));
    heads = OP(TRANSPOSE, IN(op(CM_OP_RESHAPE, IN(hidden("B,10,48"), known("0,0,8,6")))), INTS(PERM, 0, 2, 1, 3));
    back = OP(TRANSPOSE, IN(op(CM_OP_ATTENTION, IN(heads, heads, heads))), INTS(PERM, 0, 2, 1, 3));
    assert_false(reshape_copies(back, "0,0,48"));
}

TEST(joining_over_a_gap_copies)
{
    int32_t part = OP(SLICE, IN(hidden("B,10,6")), INTS(STARTS, 0), INTS(ENDS, 5), INTS(AXES, 1));
    assert_false(reshape_copies(part, "0,30")); /* five rows of one sample are contiguous */
    part = OP(SLICE, IN(hidden("B,10,6")), INTS(STARTS, 0), INTS(ENDS, 5), INTS(AXES, 1));
    assert_true(reshape_copies(part, "-1,6")); /* those of all samples are not */
    part = OUTPUTS(2, SPLIT, IN(hidden("B,10,6")), INTS(AXIS, 1))->outputs[1];
    assert_true(reshape_copies(part, "-1,6"));
    part = OP(GATHER, IN(hidden("B,10,6"), integer(0)), INTS(AXIS, 1));
    assert_true(reshape_copies(part, "-1"));
    part = OP(GATHER, IN(hidden("B,10,6"), integer(0)), INTS(AXIS, 1));
    assert_false(reshape_copies(part, "0,2,3"));
}

TEST(every_other_element_is_no_neighbour)
{
    int32_t part = op(CM_OP_SLICE, IN(hidden("B,3,8"), KNOWN(0), KNOWN(8), KNOWN(2), KNOWN(2)));
    assert_false(reshape_copies(part, "0,0,2,2"));
    part = op(CM_OP_SLICE, IN(hidden("B,3,8"), KNOWN(0), KNOWN(8), KNOWN(2), KNOWN(2)));
    assert_false(reshape_copies(part, "0,12")); /* 8 rows, every second one: a constant stride of 2 */
    part = op(CM_OP_SLICE, IN(hidden("B,3,8"), KNOWN(0), KNOWN(6), KNOWN(2), KNOWN(2)));
    assert_true(reshape_copies(part, "0,9"));
}

/* PyTorch has no negative strides. */
TEST(backwards_copies)
{
    assert_true(copies(op(CM_OP_SLICE, IN(hidden("B,8"), KNOWN(-1), KNOWN(INT64_MIN), KNOWN(1), KNOWN(-1)))));
}

/* Keys and values repeated for grouped heads. */
TEST(joining_a_broadcast_copies_what_it_repeats)
{
    int32_t wide = op(CM_OP_EXPAND, IN(OP(UNSQUEEZE, IN(hidden("B,2,7,6")), INTS(AXES, 2)), known("1,1,4,1,1")));
    cm__output(g, op(CM_OP_RESHAPE, IN(wide, known("0,8,7,6"))));
    cm__finish(g, CM_FUSE_NONE);
    const cm_node *n = find_node(g, "Reshape");
    assert_false(n->view);
    poly_is(n->read_bytes, 4 * 8, 4 * 2 * 7 * 6,
            0); /* the shape, a known list of integers, and the keys once */
    poly_is(n->write_bytes, 0, 4 * 8 * 7 * 6, 0);
}

TEST(copies_count_into_memory)
{
    int32_t y = OP(RESHAPE, IN(transposed(hidden("B,3,4"), 0, 2, 1)), INTS(SHAPE, -1, 12));
    cm__output(g, y);
    cm__finish(g, CM_FUSE_NONE);
    poly_is(cm__alive_bytes(g->ctx, g)[g->n_nodes - 1], 0, 3 * 4 * 12, 0); /* x, tanh, the copy */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_lies_side_by_side_is_viewed),
        cmocka_unit_test(joining_turned_dimensions_copies),
        cmocka_unit_test(splitting_turned_dimensions_does_not),
        cmocka_unit_test(turning_back_undoes),
        cmocka_unit_test(heads_are_split_for_free_and_joined_by_a_copy),
        cmocka_unit_test(joining_over_a_gap_copies),
        cmocka_unit_test(every_other_element_is_no_neighbour),
        cmocka_unit_test(backwards_copies),
        cmocka_unit_test(joining_a_broadcast_copies_what_it_repeats),
        cmocka_unit_test(copies_count_into_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
