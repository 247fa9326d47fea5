/* SPDX-License-Identifier: Apache-2.0 */
/* test_baselines.c - cases of rows, metrics, and the three baselines compared with their definitions. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "device/locate.h"
#include "validate/validate.h"

#define NEAR(a, b) assert_true(fabs((a) / (b)-1) < 1e-9)

static cm__ctx   *ctx;
static cm__store *store;
static json_t    *set;

static int setup(void **state)
{
    (void)state;
    ctx = cm__ctx_new(NULL);
    store = cm__store_new(ctx);
    set = json_object();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    json_decref(set);
    cm__ctx_free(ctx);
    return 0;
}

static void drop(void *json) { json_decref(json); }

/* A row of JSON, with single quotes for readability. */
static cm__case *case_of(const char *text)
{
    char *quoted = cm__text_copy(ctx, text);
    for (char *c = quoted; *c; c++)
        if (*c == '\'') *c = '"';
    json_t *row = json_loads(quoted, 0, NULL);
    assert_non_null(row);
    cm__defer(ctx, drop, row);
    return cm__case_new(store, set, row, NULL);
}

/* 2 m n k FLOP at 312 TFLOP/s; a product this large is far from memory-bound. */
static void test_roofline(void **state)
{
    (void)state;
    cm__estimate e;
    cm__case *c = case_of("{'model': 'gemm:m=8192,n=8192,k=8192', 'device': 'nvidia-a100-40g', 'mode': 'inference',"
                          " 'precision': 'fp16', 'batch': 1, 'kernel_flop_s': 1}");
    assert_null(c->reason);
    assert_true(cm__estimate_roofline(c, &e));
    NEAR(e.step_s, 2 * pow(8192, 3) / 312e12);
    NEAR(cm__case_peak(c), 312e12);
    c = case_of("{'model': 'elementwise:op=relu,n=1048576', 'device': 'nvidia-a100-40g', 'mode': 'inference',"
                " 'precision': 'fp16', 'batch': 1, 'kernel_flop_s': 1}");
    assert_true(cm__estimate_roofline(c, &e));
    NEAR(e.step_s, 2 * 2 * 1048576 / 1.555e12); /* two bytes in, two out */
}

/* Emani et al. 2022, Table II, measure BraggNN on an A100: its utilisation there is applied to this device. */
static void test_utilisation(void **state)
{
    (void)state;
    cm__estimate e;
    cm__case *c = case_of("{'model': 'braggnn', 'device': 'habana-gaudi2', 'batch': 1024, 'precision': 'bf16',"
                          " 'throughput_samples_s': 1}");
    assert_true(cm__estimate_utilisation(c, &e));
    double peak = cm__case_peak(c);
    NEAR(e.samples / e.step_s, 65500 * peak / 312e12);
    c = case_of("{'model': 'braggnn', 'device': 'nvidia-a100-40g', 'batch': 1024, 'throughput_samples_s': 1}");
    assert_false(cm__estimate_utilisation(c, &e));
}

/* The row's own model does not count, and a device without published results has no similar model. */
static void test_similarity(void **state)
{
    (void)state;
    cm__estimate e;
    assert_true(cm__estimate_similarity(case_of("{'model': 'resnet18', 'device': 'graphcore-bow', 'batch': 64,"
                                                " 'throughput_samples_s': 1}"), &e));
    assert_false(cm__estimate_similarity(case_of("{'model': 'resnet18', 'device': 'groq-groqchip', 'batch': 64,"
                                                 " 'throughput_samples_s': 1}"), &e));
}

static double value_of(const char *text)
{
    cm__case         *c = case_of(text);
    const cm__metric *m = cm__metric_of(set, c->run);
    assert_non_null(m);
    return m->value(c, cm__estimate_step).value;
}

#define REQUEST "'model': 'braggnn', 'device': 'groq-groqchip', 'mode': 'inference', 'batch': 1"

/* Requests sent one after the other each take the full latency: at least twice the 10 us of Groq's link. */
static void test_one_at_a_time(void **state)
{
    (void)state;
    double alone = value_of("{" REQUEST ", 'latency_s': 1}");
    assert_true(alone > 20e-6);
    NEAR(value_of("{" REQUEST ", 'one_at_a_time': true, 'throughput_samples_s': 1}"), 1 / alone);
    NEAR(value_of("{" REQUEST ", 'throughput_samples_s': 1}"), 1 / value_of("{" REQUEST ", 'step_time_s': 1}"));
}

#define BASE "'model': 'resnet18', 'device': 'nvidia-h200', 'precision': 'amp-bf16', 'batch': 64"

/* The time of a step of 64 images, expressed in several metrics. */
static void test_metrics(void **state)
{
    (void)state;
    double step = value_of("{" BASE ", 'step_time_s': 1}"), rate = value_of("{" BASE ", 'throughput_samples_s': 1}");
    NEAR(rate, 64 / step);
    double twice = value_of("{'batch': 128, 'model': 'resnet18', 'device': 'nvidia-h200', 'precision': 'amp-bf16',"
                            " 'throughput_samples_s': 1}");
    NEAR(value_of("{" BASE ", 'ratio': 1, 'versus': {'batch': 128}}"), rate / twice);
    assert_true(value_of("{" BASE ", 'order': {'faster': ['nvidia-h200'], 'slower': ['nvidia-l4']}}") == 1);
    assert_true(value_of("{" BASE ", 'order': {'faster': ['nvidia-l4'], 'slower': ['nvidia-h200']}}") == 0);
    /* 10,000 times the price is not worth it */
    assert_true(value_of("{" BASE ", 'order': {'faster': ['nvidia-l4'], 'slower': ['nvidia-h200'], 'usd_hour':"
                         " {'nvidia-l4': 0.0001, 'nvidia-h200': 1}}}") == 1);
    assert_true(value_of("{" BASE ", 'fits': true}") == 1);
}

static void test_reasons(void **state)
{
    (void)state;
    cm__estimate e;
    cm__case    *c = case_of("{" BASE ", 'devices': 8, 'cluster': 'no-such', 'throughput_samples_s': 1}");
    assert_false(cm__estimate_step(c, &e));
    assert_non_null(c->reason);
    assert_non_null(case_of("{'model': 'no-such', 'device': 'nvidia-h200', 'step_time_s': 1}")->reason);
    assert_non_null(case_of("{'model': 'resnet18', 'device': 'no-such', 'step_time_s': 1}")->reason);
    assert_non_null(case_of("{'model': 'resnet18', 'step_time_s': 1}")->reason);
    assert_non_null(case_of("{" BASE ", 'precision': 'fp7', 'step_time_s': 1}")->reason);
    assert_string_equal(case_of("{'step_time_s': 1, 'reason': 'drawn'}")->reason, "drawn");
}

/* Four times the devices at four times the batch: at most four times as fast, and not much less. */
static void test_plans(void **state)
{
    (void)state;
    double one = value_of("{" BASE ", 'throughput_samples_s': 1}");
    double four = value_of("{'model': 'resnet18', 'device': 'nvidia-h200', 'precision': 'amp-bf16', 'devices': 4,"
                           " 'cluster': 'hgx-h200', 'batch': 256, 'throughput_samples_s': 1}");
    double share = value_of("{'model': 'resnet18', 'device': 'nvidia-h200', 'precision': 'amp-bf16', 'devices': 4,"
                            " 'cluster': 'hgx-h200', 'batch': 256, 'efficiency': 1,"
                            " 'versus': {'devices': 1, 'batch': 64}}");
    assert_true(four <= 4.01 * one && four > 2 * one);
    NEAR(share, four / one / 4);
    cm__estimate e;
    cm__case    *c = case_of("{" BASE ", 'devices': 4, 'throughput_samples_s': 1}");
    assert_true(cm__estimate_roofline(c, &e));
    NEAR(e.devices, 4);
}

#define GPT_13B                                                                                                        \
    "{'model': 'gpt:layers=40,hidden=5120,heads=40,seq=1024,vocab=71', 'device': 'nvidia-a100-40g', 'devices': 8,"     \
    " 'recompute': 'full', 'batch': 8, 'throughput_samples_s': 1"

/* 12.6 G parameters of 16 bytes are 201 GB: too large for a device of 40 GB, and 25 GB per device if eight share
   them. With 32 of 256 samples at once, layer inputs alone take 13 GB more. */
static void test_plans_that_fit(void **state)
{
    (void)state;
    assert_false(cm__case_fits(case_of(GPT_13B "}")));
    assert_true(cm__case_fits(case_of(GPT_13B ", 'zero': 3}")));
    assert_false(cm__case_fits(case_of(GPT_13B ", 'zero': 3, 'batch': 256}")));
    assert_true(cm__case_fits(case_of(GPT_13B ", 'zero': 3, 'batch': 256, 'micro_batch': 8}")));
}

/* The parameters of IPUs were fitted to Uno, but not to ResNet-18. */
static void test_left_out(void **state)
{
    (void)state;
    cm__estimate fitted, without;
    cm__case *seen = case_of("{'model': 'uno', 'device': 'graphcore-bow', 'batch': 64, 'step_time_s': 1}");
    cm__case *renamed = case_of("{'model': 'uno', 'group': 'another', 'device': 'graphcore-bow', 'batch': 64,"
                                " 'step_time_s': 1}");
    assert_string_equal(seen->left_out, "uno");
    assert_null(renamed->left_out);
    assert_true(cm__estimate_step(seen, &without) && cm__estimate_step(renamed, &fitted));
    assert_true(without.step_s != fitted.step_s);
    assert_null(case_of("{'model': 'resnet18', 'device': 'graphcore-bow', 'batch': 64, 'step_time_s': 1}")->left_out);
}

static double step_of(const char *text)
{
    cm__estimate e;
    assert_true(cm__estimate_step(case_of(text), &e));
    return e.step_s;
}

#define BRAGGNN(device, more)                                                                                          \
    "{'model': 'braggnn', 'device': '" device "', 'precision': 'fp16', 'batch': 512, 'step_time_s': 1" more "}"

#define RESNET18(more)                                                                                                 \
    "{'model': 'resnet18', 'device': 'graphcore-gc200', 'precision': 'fp16', 'batch': 4, 'step_time_s': 1" more "}"

/* A row's loader adds ten microseconds per sample, which the step waits for. The cost of a host call is divided by
   its steps. */
static void test_loading(void **state)
{
    (void)state;
    double ten = step_of(BRAGGNN("nvidia-a100-40g", ", 'dataset': 'bytes=1,decode=10us', 'workers': 0"));
    double twenty = step_of(BRAGGNN("nvidia-a100-40g", ", 'dataset': 'bytes=1,decode=20us', 'workers': 0"));
    assert_true(fabs(twenty - ten - 512 * 10e-6) < 1e-9);
    double one = step_of(BRAGGNN("graphcore-gc200", ", 'steps_per_call': 1"));
    double two = step_of(BRAGGNN("graphcore-gc200", ", 'steps_per_call': 2"));
    double all = step_of(BRAGGNN("graphcore-gc200", ", 'steps_per_call': 10"));
    assert_true(one > two && two > all);
    assert_true(fabs((one - all) / (one - two) - 0.9 / 0.5) < 1e-6);
}

/* A row may state an IPU's framework and its norms. Another row of the same model keeps its own graph. */
static void test_programs_of_ipus(void **state)
{
    (void)state;
    double usual = step_of(RESNET18("")), joined = step_of(RESNET18(", 'tensorflow': true"));
    double stable = step_of(RESNET18(", 'stable_norms': true")), again = step_of(RESNET18(""));
    assert_true(joined < usual && usual < stable);
    assert_true(fabs(again - usual) < 1e-12);
}

/* A row may measure one device's share of a pipeline, and use a device that its set describes. */
static void test_shares_and_profiles(void **state)
{
    (void)state;
    cm__estimate e;
    cm__case    *c = case_of("{'model': 'bert:layers=8,hidden=512,heads=8,seq=32,vocab=1000', 'precision': 'fp16',"
                             " 'device': 'graphcore-bow', 'per_device': true, 'pp': 4, 'batch': 16, 'step_time_s': 1}");
    assert_true(cm__estimate_step(c, &e));
    assert_true(e.devices == 4 && e.samples == 64);
    json_object_set_new(set, "id", json_string("mine"));
    json_object_set_new(set, "profiles",
                        json_pack("{s:{s:i, s:s, s:s, s:s}}", "here", "schema", 1, "id", "here", "base",
                                  "nvidia-a100-40g", "name", "One of ours"));
    c = case_of("{'model': 'resnet18', 'device': 'here', 'batch': 8, 'step_time_s': 1}");
    assert_null(c->reason);
    assert_string_equal(cm_device_get_info(c->device)->name, "One of ours");
    cm__case *again = case_of("{'model': 'resnet18', 'device': 'here', 'batch': 9, 'step_time_s': 1}");
    assert_ptr_equal(c->device, again->device);
}

#define HERE                                                                                                           \
    "{'model': 'resnet18', 'device': 'here', 'precision': 'amp-bf16', 'batch': 256, 'devices': 2, 'step_time_s': 1}"

static void bring(const char *id, const char *base, double peak)
{
    json_object_set_new(set, "id", json_string(id));
    json_object_set_new(set, "profiles",
                        json_pack("{s:{s:i, s:s, s:s, s:{s:{s:{s:f, s:s, s:s, s:s}}}, s:{s:{s:s, s:s, s:s}}}}", "here",
                                  "schema", 1, "id", "here", "base", base, "peak", "matrix", "bf16", "value", peak,
                                  "unit", "FLOP/s", "kind", "spec", "source", "told", "sources", "told", "title",
                                  "sheet", "where", "page 1", "date", "2026-11"));
}

/* Machines of the same name in two sets are different; each has its own links. */
static void test_profiles_of_two_sets(void **state)
{
    (void)state;
    bring("one", "nvidia-a100-40g", 312e12);
    double fast = value_of(HERE);
    bring("two", "nvidia-l4", 65e12);
    double slow = value_of(HERE);
    assert_true(fast > 0 && slow > 2 * fast);
    bring("one", "nvidia-a100-40g", 312e12);
    NEAR(value_of(HERE), fast);
}

/* An error in a profile is the reason of every row, with the profile's name and the position of the error. */
static void refused(json_t *profile, const char *why)
{
    json_object_set_new(set, "id", json_string("mine"));
    json_object_set_new(set, "profiles", json_pack("{s:o}", "here", profile));
    cm__case *c = case_of("{'model': 'resnet18', 'device': 'here', 'batch': 8, 'step_time_s': 1}");
    cm__estimate e;
    assert_null(c->device);
    assert_non_null(c->reason);
    if (!strstr(c->reason, "profile 'here'") || !strstr(c->reason, why)) fail_msg("%s: no '%s'", c->reason, why);
    assert_false(cm__estimate_step(c, &e) || cm__estimate_roofline(c, &e) || cm__estimate_similarity(c, &e));
}

static void test_hostile_profiles(void **state)
{
    (void)state;
    refused(json_string("here"), "object");
    refused(json_object(), "schema");
    refused(json_pack("{s:i, s:s, s:s}", "schema", 2, "id", "here", "base", "nvidia-l4"), "schema");
    refused(json_pack("{s:i, s:s, s:s}", "schema", 1, "id", "here", "base", "no-such"), "no base 'no-such'");
    refused(json_pack("{s:i, s:s, s:s, s:s}", "schema", 1, "id", "here", "base", "nvidia-l4", "class", "abacus"),
            "class");
    refused(json_pack("{s:i, s:s, s:s, s:[]}", "schema", 1, "id", "here", "base", "nvidia-l4", "memory"), "memory");
    refused(json_pack("{s:i, s:s, s:s, s:b}", "schema", 1, "id", "here", "base", "nvidia-l4", "abstract", 1), "family");
    json_object_set_new(set, "profiles", json_string("none"));
    assert_non_null(strstr(case_of(HERE)->reason, "no device 'here'"));
}

/* The built-in sets pass the checks for a user's file. */
static void test_built_in_sets(void **state)
{
    (void)state;
    const cm__origin nowhere = {.file = NULL};
    cm_diag          diag = {0};
    ctx->diag = &diag;
    if (setjmp(ctx->trap)) fail_msg("%s: %s", diag.place, diag.reason);
    for (int32_t i = 0; i < cm__n_embedded_sets; i++)
        if (json_object_get(cm__store_set(store, i), "rows")) cm__set_check(ctx, cm__store_set(store, i), &nowhere);
    ctx->diag = NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_roofline, setup, teardown),
        cmocka_unit_test_setup_teardown(test_utilisation, setup, teardown),
        cmocka_unit_test_setup_teardown(test_similarity, setup, teardown),
        cmocka_unit_test_setup_teardown(test_metrics, setup, teardown),
        cmocka_unit_test_setup_teardown(test_one_at_a_time, setup, teardown),
        cmocka_unit_test_setup_teardown(test_plans, setup, teardown),
        cmocka_unit_test_setup_teardown(test_plans_that_fit, setup, teardown),
        cmocka_unit_test_setup_teardown(test_reasons, setup, teardown),
        cmocka_unit_test_setup_teardown(test_left_out, setup, teardown),
        cmocka_unit_test_setup_teardown(test_loading, setup, teardown),
        cmocka_unit_test_setup_teardown(test_programs_of_ipus, setup, teardown),
        cmocka_unit_test_setup_teardown(test_shares_and_profiles, setup, teardown),
        cmocka_unit_test_setup_teardown(test_profiles_of_two_sets, setup, teardown),
        cmocka_unit_test_setup_teardown(test_hostile_profiles, setup, teardown),
        cmocka_unit_test_setup_teardown(test_built_in_sets, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
