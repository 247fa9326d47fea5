/* SPDX-License-Identifier: Apache-2.0 */
/* test_execution.c - the rules of the execution models, on devices for which the results have closed formulas. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "centimani.h"
#include "profile_texts.h"

#define CHIP(style, sram, dram_rate, execution, more)                                                                  \
    "{\"schema\": 1, \"id\": \"chip\", \"name\": \"Chip\", \"vendor\": \"Acme\", \"class\": \"npu\", "      \
    "\"style\": \"" style                                                                                               \
    "\", \"modes\": [\"training\", \"inference\"], \"precisions\": [\"bf16\"], \"best_16bit\": \"bf16\", "             \
    "\"clock_hz\": " NUMBER("1e9", "Hz") ", \"peak\": {\"matrix\": {\"bf16\": " NUMBER("1e14", "FLOP/s") "}}, "        \
    "\"memory\": [{\"name\": \"SRAM\", \"place\": \"on-chip\", \"managed\": \"explicit\", \"scope\": \"core\", "       \
    "\"capacity\": " NUMBER(sram, "B") ", \"bandwidth\": " NUMBER("1e18", "B/s") "}, "                                 \
    "{\"name\": \"DRAM\", \"place\": \"off-chip\", \"managed\": \"explicit\", \"scope\": \"device\", "                 \
    "\"capacity\": " NUMBER("1e13", "B") ", \"bandwidth\": " NUMBER(dram_rate, "B/s") "}], "                           \
    "\"execution\": {" execution "}, " SOURCES more "}\n"
#define PLACED(weights)                                                                                                \
    ", \"placement\": {\"input_output\": \"SRAM\", \"weights_biases\": \"" weights "\", \"gradients\": \"" weights     \
    "\", \"algorithm\": \"DRAM\", \"ephemeral\": \"SRAM\"}"
#define EFFICIENCY(gemm) "\"efficiency\": {\"gemm\": " NUMBER(gemm, "1") "}"

typedef struct answer {
    cm_prediction_info info;
    double             flop; /* of products */
    cm_status          status;
    cm_diag            diag;
} answer;

static answer ask_with(const char *profile, const char *model, bool inference, cm_predict_options predict)
{
    answer           a = {.status = CM_OK};
    cm_graph        *forward, *step;
    cm_device       *device;
    cm_prediction   *prediction;
    cm_totals        totals;
    cm_train_options o = {.precision = CM_PRECISION_BF16, .optimizer = CM_OPTIMIZER_SGD, .inference = inference};
    write_file("chip.json", profile);
    assert_int_equal(cm_device_load(file_named("chip.json"), &device, &a.diag), CM_OK);
    assert_int_equal(cm_graph_load(model, NULL, &forward, NULL), CM_OK);
    assert_int_equal(cm_graph_train(forward, &o, &step, NULL), CM_OK);
    cm_fabric *fabric = NULL;
    if (predict.plan.pp > 1) assert_int_equal(cm_fabric_new(device, NULL, &fabric, &a.diag), CM_OK);
    predict.fabric = fabric;
    a.status = cm_predict(step, device, &predict, &prediction, &a.diag);
    cm_fabric_free(fabric);
    if (a.status == CM_OK) a.info = *cm_prediction_get_info(prediction);
    if (a.status == CM_OK) cm_prediction_free(prediction);
    cm_graph_totals(step, predict.batch, &totals);
    for (cm_phase p = CM_FORWARD; p < CM_PHASES; p++) a.flop += cm_totals_matrix_flop(&totals, p);
    cm_graph_free(step);
    cm_graph_free(forward);
    cm_device_free(device);
    return a;
}

static answer ask_pruned(const char *profile, const char *model, int64_t batch, bool inference, cm_sparsity sparsity)
{
    return ask_with(profile, model, inference, (cm_predict_options){.batch = batch, .sparsity = sparsity});
}

static answer ask(const char *profile, const char *model, int64_t batch, bool inference)
{
    return ask_pruned(profile, model, batch, inference, (cm_sparsity){0});
}

static void assert_near(double a, double b, double share)
{
    if (fabs(a - b) > share * fabs(b)) fail_msg("%.9g is not %.9g", a, b);
}

/* ---- kernels ---------------------------------------------------------------------------------------------------- */

#define KERNELS(gemm, rate)                                                                                            \
    CHIP("kernel-by-kernel", "1e3", rate, EFFICIENCY(gemm) ", \"step_overhead\": " NUMBER("1e-3", "s"),                \
         ", \"placement\": {\"ephemeral\": \"DRAM\"}")

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

/* Products are so slow that only their arithmetic counts. */
static void engines_run_beside_each_other(void **state)
{
    (void)state;
#define WIDE "mlp:in=4096,hidden=4096,out=4096"
#define ENGINES(rate, engines)                                                                                         \
    CHIP("kernel-by-kernel", "1e3", rate, EFFICIENCY("1e-6") ", \"engines\": " NUMBER(engines, "1"),                   \
         ", \"placement\": {\"ephemeral\": \"DRAM\"}")
    double products_s = ask(ENGINES("1e18", "1"), WIDE, 4096, false).info.device_time_s;
    double one_s = ask(ENGINES("1e5", "1"), WIDE, 4096, false).info.device_time_s;
    double two_s = ask(ENGINES("1e5", "2"), WIDE, 4096, false).info.device_time_s;
    assert_true(one_s > 1.2 * products_s);
    assert_near(two_s, hypot(products_s, one_s - products_s), 1e-6);
}

/* ---- sections --------------------------------------------------------------------------------------------------- */

#define SECTIONS(sram, rate, fill, overhead)                                                                           \
    CHIP("dataflow-sections", sram, rate, EFFICIENCY("1") ", \"fill\": " NUMBER(fill, "1") ", \"section_overhead\": "  \
         NUMBER(overhead, "s"), PLACED("DRAM"))

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

/* The part of a sample's scores that fits stays on the chip. The rest of 4 heads x 512 x 512 numbers of two bytes is
   written in forward and read in backward, and its gradient is written and read. */
static void scores_that_do_not_fit_leave_the_chip(void **state)
{
    (void)state;
    const char *model = "gpt:layers=1,hidden=256,heads=4,seq=512,vocab=50000";
    answer      narrow = ask(SECTIONS("1e6", "1e9", "1", "1e-9"), model, 3, false);
    answer      wide = ask(SECTIONS("2.2e6", "1e9", "1", "1e-9"), model, 3, false);
    assert_near(narrow.info.device_time_s - wide.info.device_time_s, 3 * 4 * (4 * 512 * 512 * 2 - 1e6) / 1e9, 1e-3);
}

/* ---- supersteps ------------------------------------------------------------------------------------------------- */

#define LINKS                                                                                                          \
    ", \"links\": [{\"name\": \"link\", \"reach\": \"node\", \"bandwidth\": " NUMBER("1e11", "B/s") ", \"devices\": " \
    "64}]"
#define BSP(sram, superstep, links)                                                                                    \
    CHIP("bsp-pipeline", sram, "1e18", EFFICIENCY("1") ", \"superstep\": " NUMBER(superstep, "1"), PLACED("SRAM") links)

static void supersteps_add_their_cycles(void **state)
{
    (void)state;
    answer a = ask(BSP("1e12", "1", LINKS), "resnet18", 4, false);
    answer b = ask(BSP("1e12", "1001", LINKS), "resnet18", 4, false); /* 1,000 more cycles at 1 GHz: 1 us */
    assert_near(a.info.device_time_s, a.flop / 1e14, 2e-2);
    assert_near(b.info.device_time_s - a.info.device_time_s, a.info.launches * 1e-6, 1e-3);
    assert_int_equal(a.info.devices, 1);
    assert_int_equal(a.info.micro_batch, 4);
}

static void micro_batches_are_what_fits(void **state)
{
    (void)state;
    answer all = ask(BSP("1e12", "1000", LINKS), "resnet18", 64, false);
    answer some = ask(BSP("3e8", "1000", LINKS), "resnet18", 64, false);
    assert_int_equal(some.info.devices, 1);
    assert_true(some.info.micro_batch > 1 && some.info.micro_batch < 64);
    double micros = ceil(64.0 / (double)some.info.micro_batch);
    assert_near(some.info.launches / all.info.launches, micros, 2e-2);
}

static void what_one_chip_does_not_hold_is_a_pipeline(void **state)
{
    (void)state;
    const char *small = BSP("3e7", "1000", LINKS), *model = "bert:layers=8,hidden=512,heads=8,seq=32,vocab=1000";
    answer four = ask(small, model, 4, false), eight = ask(small, model, 8, false);
    assert_int_equal(four.status, CM_OK);
    assert_true(four.info.devices > 1);
    assert_int_equal(four.info.devices, eight.info.devices);
    int64_t micro = four.info.micro_batch;
    assert_int_equal(micro, eight.info.micro_batch);
    double chips = four.info.devices, m = ceil(4.0 / (double)micro), n = ceil(8.0 / (double)micro);
    /* number of micro-batches times the time of a stage */
    double stage = (eight.info.device_time_s - four.info.device_time_s) / (n - m);
    assert_near(four.info.device_time_s, (m + chips - 1) * stage + four.info.phase_s[CM_UPDATE], 1e-6);
}

static void what_no_pipeline_holds_is_refused(void **state)
{
    (void)state;
    answer alone = ask(BSP("1e6", "1000", ""), "resnet18", 4, false);
    assert_int_equal(alone.status, CM_ERR_FIT);
    assert_non_null(strstr(alone.diag.reason, "does not fit the on-chip memory of 1 chip"));
    answer many = ask(BSP("1e4", "1000", LINKS), "resnet18", 4, false);
    assert_int_equal(many.status, CM_ERR_FIT);
    assert_non_null(strstr(many.diag.reason, "64 chip, the most that its links connect"));
}

/* Four chips are requested for a model that fits one: forward runs twice, and micro-batches are pipelined. */
static void pipelines_may_be_asked_for(void **state)
{
    (void)state;
    const char *model = "bert:layers=8,hidden=512,heads=8,seq=32,vocab=1000";
    answer      one = ask(BSP("1e12", "1e-9", LINKS), model, 64, false);
    answer      four = ask_with(BSP("1e12", "1e-9", LINKS), model, false,
                                (cm_predict_options){.batch = 64, .plan = {.pp = 4}});
    assert_int_equal(four.status, CM_OK);
    assert_int_equal(one.info.devices, 1);
    assert_int_equal(four.info.devices, 4);
    assert_int_equal(four.info.micro_batch, 1); /* small micro-batches cost nothing here and have the shortest bubble */
    double once = one.info.phase_s[CM_FORWARD], micros = 64;
    assert_near(four.info.phase_s[CM_FORWARD], 2 * once * (micros + 3) / micros / 4, 1e-2);
    answer dear = ask_with(BSP("1e12", "1e6", LINKS), model, false,
                           (cm_predict_options){.batch = 64, .plan = {.pp = 4}});
    assert_true(dear.info.micro_batch > 1); /* a millisecond per operator and micro-batch */
    answer tensor = ask_with(BSP("1e12", "1", LINKS), model, false,
                             (cm_predict_options){.batch = 64, .plan = {.pp = 2, .tp = 2}});
    assert_int_equal(tensor.status, CM_ERR_UNSUPPORTED);
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

/* ---- operators alone -------------------------------------------------------------------------------------------- */

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

/* ---- streaming -------------------------------------------------------------------------------------------------- */

#define STREAMING(sram, rate, more) CHIP("weight-streaming", sram, rate, EFFICIENCY("1") more, PLACED("DRAM"))

static void a_slow_link_bounds_the_step(void **state)
{
    (void)state;
    answer a = ask(STREAMING("1e12", "1e8", ""), "resnet18", 1, false);
    /* 11.69 million weights of two bytes: in for forward, in again and gradients out for backward */
    assert_near(a.info.device_time_s, 2 * 2 * 11689512.0 / 1e8, 2e-2);
}

static void a_fast_link_leaves_the_arithmetic(void **state)
{
    (void)state;
    answer a = ask(STREAMING("1e12", "1e18", ""), "resnet18", 64, false);
    assert_near(a.info.device_time_s, a.flop / 1e14, 1e-2);
}

#define SKIPPING(sram, rate)                                                                                           \
    CHIP("weight-streaming", sram, rate, EFFICIENCY("1"),                                                              \
         PLACED("DRAM") ", \"sparsity\": {\"skipped\": " NUMBER("1", "1") "}")

/* With four fifths pruned, a chip that skips all zeros does a fifth of the arithmetic and streams a fifth of the
   weights. One that skips none does all of it. */
static void pruned_weights_are_skipped(void **state)
{
    (void)state;
    const cm_sparsity most = {.pruned = 0.8};
    const char       *mlp = "mlp:in=4000,hidden=3000x2000,out=1000";
    const double      weights = 4000.0 * 3000 + 3000 * 2000 + 2000 * 1000;
    answer            fast = ask_pruned(SKIPPING("1e12", "1e18"), mlp, 64, false, most);
    assert_near(fast.info.device_time_s, 0.2 * fast.flop / 1e14, 2e-2);
    assert_true(fast.info.sparsity_used);
    answer slow = ask_pruned(SKIPPING("1e12", "1e8"), mlp, 1, false, most);
    /* in for forward; in for backward while gradients go out */
    assert_near(slow.info.device_time_s, 0.2 * 2 * 2 * weights / 1e8, 2e-2);
    answer none = ask_pruned(STREAMING("1e12", "1e18", ""), mlp, 64, false, most);
    assert_near(none.info.device_time_s, none.flop / 1e14, 1e-2);
    assert_false(none.info.sparsity_used);
    assert_int_equal(ask_pruned(STREAMING("1e12", "1e18", ""), "resnet18", 1, true, (cm_sparsity){.pruned = 1}).status,
                     CM_ERR_ARGUMENT);
}

/* Embeddings, attention and the head of a model with repeated blocks are not pruned. */
static void blocks_alone_are_pruned(void **state)
{
    (void)state;
    const char *gpt = "gpt:layers=2,hidden=512,heads=8,seq=256,vocab=8192";
    answer      whole = ask(SKIPPING("1e12", "1e18"), gpt, 8, true);
    answer      pruned = ask_pruned(SKIPPING("1e12", "1e18"), gpt, 8, true, (cm_sparsity){.pruned = 0.9});
    double      in_blocks = 2.0 * 8 * 256 * 2 * 12 * 512 * 512; /* forward products: 12 hidden^2 weights per layer */
    assert_near(whole.info.device_time_s - pruned.info.device_time_s, 0.9 * in_blocks / 1e14, 2e-2);
}

static void layers_have_a_latency(void **state)
{
    (void)state;
    answer a = ask(STREAMING("1e12", "1e18", ", \"layer_latency\": " NUMBER("1", "s")), "resnet18", 1, false);
    assert_near(a.info.device_time_s, a.info.launches, 1e-3);
}

static void activations_bound_the_micro_batch(void **state)
{
    (void)state;
    const char *model = "bert:layers=8,hidden=512,heads=8,seq=128,vocab=1000";
    answer      a = ask(STREAMING("1e8", "1e8", ""), model, 64, false);
    answer      b = ask(STREAMING("1e12", "1e8", ""), model, 64, false);
    assert_true(a.info.micro_batch >= 1 && a.info.micro_batch < 64);
    assert_int_equal(b.info.micro_batch, 64);
    double micros = ceil(64.0 / (double)a.info.micro_batch); /* each micro-batch streams the weights */
    assert_near(a.info.launches / b.info.launches, micros, 1e-9);
    assert_int_equal(ask(STREAMING("1e4", "1e8", ""), model, 64, false).status, CM_ERR_FIT);
}

/* ---- reported values -------------------------------------------------------------------------------------------- */

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
        cmocka_unit_test(engines_run_beside_each_other),
        cmocka_unit_test(a_pipeline_is_filled_and_drained_once),
        cmocka_unit_test(what_backward_reads_leaves_the_chip_and_comes_back),
        cmocka_unit_test(sections_cost_their_change_and_their_traffic),
        cmocka_unit_test(one_section_runs_any_batch),
        cmocka_unit_test(scores_that_do_not_fit_leave_the_chip),
        cmocka_unit_test(supersteps_add_their_cycles),
        cmocka_unit_test(micro_batches_are_what_fits),
        cmocka_unit_test(what_one_chip_does_not_hold_is_a_pipeline),
        cmocka_unit_test(what_no_pipeline_holds_is_refused),
        cmocka_unit_test(pipelines_may_be_asked_for),
        cmocka_unit_test(narrow_groups_leave_units_idle),
        cmocka_unit_test(operators_alone_have_the_rates_of_benchmarks),
        cmocka_unit_test(cached_operands_are_read_from_the_cache),
        cmocka_unit_test(a_slow_link_bounds_the_step),
        cmocka_unit_test(a_fast_link_leaves_the_arithmetic),
        cmocka_unit_test(pruned_weights_are_skipped),
                                       cmocka_unit_test(blocks_alone_are_pruned),
                                       cmocka_unit_test(layers_have_a_latency),
        cmocka_unit_test(activations_bound_the_micro_batch),
        cmocka_unit_test(the_error_of_the_fit_is_the_interval),
        cmocka_unit_test(times_of_nodes_make_up_the_step),
        cmocka_unit_test(calibration_scales_times),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
