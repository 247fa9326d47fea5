/* SPDX-License-Identifier: Apache-2.0 */
/* test_calibrate.c - calibration recovers the parameters of a known device from its steps. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "centimani.h"
#include "profile_texts.h"

#define TRUTH(base, matrix, vector, host)                                                                              \
    "{\"schema\": 1, \"id\": \"truth\", \"base\": \"" base "\", \"calibration\": {\"matrix\": " NUMBER(matrix, "1")    \
    ", \"vector\": " NUMBER(vector, "1") ", \"host\": " NUMBER(host, "1") "}, " SOURCES "}\n"

typedef struct run {
    const char *model;
    int64_t     batch;
} run;

static const run many[] = {{"resnet50", 8},   {"resnet50", 128}, {"resnet50", 256}, {"bert-base", 32},
                           {"bert-base", 64}, {"gpt2", 16},      {"gpt2", 1},       {"resnet18", 2}};
#define MANY (sizeof many / sizeof *many)

static double truth_s(const char *device_path, const run *r)
{
    cm_graph        *forward, *step;
    cm_device       *device;
    cm_prediction   *p;
    cm_train_options o = {.precision = CM_PRECISION_AMP_BF16};
    assert_int_equal(cm_device_load(device_path, &device, NULL), CM_OK);
    cm_load_options load = {.fuse = cm_device_runtime(device) == CM_RUNTIME_TORCH_EAGER ? CM_FUSE_EAGER : CM_FUSE_ALL};
    assert_int_equal(cm_graph_load(r->model, &load, &forward, NULL), CM_OK);
    assert_int_equal(cm_graph_train(forward, &o, &step, NULL), CM_OK);
    assert_int_equal(cm_predict(step, device, &(cm_predict_options){.batch = r->batch}, &p, NULL), CM_OK);
    double time = cm_prediction_get_info(p)->step_time_s;
    cm_prediction_free(p);
    cm_graph_free(step);
    cm_graph_free(forward);
    cm_device_free(device);
    return time;
}

/* Writes the log of the true device; row `bad` takes five times as long. */
static void write_log(const char *truth, const run *runs, size_t count, int bad)
{
    char   text[4096], path[512];
    size_t used = (size_t)snprintf(text, sizeof text, "host,model,batch,precision,step_time_s\n");
    write_file("truth.json", truth);
    snprintf(path, sizeof path, "%s", file_named("truth.json"));
    for (size_t i = 0; i < count; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "n1,%s,%lld,amp-bf16,%.9g\n", runs[i].model,
                                 (long long)runs[i].batch, truth_s(path, &runs[i]) * ((int)i == bad ? 5 : 1));
    write_file("log.csv", text);
}

static cm_calibration *calibrated(const char *device)
{
    cm_calibration *c;
    cm_diag         diag = {0};
    char            path[512];
    snprintf(path, sizeof path, "%s", file_named("log.csv"));
    if (cm_calibrate(device, path, &c, &diag) != CM_OK) fail_msg("%s", diag.reason);
    return c;
}

static double change_of(const cm_calibration *c, const char *what)
{
    for (int32_t i = 0; i < cm_calibration_changes(c); i++)
        if (strcmp(cm_calibration_get_change(c, i)->what, what) == 0) return cm_calibration_get_change(c, i)->to;
    return 1;
}

static void assert_near(double a, double b, double share)
{
    if (fabs(a - b) > share * fabs(b)) fail_msg("%.6g is not %.6g", a, b);
}

static void factors_are_found_again(void **state)
{
    (void)state;
    write_log(TRUTH("nvidia-h200", "1.3", "0.8", "1.5"), many, MANY, -1);
    cm_calibration *c = calibrated("nvidia-h200");
    assert_near(change_of(c, "calibration.matrix"), 1.3, 0.05);
    assert_near(change_of(c, "calibration.vector"), 0.8, 0.05);
    assert_near(change_of(c, "calibration.host"), 1.5, 0.05);
    assert_true(cm_calibration_before(c) > 0.05);
    assert_true(cm_calibration_after(c) < 0.02);
    cm_calibration_free(c);
}

static void one_bad_step_does_not_rule(void **state)
{
    (void)state;
    write_log(TRUTH("nvidia-h200", "1.3", "0.8", "1.5"), many, MANY, 2);
    cm_calibration *c = calibrated("nvidia-h200");
    assert_near(change_of(c, "calibration.matrix"), 1.3, 0.15);
    assert_near(change_of(c, "calibration.vector"), 0.8, 0.15);
    for (int32_t i = 0; i < cm_calibration_rows(c); i++)
        if (i != 2) assert_near(cm_calibration_get_row(c, i)->after_s, cm_calibration_get_row(c, i)->measured_s, 0.1);
    cm_calibration_free(c);
}

static void one_step_moves_one_factor(void **state)
{
    (void)state;
    static const run large = {"resnet50", 256}, small = {"resnet18", 1};
    write_log(TRUTH("nvidia-h200", "1.2", "1.2", "1"), &large, 1, -1);
    cm_calibration *c = calibrated("nvidia-h200");
    assert_near(change_of(c, "calibration.matrix"), 1.2, 0.03);
    assert_near(change_of(c, "calibration.vector"), change_of(c, "calibration.matrix"), 1e-9);
    assert_near(change_of(c, "calibration.host"), 1, 1e-9);
    cm_calibration_free(c);
    write_log(TRUTH("nvidia-h200", "1", "1", "1.4"), &small, 1, -1);
    c = calibrated("nvidia-h200");
    assert_int_equal(cm_calibration_changes(c), 1);
    assert_near(change_of(c, "calibration.host"), 1.4, 0.03);
    cm_calibration_free(c);
}

static void nothing_changes_where_nothing_is_wrong(void **state)
{
    (void)state;
    write_log(TRUTH("nvidia-h200", "1", "1", "1"), many, MANY, -1);
    cm_calibration *c = calibrated("nvidia-h200");
    assert_int_equal(cm_calibration_changes(c), 0);
    cm_calibration_free(c);
}

/* The engines of this machine take turns, so two steps do not distinguish slow products from other slow operators:
   the factor of products is found within 8 %, the times of the steps within 2 %. */
static void styles_are_calibrated_too(void **state)
{
    (void)state;
    static const run runs[] = {{"resnet50", 64}, {"bert-base", 64}};
    write_log(TRUTH("habana-gaudi2", "1.25", "1.25", "1"), runs, 2, -1);
    cm_calibration *c = calibrated("habana-gaudi2");
    assert_near(change_of(c, "calibration.matrix"), 1.25, 0.08);
    assert_true(cm_calibration_before(c) > 0.15);
    assert_true(cm_calibration_after(c) < 0.02);
    cm_calibration_free(c);
}

static void the_profile_says_the_same_and_can_be_calibrated_again(void **state)
{
    (void)state;
    char path[512];
    write_log(TRUTH("nvidia-h200", "1.3", "0.8", "1.5"), many, MANY, -1);
    cm_calibration *c = calibrated("nvidia-h200");
    write_file("new.json", cm_calibration_profile(c));
    cm_profile_summary summary;
    snprintf(path, sizeof path, "%s", file_named("new.json"));
    assert_int_equal(cm_profile_check(path, &summary, NULL), CM_OK);
    assert_string_equal(summary.id, "my-nvidia-h200");
    assert_near(truth_s(path, &many[1]), cm_calibration_get_row(c, 1)->after_s, 1e-4);
    cm_calibration_free(c);
    c = calibrated(path);
    assert_true(cm_calibration_before(c) < 0.02);
    cm_calibration_free(c);
}

static void assert_refused(const char *log, const char *reason)
{
    cm_calibration *c;
    cm_diag         diag = {0};
    char            path[512];
    write_file("log.csv", log);
    snprintf(path, sizeof path, "%s", file_named("log.csv"));
    assert_int_not_equal(cm_calibrate("nvidia-h200", path, &c, &diag), CM_OK);
    if (!strstr(diag.reason, reason)) fail_msg("%s", diag.reason);
}

#define HEADER "model,batch,precision,step_time_s\n"

static void bad_logs_are_refused(void **state)
{
    (void)state;
    assert_refused("model,batch,precision\n", "no column 'step_time_s'");
    assert_refused(HEADER, "no steps under the header");
    assert_refused(HEADER "resnet50,0,fp32,1\n", "line 2: batch is not a whole number");
    assert_refused(HEADER "resnet50,1,fp32,-1\n", "line 2: step_time_s is not a time");
    assert_refused(HEADER "resnet50,1,fp32,nan\n", "line 2: step_time_s is not a time");
    assert_refused(HEADER "resnet50,1,fp31,1\n", "line 2: ");
    assert_refused(HEADER ",1,fp32,1\n", "line 2: no model");
    assert_refused(HEADER "\nno-such-model,1,fp32,1\n", "line 3: ");
    assert_refused(HEADER "resnet50,256,amp-bf16,51.3\nresnet50,128,amp-bf16,26.0\n", "milliseconds");
    assert_refused(HEADER "resnet50,256,amp-bf16,51.3e-6\n", "in seconds");
    cm_calibration *c;
    cm_diag         diag = {0};
    assert_int_equal(cm_calibrate("no-such-device", "log.csv", &c, &diag), CM_ERR_UNKNOWN);
    assert_int_equal(cm_calibrate("nvidia-h200", "/no/such/file", &c, &diag), CM_ERR_IO);
    assert_int_equal(cm_calibrate(NULL, NULL, &c, &diag), CM_ERR_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(factors_are_found_again),
        cmocka_unit_test(one_bad_step_does_not_rule),
        cmocka_unit_test(one_step_moves_one_factor),
        cmocka_unit_test(nothing_changes_where_nothing_is_wrong),
        cmocka_unit_test(styles_are_calibrated_too),
        cmocka_unit_test(the_profile_says_the_same_and_can_be_calibrated_again),
        cmocka_unit_test(bad_logs_are_refused),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
