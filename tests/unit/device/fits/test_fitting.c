/* SPDX-License-Identifier: Apache-2.0 */
/* test_fitting.c - fit a file of timings to a valid profile, and check that profile against the same timings. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "base/ctx.h"
#include "profile_texts.h"

#define HEADER "device,op,pass,dtype,d0,d1,d2,d3,latency_ms,note\n"
#define ALIAS "A100-SXM4-80GB" /* of nvidia-a100-80g */
#define ROWS 40

static cm_diag diag;
static char    table[1 << 16];

/* 5 us, and three operands at 1.5e12 B/s: an ideal elementwise sum, with a few percent of noise. */
static void append_sums(const char *device, const char *dtype, int rows, const char *note)
{
    uint32_t seed = 3;
    double   element = strcmp(dtype, "fp32") == 0 ? 4 : 2;
    for (int i = 0; i < rows; i++) {
        seed = seed * 1664525u + 1013904223u;
        double noise = 1 + 0.02 * ((double)(seed >> 8) / (1 << 23) - 1), m = 1 << (4 + i % 14), n = 128 * (1 + i % 9);
        size_t used = strlen(table);
        snprintf(table + used, sizeof table - used, "%s,add,fwd,%s,%g,%g,,,%.6g,%s\n", device, dtype, m, n,
                 1e3 * noise * (5e-6 + 3 * element * m * n / 1.5e12), note);
    }
}

static void begin_table(void) { strcpy(table, HEADER); }

static cm_fitting *run(const cm_fit_options *options)
{
    cm_fitting *f = NULL;
    write_file("t.csv", table);
    if (cm_fitting_run(file_named("t.csv"), options, &f, &diag) != CM_OK) fail_msg("%s: %s", diag.file, diag.reason);
    return f;
}

static void refused(const cm_fit_options *options, cm_status status, const char *reason)
{
    cm_fitting *f = NULL;
    write_file("t.csv", table);
    assert_int_equal(cm_fitting_run(file_named("t.csv"), options, &f, &diag), status);
    assert_null(f);
    if (!strstr(diag.reason, reason)) fail_msg("'%s' does not say '%s'", diag.reason, reason);
}

static void valid(const char *profile, const char *id)
{
    cm_profile_summary s;
    write_file("fitted.json", profile);
    if (cm_profile_check(file_named("fitted.json"), &s, &diag) != CM_OK) fail_msg("%s: %s: %s\n%s", diag.file, diag.place, diag.reason, profile);
    assert_string_equal(s.id, id);
}

/* ---- fitting ---------------------------------------------------------------------------------------------------- */

static void classes_are_told_apart(void **state)
{
    (void)state;
    const char *first;
    begin_table();
    append_sums(ALIAS, "fp32", ROWS, "");
    append_sums(ALIAS, "bf16", ROWS, "trtllm-1.0:x");
    append_sums(ALIAS, "fp16", 23, ""); /* too few rows for a model */
    cm_fitting *f = run(&(cm_fit_options){.device = "nvidia-a100-80g"});
    assert_int_equal(cm_fitting_classes(f), 2);
    const cm_fit_class *a = cm_fitting_class(f, 0), *b = cm_fitting_class(f, 1);
    assert_string_equal(a->device, ALIAS);
    assert_string_equal(a->op, "add");
    assert_string_equal(a->pass, "forward");
    assert_string_equal(a->dtype, "fp32");
    assert_string_equal(a->runtime, "native");
    assert_string_equal(b->runtime, "trtllm");
    assert_int_equal(a->n, ROWS);
    assert_true(a->mape > 0 && a->mape < 0.06 && fabs(a->bias) <= a->mape && a->p90 >= 0);
    assert_int_equal(cm_fitting_skipped(f, &first), 0);
    cm_fitting_free(f);
}

static void the_profile_is_valid(void **state)
{
    (void)state;
    begin_table();
    append_sums(ALIAS, "fp32", ROWS, "");
    cm_fitting *f = run(&(cm_fit_options){.device = "nvidia-a100-80g"});
    valid(cm_fitting_profile(f), "my-nvidia-a100-80g");
    cm_device *d;
    assert_int_equal(cm_device_load(file_named("fitted.json"), &d, &diag), CM_OK);
    assert_int_equal(cm_device_fits(d), 1);
    const cm_fit *fit = cm_device_fit(d, 0);
    assert_string_equal(fit->form, "stream");
    assert_true(fit->n == ROWS && fabs(fit->mape - cm_fitting_class(f, 0)->mape) < 1e-4);
    assert_true(cm_device_peak_16bit(d).value == 312e12); /* from its base */
    assert_string_equal(cm_device_source(d, fit->source)->where, "t.csv");
    cm_device_free(d);
    cm_fitting_free(f);
}

/* The rows' device name is an alias of a known device. */
static void a_device_is_found_by_its_alias(void **state)
{
    (void)state;
    begin_table();
    append_sums(ALIAS, "fp32", ROWS, "");
    cm_fitting *named = run(&(cm_fit_options){.device = "nvidia-a100-80g"});
    cm_fitting *found = run(NULL);
    assert_non_null(strstr(cm_fitting_profile(found), "\"base\": \"nvidia-a100-80g\""));
    assert_true(cm_fitting_class(found, 0)->mape == cm_fitting_class(named, 0)->mape);
    cm_fitting_free(named);
    cm_fitting_free(found);
}

static void unknown_devices_are_fitted_by_what_the_rows_show(void **state)
{
    (void)state;
    begin_table();
    append_sums("nobody's", "fp32", ROWS, "");
    cm_fitting *f = run(NULL);
    assert_true(cm_fitting_class(f, 0)->mape < 0.1);
    if (cm_fitting_profile(f)) valid(cm_fitting_profile(f), "my-device");
    cm_fitting_free(f);
}

static void the_same_file_gives_the_same_profile(void **state)
{
    (void)state;
    begin_table();
    append_sums(ALIAS, "fp32", ROWS, "");
    cm_fitting *a = run(NULL), *b = run(NULL);
    assert_string_equal(cm_fitting_profile(a), cm_fitting_profile(b));
    cm_fitting_free(a);
    cm_fitting_free(b);
}

static void rows_without_a_form_are_counted(void **state)
{
    (void)state;
    const char *first;
    begin_table();
    append_sums(ALIAS, "fp32", ROWS, "");
    strcat(table, ALIAS ",fft,fwd,fp32,8,,,,1,\n" ALIAS ",fft,fwd,fp32,9,,,,1,\n");
    cm_fitting *f = run(NULL);
    assert_int_equal(cm_fitting_skipped(f, &first), 2);
    assert_string_equal(first, "fft fwd fp32");
    cm_fitting_free(f);
}

static int calls, last_done, last_total;

static void count_calls(void *user, int32_t done, int32_t total, const char *what)
{
    assert_ptr_equal(user, table);
    assert_non_null(what);
    assert_true(done >= last_done && done <= total);
    calls++;
    last_done = done;
    last_total = total;
}

static void progress_is_told(void **state)
{
    (void)state;
    begin_table();
    append_sums(ALIAS, "fp32", ROWS, "");
    append_sums(ALIAS, "bf16", ROWS, "");
    cm_fitting_free(run(&(cm_fit_options){.progress = count_calls, .user = table}));
    assert_true(calls >= 3 && last_done == 2 && last_total == 2);
}

/* ---- checking --------------------------------------------------------------------------------------------------- */

/* A model's error on its own rows is near the cross-validated error, and hardly above it. */
static void a_check_of_the_same_rows_shows_the_same_error(void **state)
{
    (void)state;
    begin_table();
    append_sums(ALIAS, "fp32", ROWS, "");
    cm_fitting *f = run(&(cm_fit_options){.device = "nvidia-a100-80g"});
    double      fitted = cm_fitting_class(f, 0)->mape;
    write_file("fitted.json", cm_fitting_profile(f));
    cm_fitting_free(f);
    char path[256];
    snprintf(path, sizeof path, "%s/fitted.json", folder);
    cm_fitting *c = run(&(cm_fit_options){.device = path, .check = true});
    assert_int_equal(cm_fitting_classes(c), 1);
    assert_int_equal(cm_fitting_class(c, 0)->n, ROWS);
    assert_true(cm_fitting_class(c, 0)->mape < 1.1 * fitted && cm_fitting_class(c, 0)->mape > 0.3 * fitted);
    assert_null(cm_fitting_profile(c));
    cm_fitting_free(c);
}

/* Measured twice as slow as predicted: 50 % error, all of it bias. */
static void a_check_shows_what_changed(void **state)
{
    (void)state;
    char path[256];
    begin_table();
    append_sums(ALIAS, "fp32", ROWS, "");
    cm_fitting *f = run(&(cm_fit_options){.device = "nvidia-a100-80g"});
    write_file("fitted.json", cm_fitting_profile(f));
    cm_fitting_free(f);
    snprintf(path, sizeof path, "%s/fitted.json", folder);
    begin_table();
    for (int i = 0; i < 30; i++) {
        size_t used = strlen(table);
        double m = 1 << (4 + i % 14), n = 128 * (1 + i % 9);
        snprintf(table + used, sizeof table - used, "x,add,fwd,fp32,%g,%g,,,%.6g,\n", m, n, 2e3 * (5e-6 + 12 * m * n / 1.5e12));
    }
    cm_fitting         *c = run(&(cm_fit_options){.device = path, .check = true});
    const cm_fit_class *class_ = cm_fitting_class(c, 0);
    assert_true(fabs(class_->mape - 0.5) < 0.05 && fabs(class_->bias + 0.5) < 0.05);
    cm_fitting_free(c);
}

static void a_check_needs_models(void **state)
{
    (void)state;
    begin_table();
    append_sums("x", "fp32", ROWS, "");
    write_file("bare.json", DEVICE("bare", ",\n\"cores\": " NUMBER("108", "1")));
    char path[256];
    snprintf(path, sizeof path, "%s/bare.json", folder);
    refused(&(cm_fit_options){.device = path, .check = true}, CM_ERR_ARGUMENT, "no model for any");
}

/* ---- refusals --------------------------------------------------------------------------------------------------- */

static void too_few_rows_are_refused(void **state)
{
    (void)state;
    begin_table();
    append_sums(ALIAS, "fp32", 23, "");
    refused(NULL, CM_ERR_ARGUMENT, "24 rows or more");
    begin_table();
    refused(NULL, CM_ERR_ARGUMENT, "24 rows or more");
}

static void unknown_names_come_with_a_suggestion(void **state)
{
    (void)state;
    begin_table();
    append_sums(ALIAS, "fp32", ROWS, "");
    refused(&(cm_fit_options){.device = "nvidia-a100-80gb"}, CM_ERR_UNKNOWN, "did you mean 'nvidia-a100-80g'");
}

static void bad_tables_name_file_and_line(void **state)
{
    (void)state;
    begin_table();
    append_sums(ALIAS, "fp32", 1, "");
    strcat(table, ALIAS ",add,fwd,fp32,many,8,,,1,\n");
    refused(NULL, CM_ERR_FORMAT, "line 3: d0 is no size");
    assert_string_equal(diag.file, file_named("t.csv"));
    cm_fitting *f = NULL;
    assert_int_equal(cm_fitting_run(file_named("missing.csv"), NULL, &f, &diag), CM_ERR_IO);
    write_file("empty.csv", "");
    assert_int_equal(cm_fitting_run(file_named("empty.csv"), NULL, &f, &diag), CM_ERR_FORMAT);
    assert_null(f);
}

/* Every profile that is written can be loaded. */
static void what_is_no_pass_does_not_get_into_a_profile(void **state)
{
    (void)state;
    cm_fitting *f = NULL;
    begin_table();
    append_sums(ALIAS, "fp32", ROWS, "");
    for (char *at = table; (at = strstr(at, ",fwd,")); at++) memcpy(at, ",odd,", 5);
    write_file("t.csv", table);
    if (cm_fitting_run(file_named("t.csv"), NULL, &f, &diag) == CM_OK) valid(cm_fitting_profile(f), "my-nvidia-a100-80g");
    else assert_non_null(strstr(diag.reason, "odd"));
    cm_fitting_free(f);
}

/* Models of one device do not get into the profile of another. */
static void two_devices_are_not_one_profile(void **state)
{
    (void)state;
    cm_fitting *f = NULL;
    begin_table();
    append_sums("A100-SXM4-40GB", "fp32", ROWS, "");
    append_sums(ALIAS, "fp32", ROWS, "");
    write_file("t.csv", table);
    if (cm_fitting_run(file_named("t.csv"), NULL, &f, &diag) == CM_OK && cm_fitting_profile(f)) {
        valid(cm_fitting_profile(f), "my-nvidia-a100-80g");
        cm_device *d;
        assert_int_equal(cm_device_load(file_named("fitted.json"), &d, &diag), CM_OK);
        assert_int_equal(cm_device_fits(d), 1);
        cm_device_free(d);
    }
    cm_fitting_free(f);
}

/* ---- memory ----------------------------------------------------------------------------------------------------- */

static long until_failure;

static void *failing_alloc(size_t count, size_t size) { return until_failure-- > 0 ? calloc(count, size) : NULL; }

/* A fit that runs out of memory fails; a fit that succeeds is complete and has found the device. */
static void every_allocation_may_fail(void **state)
{
    (void)state;
    begin_table();
    append_sums(ALIAS, "fp32", 24, "");
    cm_fitting *whole = run(NULL), *f = NULL;
    cm_status   status = CM_ERR_MEMORY;
    cm__chunk_alloc = failing_alloc;
    for (long n = 0; status != CM_OK; n++) {
        until_failure = n;
        status = cm_fitting_run(file_named("t.csv"), NULL, &f, &diag);
        if (status != CM_OK && status != CM_ERR_MEMORY) break;
        assert_in_range(n, 0, 10000);
    }
    cm__chunk_alloc = calloc;
    assert_int_equal(status, CM_OK);
    assert_string_equal(cm_fitting_profile(f), cm_fitting_profile(whole));
    cm_fitting_free(f);
    cm_fitting_free(whole);
}

static void nothing_is_freed_twice(void **state)
{
    (void)state;
    cm_fitting_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classes_are_told_apart),
        cmocka_unit_test(the_profile_is_valid),
        cmocka_unit_test(a_device_is_found_by_its_alias),
        cmocka_unit_test(unknown_devices_are_fitted_by_what_the_rows_show),
        cmocka_unit_test(the_same_file_gives_the_same_profile),
        cmocka_unit_test(rows_without_a_form_are_counted),
        cmocka_unit_test(progress_is_told),
        cmocka_unit_test(a_check_of_the_same_rows_shows_the_same_error),
        cmocka_unit_test(a_check_shows_what_changed),
        cmocka_unit_test(a_check_needs_models),
        cmocka_unit_test(too_few_rows_are_refused),
        cmocka_unit_test(unknown_names_come_with_a_suggestion),
        cmocka_unit_test(bad_tables_name_file_and_line),
        cmocka_unit_test(what_is_no_pass_does_not_get_into_a_profile),
        cmocka_unit_test(two_devices_are_not_one_profile),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(nothing_is_freed_twice),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
