/* SPDX-License-Identifier: Apache-2.0 */
/* test_locate.c - paths as text, and their lines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "device/locate.h"

static const char text[] = "\n"
                           "{ \"id\": \"a \\\" } ] , b\",\n"            /* line 2 */
                           "  \"memory\": [\n"                          /* 3 */
                           "    {\"name\": \"L2\", \"x\": [[1], {}]},\n" /* 4 */
                           "    {\n"                                    /* 5 */
                           "      \"name\":\n"                          /* 6 */
                           "        \"HBM\",\n"                         /* 7 */
                           "      \"bandwidth\": {\"unit\": \"B/s\",\n" /* 8 */
                           "        \"value\": -3e12}}],\n"             /* 9 */
                           "  \"last\": null }\n";                      /* 10 */

static const cm__step memory = {NULL, "memory", 0}, second = {&memory, NULL, 1}, third = {&memory, NULL, 2};
static const cm__step bandwidth = {&second, "bandwidth", 0}, value = {&bandwidth, "value", 0};
static const cm__step name = {&second, "name", 0}, missing = {&second, "capacity", 0}, last = {NULL, "last", 0};

static int32_t line(const cm__step *path) { return cm__path_line(path, text, sizeof text - 1); }

static void lines_of_keys_and_elements(void **state)
{
    (void)state;
    assert_int_equal(line(NULL), 2);
    assert_int_equal(line(&memory), 3);
    assert_int_equal(line(&second), 5);
    assert_int_equal(line(&name), 6); /* the key's line, not the value's */
    assert_int_equal(line(&bandwidth), 8);
    assert_int_equal(line(&value), 9);
    assert_int_equal(line(&last), 10);
}

static void what_is_not_there_is_on_the_line_of_what_holds_it(void **state)
{
    (void)state;
    assert_int_equal(line(&missing), 5);
    assert_int_equal(line(&third), 3);
    assert_int_equal(line(&(cm__step){&last, "deeper", 0}), 10);
    assert_int_equal(cm__path_line(&value, "", 0), 1);
    assert_int_equal(cm__path_line(&value, "{\"memory\": [[", 13), 1);
}

static void paths_as_text(void **state)
{
    (void)state;
    char buf[64], small[8];
    assert_string_equal(cm__path_text(&value, buf, sizeof buf), "memory[1].bandwidth.value");
    assert_string_equal(cm__path_text(NULL, buf, sizeof buf), "");
    assert_string_equal(cm__path_text(&value, small, sizeof small), "memory["); /* truncated, without overrun */
}

static cm_status refuse(const cm__origin *origin, cm_diag *diag)
{
    cm__ctx *ctx = cm__ctx_new(diag);
    if (setjmp(ctx->trap)) return cm__ctx_abandon(ctx);
    cm__refuse(ctx, origin, &value, "%g is below 1", -3e12);
}

static void refusals_name_file_line_and_path(void **state)
{
    (void)state;
    cm_diag diag;
    char    said[256];
    assert_int_equal(refuse(&(cm__origin){"file.json", text, sizeof text - 1}, &diag), CM_ERR_FORMAT);
    assert_string_equal(cm_diag_text(&diag, said, sizeof said),
                        "file.json: line 9: memory[1].bandwidth.value: -3e+12 is below 1");
    assert_int_equal(refuse(&(cm__origin){0}, &diag), CM_ERR_FORMAT);
    assert_string_equal(cm_diag_text(&diag, said, sizeof said), "memory[1].bandwidth.value: -3e+12 is below 1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_of_keys_and_elements),
        cmocka_unit_test(what_is_not_there_is_on_the_line_of_what_holds_it),
        cmocka_unit_test(paths_as_text),
        cmocka_unit_test(refusals_name_file_line_and_path),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
