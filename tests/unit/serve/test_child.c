/* SPDX-License-Identifier: Apache-2.0 */
/* test_child.c - a child process: its output, its status, its folder, its limits, and programs that cannot start. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "serve/serve.h"

static int shell(const char *script, char **result, char **notes)
{
    return cm__child_run("/bin/sh", "/", 2, (const char *const[]){"-c", script}, result, notes);
}

static void expect(const char *script, int status, const char *result, const char *notes)
{
    char *got, *said;
    assert_int_equal(shell(script, &got, &said), status);
    assert_string_equal(got ? got : "", result);
    assert_string_equal(said ? said : "", notes);
    free(got);
    free(said);
}

static void test_output(void **state)
{
    (void)state;
    expect("echo answer; echo note >&2", 0, "answer\n", "note\n");
    expect("exit 3", 3, "", "");
    expect("pwd", 0, "/\n", "");
    expect("cat", 0, "", ""); /* standard input is empty */
    char *got, *said;
    assert_int_equal(shell("head -c 300000 /dev/zero | tr '\\0' x", &got, &said), 0); /* more than a pipe holds */
    assert_int_equal(strlen(got), 300000);
    free(got);
    free(said);
}

static void test_limits(void **state)
{
    (void)state;
    expect("ulimit -t", 0, "20\n", "");
    expect("ulimit -n", 0, "64\n", "");
    expect("ulimit -c", 0, "0\n", "");
    char *got, *said;
    assert_int_equal(shell("yes | head -c 100000000", &got, &said), -1); /* above 64 MiB */
    assert_string_equal(said, "its output was too long");
    free(got);
    free(said);
    assert_int_equal(shell("kill -9 $$", &got, &said), -1);
    assert_string_equal(said, "it needed more memory or time than the server allows");
    free(got);
    free(said);
}

static void test_not_started(void **state)
{
    (void)state;
    char *got, *said;
    assert_int_equal(cm__child_run("/nonexistent", "/", 0, NULL, &got, &said), -1);
    assert_non_null(strstr(said, "cannot be started"));
    free(got);
    free(said);
    assert_int_equal(cm__child_run("/bin/true", "/nonexistent", 0, NULL, &got, &said), -1);
    free(got);
    free(said);
    const char *many[200];
    for (int i = 0; i < 200; i++) many[i] = "x";
    assert_int_equal(cm__child_run("/bin/true", "/", 200, many, &got, &said), -1);
    assert_null(got);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_output), cmocka_unit_test(test_limits),
                                       cmocka_unit_test(test_not_started)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
