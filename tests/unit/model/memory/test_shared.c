/* SPDX-License-Identifier: Apache-2.0 */
/* test_shared.c - tensors that several layers compute in the same way. */
#include "graph/rule.h"
#include "memory_case.h"
#include "model/memory/partition.h"

/* A mask that two layers turn around is turned once; another mask is another tensor, and so is what floats make. */
static void layers_share_what_they_make_of_a_mask(void **state)
{
    (void)state;
    cm__ctx       *ctx = cm__ctx_new(NULL);
    cm_graph      *g = cm__graph_new(ctx, "net", "test");
    const cm_dim   dims[] = {{.fixed = 8}, {.fixed = 8}};
    int32_t        mask = cm__leaf(g, "mask", CM_ROLE_INPUT, CM_BOOL, 2, (cm_dim[]){dims[0], dims[1]});
    int32_t        other = cm__leaf(g, "other", CM_ROLE_INPUT, CM_BOOL, 2, (cm_dim[]){dims[0], dims[1]});
    int32_t        x = cm__leaf(g, "x", CM_ROLE_INPUT, CM_FP32, 2, (cm_dim[]){dims[0], dims[1]});
    int32_t        a = cm__emit(g, CM_OP_NOT, "a", &mask, 1, NULL, 0), b = cm__emit(g, CM_OP_NOT, "b", &mask, 1, NULL, 0);
    int32_t        c = cm__emit(g, CM_OP_NOT, "c", &other, 1, NULL, 0);
    int32_t        d = cm__emit(g, CM_OP_NEG, "d", &x, 1, NULL, 0), e = cm__emit(g, CM_OP_NEG, "e", &x, 1, NULL, 0);
    const int32_t *same = cm__shared_tensors(ctx, g);
    assert_int_equal(same[b], a);
    assert_int_equal(same[c], c);
    assert_int_equal(same[d], d);
    assert_int_equal(same[e], e);
    cm__ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(layers_share_what_they_make_of_a_mask)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
