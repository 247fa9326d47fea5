/* SPDX-License-Identifier: Apache-2.0 */
/* test_uploads.c - uploaded files: hostile names, sizes, the oldest of eight, and no file is left behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "profile_texts.h"
#include "serve/serve.h"

static int begin(void **state)
{
    return make_folder(state) || setenv("TMPDIR", folder, 1);
}

static int end(void **state)
{
    unsetenv("TMPDIR");
    return remove_folder(state);
}

static void put(cm__uploads *u, const char *name, char id[CM__UPLOAD_ID])
{
    const char *why;
    cm__upload *one = cm__upload_begin(u, name, &why);
    assert_non_null(one);
    assert_true(cm__upload_write(one, "content", 7));
    cm__upload_finish(one, id);
}

/* The file is where the answer says, and has the bytes that were written. */
static void test_stored(void **state)
{
    (void)state;
    cm__uploads *u = cm__uploads_new(100, NULL);
    char         id[CM__UPLOAD_ID], where[256], name[CM__UPLOAD_NAME], path[512], text[16] = "";
    put(u, "model.onnx", id);
    assert_int_equal(strlen(id), 32);
    assert_int_equal(strspn(id, "0123456789abcdef"), 32);
    assert_true(cm__upload_find(u, id, where, name));
    assert_string_equal(name, "model.onnx");
    assert_int_equal(strncmp(where, folder, strlen(folder)), 0);
    snprintf(path, sizeof path, "%s/%s", where, name);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_non_null(fgets(text, sizeof text, file));
    fclose(file);
    assert_string_equal(text, "content");
    cm__upload_forget(u, id);
    assert_false(cm__upload_find(u, id, where, name));
    assert_int_not_equal(access(path, F_OK), 0);
    assert_false(cm__upload_find(u, "../../etc", where, name));
    cm__uploads_free(u);
}

/* No part of a client's name can leave the folder; the ending decides whether it is a model. */
static void test_names(void **state)
{
    static const struct {
        const char *from, *to;
    } rows[] = {{"../../etc/passwd.onnx", "passwd.onnx"}, {"a b$c.json", "a_b_c.json"},
                {".hidden.onnx", "_hidden.onnx"}, {"/abs/x.ONNX", "x.ONNX"},
                {"x.cmt.json", "x.cmt.json"}, {"-rf.onnx", "_rf.onnx"}};
    static const char *const refused[] = {"x.txt", "x", "", ".onnx/", "x.onnx.exe", "onnx"};
    (void)state;
    cm__uploads *u = cm__uploads_new(100, NULL);
    char         id[CM__UPLOAD_ID], where[256], name[CM__UPLOAD_NAME];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        put(u, rows[i].from, id);
        assert_true(cm__upload_find(u, id, where, name));
        assert_string_equal(name, rows[i].to);
    }
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        const char *why = NULL;
        assert_null(cm__upload_begin(u, refused[i], &why));
        assert_non_null(why);
    }
    char longest[300];
    memset(longest, 'a', sizeof longest);
    strcpy(longest + sizeof longest - 6, ".onnx");
    put(u, longest, id);
    assert_true(cm__upload_find(u, id, where, name));
    assert_true(strlen(name) < CM__UPLOAD_NAME && strcmp(name + strlen(name) - 5, ".onnx") == 0);
    cm__uploads_free(u);
}

static void test_sizes(void **state)
{
    (void)state;
    cm__uploads *u = cm__uploads_new(10, NULL);
    const char  *why;
    cm__upload  *one = cm__upload_begin(u, "a.onnx", &why);
    assert_true(cm__upload_write(one, "12345", 5));
    assert_true(cm__upload_write(one, "67890", 5));
    assert_false(cm__upload_write(one, "1", 1));
    cm__upload_drop(one);
    cm__uploads_free(u);
}

/* Eight files are kept; the ninth replaces the one that was used longest ago. Eight uploads run at a time. */
static void test_limits(void **state)
{
    (void)state;
    cm__uploads *u = cm__uploads_new(100, NULL);
    char         ids[9][CM__UPLOAD_ID], where[256], name[CM__UPLOAD_NAME];
    for (int i = 0; i < 8; i++) put(u, "a.onnx", ids[i]);
    assert_true(cm__upload_find(u, ids[0], where, name));
    put(u, "a.onnx", ids[8]);
    assert_true(cm__upload_find(u, ids[0], where, name));
    assert_false(cm__upload_find(u, ids[1], where, name));
    cm__upload *running[8];
    const char *why;
    for (int i = 0; i < 8; i++) assert_non_null(running[i] = cm__upload_begin(u, "b.onnx", &why));
    assert_null(cm__upload_begin(u, "b.onnx", &why));
    assert_null(why); /* not the name's fault */
    for (int i = 0; i < 8; i++) cm__upload_drop(running[i]);
    cm__uploads_free(u);
    assert_int_equal(rmdir(folder), 0); /* nothing is left */
    assert_int_equal(mkdir(folder, 0700), 0);
}

static void test_no_folder(void **state)
{
    (void)state;
    cm_diag diag = {0};
    setenv("TMPDIR", "/nonexistent/folder", 1);
    assert_null(cm__uploads_new(100, &diag));
    assert_non_null(strstr(diag.reason, "TMPDIR"));
    setenv("TMPDIR", folder, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_stored), cmocka_unit_test(test_names),
                                       cmocka_unit_test(test_sizes), cmocka_unit_test(test_limits),
                                       cmocka_unit_test(test_no_folder)};
    return cmocka_run_group_tests(tests, begin, end);
}
