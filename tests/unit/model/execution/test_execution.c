/* SPDX-License-Identifier: Apache-2.0 */
/* test_execution.c - devices without kernel tables, and the values that every execution model reports. */
#include "chip_device.h"

static void a_kernel_takes_its_share_of_the_peak(void **state)
{
    (void)state;
    answer a = ask(KERNELS("0.5", "1e18"), "gemm:m=1024,n=1024,k=1024", 1, true);
    assert_near(a.info.device_time_s, 2.0 * 1024 * 1024 * 1024 / 0.5e14, 1e-6);
    assert_near(a.info.step_time_s, a.info.device_time_s + 1e-3, 1e-9);
    answer half = ask(KERNELS("0.25", "1e18"), "gemm:m=1024,n=1024,k=1024", 1, true);
    assert_near(half.info.device_time_s, 2 * a.info.device_time_s, 1e-6);
}

static void a_kernel_takes_no_less_than_its_traffic(void **state)
{
    (void)state;
    answer a = ask(KERNELS("0.5", "1e9"), "gemm:m=1024,n=1024,k=1024", 1, true);
    assert_near(a.info.device_time_s, 3.0 * 1024 * 1024 * 2 / 1e9, 1e-6); /* three matrices, two bytes per number */
}

#define LANES(lanes)                                                                                                   \
    CHIP("bsp-pipeline", "1e12", "1e18", EFFICIENCY("1") ", \"lanes\": " NUMBER(lanes, "1"), PLACED("SRAM") LINKS)

/* Groups of four channels use a quarter of units with sixteen lanes. Without groups all lanes are used. */
static void narrow_groups_leave_units_idle(void **state)
{
    (void)state;
    const char *grouped = "conv:n=4,c=64,k=64,h=56,w=56,r=3,s=3,stride=1,pad=1,groups=16";
    const char *narrow = "conv:n=4,c=4,k=64,h=56,w=56,r=3,s=3,stride=1,pad=1";
    double      all = ask(LANES("1"), grouped, 1, true).info.device_time_s;
    assert_near(ask(LANES("16"), grouped, 1, true).info.device_time_s, 4 * all, 1e-6);
    assert_near(ask(LANES("4"), grouped, 1, true).info.device_time_s, all, 1e-6);
    assert_near(ask(LANES("16"), narrow, 1, true).info.device_time_s,
                ask(LANES("1"), narrow, 1, true).info.device_time_s, 1e-6);
}

/* A product sums over whole vectors: 1,000 numbers take four of 320, and 640 fill two. */
static void a_product_fills_whole_lanes(void **state)
{
    (void)state;
    const char *odd = "gemm:m=256,n=256,k=1000", *even = "gemm:m=256,n=256,k=640";
    assert_near(ask(LANES("320"), odd, 1, true).info.device_time_s, 1.28 * ask(LANES("1"), odd, 1, true).info.device_time_s, 1e-6);
    assert_near(ask(LANES("320"), even, 1, true).info.device_time_s, ask(LANES("1"), even, 1, true).info.device_time_s, 1e-6);
}

/* The units take new weights while 20 rows could pass: 80 rows take as long as 100. */
static void a_product_waits_for_its_weights(void **state)
{
    (void)state;
    const char *chip = CHIP("bsp-pipeline", "1e12", "1e18", EFFICIENCY("1") ", \"lanes\": " NUMBER("320", "1") ", \"weight_load\": "
                            NUMBER("20", "1"), PLACED("SRAM") LINKS);
    answer      rows = ask(chip, "gemm:m=80,n=640,k=320", 1, true);
    assert_near(rows.info.device_time_s, rows.flop / 1e14 * 100 / 80, 1e-6);
}

#define MAPPED(more)                                                                                                   \
    CHIP("dataflow-sections", "1e12", "1e18", EFFICIENCY("1") ", \"compiler_share\": " NUMBER("0.25", "1")             \
         more, PLACED("DRAM"))

/* Products of a graph that the compiler alone lays out take four times as long, if it reaches a quarter of the rate. */
static void a_graph_may_be_laid_out_by_the_compiler_alone(void **state)
{
    (void)state;
    double by_hand = ask(MAPPED(""), "resnet18", 4, false).info.device_time_s;
    answer alone = ask(MAPPED(", \"compiler_mapped\": " NUMBER("1", "1")), "resnet18", 4, false);
    assert_near(alone.info.device_time_s, 4 * by_hand, 1e-2);
}

static void the_error_of_the_fit_is_the_interval(void **state)
{
    (void)state;
    const char *model = "bert:layers=2,hidden=64,heads=2";
    answer      narrow = ask(STREAMING("1e12", "1e18", ", \"error\": " NUMBER("0.1", "1")), model, 4, false);
    answer      wide = ask(STREAMING("1e12", "1e18", ", \"error\": " NUMBER("0.4", "1")), model, 4, false);
    assert_near(log(narrow.info.interval_s[1] / narrow.info.step_time_s), 1.645 * 0.1, 1e-6);
    assert_near(log(wide.info.step_time_s / wide.info.interval_s[0]), 1.645 * 0.4, 1e-6);
    answer conv = ask(STREAMING("1e12", "1e18",
                                ", \"error\": " NUMBER("0.1", "1") ", \"conv_error\": " NUMBER("0.5", "1")),
                      "resnet18", 4, false);
    assert_near(log(conv.info.interval_s[1] / conv.info.step_time_s), 1.645 * 0.5, 2e-2);
}

static void times_of_nodes_make_up_the_step(void **state)
{
    (void)state;
    const char *const profiles[] = {KERNELS("0.5", "1e12"), SECTIONS("2e7", "1e11", "5", "1e-3"),
                                    BSP("3e7", "1000", LINKS),
                                    STREAMING("1e8", "1e10", ", \"layer_latency\": " NUMBER("1e-3", "s"))};
    for (int k = 0; k < 4; k++) {
        answer a = ask(profiles[k], "bert:layers=8,hidden=512,heads=8,seq=32,vocab=1000", 16, false);
        double sum = 0;
        for (int p = 0; p < CM_PHASES; p++) sum += a.info.phase_s[p];
        assert_near(sum, a.info.device_time_s, 1e-9);
    }
}

static void calibration_scales_times(void **state)
{
    (void)state;
    answer plain = ask(STREAMING("1e12", "1e18", ""), "bert:layers=2,hidden=512,heads=8", 4, false);
    answer scaled = ask(CHIP("weight-streaming", "1e12", "1e18", EFFICIENCY("1"),
                             PLACED("DRAM") ", \"calibration\": {\"matrix\": " NUMBER("2", "1") "}"),
                        "bert:layers=2,hidden=512,heads=8", 4, false);
    assert_near(scaled.info.device_time_s, 2 * plain.info.device_time_s, 1e-3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kernel_takes_its_share_of_the_peak),
        cmocka_unit_test(a_kernel_takes_no_less_than_its_traffic),
        cmocka_unit_test(narrow_groups_leave_units_idle),
        cmocka_unit_test(a_product_fills_whole_lanes),
        cmocka_unit_test(a_product_waits_for_its_weights),
        cmocka_unit_test(a_graph_may_be_laid_out_by_the_compiler_alone),
        cmocka_unit_test(the_error_of_the_fit_is_the_interval),
        cmocka_unit_test(times_of_nodes_make_up_the_step),
        cmocka_unit_test(calibration_scales_times),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
