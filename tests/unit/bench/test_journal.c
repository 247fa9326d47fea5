/* SPDX-License-Identifier: Apache-2.0 */
/* test_journal.c - a new run finds all earlier results, however the earlier run ended. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "bench/journal.h"

static char path[64];

typedef struct taken {
    int    count;
    double time_s;
    char   last[64];
} taken;

static void take(void *user, const cm_bench_result *r)
{
    taken *t = user;
    t->count++;
    t->time_s = r->time_s;
    snprintf(t->last, sizeof t->last, "%s", r->name);
    assert_true(r->resumed);
}

/* Open the journal, add `more` cases, and abandon it as a killed process would. */
static cm_status session(const char *identity, int more, taken *t, cm_diag *diag)
{
    cm__ctx *ctx = cm__ctx_new(diag);
    if (setjmp(ctx->trap)) return cm__ctx_abandon(ctx);
    cm__journal *j = cm__journal_open(ctx, path, identity, take, t);
    for (int i = 0; i < more; i++) {
        char            name[32];
        cm_bench_result r = {.name = name, .time_s = 0.25 + i, .spread = 0.01, .samples = 5, .repetitions = 3,
                             .work = NAN, .bytes = 12};
        snprintf(name, sizeof name, "case %d", i);
        cm__journal_add(j, &r);
    }
    cm__ctx_free(ctx);
    return CM_OK;
}

static int set_up(void **state)
{
    (void)state;
    strcpy(path, "/tmp/centimani-journal-XXXXXX");
    int fd = mkstemp(path);
    close(fd);
    return fd < 0;
}

static int tear_down(void **state)
{
    (void)state;
    return unlink(path);
}

static void results_are_there_again(void **state)
{
    taken   t = {0};
    cm_diag diag;
    (void)state;
    assert_int_equal(session("a", 3, &t, &diag), CM_OK);
    assert_int_equal(t.count, 0);
    assert_int_equal(session("a", 0, &t, &diag), CM_OK);
    assert_int_equal(t.count, 3);
    assert_string_equal(t.last, "case 2");
    assert_true(t.time_s == 2.25);
}

/* A process may be killed in the middle of a line: at every byte, the whole lines before it must survive. */
static void cut_anywhere_keeps_whole_lines(void **state)
{
    taken   t = {0};
    cm_diag diag;
    char    text[4096];
    (void)state;
    session("a", 3, &t, &diag);
    FILE  *file = fopen(path, "r");
    size_t size = fread(text, 1, sizeof text, file);
    fclose(file);
    for (size_t cut = 0; cut <= size; cut++) {
        int lines = 0;
        for (size_t i = 0; i < cut; i++) lines += text[i] == '\n';
        file = fopen(path, "w");
        fwrite(text, 1, cut, file);
        fclose(file);
        t.count = 0;
        assert_int_equal(session("a", 1, &t, &diag), CM_OK);
        assert_int_equal(t.count, lines > 0 ? lines - 1 : 0);
        assert_int_equal(session("a", 0, &t, &diag), CM_OK); /* lines added after the cut can be read */
        assert_int_equal(t.count, 2 * (lines > 0 ? lines - 1 : 0) + 1);
    }
}

static void another_runs_journal_is_refused(void **state)
{
    taken   t = {0};
    cm_diag diag = {0};
    (void)state;
    session("cpu on A", 1, &t, &diag);
    assert_int_equal(session("cpu on B", 0, &t, &diag), CM_ERR_ARGUMENT);
    assert_non_null(strstr(diag.reason, "cpu on A"));
}

static void two_at_a_time_are_refused(void **state)
{
    taken    t = {0};
    cm_diag  diag = {0};
    cm__ctx *ctx = cm__ctx_new(&diag);
    (void)state;
    if (setjmp(ctx->trap)) fail();
    cm__journal_open(ctx, path, "a", take, &t);
    assert_int_equal(session("a", 0, &t, &diag), CM_ERR_IO);
    cm__ctx_free(ctx);
}

static void what_is_no_journal_is_left_alone(void **state)
{
    taken   t = {0};
    cm_diag diag = {0};
    char    line[64] = "";
    (void)state;
    FILE *file = fopen(path, "w");
    fputs("my precious notes\n", file);
    fclose(file);
    assert_int_equal(session("a", 0, &t, &diag), CM_ERR_ARGUMENT);
    file = fopen(path, "r");
    assert_non_null(fgets(line, sizeof line, file));
    fclose(file);
    assert_string_equal(line, "my precious notes\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(results_are_there_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(cut_anywhere_keeps_whole_lines, set_up, tear_down),
        cmocka_unit_test_setup_teardown(another_runs_journal_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(two_at_a_time_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_no_journal_is_left_alone, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
