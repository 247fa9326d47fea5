/* SPDX-License-Identifier: Apache-2.0 */
/* test_routes.c - which command line a query becomes, and that nothing else of a query reaches it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "serve/serve.h"

static char words[1024]; /* the last command line, one space between words */
static int  asked;
static int  ends_with;   /* status of the next answers */

static int answer(int argc, const char *const *argv, char **result, char **notes)
{
    size_t used = 0;
    asked++;
    for (int i = 0; i < argc; i++)
        used += (size_t)snprintf(words + used, sizeof words - used, "%s%s", i ? " " : "", argv[i]);
    *result = ends_with ? NULL : strdup("{}");
    *notes = ends_with ? strdup("centimani: a warning\ncentimani: the reason\n") : NULL;
    return ends_with;
}

/* A query is "key=value&key=value", not encoded. */
static const char *value(const void *request, const char *key)
{
    static char text[8][700];
    static int  next;
    size_t      length = strlen(key);
    for (const char *at = request; at; at = strchr(at, '&') ? strchr(at, '&') + 1 : NULL)
        if (strncmp(at, key, length) == 0 && at[length] == '=') {
            char *to = text[next++ % 8];
            snprintf(to, sizeof text[0], "%.*s", (int)strcspn(at + length + 1, "&"), at + length + 1);
            return to;
        }
    return NULL;
}

static const cm__serve_options options = {.answer = answer, .program = "/bin/false"};

static unsigned get(const char *path, const char *query, const char *contains)
{
    cm__routes *r = cm__routes_new(&options, NULL);
    cm__query   q = {.path = path, .value = value, .request = query};
    cm__reply   reply = {0};
    words[0] = 0;
    cm__routes_get(r, &q, &reply);
    if (contains && !strstr(reply.text, contains)) fail_msg("'%s' has no '%s'", reply.text, contains);
    if (!reply.kept) free(reply.text);
    cm__routes_free(r);
    return reply.status;
}

static void test_commands(void **state)
{
    (void)state;
    assert_int_equal(get("/api/models", "", "{}"), 200);
    assert_string_equal(words, "models --json");
    assert_int_equal(get("/api/rank", "model=resnet50&objective=price&max_usd=3&precision=", "{}"), 200);
    assert_string_equal(words, "rank resnet50 --json --objective=price --max-usd=3");
    assert_int_equal(get("/api/device", "model=gpt2&device=nvidia-h200&batch=8", "{}"), 200);
    assert_string_equal(words, "explain gpt2 --json --full --device=nvidia-h200 --batch=8");
    assert_int_equal(get("/api/rank", "model=gpt2&price=a=1,b=2", "{}"), 200);
    assert_string_equal(words, "rank gpt2 --json --price=a=1 --price=b=2");
    assert_int_equal(get("/api/device", "model=gpt2&device=nvidia-h200&n=8&tp=2&cluster=dgx-h100", "{}"), 200);
    assert_string_equal(words, "explain gpt2 --json --full --device=nvidia-h200 -n=8 --tp=2 --cluster=dgx-h100");
    assert_int_equal(get("/api/report", "model=gpt2&objective=cost", "{}"), 200);
    assert_string_equal(words, "report gpt2 -o=- --objective=cost");
    assert_int_equal(get("/api/script", "model=gpt2&max_devices=8&entry=2&output=x", "{}"), 200);
    assert_string_equal(words, "rank gpt2 --job-script=- --max-devices=8 --entry=2");
}

/* Keys that no list allows are ignored; a value stays one word; files of the server cannot be named. */
static void test_hostile(void **state)
{
    (void)state;
    assert_int_equal(get("/api/rank", "model=gpt2&output=/etc/x&profile=y&vendor=a b --output=/x", NULL), 200);
    assert_string_equal(words, "rank gpt2 --json --vendor=a b --output=/x"); /* one word with spaces */
    int before = asked;
    assert_int_equal(get("/api/rank", "model=gpt2&devices=/etc/passwd", "by their ids"), 400);
    assert_int_equal(get("/api/rank", "model=gpt2&devices=nvidia-h200,x.JSON", "by their ids"), 400);
    assert_int_equal(get("/api/device", "model=gpt2&device=nvidia-h200&cluster=/etc/passwd", "by their ids"), 400);
    assert_int_equal(get("/api/rank", "model=/etc/passwd", "no model"), 404);
    assert_int_equal(get("/api/rank", "model=resnet5", "did you mean 'resnet50'"), 404);
    assert_int_equal(get("/api/rank", "", "names no model"), 400);
    assert_int_equal(get("/api/nothing", "", "nothing at this address"), 404);
    assert_int_equal(get("/../etc/passwd", "", "nothing at this address"), 404);
    char longest[600] = "model=gpt2&vendor=";
    memset(longest + strlen(longest), 'v', 550);
    assert_int_equal(get("/api/rank", longest, "more than 512 characters"), 400);
    assert_int_equal(asked, before); /* no command ran */
}

static void test_failures(void **state)
{
    (void)state;
    ends_with = 2;
    assert_int_equal(get("/api/rank", "model=gpt2", "\"the reason\""), 400);
    ends_with = 1;
    assert_int_equal(get("/api/rank", "model=gpt2", "\"the reason\""), 422);
    ends_with = 0;
}

/* The same question is answered from the cache; failures are not cached. Pages are files of the program. */
static void test_cached(void **state)
{
    (void)state;
    cm__routes *r = cm__routes_new(&options, NULL);
    cm__query   q = {.path = "/api/rank", .value = value, .request = "model=gpt2&objective=price"};
    cm__reply   reply;
    int         before = asked;
    for (int i = 0; i < 3; i++) {
        cm__routes_get(r, &q, &reply);
        assert_int_equal(reply.status, 200);
        assert_string_equal(reply.text, "{}");
        free(reply.text);
    }
    assert_int_equal(asked, before + 1);
    ends_with = 1;
    q.request = "model=gpt2&objective=energy";
    for (int i = 0; i < 2; i++) {
        cm__routes_get(r, &q, &reply);
        free(reply.text);
    }
    assert_int_equal(asked, before + 3);
    ends_with = 0;
    q.path = "/";
    cm__routes_get(r, &q, &reply);
    assert_true(reply.status == 200 && reply.kept && strstr(reply.type, "text/html"));
    cm__routes_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_commands), cmocka_unit_test(test_hostile),
                                       cmocka_unit_test(test_failures), cmocka_unit_test(test_cached)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
