/* SPDX-License-Identifier: Apache-2.0 */
/* test_plausible.c - warnings of units and prefixes; the built-in devices have none. */
#include "device/plausible.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "profile_texts.h"

#define LEVEL(bytes, bandwidth)                                                                                        \
    "\"memory\": [{\"name\": \"HBM\", \"place\": \"off-chip\", \"managed\": \"explicit\", \"scope\": \"device\", "     \
    "\"capacity\": " NUMBER(bytes, "B") ", \"bandwidth\": " NUMBER(bandwidth, "B/s") "}]"
#define PEAKS(bf16, fp32)                                                                                              \
    "\"peak\": {\"matrix\": {\"bf16\": " NUMBER(bf16, "FLOP/s") "}, \"vector\": {\"fp32\": " NUMBER(fp32, "FLOP/s") "}}"
#define GPU(peaks, level, more) "{" IDENTITY("mine") ",\n" peaks ",\n" level ",\n" SOURCES more "}\n"

/* Whether a warning has the words; NULL: there is none at all. */
static void warns(const char *text, const char *words)
{
    cm_profile_summary summary;
    cm_diag            diag = {0};
    bool               found = false;
    write_file("mine.json", text);
    if (cm_profile_check(file_named("mine.json"), &summary, &diag)) fail_msg("%s: %s", diag.place, diag.reason);
    for (int32_t i = 0; i < summary.n_warnings; i++) {
        if (!words) fail_msg("%s", summary.warnings[i]);
        found = found || strstr(summary.warnings[i], words);
    }
    if (words && !found) fail_msg("no warning of '%s' among %d", words, (int)summary.n_warnings);
}

static void wrong_numbers(void **state)
{
    (void)state;
    warns(GPU(PEAKS("2e14", "5e13"), LEVEL("48e9", "1.2e12"), ""), NULL);
    warns(GPU(PEAKS("2e14", "5e13"), LEVEL("48", "1.2e12"), ""), "the memory is 48");
    warns(GPU(PEAKS("2e14", "5e13"), LEVEL("48e6", "1.2e12"), ""), "the memory is 48");
    warns(GPU(PEAKS("2e14", "5e13"), LEVEL("48e9", "1.2e9"), ""), "bandwidth");
    warns(GPU(PEAKS("2e11", "5e13"), LEVEL("48e9", "1.2e12"), ""), "the 16-bit peak is");
    warns(GPU(PEAKS("2e14", "3e14"), LEVEL("48e9", "1.2e12"), ""), "the fp32 peak, 300 TFLOP/s, is above the bf16 peak");
    warns(GPU(PEAKS("2e14", "5e13"), LEVEL("48e9", "1.2e12"), ", \"clock_hz\": " NUMBER("1.8e6", "Hz")), "the clock");
    warns(GPU(PEAKS("2e14", "5e13"), LEVEL("48e9", "1.2e12"), ", \"cores\": " NUMBER("18432", "1")), "the cores");
    warns(GPU(PEAKS("2e14", "5e13"), LEVEL("48e9", "1.2e12"),
              ", \"prices\": [{\"provider\": \"ours\", \"usd_hour\": 25000, \"basis\": \"subscription\", "
              "\"date\": \"2026-11\", \"source\": \"sheet\"}]"), "the price");
}

static void built_in_devices(void **state)
{
    (void)state;
    for (int32_t i = 0; cm_device_id(i); i++) {
        char       warnings[CM_PROFILE_WARNINGS][CM_PROFILE_WARNING_SIZE];
        cm_device *d;
        assert_int_equal(cm_device_load(cm_device_id(i), &d, NULL), CM_OK);
        int32_t n = cm__device_doubts(d->ctx, d, warnings);
        if (n) fail_msg("%s: %s", cm_device_id(i), warnings[0]);
        cm_device_free(d);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(wrong_numbers), cmocka_unit_test(built_in_devices)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
