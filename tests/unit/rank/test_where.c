/* SPDX-License-Identifier: Apache-2.0 */
/* test_where.c - conditions on devices: which are valid, and when they are met. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "rank/where.h"

typedef struct fixture {
    cm_device    *device;
    cm_rank_entry entry;
} fixture;

/* The A100 of 80 GB: an NVIDIA GPU, 80 GiB, 400 W, 312 TFLOP/s in 16 bits (data/devices). */
static int begin(void **state)
{
    static fixture f;
    if (cm_device_load("nvidia-a100-80g", &f.device, NULL)) return -1;
    f.entry = (cm_rank_entry){.device = f.device, .price_hour = 1.5, .hours = NAN};
    *state = &f;
    return 0;
}

static int end(void **state)
{
    cm_device_free(((fixture *)*state)->device);
    return 0;
}

static const char *fails(const fixture *f, const char *text, bool predicted)
{
    static char  copy[64];
    cm_diag      diag = {0};
    cm__ctx     *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) {
        cm__ctx_free(ctx);
        fail_msg("%s: %s", text, diag.reason);
    }
    cm__conditions w = cm__where_parse(ctx, text);
    const char    *failed = cm__where_fails(&w, &f->entry, predicted);
    snprintf(copy, sizeof copy, "%s", failed ? failed : "");
    cm__ctx_free(ctx);
    return copy;
}

static void test_holds(void **state)
{
    static const char *const texts[] = {"price<3", "price<=1.5", "price=1.5", "memory>=80GB", "memory<81GiB",
                                        "power<401W", "power>0.3kW", "class=gpu", "vendor=nvidia", "style=kernel",
                                        "peak>300T",
                                        "peak>=312TFLOPS", "bandwidth>2TB/s",
                                        "price<3,memory>40GB,class=gpu", "power<401", "price<3USD", "", NULL};
    for (int i = 0; texts[i]; i++) assert_string_equal(fails(*state, texts[i], false), "");
    assert_string_equal(fails(*state, NULL, false), "");
}

static void test_fails(void **state)
{
    static const char *const texts[][2] = {{"price<1.5", "price"}, {"memory>80GB", "memory"}, {"class=ipu", "class"},
                                           {"price<3,power<100", "power"}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_string_equal(fails(*state, texts[i][0], false), texts[i][1]);
}

/* Some fields need a prediction. An unknown number meets no condition. */
static void test_predicted(void **state)
{
    assert_string_equal(fails(*state, "hours<1", false), "");
    assert_string_equal(fails(*state, "hours<1", true), "hours");
    assert_string_equal(fails(*state, "price<1", true), "");
}

static void refused(const char *text, const char *words)
{
    cm_diag  diag = {0};
    cm__ctx *ctx = cm__ctx_new(&diag);
    if (!setjmp(ctx->trap)) {
        cm__where_parse(ctx, text);
        fail_msg("'%s' is taken for a condition", text);
    }
    cm__ctx_free(ctx);
    if (!strstr(diag.reason, words)) fail_msg("'%s' lacks '%s'", diag.reason, words);
}

static void test_refused(void **state)
{
    (void)state;
    refused("prize<3", "'price'");
    refused("price", "price<3");
    refused("<3", "price<3");
    refused("price<", "80GB");
    refused("price<3dollars", "'dollars'");
    refused("memory>80", "memory>80GB");
    refused("memory>=80000000000", "GB");
    refused("bandwidth>2", "bandwidth>2TB/s");
    refused("bandwidth>2GB", "TB/s");
    refused("peak>300", "peak>300TFLOPS");
    refused("peak>3TB", "TFLOPS");
    refused("mfu>30", "mfu>30%");
    refused("hours<3GB", "'GB'");
    refused("price<3GB", "'GB'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_holds, begin, end),
        cmocka_unit_test_setup_teardown(test_fails, begin, end),
        cmocka_unit_test_setup_teardown(test_predicted, begin, end), cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
