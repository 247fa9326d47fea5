/* SPDX-License-Identifier: Apache-2.0 */
/* test_tune.c - the adapters of LoRA, their types, and the option that asks for them. */
#include "graph/releases.h"
#include "graph_builder.h"

/* A model of two layers, each with one matrix product, and an output layer. */
static int32_t network(void)
{
    int32_t x = op(CM_OP_GEMM, IN(input("B,8"), weight("layers.0.q_proj.weight", "8,8")));
    g->nodes[g->n_nodes - 1].block = 0;
    x = op(CM_OP_GEMM, IN(x, weight("layers.1.q_proj.weight", "8,8")));
    g->nodes[g->n_nodes - 1].block = 1;
    return op(CM_OP_GEMM, IN(x, weight("head.weight", "8,4")));
}

static void tune(cm_precision precision, cm_tuning tuning)
{
    start_over();
    train_with(network(), (cm_train_options){.precision = precision, .optimizer = CM_OPTIMIZER_ADAM, .tuning = tuning});
}

static const cm_tensor *named(const char *name) { return cm__t(step, find_tensor(step, name)); }

TEST(adapters_have_two_matrices)
{
    tune(CM_PRECISION_FP32, (cm_tuning){.rank = 2});
    int32_t adapters = 0, trained = 0;
    for (int32_t t = 0; t < step->n_tensors; t++) {
        const cm_tensor *x = cm__t(step, t);
        adapters += x->role == CM_ROLE_PARAMETER && strstr(x->name, ".lora_") != NULL;
        trained += x->role == CM_ROLE_PARAMETER_GRADIENT;
    }
    assert_int_equal(adapters, 4);
    assert_int_equal(trained, 4);
    assert_true(named("layers.0.q_proj.weight")->frozen);
    assert_true(named("head.weight")->frozen);
}

/* Forward 3 products and 2 x 2 of adapters. Backward: the inputs of all but the first product; both of adapters' inputs
   and weights, but no gradient of the model's input. */
TEST(nothing_flows_below_the_first_adapter)
{
    tune(CM_PRECISION_FP32, (cm_tuning){.rank = 2});
    assert_int_equal(count_type(step, "Gemm"), 3 + 4);
    assert_int_equal(count_type(step, "GemmGradWeight"), 4);
    assert_int_equal(count_type(step, "GemmGradInput"), 2 + 3);
}

TEST(types_of_adapters_and_weights)
{
    tune(CM_PRECISION_AMP_BF16, (cm_tuning){.rank = 2});
    assert_int_equal(named("layers.0.q_proj.weight")->dtype, CM_BF16); /* as the model was loaded */
    for (int32_t t = 0; t < step->n_tensors; t++)
        if (cm__t(step, t)->role == CM_ROLE_PARAMETER && !cm__t(step, t)->frozen)
            assert_int_equal(cm__t(step, t)->dtype, CM_FP32);
    tune(CM_PRECISION_AMP_BF16, (cm_tuning){.rank = 2, .wide_rest = true});
    assert_int_equal(named("head.weight")->dtype, CM_FP32);
    tune(CM_PRECISION_BF16, (cm_tuning){.rank = 2, .wide = true});
    int32_t wide = 0;
    for (int32_t t = 0; t < step->n_tensors; t++)
        wide += cm__t(step, t)->role == CM_ROLE_PARAMETER && cm__t(step, t)->dtype == CM_FP32;
    assert_int_equal(wide, 4);
    tune(CM_PRECISION_AMP_BF16, (cm_tuning){.rank = 2, .narrow = true});
    for (int32_t t = 0; t < step->n_tensors; t++)
        if (cm__t(step, t)->role == CM_ROLE_PARAMETER) assert_int_equal(cm__t(step, t)->dtype, CM_BF16);
}

TEST(dropout_before_the_adapter)
{
    tune(CM_PRECISION_FP32, (cm_tuning){.rank = 2, .dropout = 0.1});
    assert_int_equal(count_type(step, "Dropout"), 2);
}

TEST(nothing_set_changes_nothing)
{
    tune(CM_PRECISION_FP32, (cm_tuning){0});
    assert_int_equal(count_type(step, "GemmGradWeight"), 3);
    assert_false(named("head.weight")->frozen);
}

TEST(option_is_read)
{
    cm_tuning t = {.quantize = CM_QUANTIZE_NF4};
    static const char all[] = "r=16,alpha=32,targets=q_proj+v_proj,dropout=0.05,dtype=fp32,rest=fp32,"
                              "fsdp=layer,save=head+embed";
    assert_int_equal(cm_lora_parse(all, &t, NULL), CM_OK);
    assert_true(t.joined && !t.exempt);
    assert_string_equal(t.save, "head+embed");
    assert_int_equal(t.rank, 16);
    assert_true(t.alpha == 32 && t.dropout == 0.05 && t.wide && t.wide_rest);
    assert_string_equal(t.targets, "q_proj+v_proj");
    assert_int_equal(t.quantize, CM_QUANTIZE_NF4); /* an option of its own */
    assert_int_equal(cm_lora_parse("r=16,dtype=weights", &t, NULL), CM_OK);
    assert_true(t.narrow && !t.wide && !t.wide_rest);
    static const char *const wrong[] = {"", "alpha=2", "r=0", "r=x", "r=4,alpha=-1", "r=4,dropout=1", "r=4,dtype=fp64",
                                        "r=4,targets=", "r=4,bias=1", "r"};
    for (size_t i = 0; i < COUNT(wrong); i++) {
        cm_tuning before = t;
        assert_int_equal(cm_lora_parse(wrong[i], &t, NULL), CM_ERR_ARGUMENT);
        assert_int_equal(t.rank, before.rank);
    }
}

/* PEFT's modules_to_save: a trained copy in the type of the weights, and the frozen original. */
TEST(saved_modules_are_trained_whole)
{
    tune(CM_PRECISION_AMP_BF16, (cm_tuning){.rank = 2, .save = "head"});
    assert_false(named("head.weight")->frozen);
    assert_int_equal(named("head.weight")->dtype, CM_BF16);
    assert_true(gradient_for("head.weight") >= 0);
    assert_true(named("head.weight.original")->frozen);
    assert_int_equal(named("head.weight.original")->dies, step->n_nodes);
    assert_true(named("layers.0.q_proj.weight")->frozen);
}

/* The phase in which the input of the second layer's product is last read. An adapter is beside the first one only. */
static cm_phase last_read(int32_t year)
{
    start_over();
    train_with(network(), (cm_train_options){.precision = CM_PRECISION_BF16, .software = cm__software_of_year(year),
                                             .tuning = {.rank = 2, .targets = "0", .quantize = CM_QUANTIZE_NF4}});
    for (int32_t i = step->n_nodes - 1; i >= 0; i--) {
        const cm_node *n = &step->nodes[i];
        if (n->op != CM_OP_GEMM || n->phase != CM_FORWARD || n->block != 1) continue;
        return step->nodes[cm__t(step, cm__t(step, n->inputs[0])->storage)->dies].phase;
    }
    fail_msg("the second layer has no product");
    return CM_FORWARD;
}

/* bitsandbytes of 2023 saved the input of a 4-bit product, though no gradient needs it. */
TEST(old_products_of_four_bits_save_their_inputs)
{
    assert_int_equal(last_read(2023), CM_BACKWARD);
    assert_int_equal(last_read(2024), CM_FORWARD);
    assert_int_equal(last_read(0), CM_FORWARD);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(adapters_have_two_matrices),
        cmocka_unit_test(nothing_flows_below_the_first_adapter),
        cmocka_unit_test(types_of_adapters_and_weights),
        cmocka_unit_test(dropout_before_the_adapter),
        cmocka_unit_test(nothing_set_changes_nothing),
        cmocka_unit_test(saved_modules_are_trained_whole),
        cmocka_unit_test(old_products_of_four_bits_save_their_inputs),
        cmocka_unit_test(option_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
