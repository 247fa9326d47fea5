/* SPDX-License-Identifier: Apache-2.0 */
/* test_measured.c - kernel tables of a device replace its execution model's rule for the operators that they have. */
#include "chip_device.h"

#define MODEL "mlp:in=4096,hidden=4096,out=4096"
#define SAMPLES 64
#define PRODUCTS 2 /* of forward */
#define ROW_S 0.25 /* longer than any rule and any stream makes a product here */
#define PRODUCT(variant) PRODUCT_OF("native", variant)
#define PRODUCT_OF(runtime, variant)                                                                                   \
    "{\"runtime\": \"" runtime "\", \"op\": \"gemm\", \"pass\": \"forward\", \"variant\": \"" variant                  \
    "\", \"dtype\": \"bf16\", \"kind\": \"measured\", \"source\": \"sheet\", \"date\": \"2026-11\", "                  \
    "\"dims\": [\"batch\", \"m\", \"n\", \"k\"], \"rows\": [[1, 64, 4096, 4096, 0.25, 1]]}"
#define TABLES ", \"kernels\": [" PRODUCT("nt-bias") ", " PRODUCT("nt") "]"
#define OTHER_TABLES ", \"kernels\": [" PRODUCT_OF("torch-eager", "nt-bias") ", " PRODUCT_OF("torch-eager", "nt") "]"

#define HPU(tables)                                                                                                    \
    CHIP("kernel-by-kernel", "1e3", "1e18", EFFICIENCY("1"), ", \"placement\": {\"ephemeral\": \"DRAM\"}" tables)
#define RDU(tables)                                                                                                    \
    CHIP("dataflow-sections", "1e12", "1e18", EFFICIENCY("1") ", \"fill\": " NUMBER("1", "1"), PLACED("DRAM") tables)
#define IPU(tables) BSP("1e12", "1e6", tables)
#define WAFER(tables) CHIP("weight-streaming", "1e12", "1e18", EFFICIENCY("1"), PLACED("DRAM") tables)

static const struct {
    const char *plain, *tabled, *otherwise;
    double      superstep_s; /* of an operator by the rule, which a row contains */
} chips[] = {
    {HPU(""), HPU(TABLES), HPU(OTHER_TABLES), 0},
    {RDU(""), RDU(TABLES), RDU(OTHER_TABLES), 0},
    {IPU(""), IPU(TABLES), IPU(OTHER_TABLES), 1e-3},
    {WAFER(""), WAFER(TABLES), WAFER(OTHER_TABLES), 0},
};

/* Forward takes the time of its two rows beside what the rule gives the other operators. */
static void rows_replace_the_rule(void **state)
{
    (void)state;
    const double rule_s = 2.0 * SAMPLES * 4096 * 4096 / 1e14;
    for (size_t i = 0; i < sizeof chips / sizeof *chips; i++) {
        answer plain = ask(chips[i].plain, MODEL, SAMPLES, true), tabled = ask(chips[i].tabled, MODEL, SAMPLES, true);
        double more = PRODUCTS * (ROW_S - rule_s - chips[i].superstep_s);
        assert_near(tabled.info.device_time_s - plain.info.device_time_s, more, 1e-6);
        assert_near(tabled.info.share[CM_HOW_MEASURED], PRODUCTS * ROW_S / tabled.info.device_time_s, 1e-3);
        assert_true(plain.info.share[CM_HOW_MEASURED] == 0);
    }
}

/* Backward has no rows: it takes the same time as before. */
static void other_operators_keep_the_rule(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        answer plain = ask(chips[i].plain, MODEL, SAMPLES, false), tabled = ask(chips[i].tabled, MODEL, SAMPLES, false);
        assert_true(tabled.info.phase_s[CM_FORWARD] > PRODUCTS * ROW_S);
        assert_near(tabled.info.device_time_s - plain.info.device_time_s, PRODUCTS * ROW_S, 1e-3);
    }
}

/* Measured operators make the interval narrower: here nothing is known about the rule's error. */
static void measured_operators_are_more_certain(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof chips / sizeof *chips; i++) {
        cm_prediction_info plain = ask(chips[i].plain, MODEL, SAMPLES, true).info;
        cm_prediction_info tabled = ask(chips[i].tabled, MODEL, SAMPLES, true).info;
        assert_true(tabled.interval_s[1] / tabled.interval_s[0] < 0.5 * plain.interval_s[1] / plain.interval_s[0]);
    }
}

/* Tables of a runtime that the execution model does not answer change nothing, and a check refuses them. */
static void tables_of_another_runtime_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof chips / sizeof *chips; i++) {
        cm_profile_summary summary;
        cm_diag            diag = {0};
        bool               by_kernels = i == 0;
        double plain_s = ask(chips[i].plain, MODEL, SAMPLES, true).info.device_time_s;
        assert_near(ask(chips[i].tabled, MODEL, SAMPLES, true).info.device_time_s, plain_s + PRODUCTS * ROW_S, 0.01);
        assert_int_equal(cm_profile_check(file_named("chip.json"), &summary, &diag), CM_OK);
        assert_int_equal(summary.n_uses, 1);
        assert_int_equal(summary.uses[0].runtime, CM_RUNTIME_NATIVE);
        assert_int_equal(summary.uses[0].rows, 2);
        assert_true(summary.uses[0].precisions[CM_PRECISION_BF16] && !summary.uses[0].precisions[CM_PRECISION_FP32]);
        assert_true(summary.uses[0].forward && !summary.uses[0].backward && !summary.uses[0].update);
        write_file("chip.json", chips[i].otherwise);
        cm_status status = cm_profile_check(file_named("chip.json"), &summary, &diag);
        assert_int_equal(status == CM_OK, by_kernels); /* such a device may also run PyTorch's kernels */
        assert_true(by_kernels || strstr(diag.reason, "of torch-eager, and chip runs native"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_replace_the_rule),
        cmocka_unit_test(other_operators_keep_the_rule),
        cmocka_unit_test(measured_operators_are_more_certain),
        cmocka_unit_test(tables_of_another_runtime_are_refused),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
