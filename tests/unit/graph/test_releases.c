/* SPDX-License-Identifier: Apache-2.0 */
/* test_releases.c - which features the releases of a question have. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "base/versions.h"
#include "graph/releases.h"

static cm_software parsed(const char *text)
{
    cm_software s = {0};
    assert_int_equal(cm_software_parse(text, &s, NULL), CM_OK);
    assert_true(s.given);
    return s;
}

/* PyTorch 2.5 is of October 2024, PEFT 0.12 of July 2024. A year ends with its September. */
static void a_year_stands_for_releases(void **state)
{
    (void)state;
    assert_true(cm__provides(parsed("2024"), CM__FEATURE_WIDE_ADAPTERS));
    assert_false(cm__provides(parsed("2024"), CM__FEATURE_SAFE_SOFTMAX));
    assert_true(cm__provides(parsed("2025"), CM__FEATURE_SAFE_SOFTMAX));
    assert_false(cm__provides(parsed("2022"), CM__FEATURE_FUSED_ATTENTION));
    for (int f = 0; f < CM__FEATURES; f++) {
        assert_true(cm__provides(cm__software_of_year(0), (cm__feature)f));
        assert_false(cm__provides(parsed("2015"), (cm__feature)f));
    }
}

static void components_have_versions(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        cm__feature feature;
        bool        has;
    } cases[] = {{"torch=2.5", CM__FEATURE_SAFE_SOFTMAX, true},      {"torch=2.4.1", CM__FEATURE_SAFE_SOFTMAX, false},
                 {"torch=2.10", CM__FEATURE_SAFE_SOFTMAX, true},     {"torch=1.13", CM__FEATURE_FUSED_ATTENTION, false},
                 {"torch=2.4,peft=0.11", CM__FEATURE_WIDE_ADAPTERS, false},
                 {"peft=0.12.0", CM__FEATURE_WIDE_ADAPTERS, true},   {"torch=1.13", CM__FEATURE_WIDE_ADAPTERS, true},
                 {"megatron=0.12", CM__FEATURE_WEIGHED_ACTIVATION, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(cm__provides(parsed(cases[i].text), cases[i].feature), cases[i].has);
}

/* Kernel times are of releases, too. A year means the last release of PyTorch that is listed before its end. */
static void kernel_times_have_releases(void **state)
{
    (void)state;
    assert_int_equal(parsed("torch=2.10.1,cudnn=9.19").versions.of[CM_COMPONENT_TORCH], cm__version(2, 10));
    assert_int_equal(parsed("torch=2.10.1,cudnn=9.19").versions.of[CM_COMPONENT_CUDNN], cm__version(9, 19));
    assert_int_equal(parsed("peft=0.12").versions.of[CM_COMPONENT_TORCH], 0);
    assert_int_equal(parsed("2023").versions.of[CM_COMPONENT_TORCH], cm__version(2, 0));
    assert_int_equal(parsed("2026").versions.of[CM_COMPONENT_TORCH], cm__version(2, 11));
    assert_true(parsed("2016").versions.of[CM_COMPONENT_TORCH] > 0); /* not the newest */
}

static void other_texts_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"", "torch", "torch=", "=2", "torch=2.", "torch=.2", "torch=two", "torch=2.5,", ",",
                                      "1999", "2500", "torch=1.2.3.4.5", "torch=99999999999999999999"};
    cm_software s;
    cm_diag     diag;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(cm_software_parse(bad[i], &s, &diag), CM_ERR_ARGUMENT);
    assert_int_equal(cm_software_parse("troch=2.5", &s, &diag), CM_ERR_UNKNOWN);
    assert_non_null(strstr(diag.reason, "did you mean 'torch'?"));
    assert_non_null(strstr(diag.reason, "megatron"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_year_stands_for_releases),
                                       cmocka_unit_test(components_have_versions),
                                       cmocka_unit_test(kernel_times_have_releases),
                                       cmocka_unit_test(other_texts_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
