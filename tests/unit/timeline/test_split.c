/* SPDX-License-Identifier: Apache-2.0 */
/* test_split.c - events of a trace: in chunks of any size, with brackets in strings, compressed, cut off. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>
#include "small_timeline.h"

typedef struct seen {
    int  events, devices;
    char names[256];
} seen;

static void visit(void *user, const json_t *event, bool device)
{
    seen *s = user;
    device ? s->devices++ : s->events++;
    const char *name = json_string_value(json_object_get(event, "name"));
    strncat(s->names, name ? name : "-", sizeof s->names - strlen(s->names) - 1);
}

/* Reads `text` in pieces of `most` bytes; NULL: it is valid, otherwise the reason of the refusal. */
static const char *split(const char *text, size_t most, seen *s, cm__split_counts *counts)
{
    static cm_diag diag;
    text_source    source = {text, strlen(text), most};
    cm__bytes      bytes = {read_text, &source};
    cm__ctx       *ctx = cm__ctx_new(&diag);
    *s = (seen){0};
    if (setjmp(ctx->trap)) {
        cm__ctx_abandon(ctx);
        return diag.reason;
    }
    *counts = cm__split_events(ctx, &bytes, visit, s);
    cm__ctx_free(ctx);
    return NULL;
}

static const char whole[] = "{\"a\": {\"traceEvents\": 1}, \"deviceProperties\": [{\"name\": \"D\"}], \"b\": \"]}\\\"\", "
                            "\"traceEvents\": [{\"name\": \"x{[\\\"}\", \"args\": {\"l\": [1, {}]}},\n {\"name\": \"y\"}], "
                            "\"other\": [{\"name\": \"no\"}]}";

static void any_chunk_size(void **state)
{
    (void)state;
    seen             s;
    cm__split_counts c;
    for (size_t most = 1; most < sizeof whole; most++) {
        assert_null(split(whole, most, &s, &c));
        assert_int_equal(s.events, 2);
        assert_int_equal(s.devices, 1);
        assert_int_equal(c.events, 3);
        assert_int_equal(c.unreadable, 0);
        assert_string_equal(s.names, "Dx{[\"}y");
    }
}

static void a_plain_array(void **state)
{
    (void)state;
    seen             s;
    cm__split_counts c;
    assert_null(split("[{\"name\": \"p\"}, {\"name\": \"q\"}]", 3, &s, &c));
    assert_string_equal(s.names, "pq");
}

/* An event that is not JSON is skipped and counted; a number beyond 64 bits is one. */
static void unreadable_events(void **state)
{
    (void)state;
    seen             s;
    cm__split_counts c;
    assert_null(split("{\"traceEvents\": [{\"name\": nan}, {\"name\": \"k\", \"a\": 99999999999999999999999}]}", 7, &s, &c));
    assert_int_equal(c.events, 2);
    assert_int_equal(c.unreadable, 1);
    assert_string_equal(s.names, "k");
}

static void refusals(void **state)
{
    (void)state;
    static const char *const bad[][2] = {{"", "no array"}, {"{\"events\": []}", "no array"}, {"]", "not opened"},
                                         {"{\"traceEvents\": [{\"name\": \"x\"}, {", "cut off after 1 event"}};
    seen             s;
    cm__split_counts c;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const char *reason = split(bad[i][0], 5, &s, &c);
        if (!reason || !strstr(reason, bad[i][1])) fail_msg("%s: %s", bad[i][0], reason ? reason : "accepted");
    }
}

/* ---- files ------------------------------------------------------------------------------------------------------ */

static const char *timeline_reason(const char *path)
{
    static cm_diag diag;
    cm_timeline   *t;
    return cm_timeline_read(path, &t, &diag) ? diag.reason : NULL;
}

static void files(void **state)
{
    (void)state;
    char path[] = "/tmp/centimani-split-XXXXXX";
    int  fd = mkstemp(path);
    close(fd);
    gzFile packed = gzopen(path, "wb");
    for (int i = 0; i < 1000; i++) gzwrite(packed, whole, (unsigned)strlen(whole));
    gzclose(packed);
    assert_non_null(strstr(timeline_reason(path), "no kernels")); /* it was read to the end */
    assert_int_equal(truncate(path, 200), 0);
    assert_non_null(strstr(timeline_reason(path), "ends early"));
    FILE *file = fopen(path, "wb");
    fputs("\x1f\x8b\x08\x00zzzzzzzzzzzzzzzzzz", file);
    fclose(file);
    assert_non_null(strstr(timeline_reason(path), "cannot be read"));
    unlink(path);
    assert_non_null(strstr(timeline_reason(path), "No such file"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(any_chunk_size), cmocka_unit_test(a_plain_array),
                                       cmocka_unit_test(unreadable_events), cmocka_unit_test(refusals),
                                       cmocka_unit_test(files)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
