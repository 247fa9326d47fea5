/* SPDX-License-Identifier: Apache-2.0 */
/* test_single_operator.c - single operators run at the rates of operator benchmarks. */
#include "chip_device.h"

#define ALONE                                                                                                          \
    ", \"operator\": {\"gemm\": " NUMBER("0.8", "1") ", \"memory\": " NUMBER("0.5", "1") ", \"latency\": "           \
    NUMBER("1e-9", "s") "}"
#define HALF "\"efficiency\": {\"gemm\": " NUMBER("0.2", "1") ", \"conv\": " NUMBER("0.1", "1") "}"

/* A single product reaches the benchmarks' fraction of 1e14, and a convolution improves by the same factor over its
   rate in a model. Nothing is laid out, streamed or exchanged, and operands larger than the chip are processed in
   slices. A model keeps its own rate. */
static void operators_alone_have_the_rates_of_benchmarks(void **state)
{
    (void)state;
    const char *const styles[] = {
        CHIP("dataflow-sections", "1e6", "1e3", HALF ALONE ", \"section_overhead\": " NUMBER("1", "s"), PLACED("DRAM")),
        CHIP("weight-streaming", "1e6", "1e3", HALF ALONE ", \"layer_latency\": " NUMBER("1", "s"), PLACED("DRAM")),
        CHIP("bsp-pipeline", "1e6", "1e3", HALF ALONE, PLACED("SRAM") LINKS)};
    const double product = 2.0 * 1024 * 1024 * 1024, elements = 16.0 * 1024 * 1024;
    for (int k = 0; k < 3; k++) {
        assert_near(ask(styles[k], "gemm:m=1024,n=1024,k=1024", 1, true).info.device_time_s, product / 0.8e14, 1e-6);
        answer conv = ask(styles[k], "conv:n=4,c=64,k=64,h=56,w=56,r=3,s=3,stride=1,pad=1", 1, true);
        assert_near(conv.info.device_time_s, conv.flop / 0.4e14, 1e-6);
        answer relu = ask(styles[k], "elementwise:op=relu,n=16x1024x1024", 1, true);
        /* read and written, two bytes each */
        assert_near(relu.info.device_time_s, fmax(1e-9, elements * 4 / 0.5e18), 1e-6);
        answer model = ask(styles[k], "mlp:in=64,hidden=64x64,out=64", 1, true);
        assert_true(k == 2 || model.info.device_time_s > 1);
    }
}

/* 0.3 of the peak by a benchmark of its own, where products would make it 0.4. */
static void convolutions_may_have_their_own_benchmark(void **state)
{
    (void)state;
    const char *chip = CHIP("bsp-pipeline", "1e6", "1e3", HALF ", \"operator\": {\"gemm\": " NUMBER("0.8", "1") ", \"conv\": "
                            NUMBER("0.3", "1") ", \"memory\": " NUMBER("0.5", "1") "}", PLACED("SRAM") LINKS);
    answer      conv = ask(chip, "conv:n=4,c=64,k=64,h=56,w=56,r=3,s=3,stride=1,pad=1", 1, true);
    assert_near(conv.info.device_time_s, conv.flop / 0.3e14, 1e-6);
}

/* Repeated in one section: 50 dependent steps of 1 us in each direction, without the second of a new section. */
static void time_steps_wait_for_each_other(void **state)
{
    (void)state;
    const char *chip = CHIP("dataflow-sections", "1e6", "1e9", HALF ALONE ", \"section_overhead\": " NUMBER("1", "s")
                            ", \"time_step\": " NUMBER("1e-6", "s"), PLACED("DRAM"));
    answer      lstm = ask_trained(chip, "rnn:steps=50,batch=4,input=16,hidden=16,cell=lstm", (cm_train_options){0},
                                   (cm_predict_options){.batch = 1});
    assert_near(lstm.info.device_time_s, 100e-6, 5e-2);
}

static void cached_operands_are_read_from_the_cache(void **state)
{
    (void)state;
    const char *chip = CHIP("kernel-by-kernel", "1e6", "1e9", EFFICIENCY("1") ALONE,
                            ", \"placement\": {\"ephemeral\": \"DRAM\"}");
    answer      small = ask(chip, "elementwise:op=relu,n=100x1000", 1, true);
    answer      large = ask(chip, "elementwise:op=relu,n=1000x1000", 1, true);
    /* 400,000 bytes at 0.5e18 B/s: the minimum time of an operator counts */
    assert_near(small.info.device_time_s, 1e-9, 1e-6);
    assert_near(large.info.device_time_s, 4e6 / 1e9, 1e-6);
}

/* Repetition on the device: the host's 1 s of a step is a network's alone. */
static void no_host_starts_an_operator(void **state)
{
    (void)state;
    const char *chip = CHIP("kernel-by-kernel", "1e6", "1e9", EFFICIENCY("1") ALONE ", \"step_overhead\": " NUMBER("1", "s"),
                            ", \"placement\": {\"ephemeral\": \"DRAM\"}");
    assert_near(ask(chip, "gemm:m=1024,n=1024,k=1024", 1, true).info.host_time_s, 0, 1e-9);
    assert_near(ask(chip, "mlp:in=64,hidden=64x64,out=64", 1, true).info.host_time_s, 1, 1e-6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_host_starts_an_operator),
        cmocka_unit_test(operators_alone_have_the_rates_of_benchmarks),
        cmocka_unit_test(convolutions_may_have_their_own_benchmark),
        cmocka_unit_test(time_steps_wait_for_each_other),
        cmocka_unit_test(cached_operands_are_read_from_the_cache),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
