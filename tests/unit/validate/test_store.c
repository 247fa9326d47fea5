/* SPDX-License-Identifier: Apache-2.0 */
/* test_store.c - objects by key: the last one counts, keys are copied, and sets are parsed once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "validate/validate.h"

static void test_keys(void **state)
{
    (void)state;
    cm__ctx *ctx = cm__ctx_new(NULL);
    int      values[100];
    char     key[16] = "first";
    if (setjmp(ctx->trap)) fail();
    cm__store *s = cm__store_new(ctx);
    assert_null(cm__store_find(s, "first"));
    cm__store_keep(s, key, &values[0]);
    strcpy(key, "other"); /* the store has its own copy of the key */
    assert_ptr_equal(cm__store_find(s, "first"), &values[0]);
    assert_null(cm__store_find(s, "other"));
    for (int i = 1; i < 100; i++) cm__store_keep(s, i % 2 ? "odd" : "even", &values[i]);
    assert_ptr_equal(cm__store_find(s, "odd"), &values[99]);
    assert_ptr_equal(cm__store_find(s, "even"), &values[98]);
    assert_ptr_equal(cm__store_find(s, "first"), &values[0]);
    cm__ctx_free(ctx);
}

static void test_sets(void **state)
{
    (void)state;
    cm__ctx *ctx = cm__ctx_new(NULL);
    if (setjmp(ctx->trap)) fail();
    cm__store *s = cm__store_new(ctx);
    assert_true(cm__n_embedded_sets > 0);
    for (int32_t i = 0; i < cm__n_embedded_sets; i++) {
        const json_t *set = cm__store_set(s, i);
        assert_ptr_equal(cm__store_set(s, i), set);
        assert_ptr_equal(cm__store_named(s, cm__embedded_sets[i].id), set);
    }
    assert_null(cm__store_named(s, "no such set"));
    cm__ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_keys), cmocka_unit_test(test_sets)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
