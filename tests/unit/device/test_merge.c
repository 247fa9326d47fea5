/* SPDX-License-Identifier: Apache-2.0 */
/* test_merge.c - kernel tables joined: new rows, replaced rows, sorted tables. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "device/merge.h"

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
           *from = profile_of("[" TABLE("softmax", "fp32", "2026-11", "[8,10,2e-6,1],[9,10,4e-6,1]") ","
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
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows_of_both), cmocka_unit_test(twice), cmocka_unit_test(files)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
