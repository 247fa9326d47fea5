/* SPDX-License-Identifier: Apache-2.0 */
/* test_defaults.c - what a device's class decides, and a profile that decides otherwise. */
#include "device/defaults.h"

#include <stdlib.h>
#include "time_device.h"

#define OF_CLASS(name, more)                                                                                           \
    "{\"schema\": 1, \"id\": \"timed\", \"name\": \"A device\", \"vendor\": \"Acme\", \"class\": \"" name "\", "         \
    "\"style\": \"kernel-by-kernel\", \"modes\": [\"training\"], \"precisions\": [\"fp32\"],\n"                        \
    CEILINGS("100", "1e-6") ",\n" SOURCES more "}\n"

static void is(const char *text, double tile, const char *reference, cm_runtime runtime)
{
    cm_device *d = device_of(text);
    assert_true(d->tile == tile);
    assert_int_equal(cm_device_runtime(d), runtime);
    if (reference) assert_string_equal(d->reference, reference);
    else assert_null(d->reference);
    cm_device_free(d);
}

static void by_class(void **state)
{
    (void)state;
    is(OF_CLASS("gpu", ""), 128, "nvidia-h200", CM_RUNTIME_TORCH_EAGER);
    is(OF_CLASS("cpu", ""), 4, NULL, CM_RUNTIME_NATIVE);
    is(OF_CLASS("tpu", ""), 128, NULL, CM_RUNTIME_NATIVE);
    assert_null(cm__default_of("gpu", "no such member"));
    assert_string_equal(cm__default_of(NULL, "runtime"), "native"); /* a family without a class */
}

static void by_the_profile(void **state)
{
    (void)state;
    is(OF_CLASS("gpu", ", \"tile\": " NUMBER("64", "1") ", \"reference\": \"none\", \"runtimes\": [\"native\"]"), 64,
       NULL, CM_RUNTIME_NATIVE);
    is(OF_CLASS("npu", ", \"reference\": \"nvidia-h200\""), 128, "nvidia-h200", CM_RUNTIME_NATIVE);
}

static void of_a_device_without_tables(void **state)
{
    (void)state;
    cm_device *d;
    cm_diag    diag = {0};
    write_file("timed.json", OF_CLASS("gpu", ", \"reference\": \"nvidia-a100\""));
    assert_int_not_equal(cm_device_load(file_named("timed.json"), &d, &diag), CM_OK);
    assert_string_equal(diag.reason, "no built-in kernel tables of 'nvidia-a100'");
}

/* The table gives every value a kind that profiles know, and a source. */
static void every_row_has_a_source(void **state)
{
    (void)state;
    for (int32_t i = 0; i < cm__n_class_defaults; i++) {
        const cm__class_default *row = &cm__class_defaults[i];
        assert_non_null(strstr("spec measured fitted published assumed", row->kind));
        assert_true(strlen(row->source) > 10);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_class),
        cmocka_unit_test(by_the_profile),
        cmocka_unit_test(of_a_device_without_tables),
        cmocka_unit_test(every_row_has_a_source),
    };
    return cmocka_run_group_tests_name("defaults", tests, make_folder, remove_folder);
}
