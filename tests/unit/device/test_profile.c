/* SPDX-License-Identifier: Apache-2.0 */
/* test_profile.c - built-in profiles are complete and have sources; bases are merged; invalid files are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "device/profile.h"
#include "device/schema.h"
#include "profile_texts.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* A context for the rest of a test; a failure in it fails the test. */
static cm_diag diag;
#define TRY(ctx)                                                                                                       \
    cm__ctx *ctx = cm__ctx_new(&diag);                                                                                 \
    if (setjmp(ctx->trap)) fail_msg("%s: %s: %s", diag.file, diag.place, diag.reason)

/* ---- built in --------------------------------------------------------------------------------------------------- */

static void check_all(cm__profile_kind kind, const cm__embedded_profile *rows, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        cm__ctx *ctx = cm__ctx_new(&diag);
        if (setjmp(ctx->trap)) fail_msg("%s: %s: %s", rows[i].id, diag.place, diag.reason);
        cm__profile p = cm__profile_load(ctx, kind, rows[i].id, CM__PROFILE_CHECKED);
        assert_string_equal(json_string_value(json_object_get(p.tree, "id")), rows[i].id);
        cm__ctx_free(ctx);
    }
}

static void every_built_in_profile_is_valid(void **state)
{
    (void)state;
    check_all(CM__PROFILE_DEVICE, cm__embedded_devices, cm__n_embedded_devices);
    check_all(CM__PROFILE_CLUSTER, cm__embedded_clusters, cm__n_embedded_clusters);
}

static void there_are_enough(void **state)
{
    (void)state;
    assert_true(cm__profiles(CM__PROFILE_DEVICE) >= 45);
    assert_true(cm__profiles(CM__PROFILE_CLUSTER) >= 10);
}

static void ids_are_unique(void **state)
{
    (void)state;
    for (int32_t i = 0; i < cm__n_embedded_devices; i++)
        assert_ptr_equal(cm__profile_find(CM__PROFILE_DEVICE, cm__embedded_devices[i].id), &cm__embedded_devices[i]);
    for (int32_t i = 0; i < cm__n_embedded_clusters; i++) {
        assert_ptr_equal(cm__profile_find(CM__PROFILE_CLUSTER, cm__embedded_clusters[i].id), &cm__embedded_clusters[i]);
        assert_null(cm__profile_find(CM__PROFILE_DEVICE, cm__embedded_clusters[i].id)); /* one namespace */
    }
}

/* Independent of the schema: every quantity has a unit, a kind and an existing source. */
static void sourced(void *sources, const json_t *number, const cm__step *path)
{
    char        where[160];
    const char *source = json_string_value(json_object_get(number, "source"));
    if (!source || !json_object_get(sources, source) || !json_is_string(json_object_get(number, "kind")) ||
        !json_is_string(json_object_get(number, "unit")))
        fail_msg("%s: a number without unit, kind or source", cm__path_text(path, where, sizeof where));
}

static void every_number_has_a_source(void **state)
{
    (void)state;
    for (int32_t i = 0; i < cm__n_embedded_devices; i++) {
        TRY(ctx);
        cm__profile p = cm__profile_load(ctx, CM__PROFILE_DEVICE, cm__embedded_devices[i].id, CM__PROFILE_FULL);
        cm__profile_numbers(p.tree, NULL, sourced, json_object_get(p.tree, "sources"));
        cm__ctx_free(ctx);
    }
}

/* ---- merging ---------------------------------------------------------------------------------------------------- */

static void merging_goes_member_by_member(void **state)
{
    (void)state;
    TRY(ctx);
    json_t **base = cm__json_slot(ctx), **over = cm__json_slot(ctx), **expected = cm__json_slot(ctx);
    *base = json_loads("{\"a\":1,\"g\":{\"x\":1,\"y\":2},\"list\":[1,2],\"n\":{\"value\":1,\"note\":\"old\"},\"gone\":1,"
                       "\"h\":{\"gone\":1,\"kept\":1}}", 0, NULL);
    *over = json_loads("{\"g\":{\"y\":3,\"z\":4},\"list\":[5],\"n\":{\"value\":2},\"gone\":null,\"h\":{\"gone\":null},"
                       "\"new\":{\"deep\":{\"q\":1,\"no\":null}}}", 0, NULL);
    *expected = json_loads("{\"a\":1,\"g\":{\"x\":1,\"y\":3,\"z\":4},\"list\":[5],\"n\":{\"value\":2},"
                           "\"h\":{\"kept\":1},\"new\":{\"deep\":{\"q\":1}}}", 0, NULL);
    cm__json_merge(ctx, *base, *over);
    assert_true(json_equal(*base, *expected));
    cm__ctx_free(ctx);
}

/* Host costs are merged by runtime and kind. */
static void costs_of_hosts_are_merged_one_by_one(void **state)
{
    (void)state;
    TRY(ctx);
    json_t **base = cm__json_slot(ctx), **over = cm__json_slot(ctx), **expected = cm__json_slot(ctx);
    *base = json_loads("{\"host\":[{\"runtime\":\"a\",\"what\":\"x\",\"time\":1},"
                       "{\"runtime\":\"b\",\"what\":\"x\",\"time\":2}]}", 0, NULL);
    *over = json_loads("{\"host\":[{\"runtime\":\"a\",\"what\":\"x\",\"time\":3},"
                       "{\"runtime\":\"a\",\"what\":\"y\",\"time\":4}]}", 0, NULL);
    *expected = json_loads("{\"host\":[{\"runtime\":\"a\",\"what\":\"x\",\"time\":3},"
                           "{\"runtime\":\"a\",\"what\":\"y\",\"time\":4},"
                           "{\"runtime\":\"b\",\"what\":\"x\",\"time\":2}]}", 0, NULL);
    cm__json_merge(ctx, *base, *over);
    assert_true(json_equal(*base, *expected));
    cm__ctx_free(ctx);
}

static void bases_lie_beside_the_file(void **state)
{
    (void)state;
    write_file("family.json", "{\"schema\": 1, \"id\": \"family\", \"abstract\": true, \"vendor\": \"Acme\",\n"
                              "\"cores\": " NUMBER("100", "1") ", " SOURCES "}");
    write_file("middle.json", DEVICE("middle", ", \"base\": \"family\", \"notes\": [\"a\", \"b\"]"));
    write_file("leaf.json", "{\"schema\": 1, \"id\": \"leaf\", \"base\": \"middle.json\", \"notes\": null,\n"
                            "\"cores\": " NUMBER("120", "1") "}");
    TRY(ctx);
    cm__profile p = cm__profile_load(ctx, CM__PROFILE_DEVICE, file_named("leaf.json"), CM__PROFILE_FULL);
    assert_string_equal(json_string_value(json_object_get(p.tree, "id")), "leaf");
    assert_string_equal(json_string_value(json_object_get(p.tree, "vendor")), "Acme");
    assert_null(json_object_get(p.tree, "abstract")); /* a member of a family is not abstract */
    assert_null(json_object_get(p.tree, "notes"));
    const json_t *cores = json_object_get(p.tree, "cores");
    assert_true(json_number_value(json_object_get(cores, "value")) == 120);
    cm__ctx_free(ctx);
}

/* A file with the name of a built-in device may be based on that device. */
static void a_namesake_builds_on_what_is_built_in(void **state)
{
    (void)state;
    char text[256], name[80];
    const char *id = cm__embedded_devices[0].id;
    snprintf(name, sizeof name, "%s.json", id);
    snprintf(text, sizeof text, "{\"schema\": 1, \"id\": \"%s\", \"base\": \"%s\", \"name\": \"mine\"}", id, id);
    write_file(name, text);
    TRY(ctx);
    cm__profile p = cm__profile_load(ctx, CM__PROFILE_DEVICE, file_named(name), CM__PROFILE_FULL);
    assert_string_equal(json_string_value(json_object_get(p.tree, "name")), "mine");
    assert_non_null(json_object_get(p.tree, "memory"));
    cm__ctx_free(ctx);
}

/* ---- refusals --------------------------------------------------------------------------------------------------- */

static cm_status load(const char *path)
{
    cm__ctx *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) return cm__ctx_abandon(ctx);
    cm__profile_load(ctx, CM__PROFILE_DEVICE, path, CM__PROFILE_FULL);
    cm__ctx_free(ctx);
    return CM_OK;
}

static const struct {
    const char *text;
    cm_status   status;
    const char *place, *reason;
} refused[] = {
    {"", CM_ERR_FORMAT, "", "empty"},
    {"{\"schema\": 1,\n \"id\": }", CM_ERR_FORMAT, "line 2, column", "not JSON"},
    {"{\"id\": \"a\",\n \"id\": \"b\"}", CM_ERR_FORMAT, "line 2", "duplicate"},
    {"[]", CM_ERR_FORMAT, "line 1", "expected object"},
    {"{\"id\": \"a\"}", CM_ERR_FORMAT, "", "lacks 'schema'"},
    {DEVICE("a", ",\n\"schemes\": 1"), CM_ERR_FORMAT, "line 5: schemes", "did you mean 'schema'?"},
    {DEVICE("a", ",\n\"launch\": 2e-6"), CM_ERR_FORMAT, "line 5: launch", "expected a number with its origin"},
    {DEVICE("a", ",\n\"launch\": {\"value\": 2e-6, \"kind\": \"spec\", \"source\": \"sheet\"}"), CM_ERR_FORMAT,
     "line 5: launch", "lacks 'unit'"},
    {DEVICE("a", ",\n\"launch\": {\"value\": 2e-6, \"unit\": \"us\", \"kind\": \"spec\", \"source\": \"sheet\"}"),
     CM_ERR_FORMAT, "line 5: launch.unit", "'us', expected 's'"},
    {DEVICE("a", ",\n\"launch\": {\"value\": 2e-6, \"unit\": \"s\", \"kind\": \"spec\"}"), CM_ERR_FORMAT,
     "line 5: launch", "lacks 'source'"},
    {DEVICE("a", ",\n\"launch\": {\"value\": 2e-6, \"unit\": \"s\", \"kind\": \"spec\",\n\"source\": \"shet\"}"),
     CM_ERR_FORMAT, "line 6: launch.source", "'shet' is not among the sources, did you mean 'sheet'?"},
    {DEVICE("a", ",\n\"launch\": {\"value\": 2e-6, \"unit\": \"s\", \"kind\": \"assumed\", \"source\": \"sheet\"}"),
     CM_ERR_FORMAT, "line 5: launch", "'note'"},
    {DEVICE("a", ",\n\"links\": [{\"name\": \"x\", \"reach\": \"node\",\n\"bandwidth\": " NUMBER("-3e12", "B/s") "}]"),
     CM_ERR_FORMAT, "line 6: links[0].bandwidth.value", "-3e+12 is below 1"},
    {"{" IDENTITY("a") ",\n\"peak\": {\"matrix\": {\n\"bf16\": " NUMBER("1e30", "FLOP/s") "}},\n" MEMORY ", " SOURCES "}",
     CM_ERR_FORMAT, "line 3: peak.matrix.bf16.value", "1e+30 is above"},
    {DEVICE("a", ",\n\"prices\": [{\"provider\": \"p\", \"usd_hour\": \"cheap\", \"basis\": \"spot\", "
                 "\"date\": \"2026\", \"source\": \"sheet\"}]"),
     CM_ERR_FORMAT, "line 5: prices[0].usd_hour", "'cheap', expected number"},
    {DEVICE("a", ",\n\"placement\": {\"gradients\": \"HBM\",\n\"algorithm\": \"DDR\"}"), CM_ERR_FORMAT,
     "line 6: placement.algorithm", "no memory 'DDR'"},
    {"{" IDENTITY("a") ", " PEAK ", \"memory\": [], " SOURCES "}", CM_ERR_FORMAT, "memory", "at least one memory"},
    {"{" IDENTITY("a") ", " MEMORY ", " SOURCES "}", CM_ERR_FORMAT, "", "lacks 'peak'"},
    {DEVICE("a", ",\n\"base\": \"nobody\""), CM_ERR_FORMAT, "line 5: base", "no base 'nobody'"},
    {DEVICE("a", ",\n\"base\": \"../../etc/passwd\""), CM_ERR_FORMAT, "line 5: base", "no base"},
    {DEVICE("a", ",\n\"base\": \"bad\""), CM_ERR_FORMAT, "line 5: base", "cycle"},
    {DEVICE("a", ",\n\"base\": 7"), CM_ERR_FORMAT, "line 5: base", "7, expected string"},
    {DEVICE("A B", ""), CM_ERR_FORMAT, "line 1: id", "does not match"},
};

static void bad_profiles_are_refused_with_file_line_and_reason(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(refused); i++) {
        write_file("bad.json", refused[i].text);
        cm_status status = load(file_named("bad.json"));
        if (status != refused[i].status || strcmp(diag.file, file_named("bad.json")) ||
            !strstr(diag.place, refused[i].place) || !strstr(diag.reason, refused[i].reason))
            fail_msg("%s: said %d '%s: %s: %s'", refused[i].text, status, diag.file, diag.place, diag.reason);
    }
}

static void a_cycle_of_bases_is_refused_by_name(void **state)
{
    (void)state;
    write_file("one.json", DEVICE("one", ",\n\"base\": \"two\""));
    write_file("two.json", DEVICE("two", ",\n\n\"base\": \"three\""));
    write_file("three.json", DEVICE("three", ",\n\"base\": \"one\""));
    assert_int_equal(load(file_named("one.json")), CM_ERR_FORMAT);
    assert_string_equal(diag.file, file_named("three.json"));
    assert_non_null(strstr(diag.place, "line 5: base"));
    assert_non_null(strstr(diag.reason, "cycle"));
    assert_non_null(strstr(diag.reason, "one.json -> "));
    assert_non_null(strstr(diag.reason, "three.json -> "));
}

static void bases_have_a_depth(void **state)
{
    (void)state;
    char name[32], text[2048];
    for (int i = 0; i <= 12; i++) {
        snprintf(name, sizeof name, "d%d.json", i);
        int length = snprintf(text, sizeof text, "{\"schema\": 1, \"id\": \"d%d\", \"abstract\": true", i);
        if (i < 12) snprintf(text + length, sizeof text - (size_t)length, ", \"base\": \"d%d\"}", i + 1);
        else strcat(text, "}");
        write_file(name, text);
    }
    assert_int_equal(load(file_named("d4.json")), CM_OK); /* eight bases */
    assert_int_equal(load(file_named("d3.json")), CM_ERR_FORMAT);
    assert_non_null(strstr(diag.reason, "too deep"));
}

static void deep_nesting_is_refused(void **state)
{
    (void)state;
    enum { DEPTH = 100000 };
    char *text = malloc(DEPTH + 1);
    memset(text, '[', DEPTH);
    text[DEPTH] = 0;
    write_file("deep.json", text);
    free(text);
    assert_int_equal(load(file_named("deep.json")), CM_ERR_FORMAT);
    assert_non_null(strstr(diag.reason, "not JSON"));
}

static void only_regular_files_of_sensible_size(void **state)
{
    (void)state;
    assert_int_equal(load(folder), CM_ERR_IO);
    assert_int_equal(load(file_named("missing.json")), CM_ERR_IO);
    assert_int_equal(mkfifo(file_named("pipe.json"), 0600), 0);
    assert_int_equal(load(file_named("pipe.json")), CM_ERR_IO);
    write_file("large.json", " ");
    assert_int_equal(truncate(file_named("large.json"), ((off_t)1 << 24) + 1), 0);
    assert_int_equal(load(file_named("large.json")), CM_ERR_LIMIT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_built_in_profile_is_valid),
        cmocka_unit_test(there_are_enough),
        cmocka_unit_test(ids_are_unique),
        cmocka_unit_test(every_number_has_a_source),
        cmocka_unit_test(merging_goes_member_by_member),
        cmocka_unit_test(costs_of_hosts_are_merged_one_by_one),
        cmocka_unit_test(bases_lie_beside_the_file),
        cmocka_unit_test(a_namesake_builds_on_what_is_built_in),
        cmocka_unit_test(bad_profiles_are_refused_with_file_line_and_reason),
        cmocka_unit_test(a_cycle_of_bases_is_refused_by_name),
        cmocka_unit_test(bases_have_a_depth),
        cmocka_unit_test(deep_nesting_is_refused),
        cmocka_unit_test(only_regular_files_of_sensible_size),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
