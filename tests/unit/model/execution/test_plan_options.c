/* SPDX-License-Identifier: Apache-2.0 */
/* test_plan_options.c - plan options that each execution model supports; others are refused by name. */
#include "chip_device.h"
#include "model/execution/execution.h"

/* NULL: the plan is accepted; otherwise the reason. */
static const char *refusal(const char *profile, cm_plan plan)
{
    static cm_diag diag;
    cm_device     *device;
    write_file("chip.json", profile);
    assert_int_equal(cm_device_load(file_named("chip.json"), &device, &diag), CM_OK);
    cm__ctx *ctx = cm__ctx_new(&diag);
    diag.reason[0] = 0;
    if (setjmp(ctx->trap)) {
        assert_int_equal(cm__ctx_abandon(ctx), CM_ERR_UNSUPPORTED);
        cm_device_free(device);
        return diag.reason;
    }
    cm__plan_check_execution(ctx, device, &plan);
    cm__ctx_free(ctx);
    cm_device_free(device);
    return NULL;
}

static void refuses(const char *profile, cm_plan plan, const char *option)
{
    char        text[128];
    const char *reason = refusal(profile, plan);
    snprintf(text, sizeof text, "does not support %s;", option);
    if (!reason || !strstr(reason, text)) fail_msg("%s: %s", option, reason ? reason : "accepted");
}

/* The user chooses the number of copies and how their batch is divided, on every such device. */
static void test_copies(void **state)
{
    const char *const profiles[] = {KERNELS("0.5", "1e12"), SECTIONS("1e9", "1e12", "1", "1e-6"),
                                    STREAMING("1e9", "1e12", "")};
    (void)state;
    for (size_t i = 0; i < sizeof profiles / sizeof *profiles; i++) {
        assert_null(refusal(profiles[i], (cm_plan){0}));
        assert_null(refusal(profiles[i], (cm_plan){.devices = 8, .dp = 8, .micro_batch = 2, .accumulate = 4}));
        assert_null(refusal(profiles[i], (cm_plan){.tp = 1, .pp = 1, .cp = 1, .ep = 1, .interleave = 1,
                                                   .global_batch = 8}));
        assert_null(refusal(profiles[i], (cm_plan){.devices = 8, .dp = 8, .asynchronous = true, .gradient_bits = 8}));
        refuses(profiles[i], (cm_plan){.cp = 2}, "--cp");
        refuses(profiles[i], (cm_plan){.ep = 2}, "--ep");
        refuses(profiles[i], (cm_plan){.offload_weights = true}, "--offload");
    }
}

/* Layers are divided as on GPUs only where operators run one by one; a wafer divides nothing. */
static void test_division(void **state)
{
    (void)state;
    const cm_plan plans[] = {{.tp = 2}, {.interleave = 2, .pp = 2}, {.sequence_parallel = true, .tp = 2}};
    const char   *names[] = {"--tp", "--interleave", "--tp"};
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
        assert_null(refusal(KERNELS("0.5", "1e12"), plans[i]));
        refuses(SECTIONS("1e9", "1e12", "1", "1e-6"), plans[i], names[i]);
        assert_non_null(refusal(STREAMING("1e9", "1e12", ""), plans[i]));
    }
    refuses(KERNELS("0.5", "1e12"), (cm_plan){.interleave = 2}, "--interleave without --pp");
    refuses(KERNELS("0.5", "1e12"), (cm_plan){.sequence_parallel = true}, "--sequence-parallel without --tp");
    refuses(KERNELS("0.5", "1e12"), (cm_plan){.pp = 2, .gpipe = true}, "--schedule gpipe");
    /* gradients are summed during backward where operators run one by one, at its end elsewhere */
    refuses(KERNELS("0.5", "1e12"), (cm_plan){.devices = 8, .dp = 8, .overlap = true}, "--overlap");
    assert_null(refusal(SECTIONS("1e9", "1e12", "1", "1e-6"), (cm_plan){.devices = 8, .dp = 8, .overlap = true}));
    assert_null(refusal(KERNELS("0.5", "1e12"), (cm_plan){.pp = 2}));
    assert_null(refusal(SECTIONS("1e9", "1e12", "1", "1e-6"), (cm_plan){.pp = 2}));
    refuses(STREAMING("1e9", "1e12", ""), (cm_plan){.pp = 2}, "--pp");
}

/* ZeRO only on devices that run kernel by kernel, and only over several. */
static void test_exceptions(void **state)
{
    (void)state;
    const char *bsp = CHIP("bsp-pipeline", "1e9", "1e12", EFFICIENCY("1"), PLACED("SRAM") LINKS);
    assert_null(refusal(KERNELS("0.5", "1e12"), (cm_plan){.zero = 1, .devices = 8, .dp = 8}));
    refuses(KERNELS("0.5", "1e12"), (cm_plan){.zero = 1}, "--zero on one device");
    refuses(STREAMING("1e9", "1e12", ""), (cm_plan){.zero = 1, .devices = 8}, "--zero");
    assert_null(refusal(bsp, (cm_plan){.pp = 4}));
    refuses(bsp, (cm_plan){.pp = 4, .tp = 2}, "--tp");
    const char *reason = refusal(bsp, (cm_plan){.tp = 2});
    const char *list = "its plan options are -n, --dp, --micro-batch, --accumulate, --global-batch, --sync-batchnorm, "
                       "--pp, --async, --compress and --overlap";
    assert_non_null(strstr(reason, list));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_copies), cmocka_unit_test(test_division),
                                       cmocka_unit_test(test_exceptions)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
