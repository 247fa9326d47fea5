/* SPDX-License-Identifier: Apache-2.0 */
/* test_profile_write.c - results as a profile: each number where a profile has it, nothing that was not measured. */
#include <jansson.h>
#include "bench_case.h"
#include "profile_texts.h"

static json_t *tree;

/* Writes the profile and parses it as JSON; begin with it after all results are stated. */
static const json_t *written(void)
{
    cm__find_ceilings(b);
    char *text = cm__bench_profile_text(b);
    assert_non_null(text);
    json_decref(tree);
    tree = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    free(text);
    assert_non_null(tree);
    return tree;
}

static int finish(void **state)
{
    json_decref(tree);
    tree = NULL;
    return remove_folder(state);
}

/* The value at "memory.0.bandwidth.value"; NULL: none. */
static const json_t *at(const char *path)
{
    const json_t *value = tree;
    char          steps[128], *save = NULL;
    snprintf(steps, sizeof steps, "%s", path);
    for (char *step = strtok_r(steps, ".", &save); step && value; step = strtok_r(NULL, ".", &save))
        value = json_is_array(value) ? json_array_get(value, strtoul(step, NULL, 10)) : json_object_get(value, step);
    return value;
}

static void number_is(const char *path, double expected)
{
    const json_t *value = at(path);
    if (!json_is_number(value)) fail_msg("no number at %s", path);
    if (!(fabs(json_number_value(value) / expected - 1) < 1e-5)) fail_msg("%s: %g", path, json_number_value(value));
}

static void text_is(const char *path, const char *expected)
{
    const char *text = json_string_value(at(path));
    if (!text || strcmp(text, expected)) fail_msg("%s is '%s'", path, text ? text : "");
}

static void measured(const char *text, double time_s)
{
    cm__call c = call_of(text);
    cm__add_call(b, "test", "call", &c, 1, NAN);
    b->results[b->n_cases - 1].time_s = time_s;
    b->results[b->n_cases - 1].kernels = 2;
}

static void probed(cm_probe probe, int64_t bytes, double work, double time_s)
{
    cm__add_probe(b, "test", "probe", (cm_probe_request){probe, bytes, NULL});
    b->results[b->n_cases - 1].work = work;
    b->results[b->n_cases - 1].time_s = time_s;
}

/* ---- what the device says ---------------------------------------------------------------------------------------- */

TEST(a_device_that_is_not_built_in)
{
    written();
    text_is("id", "my-null-device");
    text_is("name", "Null device");
    text_is("class", "cpu");
    text_is("style", "kernel-by-kernel");
    number_is("cores.value", 1);
    text_is("cores.source", "system");
    number_is("memory.0.capacity.value", 1048576);
    text_is("memory.0.place", "on-chip");
    number_is("memory.1.capacity.value", 17179869184.);
    text_is("memory.1.managed", "explicit");
    text_is("placement.gradients", "memory");
    assert_null(at("base"));
    assert_null(at("kernels"));
    assert_null(at("launch"));
    assert_null(at("memory.0.bandwidth"));
}

TEST(a_built_in_device_is_the_base)
{
    strcpy(b->device.id, "nvidia-h200");
    b->options.id = "ours";
    written();
    text_is("id", "ours");
    text_is("base", "nvidia-h200");
    assert_null(at("memory"));
    assert_null(at("name"));
}

/* Autocast needs 16-bit types; fp64 is no precision of training. */
TEST(precisions_of_its_types)
{
    b->device.rates[2].dtype = "fp64";
    written();
    assert_int_equal(json_array_size(at("precisions")), 3);
    text_is("precisions.0", "fp32");
    text_is("precisions.1", "bf16");
    text_is("precisions.2", "amp-bf16");
}

/* ---- what was measured ------------------------------------------------------------------------------------------- */

/* Calls of one kind are one table; a wrong one, or one without a time, is no row. */
TEST(tables_by_kind)
{
    measured("gemm forward nn fp32 1,10,20,30", 1e-5);
    measured("softmax forward - fp32 7,9", 2e-5);
    measured("gemm forward nn fp32 1,40,50,60", 3e-5);
    measured("gemm forward nt fp32 1,40,50,60", 4e-5);
    measured("gemm forward nn fp32 1,70,80,90", NAN);
    written();
    assert_int_equal(json_array_size(at("kernels")), 3);
    text_is("kernels.0.op", "gemm");
    text_is("kernels.0.variant", "nn");
    text_is("kernels.0.runtime", "native");
    text_is("kernels.0.dims.3", "k");
    assert_int_equal(json_array_size(at("kernels.0.rows")), 2);
    number_is("kernels.0.rows.1.2", 50);
    number_is("kernels.0.rows.1.4", 3e-5);
    number_is("kernels.0.rows.1.5", 2);
    text_is("kernels.1.op", "softmax");
    text_is("kernels.2.variant", "nt");
}

TEST(ceilings)
{
    measured("gemm forward nn fp32 1,100,100,100", 2e6 / 5e11);
    probed(CM_PROBE_READ, 1 << 19, 1 << 19, (1 << 19) / 8e11);
    probed(CM_PROBE_READ, 1 << 27, 1 << 27, (1 << 27) / 9e10);
    probed(CM_PROBE_LAUNCH, 0, 10, 10 * 4e-6);
    probed(CM_PROBE_TO_PINNED, 1000, 1e6, 1e6 / 2e10);
    written();
    number_is("peak.matrix.fp32.value", 5e11);
    text_is("peak.matrix.fp32.kind", "measured");
    text_is("peak.matrix.fp32.source", "bench");
    assert_null(at("peak.vector"));
    number_is("memory.0.bandwidth.value", 8e11);
    number_is("memory.1.bandwidth.value", 9e10);
    number_is("launch.value", 4e-6);
    number_is("host_link.bandwidth.value", 2e10);
    assert_int_equal(json_array_size(at("notes")), 5);
}

/* The smallest message gives the latency, the best bus bandwidth counts: 1.5 times the bytes for an all-reduce of
   four. */
TEST(collectives_of_ranks)
{
    begin_ranks();
    cm__add_collective(b, "collectives", "x", CM_ALL_REDUCE, 4);
    cm__add_collective(b, "collectives", "x", CM_ALL_REDUCE, 1000000);
    cm__add_collective(b, "collectives", "x", CM_SEND, 1000);
    cm__add_collective(b, "collectives", "x", CM_BROADCAST, 1000);
    b->results[0].time_s = 5e-6;
    b->results[1].time_s = 1e-4;
    b->results[2].time_s = 1e-6;
    written();
    assert_int_equal(json_array_size(at("collectives")), 2);
    text_is("collectives.0.op", "all-reduce");
    number_is("collectives.0.devices", 4);
    number_is("collectives.0.latency.value", 5e-6);
    number_is("collectives.0.bandwidth.value", 1.5e10);
    text_is("collectives.1.op", "point-to-point");
    number_is("collectives.1.bandwidth.value", 1e9);
}

/* Seconds per kernel queued. */
TEST(host_times)
{
    probed(CM_PROBE_SUBMIT, 0, 100, 100 * 7e-6);
    written();
    assert_int_equal(json_array_size(at("host")), 1);
    text_is("host.0.what", "launch");
    number_is("host.0.time.value", 7e-6);
}

TEST(the_date)
{
    setenv("SOURCE_DATE_EPOCH", "86400", 1);
    written();
    unsetenv("SOURCE_DATE_EPOCH");
    text_is("sources.bench.date", "1970-01-02");
    text_is("sources.system.date", "1970-01-02");
}

/* What names no releases has none. */
TEST(the_releases)
{
    written();
    assert_null(at("sources.bench.software"));
    b->machine.software = "driver 580.159.04 (CUDA 13.0), NVRTC 13.0, cuBLASLt 13.1.0, cuDNN 9.19.0";
    written();
    text_is("sources.bench.software.cudnn", "9.19");
    text_is("sources.bench.software.cuda", "13.0");
}

/* ---- reading it again -------------------------------------------------------------------------------------------- */

static double predicted(const cm_device *device, const char *model, cm_how how)
{
    cm_graph          *forward, *step;
    cm_prediction     *p;
    cm_train_options   train = {.precision = CM_PRECISION_FP32, .inference = true};
    cm_predict_options o = {.batch = 1, .runtime = CM_RUNTIME_NATIVE};
    assert_int_equal(cm_graph_load(model, NULL, &forward, &diag), CM_OK);
    assert_int_equal(cm_graph_train(forward, &train, &step, &diag), CM_OK);
    assert_int_equal(cm_predict(step, device, &o, &p, &diag), CM_OK);
    assert_int_equal(cm_prediction_ops(p), 1);
    assert_int_equal(cm_prediction_op(p, 0)->how, how);
    double time_s = cm_prediction_op(p, 0)->time_s;
    cm_prediction_free(p);
    cm_graph_free(step);
    cm_graph_free(forward);
    return time_s;
}

/* A prediction with the profile returns the measured time, to six digits. */
TEST(a_device_reads_it)
{
    cm_device *device;
    measured("gemm forward nn fp32 1,100,100,100", 1.23456e-5);
    probed(CM_PROBE_READ, 1 << 27, 1 << 27, (1 << 27) / 9e10);
    cm__find_ceilings(b);
    char *text = cm__bench_profile_text(b);
    write_file("mine.json", text);
    free(text);
    if (cm_device_load(file_named("mine.json"), &device, &diag)) fail_msg("%s: %s", diag.place, diag.reason);
    near(cm_device_main_memory(device)->bw_bytes_s.value, 9e10);
    assert_true(cm_device_supports(device, CM_PRECISION_FP32));
    assert_false(cm_device_supports(device, CM_PRECISION_AMP_BF16)); /* no peak of it was measured */
    double time_s = predicted(device, "gemm:m=100,n=100,k=100", CM_HOW_MEASURED);
    assert_true(fabs(time_s / 1.23456e-5 - 1) < 1e-5);
    cm_device_free(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_device_that_is_not_built_in), cmocka_unit_test(a_built_in_device_is_the_base),
        cmocka_unit_test(precisions_of_its_types),       cmocka_unit_test(tables_by_kind),
        cmocka_unit_test(ceilings),                      cmocka_unit_test(collectives_of_ranks),
        cmocka_unit_test(host_times),                    cmocka_unit_test(the_date), cmocka_unit_test(the_releases),
        cmocka_unit_test(a_device_reads_it),
    };
    return cmocka_run_group_tests(tests, make_folder, finish);
}
