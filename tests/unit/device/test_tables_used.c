/* SPDX-License-Identifier: Apache-2.0 */
/* test_tables_used.c - the questions that use a profile's tables, and profiles whose tables none uses. */
#include "time_device.h"

#define ROWS "[[1, 64, 64, 64, 1e-5, 1]]"
#define RUNTIMES(names) ", \"runtimes\": [" names "]"
#define FORWARD TABLE("gemm", "forward", "nn", "bf16", GEMM_DIMS, ROWS)
#define BACKWARD TABLE("gemm", "bwd_weight", "tn", "bf16", GEMM_DIMS, ROWS)

static cm_status check(const char *text, cm_profile_summary *summary, cm_diag *diag)
{
    write_file("used.json", text);
    return cm_profile_check(file_named("used.json"), summary, diag);
}

static void uses_are_by_runtime_precision_and_pass(void **state)
{
    (void)state;
    cm_profile_summary s;
    cm_diag            diag = {0};
    assert_int_equal(check(TIME_DEVICE(KERNELS(FORWARD ", " BACKWARD)), &s, &diag), CM_OK);
    assert_int_equal(s.n_uses, 1);
    assert_int_equal(s.uses[0].runtime, CM_RUNTIME_TORCH_EAGER);
    assert_int_equal(s.uses[0].tables, 2);
    assert_int_equal(s.uses[0].rows, 2);
    assert_true(s.uses[0].forward && s.uses[0].backward && !s.uses[0].update);
    assert_true(s.uses[0].precisions[CM_PRECISION_BF16] && !s.uses[0].precisions[CM_PRECISION_FP32]);
    assert_int_equal(check(TIME_DEVICE(""), &s, &diag), CM_OK);
    assert_int_equal(s.n_uses, 0);
}

static void tables_of_a_runtime_that_does_not_run_are_refused(void **state)
{
    (void)state;
    cm_profile_summary s;
    cm_diag            diag = {0};
    assert_int_equal(check(TIME_DEVICE(KERNELS(FORWARD) RUNTIMES("\"native\"")), &s, &diag), CM_ERR_FORMAT);
    assert_non_null(strstr(diag.reason, "they are of torch-eager, and timed runs native"));
    assert_int_equal(check(TIME_DEVICE(KERNELS(FORWARD) RUNTIMES("\"native\", \"torch-eager\"")), &s, &diag), CM_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(uses_are_by_runtime_precision_and_pass),
        cmocka_unit_test(tables_of_a_runtime_that_does_not_run_are_refused),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
