/* SPDX-License-Identifier: Apache-2.0 */
/* test_preset.c - presets of devices: what a study printed, and refusals by name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "rank/preset.h"

/* The reason of a refusal; "": there is none. */
static const char *refusal(const char *name, const char *model)
{
    static char text[512];
    cm_diag     diag = {0};
    cm__ctx    *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) {
        cm__ctx_free(ctx);
        return strcpy(text, diag.reason);
    }
    cm__preset_devices(ctx, name, model);
    cm__ctx_free(ctx);
    return "";
}

/* Xie et al. 2024: Table 5 gives BERT-large 16 samples on a Bow, section 6.2.1 a price of 1.21 USD; the preset counts four. */
static void devices_as_printed(void **state)
{
    (void)state;
    cm__ctx *ctx = cm__ctx_new(NULL);
    assert_non_null(strstr(cm__preset_devices(ctx, "xie2024", "bert-large"), "nvidia-a100-40g,"));
    cm__preset p = cm__preset_of(ctx, "xie2024", "bert-large", "graphcore-bow");
    assert_int_equal(p.batch, 4 * 16);
    assert_int_equal(p.chips, 4);
    assert_int_equal(p.precision, CM_PRECISION_FP16);
    assert_true(p.usd_hour == 1.21);
    assert_int_equal(cm__preset_of(ctx, "xie2024", "resnet50", "habana-gaudi2").batch, 64);
    assert_int_equal(cm__preset_of(ctx, NULL, "resnet50", "habana-gaudi2").batch, 0);
    assert_int_equal(cm__preset_of(ctx, "xie2024", "resnet50", "nvidia-h200").batch, 0);
    cm__ctx_free(ctx);
}

static void refuses_by_name(void **state)
{
    (void)state;
    assert_string_equal(refusal("xie2024", "gpt2-xl"), "");
    assert_non_null(strstr(refusal("xie2025", "gpt2-xl"), "there are xie2024"));
    assert_non_null(strstr(refusal("xie2024", "vgg16"), "it has resnet50, bert-large, gpt2-xl"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(devices_as_printed), cmocka_unit_test(refuses_by_name)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
