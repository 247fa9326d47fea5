/* SPDX-License-Identifier: Apache-2.0 */
/* test_schema.c - each keyword accepts valid values and refuses others, with path and reason. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "device/schema.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const char schema[] =
    "{\"type\":\"object\",\"additionalProperties\":false,\"required\":[\"id\"],\"properties\":{"
    "\"id\":{\"type\":\"string\",\"pattern\":\"^[a-z]+$\",\"minLength\":2},"
    "\"version\":{\"const\":1},\"kind\":{\"enum\":[\"spec\",\"measured\",\"fitted\"]},"
    "\"bandwidth\":{\"$ref\":\"#/definitions/number\"},"
    "\"list\":{\"type\":\"array\",\"items\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":9}},"
    "\"either\":{\"type\":[\"number\",\"array\"],\"items\":{\"type\":\"number\"}},"
    "\"flag\":{\"type\":\"boolean\"},\"named\":{\"type\":\"object\",\"minProperties\":1,"
    "\"additionalProperties\":{\"type\":\"string\"}},\"tree\":{\"$ref\":\"#/definitions/tree\"},"
    "\"circle\":{\"$ref\":\"#/definitions/circle\"},\"nowhere\":{\"$ref\":\"#/definitions/nowhere\"}},"
    "\"definitions\":{\"number\":{\"type\":\"object\",\"required\":[\"value\",\"unit\"],\"additionalProperties\":false,"
    "\"properties\":{\"value\":{\"type\":\"number\",\"minimum\":1},\"unit\":{\"const\":\"B/s\"}}},"
    "\"tree\":{\"type\":\"array\",\"items\":{\"$ref\":\"#/definitions/tree\"}},"
    "\"circle\":{\"$ref\":\"#/definitions/circle\"}}}";

static cm_status check(const char *text, cm_diag *diag)
{
    cm__origin origin = {"it.json", text, strlen(text)};
    json_t    *rules = json_loads(schema, 0, NULL), *value = json_loads(text, 0, NULL);
    cm_status  status = CM_OK;
    assert_non_null(rules);
    if (!value) fail_msg("not JSON: %s", text);
    cm__ctx *ctx = cm__ctx_new(diag);
    if (!setjmp(ctx->trap)) {
        cm__schema_check(ctx, rules, value, &origin);
        cm__ctx_free(ctx);
    } else status = cm__ctx_abandon(ctx);
    json_decref(rules);
    json_decref(value);
    return status;
}

static const char *const accepted[] = {
    "{\"id\":\"ab\"}",
    "{\"id\":\"ab\",\"version\":1,\"kind\":\"fitted\",\"flag\":false}",
    "{\"id\":\"ab\",\"version\":1.0}",
    "{\"id\":\"ab\",\"bandwidth\":{\"value\":3e12,\"unit\":\"B/s\"}}",
    "{\"id\":\"ab\",\"list\":[1,9,2.0],\"either\":[1.5],\"named\":{\"any\":\"text\"}}",
    "{\"id\":\"ab\",\"either\":2,\"list\":[],\"tree\":[[],[[]]]}",
};

static const struct {
    const char *text, *place, *reason;
} refused[] = {
    {"[]", "line 1", "an array, expected object"},
    {"{}", "line 1", "lacks 'id'"},
    {"{\"id\":7}", "line 1: id", "7, expected string"},
    {"{\"id\":\"\"}", "line 1: id", "does not match"},
    {"{\"id\":\"A1\"}", "line 1: id", "'A1' does not match ^[a-z]+$"},
    {"{\"id\":\"a\"}", "line 1: id", "too short"},
    {"{\"id\":\"ab\",\n\"version\":2}", "line 2: version", "2, expected 1"},
    {"{\"id\":\"ab\",\n\"kind\":\"guess\"}", "line 2: kind", "'guess', expected 'spec', 'measured' or 'fitted'"},
    {"{\"id\":\"ab\",\n\"bandwith\":{}}", "line 2: bandwith", "unknown member 'bandwith', did you mean 'bandwidth'?"},
    {"{\"id\":\"ab\",\n\"xyzzy\":{}}", "line 2: xyzzy", "unknown member 'xyzzy'"},
    {"{\"id\":\"ab\",\n\"bandwidth\":5}", "line 2: bandwidth", "{\"value\", \"unit\", \"kind\", \"source\"}"},
    {"{\"id\":\"ab\",\n\"bandwidth\":{\"value\":5}}", "line 2: bandwidth", "lacks 'unit'"},
    {"{\"id\":\"ab\",\"bandwidth\":{\n\"value\":-3e12,\n\"unit\":\"B/s\"}}", "line 2: bandwidth.value",
     "-3e+12 is below 1"},
    {"{\"id\":\"ab\",\"bandwidth\":{\"value\":5,\n\"unit\":\"GB/s\"}}", "line 2: bandwidth.unit",
     "'GB/s', expected 'B/s'"},
    {"{\"id\":\"ab\",\"list\":[1,\n10]}", "line 2: list[1]", "10 is above 9"},
    {"{\"id\":\"ab\",\"list\":[1.5]}", "list[0]", "1.5, expected integer"},
    {"{\"id\":\"ab\",\"list\":{}}", "list", "an object, expected array"},
    {"{\"id\":\"ab\",\"either\":\"x\"}", "either", "'x', expected number or array"},
    {"{\"id\":\"ab\",\"either\":[null]}", "either[0]", "null, expected number"},
    {"{\"id\":\"ab\",\"flag\":0}", "flag", "0, expected boolean"},
    {"{\"id\":\"ab\",\"named\":{}}", "named", "0 members, expected 1 or more"},
    {"{\"id\":\"ab\",\"named\":{\"a\":true}}", "named.a", "true, expected string"},
    {"{\"id\":\"ab\",\"circle\":1}", "circle", "cycle"},
    {"{\"id\":\"ab\",\"nowhere\":1}", "nowhere", "does not define"},
};

static void what_obeys_is_accepted(void **state)
{
    (void)state;
    cm_diag diag;
    for (size_t i = 0; i < COUNT(accepted); i++)
        if (check(accepted[i], &diag) != CM_OK) fail_msg("%s: %s: %s", accepted[i], diag.place, diag.reason);
}

static void what_does_not_is_refused_with_line_path_and_reason(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(refused); i++) {
        cm_diag diag = {0};
        if (check(refused[i].text, &diag) != CM_ERR_FORMAT || strcmp(diag.file, "it.json") ||
            !strstr(diag.place, refused[i].place) || !strstr(diag.reason, refused[i].reason))
            fail_msg("%s: said '%s: %s'", refused[i].text, diag.place, diag.reason);
    }
}

static void depth_has_an_end(void **state)
{
    (void)state;
    enum { DEPTH = 1000 };
    static const char head[] = "{\"id\":\"ab\",\"tree\":";
    static char       text[sizeof head + 2 * DEPTH + 1];
    cm_diag           diag;
    memcpy(text, head, sizeof head);
    memset(text + sizeof head - 1, '[', DEPTH);
    memset(text + sizeof head - 1 + DEPTH, ']', DEPTH);
    text[sizeof head - 1 + 2 * DEPTH] = '}';
    assert_int_equal(check(text, &diag), CM_ERR_FORMAT);
    assert_non_null(strstr(diag.reason, "levels deep"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_obeys_is_accepted),
        cmocka_unit_test(what_does_not_is_refused_with_line_path_and_reason),
        cmocka_unit_test(depth_has_an_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
