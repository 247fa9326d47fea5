/* SPDX-License-Identifier: Apache-2.0 */
/* test_bench.c - complete runs on the null backend, whose times are formulas; and results of the CPU backend. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "centimani.h"

static cm_bench *bench(cm_bench_options options)
{
    cm_bench *b = NULL;
    cm_diag   diag = {0};
    if (!options.backend) options.backend = "null";
    cm_status status = cm_bench_run(&options, &b, &diag);
    if (status != CM_OK) fail_msg("%s", diag.reason);
    return b;
}

static const cm_bench_result *named(const cm_bench *b, const char *name)
{
    for (int32_t i = 0; i < cm_bench_results(b); i++)
        if (strcmp(cm_bench_get_result(b, i)->name, name) == 0) return cm_bench_get_result(b, i);
    fail_msg("no case '%s'", name);
    return NULL;
}

static void near_to(double got, double want)
{
    if (!(fabs(got - want) <= 1e-6 * fabs(want))) fail_msg("%.9g is not %.9g", got, want);
}

/* Time of a product on the null device: 1 us plus 2 m n k FLOP at 1e12 FLOP/s. */
static void null_times_are_the_formula(void **state)
{
    (void)state;
    cm_bench *b = bench((cm_bench_options){.suites = "primitives", .only = "gemm forward nn fp32 1,2560,2560,2560"});
    near_to(named(b, "gemm forward nn fp32 1,2560,2560,2560")->time_s, 1e-6 + 2 * 2560.0 * 2560 * 2560 / 1e12);
    cm_bench_free(b);
}

static double ceiling(const cm_bench *b, const char *what, const char *name)
{
    for (int32_t i = 0; i < cm_bench_ceilings(b); i++) {
        const cm_bench_ceiling *c = cm_bench_get_ceiling(b, i);
        if (!strcmp(c->what, what) && !strcmp(c->name, name)) return c->value;
    }
    return NAN;
}

static void ceilings_are_the_null_devices(void **state)
{
    (void)state;
    cm_bench *b = bench((cm_bench_options){.suites = "roofline"});
    near_to(ceiling(b, "vector", "fp32"), 1e12);
    near_to(ceiling(b, "vector", "bf16"), 4e12);
    near_to(ceiling(b, "memory", "cache"), 1e12);
    near_to(ceiling(b, "memory", "memory"), 1e11);
    near_to(ceiling(b, "latency", "launch"), 1e-6);
    cm_bench_free(b);
}

/* nccl-tests: 2 (n - 1) / n for all-reduce, (n - 1) / n for all-gather and reduce-scatter, 1 for the others. */
static void bus_bandwidth(void **state)
{
    (void)state;
    near_to(cm_bench_bus_factor("all-reduce", 4), 1.5);
    near_to(cm_bench_bus_factor("all-reduce", 2), 1);
    near_to(cm_bench_bus_factor("all-gather", 4), 0.75);
    near_to(cm_bench_bus_factor("reduce-scatter", 8), 0.875);
    near_to(cm_bench_bus_factor("broadcast", 8), 1);
    cm_bench *b = bench((cm_bench_options){.suites = "collectives"});
    near_to(named(b, "all-reduce fp32 67108864 ranks 4")->time_s, 5e-6 + 67108864 * 1.5 / 1e10);
    cm_bench_free(b);
}

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    fputs(text, file);
    fclose(file);
}

static void a_wrong_result_is_no_time(void **state)
{
    char path[] = "/tmp/centimani-cases-XXXXXX";
    (void)state;
    close(mkstemp(path));
    write_text(path, "{\"schema\": 1, \"cases\": [{\"op\": \"gemm\", \"pass\": \"forward\", \"variant\": \"nn\","
                     "\"dtype\": \"fp32\", \"rows\": [[1, 13, 13, 13], [1, 14, 13, 13]]}]}");
    cm_bench *b = bench((cm_bench_options){.cases = path});
    assert_int_equal(cm_bench_wrong(b), 1);
    assert_true(isnan(named(b, "gemm forward nn fp32 1,13,13,13")->time_s));
    assert_non_null(named(b, "gemm forward nn fp32 1,13,13,13")->skipped);
    assert_true(named(b, "gemm forward nn fp32 1,14,13,13")->time_s > 0);
    assert_null(strstr(cm_bench_profile(b), "[1, 13, 13, 13"));
    cm_bench_free(b);
    unlink(path);
}

/* A second run reuses earlier results and measures only the rest. */
static void a_journal_is_taken_up(void **state)
{
    char path[] = "/tmp/centimani-journal-XXXXXX";
    (void)state;
    close(mkstemp(path));
    cm_bench *first = bench((cm_bench_options){.suites = "lookup", .only = "lookup 32768", .journal = path});
    double    time_s = named(first, "lookup 32768")->time_s;
    assert_false(named(first, "lookup 32768")->resumed);
    cm_bench_free(first);
    cm_bench *second = bench((cm_bench_options){.suites = "lookup", .journal = path});
    assert_true(named(second, "lookup 32768")->resumed);
    assert_false(named(second, "lookup 262144")->resumed);
    near_to(named(second, "lookup 32768")->time_s, time_s);
    cm_bench_forget(second);
    assert_int_not_equal(access(path, F_OK), 0);
    cm_bench_free(second);
}

static void what_does_not_fit_is_skipped(void **state)
{
    char path[] = "/tmp/centimani-cases-XXXXXX";
    (void)state;
    close(mkstemp(path));
    write_text(path,
               "{\"schema\": 1, \"missing\": [{\"call\": \"gemm forward nn fp32 1,100000,100000,64\"}]}"); /* 40 GB */
    cm_bench *b = bench((cm_bench_options){.cases = path});
    assert_non_null(cm_bench_get_result(b, 0)->skipped);
    assert_non_null(strstr(cm_bench_get_result(b, 0)->skipped, "16.0 GiB are free"));
    assert_int_equal(cm_bench_wrong(b), 0);
    cm_bench_free(b);
    unlink(path);
}

/* `predict` accepts the profile that a run writes. */
static void the_profile_is_valid(void **state)
{
    char               path[] = "/tmp/centimani-profile-XXXXXX.json";
    cm_profile_summary summary;
    cm_diag            diag = {0};
    (void)state;
    close(mkstemps(path, 5));
    cm_bench *b = bench((cm_bench_options){.suites = "roofline,host,lookup,primitives,sweep,collectives"});
    write_text(path, cm_bench_profile(b));
    if (cm_profile_check(path, &summary, &diag) != CM_OK) fail_msg("%s: %s", diag.place, diag.reason);
    assert_string_equal(summary.id, "my-null-device");
    cm_bench_free(b);
    unlink(path);
}

static void bad_names_are_refused(void **state)
{
    static const struct {
        cm_bench_options options;
        const char      *hint;
    } bad[] = {
        {{.backend = "cpy"}, "cpu"},
        {{.backend = "null", .suites = "roofline,swep"}, "sweep"},
        {{.backend = "null", .suites = "lookup", .only = "nothing"}, "--list"},
        {{.backend = "null", .cases = "/nowhere/cases.json"}, "No such file"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        cm_bench *b;
        cm_diag   diag = {0};
        assert_int_not_equal(cm_bench_run(&bad[i].options, &b, &diag), CM_OK);
        if (!strstr(diag.reason, bad[i].hint)) fail_msg("'%s' lacks '%s'", diag.reason, bad[i].hint);
    }
}

/* Small cases of all built-in CPU kernels and of all installed libraries have right results. */
static void the_processors_results_are_right(void **state)
{
    char path[] = "/tmp/centimani-cases-XXXXXX", text[8192];
    static const char *const calls[] = {
        "gemm forward nn fp32 2,17,33,9",
        "gemm forward nt fp32 1,64,65,66",
        "gemm forward tn fp32 1,31,40,77",
        "gemm forward nt-bias fp32 1,64,65,66",
        "attention forward - fp32 2,16,16,4,2,8,1",
        "attention backward - fp32 2,16,16,4,2,8,1",
        "attention backward - fp32 1,9,13,3,3,16,0",
        "conv forward nchw fp32 2,8,12,9,11,3,3,2,1,1,1,1,1,4",
        "conv bwd_input nhwc fp32 2,8,12,9,11,3,3,1,1,1,1,1,1,1",
        "conv bwd_weight nchw fp32 2,8,12,9,11,3,3,1,1,1,1,2,2,1",
        "softmax forward - fp32 33,97",
        "softmax backward log fp32 33,97",
        "softmax forward log fp32 5,3",
        "softmax backward - fp32 3,1000",
        "cross_entropy forward - fp32 20,301",
        "cross_entropy backward - fp32 20,301",
        "layer_norm forward - fp32 40,65",
        "layer_norm backward - fp32 300,65",
        "rms_norm forward - fp32 40,65",
        "rms_norm backward - fp32 40,65",
        "reduce forward sum fp32 1,50000,1",
        "reduce forward max fp32 7,33,5",
        "reduce forward mean fp32 9,100,1",
        "reduce forward sum fp32 1,9000,20",
        "embedding forward - fp32 100,50,32",
        "embedding backward - fp32 100,50,40",
        "optimizer update sgd fp32 3,1000",
        "optimizer update momentum fp32 3,1000",
        "optimizer update adam fp32 3,40000",
        "optimizer update adamw fp32 1,1000",
        "rnn forward lstm fp32 3,5,16,24,1,1",
        "rnn backward lstm fp32 3,5,16,24,1,1",
        "pool forward max:nchw fp32 2,3,9,9,3,2,1",
        "pool backward max:nhwc fp32 2,3,9,9,3,2,1",
        "pool backward avg:nchw fp32 2,3,8,8,2,2,0",
        "batch_norm forward nhwc fp32 4,6,25",
        "batch_norm backward nchw fp32 4,6,25",
        "elementwise forward add:row fp32 20,33",
        "elementwise forward mul:col fp32 20,33",
        "elementwise forward copy:strided fp32 70,33",
    };
    int length = snprintf(text, sizeof text, "{\"schema\": 1, \"missing\": [{\"call\": \"%s\"}", calls[0]);
    (void)state;
    for (size_t i = 1; i < sizeof calls / sizeof *calls; i++)
        length += snprintf(text + length, sizeof text - (size_t)length, ", {\"call\": \"%s\"}", calls[i]);
    snprintf(text + length, sizeof text - (size_t)length, "]}");
    close(mkstemp(path));
    write_text(path, text);
    for (int cold = 0; cold < 2; cold++) {
        cm_bench *b =
            bench((cm_bench_options){.backend = "cpu", .cases = path, .budget_s = 40, .threads = 2, .cold = cold});
        assert_int_equal(cm_bench_results(b), (int)(sizeof calls / sizeof *calls));
        for (int32_t i = 0; i < cm_bench_results(b); i++)
            if (cm_bench_get_result(b, i)->wrong) fail_msg("%s is wrong", cm_bench_get_result(b, i)->name);
        assert_true(named(b, "softmax forward - fp32 33,97")->time_s > 0);
        cm_bench_free(b);
    }
    unlink(path);
}

static void the_processors_functions_are_right(void **state)
{
    (void)state;
    cm_bench *b = bench((cm_bench_options){.backend = "cpu", .suites = "sweep", .only = "elementwise forward * 64,256",
                                           .budget_s = 20});
    assert_true(cm_bench_results(b) > 15);
    for (int32_t i = 0; i < cm_bench_results(b); i++)
        if (cm_bench_get_result(b, i)->wrong) fail_msg("%s is wrong", cm_bench_get_result(b, i)->name);
    cm_bench_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(null_times_are_the_formula),
        cmocka_unit_test(ceilings_are_the_null_devices),
        cmocka_unit_test(bus_bandwidth),
        cmocka_unit_test(a_wrong_result_is_no_time),
        cmocka_unit_test(a_journal_is_taken_up),
        cmocka_unit_test(what_does_not_fit_is_skipped),
        cmocka_unit_test(the_profile_is_valid),
        cmocka_unit_test(bad_names_are_refused),
        cmocka_unit_test(the_processors_results_are_right),
        cmocka_unit_test(the_processors_functions_are_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
