/* SPDX-License-Identifier: Apache-2.0 */
/* test_routes.c - which command line a query becomes, and that nothing else of a query reaches it. */
#include "serve_case.h"

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
    assert_int_equal(get("/api/models", "", DOCUMENT), 200);
    assert_string_equal(words, "models --json");
    assert_int_equal(get("/api/rank", "model=resnet50&objective=price&max_usd=3&precision=", DOCUMENT), 200);
    assert_string_equal(words, "rank resnet50 --json --objective=price --max-usd=3");
    assert_int_equal(get("/api/device", "model=gpt2&device=nvidia-h200&batch=8", DOCUMENT), 200);
    assert_string_equal(words, "explain gpt2 --json --full --device=nvidia-h200 --batch=8");
    assert_int_equal(get("/api/rank", "model=gpt2&price=a=1,b=2", DOCUMENT), 200);
    assert_string_equal(words, "rank gpt2 --json --price=a=1 --price=b=2");
    assert_int_equal(get("/api/device", "model=gpt2&device=nvidia-h200&n=8&tp=2&cluster=dgx-h100", DOCUMENT), 200);
    assert_string_equal(words, "explain gpt2 --json --full --device=nvidia-h200 -n=8 --tp=2 --cluster=dgx-h100");
    assert_int_equal(get("/api/report", "model=gpt2&objective=cost", DOCUMENT), 200);
    assert_string_equal(words, "report gpt2 -o=- --objective=cost");
    assert_int_equal(get("/api/script", "model=gpt2&max_devices=8&entry=2&output=x", DOCUMENT), 200);
    assert_string_equal(words, "rank gpt2 --job-script=- --max-devices=8 --entry=2");
}

/* Several networks are a job in one word; only names and numbers of a network pass, and a job file is text after a line break. */
static void test_jobs(void **state)
{
    (void)state;
    assert_int_equal(get("/api/rank", "networks=[{\"model\":\"gpt2\",\"weight\":\"2\",\"tokens\":\"1B\"},{\"model\":\"unet\"}]&max_devices=8", DOCUMENT), 200);
    assert_string_equal(words, "rank --job={\"models\":[{\"model\":\"gpt2\",\"weight\":\"2\",\"tokens\":\"1B\"},{\"model\":\"unet\"}]} --json --max-devices=8");
    assert_int_equal(get("/api/rank", "networks=[{\"model\":\"gpt2\",\"offers\":\"/etc/passwd\"}]", DOCUMENT), 200);
    assert_string_equal(words, "rank --job={\"models\":[{\"model\":\"gpt2\"}]} --json");
    assert_int_equal(get("/api/job", "text=--help", DOCUMENT), 200);
    assert_string_equal(words, "job show -- --help\n");
    assert_int_equal(get("/api/script", "networks=[{\"model\":\"gpt2\"}]", DOCUMENT), 200);
    assert_string_equal(words, "rank --job={\"models\":[{\"model\":\"gpt2\"}]} --job-script=-");
    int before = asked;
    assert_int_equal(get("/api/rank", "networks=[{\"model\":\"/etc/passwd\"}]", "no model"), 404);
    assert_int_equal(get("/api/rank", "networks=[{\"weight\":\"2\"}]", "names no model"), 400);
    assert_int_equal(get("/api/rank", "networks=[]", "is a list"), 400);
    assert_int_equal(get("/api/rank", "networks=gpt2", "is a list"), 400);
    assert_int_equal(get("/api/job", "", "has no text"), 400);
    assert_int_equal(asked, before);
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
        assert_string_equal(reply.text, DOCUMENT);
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
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_jobs), cmocka_unit_test(test_commands), cmocka_unit_test(test_hostile),
                                       cmocka_unit_test(test_failures), cmocka_unit_test(test_cached)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
