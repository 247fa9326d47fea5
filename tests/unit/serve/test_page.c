/* SPDX-License-Identifier: Apache-2.0 */
/* test_page.c - which ranking the page's address asks for, and how its answer is written into the document. */
#include "serve_case.h"

/* The whole document for an address, read in small parts. */
static char *document(const char *address)
{
    static char text[1 << 20];
    size_t      used = 0, n;
    cm__routes *r = cm__routes_new(&options, NULL);
    cm__query   q = {.path = "/", .value = value, .request = address};
    cm__page   *page = cm__page_new(r, &q);
    words[0] = 0;
    while ((n = cm__page_read(page, text + used, 1000)) > 0) used += n;
    assert_int_equal(cm__page_read(page, text, 1000), 0);
    text[used] = '\0';
    cm__page_free(page);
    cm__routes_free(r);
    return text;
}

/* Each address asks for this ranking; without words, the page has to ask. */
static void test_questions(void **state)
{
    static const char *const cases[][2] = {
        {"", "rank resnet50 --json --objective=cost --samples=1281167 --epochs=90 --max-hours=24"},
        {"open=a|b", "rank resnet50 --json --objective=cost --samples=1281167 --epochs=90 --max-hours=24"},
        {"model=resnet18&within=3d&budget=50", "rank resnet18 --json --objective=cost --max-hours=72 --max-usd=50"},
        {"model=resnet18&budget=50&batch=8", "rank resnet18 --json --objective=time --batch=8 --max-usd=50"},
        {"model=gpt2&data=1,000 000&unit=tokens&max_devices=8&within=24&batch=64&baseline=x",
         "rank gpt2 --json --tokens=1000000 --max-devices=8 --within=24h --global-batch=64"},
        {"model=gpt2&budget=50&max_devices=8", "rank gpt2 --json --objective=time --max-devices=8 --budget=50"},
        {"model=gpt2&objective=energy&seq=512", "rank gpt2 --json --objective=energy --seq=512"},
        {"model=resnet18&within=90min", ""},      /* hours with a fraction */
        {"model=resnet18&within=024h", ""},
        {"model=resnet18&budget=5e2", ""},
        {"model=resnet18&clusters=polaris", ""},  /* which the page refuses */
        {"model=resnet18&unit=bytes&data=5", ""},
        {"model= resnet18", ""},
        {"data=5", ""},
    };
    (void)state;
    ends_with = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *text = document(cases[i][0]);
        assert_string_equal(words, cases[i][1]);
        assert_int_equal(strstr(text, "id=\"first\">{\"query\":") != NULL, cases[i][1][0] != '\0');
        assert_int_equal(strstr(text, "id=\"first\"></script>") != NULL, cases[i][1][0] == '\0');
        assert_string_equal(text + strlen(text) - 8, "</html>\n");
    }
}

/* Neither the answer nor the question can end the element. */
static void test_escaped(void **state)
{
    (void)state;
    ends_with = 0;
    const char *text = document("model=resnet18&where=</script><script>alert(1)</script>");
    const char *block = strstr(text, "id=\"first\">"), *end = strstr(block, "</script>");
    assert_non_null(strstr(block, "\"where\":\"\\u003c/script>\\u003cscript>alert(1)"));
    assert_true(strstr(block, "\"answer\":{\"note\":\"\\u003c/script>\\u003cb>\"}}</script>") < end);
    assert_memory_equal(end - 2, "}}", 2);
}

/* The page asks again to say what is wrong. */
static void test_failed(void **state)
{
    (void)state;
    ends_with = 2;
    assert_non_null(strstr(document("model=resnet18"), "id=\"first\"></script>"));
    ends_with = 0;
    assert_non_null(strstr(document("model=no-such-model"), "id=\"first\"></script>"));
}

static void test_prepared(void **state)
{
    (void)state;
    cm__routes *r = cm__routes_new(&options, NULL);
    cm__reply   reply;
    cm__query   q = {.path = "/api/rank", .value = value,
                     .request = "objective=cost&model=resnet50&max_hours=24&epochs=90&samples=1281167"};
    asked = ends_with = 0;
    cm__page_prepare(r);
    assert_int_equal(asked, 1);
    cm__routes_get(r, &q, &reply);
    assert_int_equal(reply.status, 200);
    assert_int_equal(asked, 1);
    free(reply.text);
    cm__routes_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_questions), cmocka_unit_test(test_escaped),
                                       cmocka_unit_test(test_failed), cmocka_unit_test(test_prepared)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
