/* SPDX-License-Identifier: Apache-2.0 */
/* test_set_file.c - a user's set of results is read, and malformed ones are refused with their place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "profile_texts.h"
#include "validate/validate.h"

#define SET(rows)                                                                                                      \
    "{\"schema\": 1, \"id\": \"mine\", \"title\": \"Mine\", \"source\": {\"title\": \"log\", \"where\": \"here\", "      \
    "\"date\": \"2026-11\"}, \"rows\": " rows "}"
#define ROW "{\"model\": \"resnet18\", \"device\": \"nvidia-h200\", \"batch\": 8, \"throughput_samples_s\": 1000}"

static int32_t rows_of(const char *text, const char *refused)
{
    cm_diag  diag = {0};
    cm__ctx *ctx = cm__ctx_new(&diag);
    write_file("set.json", text);
    if (setjmp(ctx->trap)) {
        cm__ctx_abandon(ctx);
        char all[1200];
        if (!refused || !strstr(cm_diag_text(&diag, all, sizeof all), refused))
            fail_msg("'%s' for %s", cm_diag_text(&diag, all, sizeof all), text);
        return -1;
    }
    const json_t *set = cm__set_read(cm__store_new(ctx), file_named("set.json"));
    int32_t       rows = (int32_t)json_array_size(json_object_get(set, "rows"));
    if (refused) fail_msg("accepted: %s", text);
    cm__ctx_free(ctx);
    return rows;
}

static void test_read(void **state)
{
    (void)state;
    assert_int_equal(rows_of(SET("[" ROW ", " ROW "]"), NULL), 2);
}

static void test_refused(void **state)
{
    (void)state;
    rows_of("", "set.json");
    rows_of("[]", "set.json");
    rows_of(SET("[]"), "the list is empty");
    rows_of(SET("[1]"), "rows");
    rows_of(SET("[{\"model\": \"resnet18\", \"device\": \"nvidia-h200\", \"batch\": 8}]"), "has no metric");
    rows_of("{\"schema\": 1, \"id\": \"a\", \"id\": \"b\"}", "id"); /* a member twice */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_read), cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
