/* SPDX-License-Identifier: Apache-2.0 */
/* test_variants.c - texts of variants and types, back and forth. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "device/variants.h"

static void names_are_sorted(void **state)
{
    (void)state;
    for (int i = 0; i + 1 < CM__VARIANT_NAMES; i++)
        assert_true(strcmp(cm__variant_word((cm__variant)(i * 16)), cm__variant_word((cm__variant)(i * 16 + 16))) < 0);
}

static void each_name_and_form_is_found(void **state)
{
    char text[CM__CALL_TEXT];
    (void)state;
    for (int i = 0; i < CM__VARIANT_NAMES; i++)
        for (int form = 0; form < CM__FORMS; form++) {
            cm__variant v = (cm__variant)(i * 16 + form);
            if (cm__variant_find(cm__variant_text(v, text)) != v) fail_msg("'%s'", text);
            assert_true(cm__variant_name(v) == i && (int)cm__form_of(v) == form);
        }
}

static void texts_are_variants(void **state)
{
    (void)state;
    assert_int_equal(cm__variant_find("copy:part"), CM__V(COPY, PART));
    assert_int_equal(cm__variant_find("flash1"), CM__V(NONE, FLASH1));
    assert_int_equal(cm__variant_find("efficient-mask-dropout"), CM__V(MASK_DROPOUT, EFFICIENT));
    assert_int_equal(cm__variant_find("nt-bias"), CM__V_NT_BIAS);
    static const char *const none[] = {"dream", "copy:", "copy:dream", "add:flash", "part-copy", "cop", "copyy", "flash-dream", ":"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) assert_int_equal(cm__variant_find(none[i]), CM__NO_VARIANT);
}

static void texts_are_types(void **state)
{
    static const struct {
        const char *text;
        cm__types   types;
    } cases[] = {{"bf16", CM__ALL(CM_BF16)}, {"tf32", CM__ALL(CM__TF32)}, {"fp32>bool", CM__TYPES(CM_FP32, CM_FP32, CM_BOOL)},
                 {"bf16+fp32>fp32", CM__TYPES(CM_BF16, CM_FP32, CM_FP32)}};
    static const char *const none[] = {"", "fp7", "bf16>", "bf16+>fp32", "bf1", "unknown"};
    char                     text[CM__CALL_TEXT];
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(cm__types_find(cases[i].text), cases[i].types);
        assert_string_equal(cm__types_text(cases[i].types, text), cases[i].text);
    }
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) assert_int_equal(cm__types_find(none[i]), CM__NO_TYPES);
    assert_true(cm__type_rate(CM__TYPES(CM_FP32, CM_FP32, CM_BF16)) == CM_RATE_BF16 && cm__type_bytes(CM_COMPLEX64) == 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_sorted),
        cmocka_unit_test(each_name_and_form_is_found),
        cmocka_unit_test(texts_are_variants),
        cmocka_unit_test(texts_are_types),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
