/* SPDX-License-Identifier: Apache-2.0 */
/* test_execution_plan.c - tensor and pipeline parallelism on a device that runs whole graphs operator by operator. */
#include "chip_device.h"

#define LINKED_WITH(more, rate)                                                                                        \
    CHIP("kernel-by-kernel", "1e3", "1e18", EFFICIENCY("1") more,                                                       \
         ", \"placement\": {\"ephemeral\": \"DRAM\"}, \"links\": [{\"name\": \"link\", \"reach\": \"node\", "             \
         "\"bandwidth\": " NUMBER(rate, "B/s") ", \"devices\": 64}]")

#define LINKED(rate) LINKED_WITH("", rate)

static const char gpt[] = "gpt:layers=8,hidden=1024,heads=8,seq=1024,vocab=1024";

/* Operators are listed as those of one micro-batch on one device: together with the other micro-batches they take the
   time of the phases, and no product is faster than the peak of 1e14 FLOP/s. */
static void check_operators(const cm_prediction *prediction, const cm_graph *step)
{
    const cm_prediction_info *i = cm_prediction_get_info(prediction);
    double                    before_s = 0, update_s = 0, passes = i->plan.accumulate > 1 ? i->plan.accumulate : 1;
    for (int32_t k = 0; k < cm_prediction_ops(prediction); k++) {
        const cm_op_time *op = cm_prediction_op(prediction, k);
        if (strncmp(op->call, "Gemm", 4) == 0) assert_true(op->flop <= op->time_s * 1e14 * (1 + 1e-9));
        if (cm_node_phase(cm_graph_node(step, op->node)) != CM_UPDATE) before_s += op->time_s;
        else update_s += op->time_s;
    }
    double stages = i->plan.pp > 1 ? i->plan.pp : 1;
    assert_near(before_s * passes / stages, i->phase_s[CM_FORWARD] + i->phase_s[CM_BACKWARD], 1e-9);
    assert_near(update_s, i->phase_s[CM_UPDATE], 1e-9);
}

static double step_in(const char *cluster, const char *profile, cm_plan plan)
{
    cm_diag          diag = {0};
    cm_device       *device;
    cm_graph        *forward, *step;
    cm_fabric       *fabric;
    cm_prediction   *prediction;
    cm_train_options o = {.precision = CM_PRECISION_BF16, .optimizer = CM_OPTIMIZER_SGD};
    write_file("chip.json", profile);
    assert_int_equal(cm_device_load(file_named("chip.json"), &device, &diag), CM_OK);
    assert_int_equal(cm_graph_load(gpt, NULL, &forward, NULL), CM_OK);
    assert_int_equal(cm_graph_train(forward, &o, &step, NULL), CM_OK);
    assert_int_equal(cm_fabric_new(device, cluster, &fabric, &diag), CM_OK);
    cm_predict_options p = {.batch = 8, .plan = plan, .fabric = fabric, .runtime = CM_RUNTIME_NATIVE};
    if (cm_predict(step, device, &p, &prediction, &diag)) fail_msg("%s", diag.reason);
    check_operators(prediction, step);
    double seconds = cm_prediction_get_info(prediction)->step_time_s;
    cm_prediction_free(prediction);
    cm_fabric_free(fabric);
    cm_graph_free(step);
    cm_graph_free(forward);
    cm_device_free(device);
    return seconds;
}

static double step_of(const char *profile, cm_plan plan) { return step_in(NULL, profile, plan); }

/* With links that take no time, two devices that divide operators take half as long, but for operators that Megatron-LM
   does not divide; memory is too fast for these to count here. */
static void tensor_parallel_devices_halve_the_products(void **state)
{
    (void)state;
    double one = step_of(LINKED("1e18"), (cm_plan){0}), two = step_of(LINKED("1e18"), (cm_plan){.devices = 2, .tp = 2});
    double slow = step_of(LINKED("1e9"), (cm_plan){.devices = 2, .tp = 2});
    assert_near(two, one / 2, 5e-2);
    /* per layer two sums in forward and two in backward, of 8 x 1,024 x 1,024 numbers of two bytes, each sent once */
    assert_true(slow - two > 8 * 4 * 8.0 * 1024 * 1024 * 2 / 1e9);
}

/* Products take longer than sums here. If sums of input gradients run behind them, only those of forward are waited for:
   half of all, but for the few at the ends of the model. */
static void sums_run_behind_products(void **state)
{
    (void)state;
    cm_plan plan = {.devices = 2, .tp = 2};
    double  plain = step_of(LINKED("1e11"), plan), free_of_charge = step_of(LINKED("1e18"), plan);
    double  behind = step_of(LINKED_WITH(", \"sums_behind\": " NUMBER("1", "1"), "1e11"), plan);
    assert_near(plain - behind, (plain - free_of_charge) / 2, 5e-2);
}

/* Two stages with eight micro-batches take (8 + 1) / 8 of half the time, if stages are equal. */
static void pipeline_stages_have_a_bubble(void **state)
{
    (void)state;
    double one = step_of(LINKED("1e18"), (cm_plan){.micro_batch = 1, .accumulate = 8});
    double two = step_of(LINKED("1e18"), (cm_plan){.devices = 2, .pp = 2, .micro_batch = 1, .accumulate = 8});
    assert_true(two > one / 2 * 9 / 8 * 0.98);
    assert_true(two < one / 2 * 9 / 8 * 1.25); /* the head makes the last stage longer */
}

/* Equation (4): gradients in 8 bits take less time, and replicas that do not wait take the longer of both stages. */
static void gradients_are_compressed_and_sent_late(void **state)
{
    (void)state;
    cm_plan dp = {.devices = 8, .dp = 8}, small = dp, late = dp, shards = dp;
    small.gradient_bits = 8;
    late.asynchronous = true;
    double alone = step_of(LINKED("1e8"), (cm_plan){0}), all = step_of(LINKED("1e8"), dp);
    assert_true(all > alone);
    assert_true(step_of(LINKED("1e8"), small) < all);
    shards.zero = 2;
    assert_true(step_of(LINKED("1e8"), shards) > alone);
    assert_near(step_of(LINKED("1e18"), late), alone, 1e-6);
    /* gradients there, weights back; links reach at least half of their bandwidth */
    double sent = 2 * 2 * 8.0 * 12 * 1024 * 1024 / 1e8, waits = step_of(LINKED("1e8"), late);
    assert_true(waits > sent && waits < 2 * sent);
}

#define COPIES(overlap, rate)                                                                                          \
    CHIP("dataflow-sections", "1e12", "1e18", EFFICIENCY("1") overlap,                                                  \
         PLACED("DRAM") ", \"links\": [{\"name\": \"link\", \"reach\": \"node\", \"bandwidth\": " NUMBER(rate, "B/s")   \
         ", \"devices\": 64}]")
#define OVERLAP ", \"overlap\": " NUMBER("1", "1")

/* If the profile says that gradients are summed beside backward, a sum that takes less than backward costs only its last
   part; without it, all of it. */
static void gradients_are_summed_beside_backward(void **state)
{
    (void)state;
    cm_plan dp = {.devices = 8, .dp = 8};
    double  alone = step_of(COPIES("", "1e11"), (cm_plan){0});
    double  after = step_of(COPIES("", "1e11"), dp) - alone, beside = step_of(COPIES(OVERLAP, "1e11"), dp) - alone;
    assert_true(after > 0 && after < alone / 2);
    assert_true(beside > 0 && beside < after / 4); /* one of eight layers and the rest of the model */
}

/* Seconds by which a step takes longer over a network of 8 Gb/s than over one of 16 Gb/s. */
static double network_s(int32_t devices)
{
    cm_plan     dp = {.devices = devices, .dp = devices};
    const char *copies = COPIES(OVERLAP, "1e12");
    return step_in("node=4,net=8Gb", copies, dp) - step_in("node=4,net=16Gb", copies, dp);
}

/* Nodes of four sum what their copies have summed beside backward, and wait for it: 2 (n - 1) / n of the gradients pass
   the network of each of n nodes. */
static void nodes_sum_after_backward(void **state)
{
    (void)state;
    assert_near(network_s(12) / network_s(8), 4.0 / 3, 1e-3);
    assert_near(network_s(16) / network_s(8), 6.0 / 4, 1e-3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensor_parallel_devices_halve_the_products), cmocka_unit_test(sums_run_behind_products),
        cmocka_unit_test(pipeline_stages_have_a_bubble),
        cmocka_unit_test(gradients_are_compressed_and_sent_late),
        cmocka_unit_test(gradients_are_summed_beside_backward), cmocka_unit_test(nodes_sum_after_backward),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
