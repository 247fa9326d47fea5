/* SPDX-License-Identifier: Apache-2.0 */
/* test_contribute.c - contributions joined with a set: evidence, duplicates, sources. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "device/locate.h"
#include "validate/validate.h"

#define ROW(value) "{\"model\": \"resnet50\", \"device\": \"nvidia-h200\", \"precision\": \"fp16\", \"batch\": 8, \"step_time_s\": " value "}"
#define SET(id, where, date, rows)                                                                                     \
    "{\"id\": \"" id "\", \"source\": {\"title\": \"A\", \"where\": \"" where "\", \"date\": \"" date "\"}, \"rows\": [" rows "]}"

/* The number of rows after a join; -1: refused. */
static int joined(json_t *into, const char *text)
{
    cm_diag    diag = {0};
    cm__origin origin = {0};
    cm__ctx   *ctx = cm__ctx_new(&diag);
    json_t    *set = json_loads(text, 0, NULL);
    assert_non_null(set);
    int volatile rows = -1;
    if (!setjmp(ctx->trap)) {
        cm__results_join(ctx, into, set, &origin, "/nowhere/mine.json");
        rows = (int)json_array_size(json_object_get(into, "rows"));
    }
    json_decref(set);
    cm__ctx_free(ctx);
    return rows;
}

static void rows_and_sources(void **state)
{
    (void)state;
    json_t *into = json_pack("{s:[]}", "rows");
    assert_int_equal(joined(into, SET("one", "https://a.org", "2026-11-12", ROW("1") "," ROW("2"))), 2);
    assert_int_equal(joined(into, SET("two", "https://b.org", "2026", ROW("3"))), 3);
    const json_t *sources = json_object_get(into, "sources"), *last = json_array_get(json_object_get(into, "rows"), 2);
    assert_string_equal(json_string_value(json_object_get(sources, "two")), "A, https://b.org, 2026");
    assert_string_equal(json_string_value(json_object_get(last, "source")), "two");
    assert_int_equal(joined(into, SET("one", "https://c.org", "2026-11-12", ROW("4"))), -1); /* the id of another source */
    json_decref(into);
}

static void refused(void **state)
{
    (void)state;
    static const char *const sets[] = {
        SET("one", "https://a.org", "2026-11-12", ROW("1") "," ROW("1")), /* twice */
        SET("one", "a drawer", "2026-11-12", ROW("1")),
        SET("one", "https://a.org", "2026-11-1", ROW("1")),
        SET("one", "https://a.org", "12.11.2026", ROW("1")),
        SET("one", "https://a.org", "", ROW("1")),
        SET("one", "https://a.org", "2026", "{\"device\": \"nvidia-h200\", \"precision\": \"fp16\", \"batch\": 8}"),
        SET("one", "https://a.org", "2026", "{\"model\": \"resnet50\", \"device\": \"nvidia-h200\", \"precision\": \"fp16\"}"),
    };
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        json_t *into = json_pack("{s:[]}", "rows");
        assert_int_equal(joined(into, sets[i]), -1);
        json_decref(into);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows_and_sources), cmocka_unit_test(refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
