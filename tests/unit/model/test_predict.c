/* SPDX-License-Identifier: Apache-2.0 */
/* test_predict.c - a step takes its calls plus the gaps between them, or the host's time if that is longer. */
#include <math.h>
#include "time_device.h"
#include "graph/graph.h"
#include "model/step/host.h"

static void near(double got, double expected, double fraction)
{
    if (!(fabs(got - expected) <= fraction * fabs(expected))) fail_msg("%.12g, expected %.12g", got, expected);
}

static cm_graph *step_of(const char *model, bool inference)
{
    cm_graph        *forward, *step;
    cm_load_options  load = {.fuse = CM_FUSE_EAGER};
    cm_train_options train = {.inference = inference};
    assert_int_equal(cm_graph_load(model, &load, &forward, NULL), CM_OK);
    assert_int_equal(cm_graph_train(forward, &train, &step, NULL), CM_OK);
    cm_graph_free(forward);
    return step;
}

static cm_prediction *predict(const cm_graph *step, const cm_device *device, int64_t batch)
{
    cm_prediction     *p;
    cm_predict_options o = {.batch = batch};
    assert_int_equal(cm_predict(step, device, &o, &p, NULL), CM_OK);
    return p;
}

static cm_device *load(const char *id)
{
    cm_device *device;
    assert_int_equal(cm_device_load(id, &device, NULL), CM_OK);
    return device;
}

/* Checks that hold for every prediction. */
static void consistent(const cm_prediction *p, const cm_graph *step, int64_t batch)
{
    const cm_prediction_info *i = cm_prediction_get_info(p);
    double                    share = 0, phases = 0, ops = 0, launches = 0, missing = 0;
    for (int h = 0; h < CM_HOWS; h++) {
        assert_true(i->share[h] >= 0);
        share += i->share[h];
    }
    for (int k = 0; k < CM_PHASES; k++) phases += i->phase_s[k];
    for (int32_t k = 0; k < cm_prediction_ops(p); k++) {
        const cm_op_time *op = cm_prediction_op(p, k);
        assert_in_range(op->node, 0, cm_graph_nodes(step) - 1);
        assert_true(op->time_s > 0 && op->flop >= 0 && op->bytes > 0 && op->launches >= 1);
        ops += op->time_s;
        launches += op->launches;
    }
    for (int32_t k = 0; k < cm_prediction_missing_calls(p); k++) {
        const cm_op_time *m = cm_prediction_missing_call(p, k);
        assert_int_not_equal(m->how, CM_HOW_MEASURED);
        const cm_op_time *before = cm_prediction_missing_call(p, k ? k - 1 : 0);
        assert_true(m->time_s * m->error <= before->time_s * before->error);
        missing += m->time_s;
    }
    near(share, 1, 1e-9);
    near(phases, i->device_time_s, 1e-9);
    near(ops, i->device_time_s, 1e-9);
    near(launches, i->launches, 1e-12);
    near(missing, i->device_time_s * (1 - i->share[CM_HOW_MEASURED]), 1e-6);
    assert_int_equal(i->batch, batch);
    near(i->throughput_samples_s, (double)batch / i->step_time_s, 1e-12);
    assert_true(i->step_time_s >= i->device_time_s && i->step_time_s >= i->host_time_s);
    assert_true(i->interval_s[0] < i->step_time_s && i->step_time_s < i->interval_s[1] && i->interval_s[0] > 0);
    assert_true(isnan(i->mfu) || (i->mfu > 0 && i->mfu < 1)); /* not every type has a known peak */
    assert_true(i->clock > 0.3 && i->clock <= 1);
}

static void every_model_is_consistent(void **state)
{
    static const char *const models[] = {
        "resnet18", "gpt:layers=2,hidden=256,heads=4,seq=128,vocab=1000", "unet",
        "braggnn",  "lstm:input=64,hidden=64,layers=1,seq=10,vocab=100",  "mobilenet-v3-small"};
    static const char *const devices[] = {"nvidia-h200", "nvidia-a100-40g", "amd-mi250", "intel-max1550"};
    (void)state;
    for (int d = 0; d < 4; d++) {
        cm_device *device = load(devices[d]);
        for (int m = 0; m < 6; m++) {
            cm_graph      *step = step_of(models[m], false);
            cm_prediction *p = predict(step, device, 8);
            consistent(p, step, 8);
            cm_prediction_free(p);
            cm_graph_free(step);
        }
        cm_device_free(device);
    }
}

/* A device without tables, host costs or reference device: the sum of its rooflines. */
#define LONE_WITH(more) \
    "{\"schema\": 1, \"id\": \"lone\", \"name\": \"Lone\", \"vendor\": \"Acme\", \"class\": \"npu\", " \
    "\"style\": \"kernel-by-kernel\", \"modes\": [\"training\"], \"precisions\": [\"fp32\", \"bf16\"],\n" CEILINGS( \
        "100", "1e-6") ",\n" SOURCES more "}\n"
#define LONE LONE_WITH("")

static void nothing_measured(void **state)
{
    (void)state;
    cm_device                *device = device_of(LONE);
    cm_graph                 *step = step_of("resnet18", false);
    cm_prediction            *p = predict(step, device, 4);
    const cm_prediction_info *i = cm_prediction_get_info(p);
    assert_true(i->share[CM_HOW_ROOFLINE] == 1);
    assert_true(i->host_time_s == 0 && i->clock == 1);
    assert_true(i->step_time_s == i->device_time_s);
    assert_int_equal(i->runtime, CM_RUNTIME_NATIVE);
    cm_totals t;
    cm_graph_totals(step, 4, &t);
    double flop = 0;
    for (cm_phase k = CM_FORWARD; k < CM_PHASES; k++) flop += cm_totals_matrix_flop(&t, k);
    near(i->mfu, flop / i->step_time_s / 1e14, 1e-9);
    assert_true(i->device_time_s > 1e-6 * cm_prediction_ops(p)); /* each call takes at least a launch */
    cm_prediction_free(p);
    cm_graph_free(step);
    cm_device_free(device);
}

/* There is a gap between all kernels. If the host takes longer, its time is the step time. */
static void device_or_host(void **state)
{
    (void)state;
    cm_graph *step = step_of("resnet18", false);
    for (int slow = 0; slow < 2; slow++) {
        cm_device *device =
            device_of(slow ? TIME_DEVICE(",\n\"host\": [" HOST("gap", "1e-4") "," HOST("step", "1000") "]")
                           : TIME_DEVICE(",\n\"host\": [" HOST("gap", "1e-4") "," HOST("step", "1e-9") "]"));
        cm_prediction            *p = predict(step, device, 64);
        const cm_prediction_info *i = cm_prediction_get_info(p);
        double                    with_gaps = i->device_time_s + 1e-4 * i->launches;
        near(i->step_time_s, slow ? fmax(i->host_time_s, 1000) : with_gaps, 1e-9);
        assert_true(slow ? i->host_time_s > with_gaps : i->host_time_s < with_gaps);
        cm_prediction_free(p);
        cm_device_free(device);
    }
    cm_graph_free(step);
}

/* Kernels of a CUDA graph have a gap of their own. */
static void gaps_in_graphs(void **state)
{
    (void)state;
    static const struct { cm_runtime runtime; double gap; } wanted[] = {
        {CM_RUNTIME_TORCH_EAGER, 1e-4}, {CM_RUNTIME_TORCH_COMPILE, 2e-4},
        {CM_RUNTIME_COMPILE_GRAPHS, 3e-4}, {CM_RUNTIME_EAGER_GRAPHS, 3e-4}};
    cm_graph  *step = step_of("resnet18", false);
    cm_device *device = device_of(TIME_DEVICE(",\n\"host\": [" HOST("gap", "1e-4") "," COMPILED("gap", "2e-4") ","
                                              COMPILED("graph-gap", "3e-4") "]"));
    for (size_t k = 0; k < sizeof wanted / sizeof *wanted; k++) {
        cm_prediction     *p;
        cm_predict_options o = {.batch = 64, .runtime = wanted[k].runtime};
        assert_int_equal(cm_predict(step, device, &o, &p, NULL), CM_OK);
        const cm_prediction_info *i = cm_prediction_get_info(p);
        near(i->step_time_s, i->device_time_s + wanted[k].gap * i->launches, 1e-9);
        cm_prediction_free(p);
    }
    cm_device_free(device);
    cm_graph_free(step);
}

/* 2:4 sparse units run forward products at twice the peak, and nothing else. */
static void two_of_four(void **state)
{
    (void)state;
    cm_graph  *step = step_of("mlp:in=8192,hidden=8192x8192,out=8192", false);
    cm_device *device = device_of(LONE_WITH(",\n\"sparsity\": {\"structured\": " NUMBER("2", "1") "}"));
    double     phase[3][CM_PHASES];
    const cm_sparsity kinds[] = {{0, false}, {0.5, false}, {0.5, true}};
    for (int k = 0; k < 3; k++) {
        cm_prediction     *p;
        cm_predict_options o = {.batch = 8192, .runtime = CM_RUNTIME_NATIVE, .sparsity = kinds[k]};
        assert_int_equal(cm_predict(step, device, &o, &p, NULL), CM_OK);
        memcpy(phase[k], cm_prediction_get_info(p)->phase_s, sizeof phase[k]);
        assert_int_equal(cm_prediction_get_info(p)->sparsity_used, k == 2);
        cm_prediction_free(p);
    }
    assert_true(phase[0][CM_FORWARD] == phase[1][CM_FORWARD]);
    assert_true(phase[0][CM_BACKWARD] == phase[2][CM_BACKWARD]);
    near(phase[0][CM_FORWARD] - phase[2][CM_FORWARD], 3 * 2 * pow(8192, 3) / 1e14 / 2, 0.05);
    cm_device_free(device);
    cm_graph_free(step);
}

/* A card with the same chip as one of known power has its own limit: 350 W for the H100 PCIe, 700 W for the H200.
   For other chips the power is unknown. */
static void power_of_the_same_make(void **state)
{
    static const struct {
        const char *device;
        bool        lowered;
    } cards[] = {{"nvidia-h100-pcie", true}, {"nvidia-a100-80g", false}};
    (void)state;
    cm_graph *step = step_of("gpt:layers=2,hidden=4096,heads=32,seq=2048,vocab=1000", false);
    for (int k = 0; k < 2; k++) {
        cm_device     *device = load(cards[k].device);
        cm_prediction *p = predict(step, device, 8);
        assert_int_equal(cm_prediction_get_info(p)->clock < 0.95, cards[k].lowered);
        cm_prediction_free(p);
        cm_device_free(device);
    }
    cm_graph_free(step);
}

static void larger_batches_take_longer(void **state)
{
    (void)state;
    cm_device *device = load("nvidia-h200");
    cm_graph  *step = step_of("resnet50", false);
    double     before = 0;
    for (int64_t batch = 1; batch <= 1024; batch *= 4) {
        cm_prediction *p = predict(step, device, batch);
        double         now = cm_prediction_get_info(p)->device_time_s;
        assert_true(now > before);
        before = now;
        cm_prediction_free(p);
    }
    cm_graph_free(step);
    cm_device_free(device);
}

static void inference_is_forward_alone(void **state)
{
    (void)state;
    cm_device                *device = load("nvidia-h200");
    cm_graph                 *step = step_of("resnet18", true);
    cm_prediction            *p = predict(step, device, 32);
    const cm_prediction_info *i = cm_prediction_get_info(p);
    consistent(p, step, 32);
    assert_true(i->phase_s[CM_BACKWARD] == 0 && i->phase_s[CM_UPDATE] == 0);
    near(i->phase_s[CM_FORWARD], i->device_time_s, 1e-12);
    cm_prediction_free(p);
    cm_graph_free(step);
    cm_device_free(device);
}

/* Latency of one batch: input transfer, the later of the device's and the host's end, output transfer. */
#define LINKED(step)                                                                                                   \
    TIME_DEVICE(",\n\"host_link\": {\"name\": \"l\", \"bandwidth\": " NUMBER("1e9", "B/s") "},\n\"host\": ["           \
                HOST("step", step) "]")

static void latency_of_inference(void **state)
{
    (void)state;
    cm_graph *step = step_of("mlp:in=1000,hidden=2000,out=500", true);
    for (int slow = 0; slow < 2; slow++) {
        cm_device                *device = device_of(slow ? LINKED("1") : LINKED("1e-9"));
        cm_prediction            *p = predict(step, device, 10);
        const cm_prediction_info *i = cm_prediction_get_info(p);
        double                    last = cm_prediction_op(p, cm_prediction_ops(p) - 1)->time_s;
        double end = fmax(i->host_time_s + last, i->device_time_s + i->host_time_s / i->launches);
        near(i->latency_s, 10 * 1000 * 4 / 1e9 + end + 10 * 500 * 2 / 1e9, 1e-9); /* fp32 in, bf16 out */
        cm_prediction_free(p);
        cm_device_free(device);
    }
    cm_graph_free(step);
}

/* Unmeasured calls as a case file: one table for each kind of call. */
static void cases_to_measure(void **state)
{
    (void)state;
    cm_device     *device = device_of(LONE);
    cm_graph      *step = step_of("mlp:in=16,hidden=16,out=16", true);
    cm_prediction *p = predict(step, device, 4);
    const char    *cases = cm_prediction_cases(p);
    assert_non_null(strstr(cases, "{\"schema\": 1, \"cases\": ["));
    assert_non_null(strstr(cases, "\"op\": \"gemm\", \"pass\": \"forward\", \"variant\": \"nt-bias\""));
    assert_non_null(strstr(cases, "\"rows\": [[1, 4, 16, 16]]")); /* two equal products are one case */
    assert_true(cases == cm_prediction_cases(p));
    cm_prediction_free(p);
    cm_graph_free(step);
    cm_device_free(device);
}

/* Two predictions of the same step are equal. */
static void the_same_twice(void **state)
{
    (void)state;
    cm_device     *device = load("nvidia-a100-80g");
    cm_graph      *step = step_of("resnet18", false);
    cm_prediction *a = predict(step, device, 16), *b = predict(step, device, 16);
    assert_memory_equal(cm_prediction_get_info(a)->share, cm_prediction_get_info(b)->share, sizeof(double[CM_HOWS]));
    assert_true(cm_prediction_get_info(a)->step_time_s == cm_prediction_get_info(b)->step_time_s);
    cm_prediction_free(a);
    cm_prediction_free(b);
    cm_graph_free(step);
    cm_device_free(device);
}

static void refusals(void **state)
{
    (void)state;
    cm_device     *device = load("nvidia-h200");
    cm_graph      *step = step_of("resnet18", false);
    cm_prediction *p = NULL;
    assert_int_equal(cm_predict(NULL, device, NULL, &p, NULL), CM_ERR_ARGUMENT);
    assert_int_equal(cm_predict(step, NULL, NULL, &p, NULL), CM_ERR_ARGUMENT);
    assert_int_equal(cm_predict(step, device, NULL, NULL, NULL), CM_ERR_ARGUMENT);
    assert_null(p);
    cm_prediction_free(NULL);
    assert_int_equal(cm_predict(step, device, NULL, &p, NULL), CM_OK); /* zeroed options are defaults */
    assert_int_equal(cm_prediction_get_info(p)->batch, 1);
    cm_prediction_free(p);
    cm_graph_free(step);
    cm_device_free(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_model_is_consistent),  cmocka_unit_test(nothing_measured),
        cmocka_unit_test(device_or_host),             cmocka_unit_test(gaps_in_graphs),
        cmocka_unit_test(two_of_four),
        cmocka_unit_test(latency_of_inference), cmocka_unit_test(cases_to_measure),
        cmocka_unit_test(power_of_the_same_make),     cmocka_unit_test(larger_batches_take_longer),
        cmocka_unit_test(inference_is_forward_alone), cmocka_unit_test(the_same_twice),
        cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
