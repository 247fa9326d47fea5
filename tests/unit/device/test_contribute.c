/* SPDX-License-Identifier: Apache-2.0 */
/* test_contribute.c - measured profiles are added to the file of the same device and software. */
#include <stdlib.h>
#include "time_device.h"

#define SOURCE(software, conditions)                                                                                   \
    "\"sources\": {\"bench\": {\"title\": \"t\", \"where\": \"w\", \"date\": \"2026-11\", \"device\": \"d\", "         \
    "\"software\": {\"torch\": \"" software "\"}, \"conditions\": \"" conditions "\"}}"
#define MINE(id, software, conditions, kind, rows)                                                                     \
    "{\"schema\": 1, \"id\": \"" id "\", \"base\": \"nvidia-h200\", " SOURCE(software, conditions)                     \
    ", \"kernels\": [{\"runtime\": \"torch-eager\", \"op\": \"gemm\", \"pass\": \"forward\", \"variant\": \"nn\", "    \
    "\"dtype\": \"bf16\", \"kind\": \"" kind "\", \"source\": \"bench\", \"date\": \"2026-11\", \"dims\": " GEMM_DIMS  \
    ", \"rows\": [" rows "]}]}\n"
#define ROW(m) "[1, " m ", 64, 64, 1e-5, 1]"

static cm_status added(const char *text, const char *into, cm_merge_counts *counts, cm_diag *diag)
{
    char     *joined = NULL;
    write_file("new.json", text);
    cm_status status = cm_device_contribute(file_named("new.json"), into, &joined, counts, diag);
    if (!status && into) write_file("all.json", joined);
    free(joined);
    return status;
}

static const char *all(void)
{
    static char path[128];
    snprintf(path, sizeof path, "%s", file_named("all.json"));
    return path;
}

static void rows_are_joined(void **state)
{
    (void)state;
    cm_merge_counts counts;
    cm_diag         diag = {0};
    assert_int_equal(added(MINE("a", "2.11", "c", "measured", ROW("64")), all(), &counts, &diag), CM_OK);
    assert_int_equal(counts.added, 1);
    assert_int_equal(added(MINE("a", "2.11", "c", "measured", ROW("64") ", " ROW("65")), all(), &counts, &diag), CM_OK);
    assert_int_equal(counts.added, 1);
    assert_int_equal(counts.replaced, 1);
}

static void others_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *reason;
    } cases[] = {{MINE("b", "2.11", "c", "measured", ROW("64")), "'b', but"},
                 {MINE("a", "2.12", "c", "measured", ROW("64")), "another software"},
                 {MINE("a", "2.11", "", "measured", ROW("64")), "no 'conditions'"},
                 {MINE("a", "2.11", "c", "published", ROW("64")), "only measured times"},
                 {"{\"schema\": 1, \"id\": \"a\", \"base\": \"nvidia-h200\", " SOURCE("2.11", "c") "}\n", "no tables"}};
    cm_merge_counts counts;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cm_diag diag = {0};
        assert_int_equal(added(cases[i].text, all(), &counts, &diag), CM_ERR_FORMAT);
        if (!strstr(diag.reason, cases[i].reason)) fail_msg("%s", diag.reason);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows_are_joined), cmocka_unit_test(others_are_refused)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
