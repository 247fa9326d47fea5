/* SPDX-License-Identifier: Apache-2.0 */
/* test_sections.c - sections of a graph: filling, section changes, and tensors that leave the chip. */
#include "chip_device.h"

static void a_pipeline_is_filled_and_drained_once(void **state)
{
    (void)state;
    for (int64_t batch = 1; batch <= 16; batch *= 4) {
        answer one = ask(SECTIONS("1e12", "1e18", "1", "1e-9"), "resnet18", batch, false);
        answer five = ask(SECTIONS("1e12", "1e18", "5", "1e-9"), "resnet18", batch, false);
        assert_near(one.info.device_time_s, one.flop / 1e14, 1e-2);
        assert_near(five.info.device_time_s / one.info.device_time_s, ((double)batch + 4) / (double)batch, 1e-3);
        assert_true(one.info.launches == 1); /* the whole graph fits the chip */
    }
}

/* A hidden layer's results are read in backward by the next product and by their own gradient; the chip is fast. */
static void what_backward_reads_leaves_the_chip_and_comes_back(void **state)
{
    (void)state;
    const char *profile = SECTIONS("1e12", "1e6", "1", "1e-9");
    double      seconds[2][2];
    for (int wide = 0; wide < 2; wide++)
        for (int twice = 0; twice < 2; twice++)
            seconds[wide][twice] = ask(profile, wide ? "mlp:in=10,hidden=3000,out=10" : "mlp:in=10,hidden=1000,out=10",
                                       twice ? 2000 : 1000, false).info.device_time_s;
    double per_sample = (seconds[1][1] - seconds[1][0] - seconds[0][1] + seconds[0][0]) / 1000;
    assert_near(per_sample, 2000 * 2 * 2 / 1e6, 1e-6); /* two bytes per number, written and read */
    answer inference = ask(profile, "mlp:in=10,hidden=1000,out=10", 1000, true);
    assert_true(inference.info.device_time_s < 1e-6); /* nothing is stored */
}

static void sections_cost_their_change_and_their_traffic(void **state)
{
    (void)state;
    answer a = ask(SECTIONS("2e7", "1e18", "1", "1e-3"), "resnet18", 4, false);
    answer b = ask(SECTIONS("2e7", "1e18", "1", "2e-3"), "resnet18", 4, false);
    assert_true(a.info.launches >= 3); /* forward, backward, update */
    assert_near(b.info.device_time_s - a.info.device_time_s, a.info.launches * 1e-3, 1e-6);
    answer slow = ask(SECTIONS("2e7", "1e8", "1", "1e-9"), "resnet18", 4, false);
    answer slower = ask(SECTIONS("2e7", "5e7", "1", "1e-9"), "resnet18", 4, false);
    assert_near(slower.info.device_time_s, 2 * slow.info.device_time_s, 1e-6);
}

/* The chip's memory does not grow with the batch: samples are pipelined. */
static void one_section_runs_any_batch(void **state)
{
    (void)state;
    const char *profile = SECTIONS("3e8", "1e9", "1", "1e-3");
    answer      few = ask(profile, "resnet18", 8, false), many = ask(profile, "resnet18", 512, false);
    assert_true(few.info.launches == 1 && many.info.launches == 1);
    assert_int_equal(many.info.micro_batch, 512);
    answer parted = ask(SECTIONS("2e7", "1e9", "1", "1e-3"), "resnet18", 8, false); /* not even one sample fits */
    assert_true(parted.info.launches > 3);
}

#define TWO_CHIPS(rate, link)                                                                                          \
    CHIP("dataflow-sections", "1e9", rate, EFFICIENCY("1") ", \"section_overhead\": " NUMBER("1e-9", "s"),            \
         PLACED("DRAM") ", \"links\": [{\"name\": \"link\", \"reach\": \"node\", \"bandwidth\": " NUMBER(link, "B/s")  \
         ", \"devices\": 8}]")

/* One copy on two chips computes twice as fast, unless the link between them is slower than that. */
static void two_chips_run_one_copy(void **state)
{
    (void)state;
    const char        *mlp = "mlp:in=1000,hidden=1000x1000x1000,out=1000";
    cm_predict_options one = {.batch = 4096}, two = {.batch = 4096, .plan.pp = 2};
    answer alone = ask_with(TWO_CHIPS("1e18", "1e18"), mlp, false, one);
    answer both = ask_with(TWO_CHIPS("1e18", "1e18"), mlp, false, two);
    answer far = ask_with(TWO_CHIPS("1e18", "1e9"), mlp, false, two);
    assert_int_equal(both.info.devices, 2);
    assert_near(both.info.device_time_s, alone.info.device_time_s / 2, 1e-3);
    /* 4,096 samples of 1,000 numbers of two bytes, there and back */
    assert_near(far.info.device_time_s, 2 * 4096 * 1000 * 2 / 1e9, 1e-3);
}

/* The update of a model that fits the chip with its gradients takes no traffic off the chip. */
static void a_small_model_is_updated_on_the_chip(void **state)
{
    (void)state;
    const char *mlp = "mlp:in=1000,hidden=1000x1000x1000,out=1000"; /* 4 million weights of two bytes */
    answer      inside = ask(SECTIONS("1e8", "1e9", "1", "1e-9"), mlp, 1, false);
    answer      outside = ask(SECTIONS("2.5e7", "1e9", "1", "1e-9"), mlp, 1, false);
    assert_true(inside.info.device_time_s < 1e-4);
    assert_true(outside.info.device_time_s > 2 * 4e6 / 1e9); /* at least all weights once, at 1 GB/s */
}

#define REACHED(share)                                                                                                 \
    CHIP("dataflow-sections", "1e12", "1e6", "\"efficiency\": {\"gemm\": " NUMBER("1", "1") ", \"memory\": "          \
         NUMBER(share, "1") "}, \"section_overhead\": " NUMBER("1e-12", "s"), PLACED("DRAM"))

/* A graph of one section reaches the same share of the bandwidth as any other. */
static void one_section_reaches_the_share_of_the_bandwidth(void **state)
{
    (void)state;
    const char *mlp = "mlp:in=10,hidden=1000,out=10";
    answer      all = ask(REACHED("1"), mlp, 1000, false), half = ask(REACHED("0.5"), mlp, 1000, false);
    assert_true(all.info.launches == 1 && half.info.launches == 1);
    assert_near(half.info.device_time_s, 2 * all.info.device_time_s, 1e-6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_chips_run_one_copy),
        cmocka_unit_test(a_small_model_is_updated_on_the_chip),
        cmocka_unit_test(a_pipeline_is_filled_and_drained_once),
        cmocka_unit_test(what_backward_reads_leaves_the_chip_and_comes_back),
        cmocka_unit_test(sections_cost_their_change_and_their_traffic),
        cmocka_unit_test(one_section_runs_any_batch),
        cmocka_unit_test(one_section_reaches_the_share_of_the_bandwidth),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
