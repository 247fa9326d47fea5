/* SPDX-License-Identifier: Apache-2.0 */
/* test_case.c - a row as a case: its device, its step, its options, and why it cannot be predicted. */
#include "validate_case.h"

#define MODEL "'model': 'gpt:layers=2,hidden=64,heads=2,seq=32,vocab=100'"
#define ROW "{" MODEL ", 'device': 'nvidia-h200', 'step_time_s': 1"

TEST(members_of_rows)
{
    const json_t *row = json_of("{'a': 'text', 'n': 3, 'model': 'm', 't': true}");
    assert_string_equal(cm__text_of(row, "a"), "text");
    assert_null(cm__text_of(row, "n"));
    assert_null(cm__text_of(row, "none"));
    assert_true(cm__number_of(row, "n", 7) == 3 && cm__number_of(row, "a", 7) == 7 && cm__number_of(row, "t", 7) == 7);
    assert_string_equal(cm__group_of(row), "m");
    assert_string_equal(cm__group_of(json_of("{'model': 'm', 'group': 'g'}")), "g");
}

/* Both IPUs share a fit; an A100 shares none. */
TEST(families_of_fits)
{
    assert_string_equal(cm__family_of(store, "graphcore-bow"), cm__family_of(store, "graphcore-gc200"));
    assert_string_equal(cm__family_of(store, "nvidia-a100-40g"), "nvidia-a100-40g");
}

TEST(options_of_a_row)
{
    cm__case *c = case_of(ROW ", 'batch': 48, 'devices': 4, 'accumulate': 3, 'precision': 'fp16', 'per_device': true}");
    assert_null(c->reason);
    assert_int_equal(c->batch, 48);
    assert_int_equal(c->devices, 4);
    assert_int_equal(c->accumulate, 3);
    assert_true(c->per_device);
    assert_int_equal(cm_graph_precision(c->step), CM_PRECISION_FP16);
    assert_int_equal(c->runtime, CM_RUNTIME_TORCH_EAGER);
    c = case_of(ROW ", 'batch': 48, 'runtime': 'torch-compile'}");
    assert_true(c->devices == 1 && c->accumulate == 1 && !c->per_device);
    assert_int_equal(c->runtime, CM_RUNTIME_TORCH_COMPILE);
}

/* Rows that differ in the trainer's loss and metrics have steps of their own. */
TEST(loss_and_metrics_of_a_row)
{
    cm__case *plain = case_of(ROW ", 'batch': 4}"), *fused = case_of(ROW ", 'batch': 4, 'loss_kernel': 'fused'}"),
             *rated = case_of(ROW ", 'batch': 4, 'loss_kernel': 'fused', 'train_metrics': 2}");
    assert_true(plain->step != fused->step && fused->step != rated->step);
    assert_int_equal(fused->train.loss_kernel, CM_LOSS_KERNEL_FUSED);
    assert_int_equal(fused->train.script.metrics, 0);
    assert_int_equal(rated->train.script.metrics, 2);
    REASON_HAS(case_of(ROW ", 'loss_kernel': 'melted'}"), "melted");
}

/* Members of the set apply to all rows that do not have their own. */
TEST(options_of_a_set)
{
    json_object_set(set, "precision", json_of("'fp16'"));
    json_object_set(set, "per_device", json_true());
    cm__case *c = case_of(ROW ", 'batch': 4}");
    assert_int_equal(cm_graph_precision(c->step), CM_PRECISION_FP16);
    assert_true(c->per_device);
    assert_int_equal(cm_graph_precision(case_of(ROW ", 'batch': 4, 'precision': 'fp32'}")->step), CM_PRECISION_FP32);
}

/* Without a batch, the one that the program would choose for each device. A set of batch sizes has none. */
TEST(the_usual_batch)
{
    cm_step *step;
    int64_t  usual;
    cm__case *c = case_of(ROW "}");
    assert_int_equal(cm__case_step(c, NULL, &step, &diag), CM_OK);
    assert_int_equal(cm_step_usual_batch(step, &usual, &diag), CM_OK);
    cm_step_free(step);
    assert_int_equal(c->batch, usual);
    assert_int_equal(case_of(ROW ", 'devices': 2}")->batch, 2 * usual);
    json_object_set(set, "metric", json_of("'batch'"));
    assert_int_equal(case_of("{" MODEL ", 'device': 'nvidia-h200', 'measured': 1}")->batch, 0);
}

/* Rows share devices and graphs; another precision is another graph. */
TEST(each_is_made_once)
{
    cm__case *a = case_of(ROW ", 'batch': 4}"), *b = case_of(ROW ", 'batch': 8}");
    cm__case *c = case_of(ROW ", 'batch': 4, 'precision': 'fp32'}");
    assert_ptr_equal(a->device, b->device);
    assert_ptr_equal(a->step, b->step);
    assert_ptr_equal(a->device, c->device);
    assert_ptr_not_equal(a->step, c->step);
}

/* Members of another run replace those of the row; a text replaces the device. The row does not change. */
TEST(another_run)
{
    const json_t *row = json_of(ROW ", 'batch': 4}");
    cm__case     *c = cm__case_new(store, set, row, json_of("{'batch': 9}"));
    assert_int_equal(c->batch, 9);
    c = cm__case_new(store, set, row, json_of("'nvidia-t4'"));
    assert_string_equal(cm_device_get_info(c->device)->id, "nvidia-t4");
    assert_int_equal(cm__case_new(store, set, row, NULL)->batch, 4);
}

TEST(why_not)
{
    REASON_HAS(case_of("{'device': 'nvidia-h200', 'step_time_s': 1}"), "no model or no device");
    REASON_HAS(case_of("{" MODEL ", 'step_time_s': 1}"), "no model or no device");
    REASON_HAS(case_of("{'model': 'resnet51', 'device': 'nvidia-h200', 'step_time_s': 1}"), "resnet51");
    REASON_HAS(case_of("{" MODEL ", 'device': 'nvidia-h2000', 'step_time_s': 1}"), "nvidia-h2000");
    REASON_HAS(case_of(ROW ", 'optimizer': 'adamant'}"), "adamant");
    REASON_HAS(case_of(ROW ", 'recompute': 'half'}"), "half");
    REASON_HAS(case_of(ROW ", 'runtime': 'jax'}"), "jax");
    assert_string_equal(case_of(ROW ", 'reason': 'no sizes given'}")->reason, "no sizes given");
    assert_string_equal(case_of(ROW ", 'left_out': 'used by the fit', 'judged_in': 'other'}")->reason,
                        "used by the fit; validated in other");
    assert_string_equal(case_of(ROW ", 'left_out': 'used by the fit'}")->reason, "used by the fit");
}

TEST(a_failed_call_is_a_reason)
{
    cm__case c = {.store = store};
    cm_diag  empty = {0}, said = {.reason = "too large"};
    cm__case_give_up(&c, CM_OK, &said);
    assert_null(c.reason);
    cm__case_give_up(&c, CM_ERR_LIMIT, &said);
    assert_string_equal(c.reason, "too large");
    cm__case_give_up(&c, CM_ERR_LIMIT, &empty);
    assert_string_equal(c.reason, cm_status_text(CM_ERR_LIMIT));
}

TEST(profiles_of_a_set)
{
    json_object_set(set, "id", json_of("'mine'"));
    json_object_set(set, "profiles", json_of("{'text': 'fast', 'bad': {'schema': 1, 'id': 'bad', 'cores': 3}}"));
    REASON_HAS(case_of("{" MODEL ", 'device': 'text', 'step_time_s': 1}"), "'text' is not an object");
    REASON_HAS(case_of("{" MODEL ", 'device': 'bad', 'step_time_s': 1}"), "the set's profile 'bad': ");
    REASON_HAS(case_of("{" MODEL ", 'device': 'absent', 'step_time_s': 1}"), "and none of the set's own");
}

/* A collective has links, and no step. */
TEST(links)
{
    cm__case *c = case_of("{'model': 'all-reduce', 'device': 'nvidia-h200', 'devices': 8, 'link_share': 0.5}");
    assert_null(c->reason);
    assert_null(c->step);
    const cm_fabric *fabric = cm__case_fabric(c);
    assert_non_null(fabric);
    assert_ptr_equal(cm__case_fabric(c), fabric);
    assert_string_equal(cm__cluster_of(c), "");
    c = case_of(ROW ", 'batch': 8, 'devices': 8, 'cluster': 'no-such'}");
    assert_string_equal(cm__cluster_of(c), "no-such");
    assert_null(cm__case_fabric(c));
    REASON_HAS(c, "no-such");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_of_rows),  cmocka_unit_test(families_of_fits),
        cmocka_unit_test(options_of_a_row), cmocka_unit_test(loss_and_metrics_of_a_row),
        cmocka_unit_test(options_of_a_set),
        cmocka_unit_test(the_usual_batch),  cmocka_unit_test(each_is_made_once),
        cmocka_unit_test(another_run),      cmocka_unit_test(why_not),
        cmocka_unit_test(a_failed_call_is_a_reason), cmocka_unit_test(profiles_of_a_set),
        cmocka_unit_test(links),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
