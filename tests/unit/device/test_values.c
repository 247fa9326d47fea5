/* SPDX-License-Identifier: Apache-2.0 */
/* test_values.c - numbers, links, collectives and sources, from JSON to typed values. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "device/values.h"

static json_t *sources;

static int begin(void **state)
{
    (void)state;
    sources = json_loads("{\"a\": {\"title\": \"A\", \"where\": \"page 1\", \"date\": \"2024-05\"},"
                         " \"b\": {\"title\": \"B\", \"where\": \"page 2\", \"date\": \"2025\"}}", 0, NULL);
    return sources ? 0 : 1;
}

static int end(void **state)
{
    (void)state;
    json_decref(sources);
    return 0;
}

/* A number has its own date, or that of its source; an absent one is unknown. */
static void test_numbers(void **state)
{
    (void)state;
    json_t *o = json_loads("{\"x\": {\"value\": 5, \"unit\": \"B\", \"kind\": \"spec\", \"source\": \"a\"}, \"y\": "
                           "{\"value\": 2.5, \"unit\": \"s\", \"kind\": \"measured\", \"source\": \"b\", \"date\": "
                           "\"2026\", \"note\": \"n\"}}", 0, NULL);
    cm_number x = cm__number_at(o, "x", sources), y = cm__number_at(o, "y", sources);
    cm_number z = cm__number_at(o, "z", sources);
    assert_true(x.known && x.value == 5);
    assert_string_equal(x.unit, "B");
    assert_string_equal(x.kind, "spec");
    assert_string_equal(x.date, "2024-05");
    assert_null(x.note);
    assert_true(y.known && y.value == 2.5);
    assert_string_equal(y.date, "2026");
    assert_string_equal(y.note, "n");
    assert_true(!z.known && isnan(z.value) && !z.source && !z.unit);
    assert_null(cm__text_at(o, "z"));
    json_decref(o);
}

static void test_lists(void **state)
{
    (void)state;
    cm__ctx *ctx = cm__ctx_new(NULL);
    if (setjmp(ctx->trap)) fail();
    json_t *links = json_loads("[{\"name\": \"NVLink\", \"reach\": \"node\", \"devices\": 8, \"bandwidth\": {\"value\": "
                               "4.5e11, \"unit\": \"B/s\", \"kind\": \"spec\", \"source\": \"a\"}}]", 0, NULL);
    cm__links l = cm__links_of(ctx, links, sources), none = cm__links_of(ctx, NULL, sources);
    assert_true(l.count == 1 && none.count == 0);
    assert_string_equal(l.items[0].name, "NVLink");
    assert_int_equal(l.items[0].reach, CM_REACH_NODE);
    assert_int_equal(l.items[0].devices, 8);
    assert_true(l.items[0].bw_bytes_s.value == 4.5e11 && !l.items[0].latency_s.known);
    cm__sources s = cm__sources_of(ctx, sources);
    assert_int_equal(s.count, 2);
    assert_string_equal(cm__source_find(&s, "b")->where, "page 2");
    assert_null(cm__source_find(&s, "c"));
    json_decref(links);
    cm__ctx_free(ctx);
}

static void test_names(void **state)
{
    static const char *const names[] = {"one", "two", "three"};
    (void)state;
    assert_int_equal(cm__index_of("three", names, 3), 2);
    assert_int_equal(cm__index_of("four", names, 3), 0);
    for (int i = 0; i < CM_REACHES; i++)
        assert_int_equal(cm__index_of(cm__reach_names[i], cm__reach_names, CM_REACHES), i);
    for (int i = 0; i < CM_STYLES; i++)
        assert_int_equal(cm__index_of(cm__style_names[i], cm__style_names, CM_STYLES), i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_numbers), cmocka_unit_test(test_lists),
                                       cmocka_unit_test(test_names)};
    return cmocka_run_group_tests(tests, begin, end);
}
