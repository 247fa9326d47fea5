/* SPDX-License-Identifier: Apache-2.0 */
/* test_update.c - optimizer state, and the FLOP and bytes of the update. */
#include "graph_builder.h"

enum { P = 8 * 6 + 6 }; /* parameters of the model below */

static const cm_node *update_of(cm_optimizer optimizer, cm_precision precision)
{
    start_over();
    int32_t y = op(CM_OP_GEMM, IN(input("B,8"), weight("w", "8,6"), weight("b", "6")));
    train_with(y, (cm_train_options){.precision = precision, .optimizer = optimizer});
    assert_int_equal(count_type(step, "Update"), 1); /* one for all parameters */
    return find_node(step, "Update");
}

/* States per parameter, and FLOP per parameter in PyTorch's formulas. */
static const struct {
    cm_optimizer optimizer;
    int          states, flop;
} optimizers[] = {
    {CM_OPTIMIZER_SGD, 0, 2},      /* p -= lr g */
    {CM_OPTIMIZER_MOMENTUM, 1, 4}, /* v = mu v + g; p -= lr v */
    {CM_OPTIMIZER_ADAM, 2, 14},
    {CM_OPTIMIZER_ADAMW, 2, 16},   /* and p -= lr wd p */
};

TEST(state_flop_and_bytes)
{
    for (size_t i = 0; i < COUNT(optimizers); i++) {
        const cm_node *n = update_of(optimizers[i].optimizer, CM_PRECISION_FP32);
        int            states = optimizers[i].states;
        poly_is(n->flop, optimizers[i].flop * P, 0, 0);
        poly_is(n->read_bytes, 4 * (2 + states) * P, 0, 0);  /* parameter, gradient, state */
        poly_is(n->write_bytes, 4 * (1 + states) * P, 0, 0); /* parameter, state */
        assert_int_equal(n->n_inputs, 2 * (2 + states));
        assert_int_equal(n->phase, CM_UPDATE);
        assert_string_equal(n->name, cm_optimizer_name(optimizers[i].optimizer));
    }
}

TEST(state_is_like_its_parameter)
{
    update_of(CM_OPTIMIZER_ADAM, CM_PRECISION_AMP_BF16);
    const cm_tensor *state = cm__t(step, find_tensor(step, "w.state2"));
    assert_int_equal(state->role, CM_ROLE_STATE);
    assert_int_equal(state->dtype, CM_FP32);
    assert_string_equal(cm__dims_text(step, state), "[8, 6]");
    assert_int_equal(state->dies, step->n_nodes);
    update_of(CM_OPTIMIZER_ADAM, CM_PRECISION_BF16);
    assert_int_equal(cm__t(step, find_tensor(step, "w.state1"))->dtype, CM_BF16);
}

/* Megatron-LM's precision-aware optimizer: moments in bf16 beside fp32 master weights; NeMo's: no master weights.
   Weights in fp32 have none to begin with. */
TEST(moments_of_16_bits)
{
    start_over();
    int32_t          y = op(CM_OP_GEMM, IN(input("B,8"), weight("w", "8,6"), weight("b", "6")));
    cm_train_options o = {.precision = CM_PRECISION_BF16, .optimizer = CM_OPTIMIZER_ADAMW, .master = true,
                          .megatron.moments = CM_MOMENTS_BF16};
    train_with(y, o);
    assert_int_equal(cm__t(step, find_tensor(step, "w.state1"))->dtype, CM_BF16);
    assert_int_equal(cm__t(step, find_tensor(step, "w.state2"))->dtype, CM_BF16);
    assert_int_equal(cm__t(step, find_tensor(step, "w.master"))->dtype, CM_FP32);
    poly_is(find_node(step, "Update")->read_bytes, (2 + 2 + 2 + 2 + 4) * P, 0, 0);
    start_over();
    y = op(CM_OP_GEMM, IN(input("B,8"), weight("w", "8,6"), weight("b", "6")));
    o.megatron.moments = CM_MOMENTS_WEIGHTS;
    train_with(y, o);
    assert_int_equal(cm__t(step, find_tensor(step, "w.state2"))->dtype, CM_BF16);
    poly_is(find_node(step, "Update")->read_bytes, (2 + 2 + 2 + 2) * P, 0, 0); /* and no master weights */
    start_over();
    y = op(CM_OP_GEMM, IN(input("B,8"), weight("w", "8,6"), weight("b", "6")));
    o.precision = CM_PRECISION_FP32;
    train_with(y, o);
    assert_int_equal(cm__t(step, find_tensor(step, "w.state1"))->dtype, CM_FP32);
}

/* bitsandbytes: a byte per number and an fp32 scale per 256 from 4,096 numbers on, 32 bits below; paged states keep 32
   bits beside weights of 16. */
TEST(states_of_8_bits)
{
    start_over();
    int32_t y = op(CM_OP_GEMM, IN(input("B,64"), weight("w", "64,80"), weight("b", "80")));
    train_with(y, (cm_train_options){.precision = CM_PRECISION_BF16, .optimizer = CM_OPTIMIZER_ADAMW_8BIT});
    assert_true(cm_tensor_bytes(cm__t(step, find_tensor(step, "w.state1"))).c[0] == 64 * 80 + 4 * 20);
    assert_true(cm_tensor_bytes(cm__t(step, find_tensor(step, "b.state2"))).c[0] == 4 * 80);
    train_with(y, (cm_train_options){.precision = CM_PRECISION_BF16, .optimizer = CM_OPTIMIZER_PAGED_ADAMW});
    assert_true(cm_tensor_bytes(cm__t(step, find_tensor(step, "w.state1"))).c[0] == 4 * 64 * 80);
}

TEST(half_parameters_move_half_the_bytes)
{
    const cm_node *n = update_of(CM_OPTIMIZER_ADAM, CM_PRECISION_BF16);
    poly_is(n->read_bytes, 2 * (2 + 2) * P, 0, 0);
    poly_is(n->write_bytes, 2 * (1 + 2) * P, 0, 0);
}

TEST(gradients_live_until_the_update)
{
    update_of(CM_OPTIMIZER_SGD, CM_PRECISION_FP32);
    const cm_tensor *gradient = cm__t(step, gradient_for("w"));
    assert_int_equal(gradient->role, CM_ROLE_PARAMETER_GRADIENT);
    assert_int_equal(gradient->dies, step->n_nodes - 1);
}

/* During the update only parameters, gradients, state and the script's tensors are in memory: x, y, the labels and
   the loss. */
TEST(state_counts_into_memory)
{
    for (size_t i = 0; i < COUNT(optimizers); i++) {
        update_of(optimizers[i].optimizer, CM_PRECISION_FP32);
        poly_is(cm__alive_bytes(step->ctx, step)[step->n_nodes - 1], 4 * (2 + optimizers[i].states) * P + 4, 4 * (8 + 6) + 8, 0);
    }
}

TEST(nothing_to_update_is_no_update)
{
    train(op(CM_OP_RELU, IN(input("B,10"))));
    assert_int_equal(count_type(step, "Update"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(state_flop_and_bytes),
        cmocka_unit_test(state_is_like_its_parameter),
        cmocka_unit_test(moments_of_16_bits),
        cmocka_unit_test(states_of_8_bits),
        cmocka_unit_test(half_parameters_move_half_the_bytes),
        cmocka_unit_test(gradients_live_until_the_update),
        cmocka_unit_test(state_counts_into_memory),
        cmocka_unit_test(nothing_to_update_is_no_update),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
