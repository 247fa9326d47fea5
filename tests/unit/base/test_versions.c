/* SPDX-License-Identifier: Apache-2.0 */
/* test_versions.c - which of two releases suits a question better. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "base/versions.h"

static cm_versions of(const char *torch, const char *cuda)
{
    return (cm_versions){{torch ? cm__version_of(torch) : 0, 0, cuda ? cm__version_of(cuda) : 0}};
}

static void texts_are_numbers(void **state)
{
    (void)state;
    assert_int_equal(cm__version_of("2.11"), cm__version(2, 11));
    assert_int_equal(cm__version_of("2.11.0+cu130"), cm__version(2, 11));
    assert_int_equal(cm__version_of("3"), cm__version(3, 0));
    assert_true(cm__version_of("2.9") < cm__version_of("2.11"));
    assert_int_equal(cm__version_of("two"), 0);
    assert_int_equal(cm__version_of("2000.1"), 0);
    assert_int_equal(cm__component_find("cudnn"), CM_COMPONENT_CUDNN);
    assert_int_equal(cm__component_find("peft"), CM_COMPONENTS);
}

/* What is not stated differs from nothing. */
static void stated_releases_differ(void **state)
{
    (void)state;
    assert_true(cm__versions_differ(of("2.11", "13.0"), of("2.11", "12.8")));
    assert_false(cm__versions_differ(of("2.11", "13.0"), of("2.11", NULL)));
    assert_false(cm__versions_differ(of("2.11", NULL), of(NULL, "12.8")));
}

/* The release that is asked for, otherwise the newest; a stated one before one that is not. */
static void the_better_release(void **state)
{
    (void)state;
    const cm_versions none = of(NULL, NULL), old = of("2.5", NULL), recent = of("2.11", NULL);
    assert_true(cm__versions_better(recent, old, none));
    assert_false(cm__versions_better(old, recent, none));
    assert_true(cm__versions_better(old, recent, old));
    assert_true(cm__versions_better(recent, old, of("2.4", NULL)));
    assert_true(cm__versions_better(old, none, none));
    assert_false(cm__versions_better(old, old, none));
    assert_true(cm__versions_better(old, none, of("2.4", NULL))); /* another release before one that is not stated */
}

static void named(void **state)
{
    (void)state;
    cm__ctx *ctx = cm__ctx_new(NULL);
    assert_string_equal(cm__versions_text(ctx, of("2.11", "13.0")), "torch 2.11, cuda 13.0");
    assert_null(cm__versions_text(ctx, of(NULL, NULL)));
    cm__ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(texts_are_numbers), cmocka_unit_test(stated_releases_differ),
                                       cmocka_unit_test(the_better_release), cmocka_unit_test(named)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
