/* SPDX-License-Identifier: Apache-2.0 */
/* test_sensitivity.c - a step on a device with one number improved by 10 %. */
#include <math.h>
#include "time_device.h"
#include "model/time/roofline.h"
#include "model/time/timer.h"

#define LONE                                                                                                           \
    "{\"schema\": 1, \"id\": \"lone\", \"name\": \"Lone\", \"vendor\": \"Acme\", \"class\": \"npu\", "                 \
    "\"style\": \"kernel-by-kernel\", \"modes\": [\"training\"], \"precisions\": [\"fp32\", \"bf16\"],\n"              \
    CEILINGS("100", "1e-12") ",\n" SOURCES "%s}\n"

static void near(double got, double expected)
{
    if (!(fabs(got - expected) <= 1e-5 * fabs(expected))) fail_msg("%.12g, expected %.12g", got, expected);
}

static cm_device *lone(const char *more)
{
    char text[8192];
    snprintf(text, sizeof text, LONE, more);
    return device_of(text);
}

static cm_prediction *predict_on(const char *model, const cm_device *device, cm_runtime runtime, const char *host)
{
    cm_graph          *forward;
    static cm_graph   *step;
    cm_prediction     *p;
    cm_train_options   train = {.precision = CM_PRECISION_BF16, .inference = true};
    cm_predict_options o = {.batch = 1, .runtime = runtime, .sensitivities = true, .loading.host = host};
    cm_graph_free(step); /* of the previous prediction */
    assert_int_equal(cm_graph_load(model, NULL, &forward, NULL), CM_OK);
    assert_int_equal(cm_graph_train(forward, &train, &step, NULL), CM_OK);
    assert_int_equal(cm_predict(step, device, &o, &p, NULL), CM_OK);
    cm_graph_free(forward);
    return p;
}

static cm_prediction *predict(const char *model, const cm_device *device, cm_runtime runtime)
{
    return predict_on(model, device, runtime, NULL);
}

static const cm_sensitivity *of(const cm_prediction *p, const char *what)
{
    for (int32_t i = 0; i < cm_prediction_sensitivities(p); i++)
        if (strcmp(cm_prediction_sensitivity(p, i)->what, what) == 0) return cm_prediction_sensitivity(p, i);
    return NULL;
}

/* A large product depends on the peak; one with few columns depends on the memory bandwidth. */
static void what_binds(void **state)
{
    (void)state;
    cm_device     *device = lone("");
    cm_prediction *p = predict("gemm:m=4096,n=4096,k=4096", device, CM_RUNTIME_NATIVE);
    double         step = cm_prediction_get_info(p)->step_time_s;
    assert_string_equal(cm_prediction_sensitivity(p, 0)->what, "peak of bf16 products");
    near(of(p, "peak of bf16 products")->step_time_s / step, 1 / 1.1);
    assert_null(of(p, "memory bandwidth"));
    assert_null(of(p, "time of the host"));
    cm_prediction_free(p);
    p = predict("gemm:m=16384,n=1,k=16384", device, CM_RUNTIME_NATIVE);
    cm__call   call = call_of(cm_prediction_op(p, 0)->call);
    cm__limits before = cm__limits_of(device), after = before;
    after.memory_bytes_s *= 1.1;
    near(of(p, "memory bandwidth")->step_time_s, cm__roofline(&after, &call));
    near(cm_prediction_get_info(p)->step_time_s, cm__roofline(&before, &call));
    assert_true(of(p, "memory bandwidth")->factor > 1);
    for (int32_t i = 1; i < cm_prediction_sensitivities(p); i++)
        assert_true(cm_prediction_sensitivity(p, i)->step_time_s >= cm_prediction_sensitivity(p, i - 1)->step_time_s);
    cm_prediction_free(p);
    cm_device_free(device);
}

static void product_measured(double time_s, double expected)
{
    char rows[64], more[1024];
    snprintf(rows, sizeof rows, "[[1, 4096, 4096, 4096, %.9g, 1]]", time_s);
    snprintf(more, sizeof more, KERNELS(TABLE("gemm", "forward", "nn", "bf16", GEMM_DIMS, "%s")), rows);
    cm_device     *device = lone(more);
    cm_prediction *p = predict("gemm:m=4096,n=4096,k=4096", device, CM_RUNTIME_TORCH_EAGER);
    near(cm_prediction_get_info(p)->step_time_s, time_s);
    near(of(p, "peak of bf16 products")->step_time_s, expected);
    cm_prediction_free(p);
    cm_device_free(device);
}

/* A time from a table follows the peak as far as it is arithmetic (transfer.c). 1024 tiles are 11 waves of 100 cores;
   kernels reach 0.7 of the peak. At 0.8 of it, all of the time but the traffic's share, in squares, is arithmetic; of
   10 ms, 2.1 ms are. */
static void measured_calls(void **state)
{
    (void)state;
    double ideal = 2 * pow(4096, 3) / 1e14, least = ideal * 1100 / 1024 / 0.7, better = 1 / (1.1 * 1.1);
    double bytes = 3 * 2 * 4096. * 4096, filling = bytes / 1e7, time = ideal / 0.8;
    double traffic = bytes * (1 - 1 / (1 + filling * filling)) / 0.9e12, share = pow(traffic / time, 2);
    product_measured(time, time * sqrt((better + share) / (1 + share)));
    product_measured(0.01, sqrt(0.01 * 0.01 - least * least * (1 - better)));
}

/* In a host-bound step, no improvement of the device helps. */
static void host_bound(void **state)
{
    (void)state;
    cm_device     *device = lone(",\n\"host\": [" HOST("step", "10") "]");
    cm_prediction *p = predict("gemm:m=4096,n=4096,k=4096", device, CM_RUNTIME_TORCH_EAGER);
    assert_int_equal(cm_prediction_sensitivities(p), 1);
    assert_string_equal(cm_prediction_sensitivity(p, 0)->what, "time of the host");
    near(cm_prediction_sensitivity(p, 0)->factor, 1 / 1.1);
    near(cm_prediction_sensitivity(p, 0)->step_time_s, 10 / 1.1);
    cm_prediction_free(p);
    cm_device_free(device);
}

/* The improved devices have the host of the question, which is slower here than the usual one of the device. */
static void named_host(void **state)
{
    (void)state;
    cm_device *device;
    assert_int_equal(cm_device_load("nvidia-h200", &device, NULL), CM_OK);
    cm_prediction *p = predict_on("gemm:m=64,n=64,k=64", device, CM_RUNTIME_TORCH_EAGER, "neoverse-v1");
    assert_int_equal(cm_prediction_sensitivities(p), 1);
    assert_string_equal(cm_prediction_sensitivity(p, 0)->what, "time of the host");
    near(cm_prediction_sensitivity(p, 0)->step_time_s, cm_prediction_get_info(p)->step_time_s / 1.1);
    cm_prediction_free(p);
    cm_device_free(device);
}

/* Execution models are predicted again. Sensitivities are computed only on request. */
static void styles(void **state)
{
    (void)state;
    cm_device *device;
    assert_int_equal(cm_device_load("cerebras-cs2-wafer", &device, NULL), CM_OK);
    cm_prediction *p = predict("gpt:layers=2,hidden=256,heads=4,seq=128,vocab=1000", device, CM_RUNTIME_NATIVE);
    assert_true(cm_prediction_sensitivities(p) > 0);
    for (int32_t i = 0; i < cm_prediction_sensitivities(p); i++)
        assert_true(cm_prediction_sensitivity(p, i)->step_time_s < cm_prediction_get_info(p)->step_time_s);
    cm_prediction_free(p);
    cm_device_free(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_binds), cmocka_unit_test(measured_calls),
                                       cmocka_unit_test(host_bound), cmocka_unit_test(named_host),
                                       cmocka_unit_test(styles)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
