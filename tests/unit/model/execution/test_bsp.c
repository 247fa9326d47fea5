/* SPDX-License-Identifier: Apache-2.0 */
/* test_bsp.c - supersteps, micro-batches and pipelines of chips. */
#include "chip_device.h"

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

/* A normalisation sums, exchanges statistics and scales: three supersteps. An elementwise operator is one. */
static void norms_are_three_supersteps(void **state)
{
    (void)state;
    answer norm = ask(BSP("1e12", "1000", LINKS), "layernorm:rows=64,cols=64", 1, true);
    answer relu = ask(BSP("1e12", "1000", LINKS), "elementwise:op=relu,n=4096", 1, true);
    assert_true(norm.info.launches == 3 && relu.info.launches == 1);
}

/* Each of 50 time steps is a product and its gates; backward has two of each. */
static void time_steps_are_supersteps(void **state)
{
    (void)state;
    const char *lstm = "rnn:steps=50,batch=4,input=16,hidden=16,cell=lstm";
    answer      once = ask_trained(BSP("1e12", "1", LINKS), lstm, (cm_train_options){0}, (cm_predict_options){.batch = 1});
    answer      all = ask_trained(BSP("1e12", "1001", LINKS), lstm, (cm_train_options){0}, (cm_predict_options){.batch = 1});
    assert_near(all.info.phase_s[CM_FORWARD] - once.info.phase_s[CM_FORWARD], 50 * 2e-6, 1e-2);
    assert_near(all.info.phase_s[CM_BACKWARD] - once.info.phase_s[CM_BACKWARD], 50 * 4e-6, 1e-2);
}

/* A stable normalisation sums twice and subtracts the mean in between: a reduction and an elementwise operator more.
   Backward is the same. */
static void stable_norms_are_six_supersteps(void **state)
{
    (void)state;
    const char        *norm = "layernorm:rows=64,cols=64";
    cm_predict_options one = {.batch = 1};
    answer usual = ask_trained(BSP("1e12", "1000", LINKS), norm, (cm_train_options){0}, one);
    answer stable = ask_trained(BSP("1e12", "1000", LINKS), norm, (cm_train_options){.ipu.stable_norms = true}, one);
    assert_near(stable.info.phase_s[CM_FORWARD] - usual.info.phase_s[CM_FORWARD], 3e-6, 1e-6);
    assert_near(stable.info.phase_s[CM_BACKWARD], usual.info.phase_s[CM_BACKWARD], 1e-9);
}

/* TensorFlow's compiler joins elementwise operators with others: 17 activations and 8 sums in ResNet-18. */
static void elementwise_operators_of_tensorflow_are_joined(void **state)
{
    (void)state;
    answer popart = ask_trained(BSP("1e12", "1000", LINKS), "resnet18", (cm_train_options){.inference = true},
                                (cm_predict_options){.batch = 1});
    answer joined = ask_trained(BSP("1e12", "1000", LINKS), "resnet18",
                                (cm_train_options){.inference = true, .ipu.tensorflow = true},
                                (cm_predict_options){.batch = 1});
    assert_near(popart.info.device_time_s - joined.info.device_time_s, 25e-6, 1e-3);
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
    const char *model = "bert:layers=8,hidden=512,heads=8,seq=32,vocab=8,head=classifier"; /* two layers on each chip */
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

/* Graphcore's configurations of BERT-base and BERT-large have 0, 4, 4, 4 and 3, 7, 7, 7 layers on four chips, and 2, 3,
   3, 3, 3, 3, 3, 4 of BERT-large on eight: equal parameters, with the embedding on the first chip. */
static void stages_have_equal_parameters(void **state)
{
    (void)state;
    static const struct {
        const char *model;
        int32_t     chips, layers, most; /* of the model, and of the longest stage */
    } cases[] = {
        {"bert:layers=12,hidden=768,heads=12,seq=32,head=classifier", 4, 12, 4},
        {"bert:layers=24,hidden=1024,heads=16,seq=32,head=classifier", 4, 24, 7},
        {"bert:layers=24,hidden=1024,heads=16,seq=32,head=classifier", 8, 24, 4},
        {"bert:layers=12,hidden=768,heads=12,seq=32,head=classifier,vocab=8", 4, 12, 3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cm_predict_options o = {.plan = {.pp = cases[i].chips, .micro_batch = 1, .accumulate = 100}}, more = o;
        more.plan.accumulate = 200;
        answer few = ask_with(BSP("1e12", "1e-9", LINKS), cases[i].model, false, o);
        answer many = ask_with(BSP("1e12", "1e-9", LINKS), cases[i].model, false, more);
        answer one = ask(BSP("1e12", "1e-9", LINKS), cases[i].model, 1, false);
        double stage = (many.info.device_time_s - few.info.device_time_s) / 100;
        double once = 2 * one.info.phase_s[CM_FORWARD] + one.info.phase_s[CM_BACKWARD];
        assert_near(stage / once, (double)cases[i].most / cases[i].layers, 2e-2);
    }
}

#define SLOW_DRAM(sram, rate)                                                                                          \
    CHIP("bsp-pipeline", sram, rate, EFFICIENCY("1") ", \"superstep\": " NUMBER("1", "1"), PLACED("SRAM") LINKS)

/* Two chips that do not hold the weights and gradients copy the rest from and to DRAM, at least once per step. */
static void what_a_given_pipeline_does_not_hold_is_spilled(void **state)
{
    (void)state;
    const char        *model = "bert:layers=8,hidden=1024,heads=8,seq=32,vocab=1000";
    cm_predict_options two = {.batch = 4, .plan.pp = 2};
    answer             room = ask_with(SLOW_DRAM("1e12", "1e10"), model, false, two);
    answer             none = ask_with(SLOW_DRAM("5e7", "1e10"), model, false, two);
    answer             faster = ask_with(SLOW_DRAM("5e7", "1e12"), model, false, two);
    assert_int_equal(none.status, CM_OK);
    assert_int_equal(none.info.devices, 2);
    /* 8 layers of 12 hidden^2 weights, and as many gradients, of two bytes each, on two chips of 50 MB */
    double beyond = 2 * 2 * 8.0 * 12 * 1024 * 1024 / 2 - 5e7;
    assert_true(none.info.device_time_s - room.info.device_time_s >= 2 * beyond / 1e10);
    assert_true(faster.info.device_time_s < none.info.device_time_s);
}

/* The largest micro-batch of ResNet-50 leaves no room for momentum. Moving it there and back over 20 GB/s would take
   longer than this whole step. */
static void smaller_micro_batches_keep_optimizer_states_on_the_chip(void **state)
{
    (void)state;
    cm_diag          diag = {0};
    cm_device       *bow;
    cm_graph        *forward, *step;
    cm_prediction   *told;
    cm_train_options o = {.precision = CM_PRECISION_AMP_FP16, .optimizer = CM_OPTIMIZER_MOMENTUM};
    assert_int_equal(cm_device_load("graphcore-bow", &bow, &diag), CM_OK);
    assert_int_equal(cm_graph_load("resnet50", NULL, &forward, NULL), CM_OK);
    assert_int_equal(cm_graph_train(forward, &o, &step, NULL), CM_OK);
    assert_int_equal(cm_predict(step, bow, &(cm_predict_options){.batch = 16}, &told, &diag), CM_OK);
    const cm_prediction_info *i = cm_prediction_get_info(told);
    assert_true(i->micro_batch < 16);
    assert_true(i->step_time_s < 2 * 4 * 25557032.0 / 2e10); /* four bytes for each weight */
    cm_prediction_free(told);
    cm_graph_free(step);
    cm_graph_free(forward);
    cm_device_free(bow);
}

/* Training runs in the device's usual loop, so that a step has an eighth of the host's time for a call; one step per
   call may be asked for. A request for inference is a call of its own. */
static void steps_in_a_loop_share_the_time_of_a_call(void **state)
{
    (void)state;
    const char *chip = CHIP("bsp-pipeline", "1e12", "1e18",
                            EFFICIENCY("1") ", \"superstep\": " NUMBER("1", "1") ", \"step_overhead\": "
                            NUMBER("8e-4", "s") ", \"steps_per_call\": " NUMBER("8", "1"), PLACED("SRAM"));
    answer usual = ask(chip, "resnet18", 4, false), request = ask(chip, "resnet18", 4, true);
    answer one = ask_with(chip, "resnet18", false, (cm_predict_options){.batch = 4, .steps_per_call = 1});
    answer many = ask_with(chip, "resnet18", false, (cm_predict_options){.batch = 4, .steps_per_call = 80});
    assert_near(usual.info.host_time_s, 1e-4, 1e-9);
    assert_near(one.info.host_time_s, 8e-4, 1e-9);
    assert_near(many.info.host_time_s, 1e-5, 1e-9);
    assert_near(request.info.host_time_s, 8e-4, 1e-9);
    assert_near(one.info.step_time_s - usual.info.step_time_s, 7e-4, 1e-6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_in_a_loop_share_the_time_of_a_call),
        cmocka_unit_test(what_a_given_pipeline_does_not_hold_is_spilled),
        cmocka_unit_test(smaller_micro_batches_keep_optimizer_states_on_the_chip),
        cmocka_unit_test(supersteps_add_their_cycles),
        cmocka_unit_test(norms_are_three_supersteps),
        cmocka_unit_test(time_steps_are_supersteps),
        cmocka_unit_test(stable_norms_are_six_supersteps),
        cmocka_unit_test(elementwise_operators_of_tensorflow_are_joined),
        cmocka_unit_test(micro_batches_are_what_fits),
        cmocka_unit_test(what_one_chip_does_not_hold_is_a_pipeline),
        cmocka_unit_test(what_no_pipeline_holds_is_refused),
        cmocka_unit_test(pipelines_may_be_asked_for),
        cmocka_unit_test(stages_have_equal_parameters),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
