/* SPDX-License-Identifier: Apache-2.0 */
/* test_trace_math.c - the products of recorded attention without a fused kernel, which autocast leaves alone. */
#include "recorded_step.h"

/* q k -> half of it -> softmax -> a view, and a cast that nothing reads -> times v -> times k. */
#define ATTENTION(softmax)                                                                                             \
    TRACE("\"loss\":-1,\"outputs\":[8]",                                                                               \
          T("[[1,0],6,4]", "fp32", "input") "," T("[[1,0],4,6]", "fp32", "input") "," X("[[1,0],6,6]") ","             \
          X("[[1,0],6,6]") "," X("[[1,0],6,6]") "," X("[[1,0],6,6]") "," X("[[1,0],6,6]") "," X("[[1,0],6,4]") ","     \
          X("[[1,0],6,6]"),                                                                                            \
          OP("aten::bmm", "[0,1]", "[2]") "," OPA("aten::mul.Scalar", "[2]", "[3]", "\"other\":0.5") ","               \
          OPA("aten::" softmax, "[3]", "[4]", "\"dim\":-1") "," OP("aten::to.dtype", "[4]", "[5]") ","                 \
          OP("aten::view", "[4]", "[6]") "," OP("aten::bmm", "[6,0]", "[7]") "," OP("aten::bmm", "[7,1]", "[8]"))

static int32_t plain(const cm_graph *g, int op)
{
    int32_t count = 0;
    for (int32_t i = 0; i < g->n_nodes; i++) count += g->nodes[i].op == op && g->nodes[i].plain;
    return count;
}

static void products_beside_a_safe_softmax(void **state)
{
    (void)state;
    cm_graph *safe = accepted(ATTENTION("_safe_softmax"), 0), *other = accepted(ATTENTION("_softmax"), 0);
    assert_int_equal(count_of(safe, "MatMul"), 3);
    assert_int_equal(plain(safe, CM_OP_MATMUL), 2);
    assert_int_equal(plain(safe, CM_OP_SOFTMAX), 1);
    assert_int_equal(cm__attr_int(only(safe, "Softmax"), CM_ATTR_MATH, 0), 1);
    assert_int_equal(plain(other, CM_OP_MATMUL) + plain(other, CM_OP_SOFTMAX), 0);
    assert_null(cm__attr_find(only(other, "Softmax"), CM_ATTR_MATH));
    cm_graph_free(safe);
    cm_graph_free(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_beside_a_safe_softmax),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
