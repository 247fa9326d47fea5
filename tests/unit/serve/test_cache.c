/* SPDX-License-Identifier: Apache-2.0 */
/* test_cache.c - answers are returned as copies, replaced, and the least recently used of 64 is dropped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "serve/cache.h"

static bool has(cm__cache *c, const char *question, const char *expected)
{
    size_t size = 0;
    char  *text = cm__cache_find(c, question, &size);
    if (!text) return false;
    assert_int_equal(size, strlen(expected));
    assert_string_equal(text, expected);
    free(text);
    return true;
}

static void test_copies(void **state)
{
    (void)state;
    cm__cache *c = cm__cache_new();
    char       text[] = "answer";
    size_t     size;
    assert_null(cm__cache_find(c, "a", &size));
    cm__cache_keep(c, "a", text, 6);
    text[0] = 'X'; /* the cache has its own copy */
    assert_true(has(c, "a", "answer"));
    assert_false(has(c, "A", "answer"));
    cm__cache_keep(c, "a", "other", 5);
    assert_true(has(c, "a", "other"));
    cm__cache_keep(c, "zeros", "a\0b", 3); /* answers may contain any byte */
    char *got = cm__cache_find(c, "zeros", &size);
    assert_int_equal(size, 3);
    assert_memory_equal(got, "a\0b", 4);
    free(got);
    cm__cache_free(c);
    cm__cache_free(NULL);
}

static void test_least_recently_used(void **state)
{
    (void)state;
    cm__cache *c = cm__cache_new();
    char       question[16];
    for (int i = 0; i < 64; i++) {
        snprintf(question, sizeof question, "q%d", i);
        cm__cache_keep(c, question, "x", 1);
    }
    assert_true(has(c, "q0", "x")); /* now q1 is the oldest */
    cm__cache_keep(c, "new", "x", 1);
    assert_true(has(c, "q0", "x"));
    assert_true(has(c, "new", "x"));
    assert_false(has(c, "q1", "x"));
    assert_true(has(c, "q2", "x"));
    cm__cache_free(c);
}

/* An answer above 4 MiB is not kept and removes nothing. */
static void test_too_large(void **state)
{
    (void)state;
    cm__cache *c = cm__cache_new();
    size_t     most = (size_t)4 << 20, size;
    char      *text = calloc(most + 2, 1);
    cm__cache_keep(c, "small", "x", 1);
    cm__cache_keep(c, "most", text, most);
    cm__cache_keep(c, "more", text, most + 1);
    assert_null(cm__cache_find(c, "more", &size));
    char *got = cm__cache_find(c, "most", &size);
    assert_int_equal(size, most);
    free(got);
    assert_true(has(c, "small", "x"));
    free(text);
    cm__cache_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_copies), cmocka_unit_test(test_least_recently_used),
                                       cmocka_unit_test(test_too_large)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
