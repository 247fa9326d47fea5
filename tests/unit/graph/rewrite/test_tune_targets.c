/* SPDX-License-Identifier: Apache-2.0 */
/* test_tune_targets.c - which products get adapters, and which parameters a pattern freezes. */
#include "graph_builder.h"

static void layer(int32_t *x, const char *name)
{
    *x = op(CM_OP_GEMM, IN(*x, weight(name, "8,8")));
    g->nodes[g->n_nodes - 1].block = 0;
}

static cm_status tune(cm_tuning tuning)
{
    start_over();
    int32_t x = input("B,8");
    layer(&x, "layers.0.attn.q_proj.weight");
    layer(&x, "layers.0.attn.v_proj.weight");
    layer(&x, "layers.0.attn.o_proj.weight");
    layer(&x, "layers.0.mlp.up.weight");
    cm__output(g, op(CM_OP_GEMM, IN(x, weight("head.weight", "8,4"))));
    cm__finish(g, CM_FUSE_NONE);
    cm_train_options o = {.precision = CM_PRECISION_FP32, .tuning = tuning};
    return cm_graph_train(g, &o, &step, &diag);
}

static int32_t adapters(void)
{
    int32_t count = 0;
    for (int32_t t = 0; t < step->n_tensors; t++)
        count += step->tensors[t].role == CM_ROLE_PARAMETER && strstr(step->tensors[t].name, ".lora_A") != NULL;
    return count;
}

static int32_t frozen(void)
{
    int32_t count = 0;
    for (int32_t t = 0; t < step->n_tensors; t++)
        count += step->tensors[t].role == CM_ROLE_PARAMETER && step->tensors[t].frozen;
    return count;
}

TEST(targets_by_name)
{
    static const struct {
        const char *targets;
        int32_t     expected;
    } cases[] = {{"", 2}, {"qkv", 2}, {"attention", 3}, {"all-linear", 4}, {"up", 1}, {"q_proj+up", 2}, {"attn", 3}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        cm_tuning t = {.rank = 2};
        strcpy(t.targets, cases[i].targets);
        assert_int_equal(tune(t), CM_OK);
        assert_int_equal(adapters(), cases[i].expected);
        assert_int_equal(frozen(), 5);
    }
}

TEST(a_name_is_a_whole_part)
{
    cm_tuning t = {.rank = 2, .targets = "proj"};
    assert_int_equal(tune(t), CM_ERR_ARGUMENT);
    assert_non_null(strstr(diag.reason, "no linear layer matches the targets 'proj'"));
}

TEST(patterns_freeze)
{
    static const struct {
        const char *pattern;
        int32_t     expected;
    } cases[] = {{"proj", 3}, {"*_proj*", 3}, {"head*", 1}, {"up,head", 2}, {"layers.?.attn.*", 3}, {"*", 5}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_int_equal(tune((cm_tuning){.freeze = cases[i].pattern}), CM_OK);
        assert_int_equal(frozen(), cases[i].expected);
    }
    assert_int_equal(tune((cm_tuning){.freeze = "embed"}), CM_ERR_ARGUMENT);
    assert_int_equal(tune((cm_tuning){.freeze = "proj*"}), CM_ERR_ARGUMENT); /* with wildcards, the whole name */
}

/* Without layers all products but the last have adapters. */
TEST(a_model_without_layers_keeps_its_head)
{
    int32_t x = op(CM_OP_GEMM, IN(input("B,8"), weight("first.weight", "8,8")));
    x = op(CM_OP_GEMM, IN(x, weight("last.weight", "8,4")));
    train_with(x, (cm_train_options){.precision = CM_PRECISION_FP32, .tuning = {.rank = 2, .targets = "all-linear"}});
    assert_int_equal(adapters(), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(targets_by_name),
        cmocka_unit_test(a_name_is_a_whole_part),
        cmocka_unit_test(patterns_freeze),
        cmocka_unit_test(a_model_without_layers_keeps_its_head),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
