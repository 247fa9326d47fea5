/* SPDX-License-Identifier: Apache-2.0 */
/* test_merge.c - kernel tables joined: new rows, replaced rows, sorted tables. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "device/merge.h"
#include "profile_texts.h"

#define TABLE(op, dtype, date, rows)                                                                                   \
    "{\"runtime\":\"torch-eager\",\"op\":\"" op "\",\"pass\":\"forward\",\"variant\":\"\",\"dtype\":\"" dtype "\",\"dims\":[\"rows\","  \
    "\"cols\"],\"kind\":\"measured\",\"source\":\"bench\",\"date\":\"" date "\",\"rows\":[" rows "]}"

static json_t *profile_of(const char *kernels)
{
    json_t *profile = json_object();
    json_object_set_new(profile, "kernels", json_loads(kernels, 0, NULL));
    return profile;
}

static double number(const json_t *profile, size_t table, size_t row, size_t at)
{
    const json_t *t = json_array_get(json_object_get(profile, "kernels"), table);
    return json_number_value(json_array_get(json_array_get(json_object_get(t, "rows"), row), at));
}

static void rows_of_both(void **state)
{
    (void)state;
    cm__ctx        *ctx = cm__ctx_new(NULL);
    cm_merge_counts counts = {0};
    json_t *into = profile_of("[" TABLE("softmax", "fp32", "2026-10", "[64,10,3e-6,1],[8,10,1e-6,1]") "]"),
           *from = profile_of("[" TABLE("softmax", "fp32", "2026-11", "[9,10,4e-6,1],[8,10,2e-6,1]") ","
                              TABLE("layer_norm", "bf16", "2026-11", "[1,1,1e-6,1]") "]");
    cm__tables_merge(ctx, into, from, &counts);
    assert_int_equal(counts.added, 2);
    assert_int_equal(counts.replaced, 1);
    assert_int_equal(counts.tables, 2);
    const json_t *tables = json_object_get(into, "kernels"), *softmax = json_array_get(tables, 1);
    assert_string_equal(json_string_value(json_object_get(json_array_get(tables, 0), "op")), "layer_norm");
    assert_string_equal(json_string_value(json_object_get(softmax, "date")), "2026-11");
    assert_int_equal(json_array_size(json_object_get(softmax, "rows")), 3);
    assert_true(number(into, 1, 0, 0) == 8 && number(into, 1, 0, 2) == 2e-6); /* the newer time */
    assert_true(number(into, 1, 1, 0) == 9 && number(into, 1, 2, 0) == 64);   /* sorted by number, not by text */
    json_decref(into);
    json_decref(from);
    cm__ctx_free(ctx);
}

/* Joining a table with itself changes nothing. */
static void twice(void **state)
{
    (void)state;
    cm__ctx        *ctx = cm__ctx_new(NULL);
    cm_merge_counts counts = {0};
    json_t         *into = profile_of("[" TABLE("softmax", "fp32", "2026-10", "[8,10,1e-6,1],[64,10,3e-6,1]") "]"),
           *same = json_deep_copy(into), *before = json_deep_copy(into);
    cm__tables_merge(ctx, into, same, &counts);
    assert_true(json_equal(into, before));
    assert_true(counts.added == 0 && counts.replaced == 2);
    json_decref(into);
    json_decref(same);
    json_decref(before);
    cm__ctx_free(ctx);
}

#define KEYED(runtime, op, pass, variant, dtype)                                                                       \
    "{\"runtime\":\"" runtime "\",\"op\":\"" op "\",\"pass\":\"" pass "\",\"variant\":\"" variant "\",\"dtype\":\"" dtype   \
    "\",\"date\":\"2026-10\",\"rows\":[[1,1e-6,1]]}"

/* Tables are the same if all five members are; a table that lacks a member has an empty one. */
static void each_key_counts(void **state)
{
    static const char *const others[] = {KEYED("b", "g", "f", "n", "x"), KEYED("a", "h", "f", "n", "x"),
                                         KEYED("a", "g", "b", "n", "x"), KEYED("a", "g", "f", "t", "x"),
                                         KEYED("a", "g", "f", "n", "y"), KEYED("a", "g", "f", "", "x")};
    (void)state;
    for (size_t i = 0; i <= sizeof others / sizeof *others; i++) {
        bool            same = i == sizeof others / sizeof *others;
        char            text[512];
        cm__ctx        *ctx = cm__ctx_new(NULL);
        cm_merge_counts counts = {0};
        snprintf(text, sizeof text, "[%s]", same ? KEYED("a", "g", "f", "n", "x") : others[i]);
        json_t *into = profile_of("[" KEYED("a", "g", "f", "n", "x") "]"), *from = profile_of(text);
        cm__tables_merge(ctx, into, from, &counts);
        assert_int_equal(counts.tables, same ? 1 : 2);
        assert_int_equal(counts.added, same ? 0 : 1);
        json_decref(into);
        json_decref(from);
        cm__ctx_free(ctx);
    }
}

/* The last two numbers of a row are no sizes: a row with another time or count of kernels replaces the old one. */
static void times_are_no_sizes(void **state)
{
    (void)state;
    cm__ctx        *ctx = cm__ctx_new(NULL);
    cm_merge_counts counts = {0};
    json_t *into = profile_of("[" TABLE("softmax", "fp32", "2026-11", "[8,10,1e-6,1]") "]"),
           *from = profile_of("[" TABLE("softmax", "fp32", "2026-10", "[8,10,2e-6,3],[8,11,1e-6,1]") "]");
    cm__tables_merge(ctx, into, from, &counts);
    assert_true(counts.replaced == 1 && counts.added == 1);
    assert_true(number(into, 0, 0, 2) == 2e-6 && number(into, 0, 0, 3) == 3 && number(into, 0, 1, 1) == 11);
    const json_t *table = json_array_get(json_object_get(into, "kernels"), 0);
    assert_string_equal(json_string_value(json_object_get(table, "date")), "2026-11"); /* the later date stays */
    json_decref(into);
    json_decref(from);
    cm__ctx_free(ctx);
}

/* Rows of tables with more sizes are other rows, whichever side they come from: 8, 10 and a third size. */
static void every_size_counts(void **state)
{
    (void)state;
    cm__ctx        *ctx = cm__ctx_new(NULL);
    cm_merge_counts counts = {0};
    json_t *into = profile_of("[" TABLE("softmax", "fp32", "2026-11", "[8,10,3,1e-6,1]") "]"),
           *from = profile_of("[" TABLE("softmax", "fp32", "2026-11", "[8,10,4,1e-6,1],[8,10,3,2e-6,2]") "]");
    cm__tables_merge(ctx, into, from, &counts);
    assert_true(counts.replaced == 1 && counts.added == 1);
    json_decref(into);
    json_decref(from);
    cm__ctx_free(ctx);
}

static void sources_of_both(void **state)
{
    (void)state;
    cm__ctx        *ctx = cm__ctx_new(NULL);
    cm_merge_counts counts = {0};
    json_t *into = json_pack("{s:{s:s, s:s}}", "sources", "both", "old", "mine", "m"),
           *from = json_pack("{s:{s:s, s:s}}", "sources", "both", "new", "theirs", "t"), *bare = json_object();
    cm__tables_merge(ctx, into, from, &counts);
    const json_t *sources = json_object_get(into, "sources");
    assert_int_equal(json_object_size(sources), 3);
    assert_string_equal(json_string_value(json_object_get(sources, "both")), "old");
    assert_true(json_is_array(json_object_get(into, "kernels"))); /* made where there was none */
    cm__tables_merge(ctx, bare, from, &counts);
    assert_int_equal(json_object_size(json_object_get(bare, "sources")), 2);
    json_decref(into);
    json_decref(from);
    json_decref(bare);
    cm__ctx_free(ctx);
}

static cm_status merged(const char *first, const char *second, char **profile, cm_diag *diag)
{
    char        paths[2][512];
    const char *all[2] = {paths[0], paths[1]};
    write_file("first.json", first);
    write_file("second.json", second);
    strcpy(paths[0], file_named("first.json"));
    strcpy(paths[1], file_named("second.json"));
    return cm_tables_merge(all, 2, profile, NULL, diag);
}

static void text_of_files(void **state)
{
    (void)state;
    char   *profile;
    cm_diag diag = {0};
    assert_int_equal(merged("{\"id\":\"a\",\"kernels\":[" TABLE("softmax", "fp32", "2026-10", "[8,10,1e-6,1]") "]}",
                            "{\"kernels\":[" TABLE("softmax", "fp32", "2026-10", "[9,10,123456789e-15,1]") "]}", &profile,
                            &diag), CM_OK);
    json_t *read = json_loads(profile, 0, NULL);
    assert_string_equal(json_string_value(json_object_get(read, "id")), "a");
    assert_true(number(read, 0, 1, 2) == 123456789e-15); /* nine digits stay */
    json_decref(read);
    free(profile);
    assert_int_equal(merged("{\"kernels\":[]}", "{\"kernels\":[]}", &profile, &diag), CM_OK);
    assert_string_equal(profile, "{\"kernels\":[]}");
    free(profile);
    static const char *const bad[][2] = {{"[1]", "no kernel tables"}, {"{\"kernels\":{}}", "no kernel tables"},
                                         {"{\"kernels\":[{\"rows\":[]},{\"rows\":1}]}", "kernels[1] has no array"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(merged("{\"kernels\":[]}", bad[i][0], &profile, &diag), CM_ERR_FORMAT);
        assert_non_null(strstr(diag.reason, bad[i][1]));
        assert_non_null(strstr(diag.file, "second.json"));
    }
}

static void files(void **state)
{
    (void)state;
    char           *profile;
    cm_diag         diag = {0};
    cm_merge_counts counts;
    const char     *paths[] = {"/no/such/file.json"};
    assert_int_equal(cm_tables_merge(paths, 1, &profile, &counts, &diag), CM_ERR_IO);
    assert_int_equal(cm_tables_merge(paths, 0, &profile, &counts, &diag), CM_ERR_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows_of_both), cmocka_unit_test(twice),
        cmocka_unit_test(each_key_counts), cmocka_unit_test(times_are_no_sizes), cmocka_unit_test(every_size_counts), cmocka_unit_test(sources_of_both),
        cmocka_unit_test(text_of_files), cmocka_unit_test(files)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
