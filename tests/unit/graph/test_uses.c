/* SPDX-License-Identifier: Apache-2.0 */
/* test_uses.c - the readers of each tensor, in node order, with the index of the input. */
#include "graph/uses.h"
#include "graph_builder.h"

static int32_t readers(const cm__uses *u, int32_t tensor) { return u->first[tensor + 1] - u->first[tensor]; }

static void read_by(const cm__uses *u, int32_t tensor, int32_t use, int32_t result, int32_t slot)
{
    const cm__use *at = &u->list[u->first[tensor] + use];
    assert_int_equal(at->node, cm__t(g, result)->producer);
    assert_int_equal(at->slot, slot);
}

TEST(readers_in_order)
{
    int32_t x = input("B,4"), a = op(CM_OP_RELU, IN(x)), b = op(CM_OP_ADD, IN(a, x)), c = op(CM_OP_MUL, IN(b, b));
    cm__uses u = cm__uses_of(g);
    assert_int_equal(readers(&u, x), 2);
    read_by(&u, x, 0, a, 0);
    read_by(&u, x, 1, b, 1);
    assert_int_equal(readers(&u, b), 2); /* a node that reads a tensor twice is listed twice */
    read_by(&u, b, 0, c, 0);
    read_by(&u, b, 1, c, 1);
    assert_int_equal(readers(&u, c), 0);
}

/* An absent optional input has no readers to count, and a later node does not change the snapshot. */
TEST(snapshot)
{
    int32_t x = input("B,3,8,8"), w = weight("w", "6,3,3,3"), y = op(CM_OP_CONV, IN(x, w, -1));
    cm__uses u = cm__uses_of(g);
    op(CM_OP_RELU, IN(y));
    assert_int_equal(readers(&u, y), 0);
    assert_int_equal(readers(&u, w), 1);
    read_by(&u, w, 0, y, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(readers_in_order), cmocka_unit_test(snapshot)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
