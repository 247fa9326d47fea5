/* SPDX-License-Identifier: Apache-2.0 */
/* test_check_calls.c - measured kernel calls beside predicted ones: errors by class, and malformed files. */
#include <math.h>
#include "time_device.h"

#define ROWS "[[1, 1024, 1024, 1024, 5e-5, 1], [1, 4096, 1024, 1024, 2e-4, 1]]"

static cm_status checked(const char *csv, cm_fitting **fitting, cm_diag *diag)
{
    cm_device *d = device_of(TIME_DEVICE(KERNELS(TABLE("gemm", "forward", "nn", "bf16", GEMM_DIMS, ROWS))));
    write_file("calls.csv", csv);
    cm_status status = cm_fitting_check_calls(d, file_named("calls.csv"), CM_RUNTIME_DEFAULT, fitting, diag);
    cm_device_free(d);
    return status;
}

/* The table has 50 and 200 us. Measured 40 and 200 us: errors of 25 and 0 %; the sums count microseconds. */
static void test_errors(void **state)
{
    (void)state;
    cm_fitting *f;
    cm_diag     diag = {0};
    if (checked("latency_ms,call\n0.04,\"gemm forward nn bf16 1,1024,1024,1024\"\n"
                "0.2,\"gemm forward nn bf16 1,4096,1024,1024\"\n", &f, &diag))
        fail_msg("%s", diag.reason);
    assert_int_equal(cm_fitting_classes(f), 1);
    const cm_fit_class *c = cm_fitting_class(f, 0);
    assert_int_equal(c->n, 2);
    assert_true(fabs(c->mape - 0.125) < 1e-6 && fabs(c->bias - 0.125) < 1e-6);
    assert_true(fabs(c->measured_s - 240e-6) < 1e-12 && fabs(c->off_s - 10e-6) < 1e-11);
    assert_string_equal(c->op, "gemm");
    assert_string_equal(c->dtype, "bf16");
    cm_fitting_free(f);
}

static void test_malformed(void **state)
{
    static const struct {
        const char *csv, *reason;
    } rows[] = {{"call\n\"gemm forward nn bf16 1,1,1,1\"\n", "'latency_ms' are needed"},
                {"call,latency_ms\n", "no rows"},
                {"call,latency_ms\n\"gemm sideways nn bf16 1,1,1,1\",1\n", "line 2: 'gemm sideways"},
                {"call,latency_ms\n\"gemm forward nn bf16 1,1,1\",1\n", "line 2:"},
                {"call,latency_ms\n\"gemm forward nn bf16 1,1,1,1\",0\n", "line 2: latency_ms is '0'"},
                {"call,latency_ms\n\"gemm forward nn bf16 1,1,1,1\",inf\n", "line 2: latency_ms"},
                {"call,latency_ms\n\"gemm forward nn bf16 1,1,1,1\",-1\n", "line 2: latency_ms"}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cm_fitting *f;
        cm_diag     diag = {0};
        assert_int_equal(checked(rows[i].csv, &f, &diag), CM_ERR_FORMAT);
        if (!strstr(diag.reason, rows[i].reason)) fail_msg("'%s' does not say '%s'", diag.reason, rows[i].reason);
    }
    cm_fitting *f;
    assert_int_equal(cm_fitting_check_calls(NULL, "x", CM_RUNTIME_DEFAULT, &f, NULL), CM_ERR_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_errors), cmocka_unit_test(test_malformed)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
