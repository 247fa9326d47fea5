/* SPDX-License-Identifier: Apache-2.0 */
/* test_file.c - files are mapped completely; anything but a regular file of limited size is refused with a reason. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "base/file.h"
#include "profile_texts.h"

static cm__ctx *ctx;
static cm_diag  diag;

static int start(void **state)
{
    ctx = cm__ctx_new(&diag);
    return ctx ? make_folder(state) : -1;
}

static int stop(void **state)
{
    cm__ctx_free(ctx);
    return remove_folder(state);
}

static void refused(const char *path, int64_t limit, cm_status status, const char *reason)
{
    if (setjmp(ctx->trap)) {
        assert_int_equal(ctx->status, status);
        assert_non_null(strstr(diag.reason, reason));
        return;
    }
    cm__file_map(ctx, path, limit, "split it");
    fail_msg("%s was mapped", path);
}

static void a_file_is_its_bytes(void **state)
{
    (void)state;
    write_file("a", "seven b");
    cm__mapping *m = cm__file_map(ctx, file_named("a"), 7, "");
    assert_int_equal(m->size, 7);
    assert_memory_equal(m->bytes, "seven b", 7);
    cm__file_unmap(m);
    assert_null(m->bytes);
    assert_int_equal(m->size, 0);
    cm__file_unmap(m); /* unmapping twice is harmless */
}

static int open_descriptors(void)
{
    int n = 0;
    for (int fd = 0; fd < 256; fd++) n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

static void the_context_lets_go(void **state)
{
    (void)state;
    int before = open_descriptors();
    write_file("a", "text");
    cm__ctx *other = cm__ctx_new(&diag);
    cm__file_map(other, file_named("a"), 100, "");
    cm__ctx_free(other);
    assert_int_equal(open_descriptors(), before);
}

static void sizes_have_limits(void **state)
{
    (void)state;
    write_file("empty", "");
    write_file("eight", "12345678");
    refused(file_named("empty"), 100, CM_ERR_FORMAT, "empty");
    refused(file_named("eight"), 7, CM_ERR_LIMIT, "8 bytes: split it");
    assert_int_equal(cm__file_map(ctx, file_named("eight"), 8, "")->size, 8);
}

static void only_regular_files(void **state)
{
    (void)state;
    assert_int_equal(mkfifo(file_named("pipe"), 0600), 0);
    refused(file_named("pipe"), 100, CM_ERR_IO, "not a regular file"); /* and does not wait for a writer */
    refused(folder, 100, CM_ERR_IO, "not a regular file");
    refused("/dev/null", 100, CM_ERR_IO, "not a regular file");
    refused(file_named("missing"), 100, CM_ERR_IO, "No such file");
    refused("", 100, CM_ERR_IO, "No such file");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_file_is_its_bytes), cmocka_unit_test(the_context_lets_go),
                                       cmocka_unit_test(sizes_have_limits), cmocka_unit_test(only_regular_files)};
    return cmocka_run_group_tests(tests, start, stop);
}
