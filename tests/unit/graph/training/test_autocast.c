/* SPDX-License-Identifier: Apache-2.0 */
/* test_autocast.c - what Habana's autocast computes in 16 bits and in fp32. */
#include "graph_builder.h"

static cm_dtype type_of(const char *name) { return cm__t(step, find_tensor(step, name))->dtype; }

static void train_on(bool habana, int32_t y)
{
    y = OP(REDUCE_SUM, IN(y), INTS(KEEPDIMS, 0));
    train_with(y, (cm_train_options){.precision = CM_PRECISION_AMP_BF16, .optimizer = CM_OPTIMIZER_ADAM,
                                     .settled.habana_lists = habana});
}

/* A norm of fp32 numbers, the product and the softmax of its result, a product of numbers and a division. */
static int32_t mixed_model(void)
{
    int32_t h = as("norm", op(CM_OP_LAYER_NORM, IN(input("B,8"), weight("scale", "8"), weight("shift", "8"))));
    h = as("probability", op(CM_OP_SOFTMAX, IN(op(CM_OP_GEMM, IN(h, weight("w", "8,8"))))));
    h = as("product", op(CM_OP_MUL, IN(h, input("B,8"))));
    return as("quotient", op(CM_OP_DIV, IN(h, h)));
}

TEST(habana_has_its_own_lists)
{
    static const struct {
        const char *tensor;
        cm_dtype    on_gpus, on_habana;
    } cases[] = {{"norm", CM_FP32, CM_BF16}, {"probability", CM_FP32, CM_BF16}, {"product", CM_FP32, CM_BF16},
                 {"quotient", CM_FP32, CM_FP32}};
    for (int habana = 0; habana < 2; habana++) {
        start_over();
        train_on(habana, mixed_model());
        for (size_t i = 0; i < COUNT(cases); i++)
            assert_int_equal(type_of(cases[i].tensor), habana ? cases[i].on_habana : cases[i].on_gpus);
    }
}

/* Divisions of 16-bit numbers are in fp32 on Habana's machines alone; weights of norms stay fp32 there. */
TEST(divisions_are_wide_and_norms_keep_their_weights)
{
    for (int habana = 0; habana < 2; habana++) {
        start_over();
        int32_t h = op(CM_OP_GEMM, IN(input("B,8"), weight("w", "8,8")));
        h = as("quotient", op(CM_OP_DIV, IN(h, h)));
        train_on(habana, as("norm", op(CM_OP_LAYER_NORM, IN(h, weight("scale", "8"), weight("shift", "8")))));
        assert_int_equal(type_of("quotient"), habana ? CM_FP32 : CM_BF16);
        const cm_node *norm = &step->nodes[cm__t(step, find_tensor(step, "norm"))->producer];
        assert_int_equal(cm__t(step, norm->inputs[0])->dtype, habana ? CM_BF16 : CM_FP32);
        assert_int_equal(cm__t(step, norm->inputs[1])->dtype, CM_FP32);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(habana_has_its_own_lists),
        cmocka_unit_test(divisions_are_wide_and_norms_keep_their_weights),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
