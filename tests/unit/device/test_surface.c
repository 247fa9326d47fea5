/* SPDX-License-Identifier: Apache-2.0 */
/* test_surface.c - surfaces of a profile: the numbers of each layer, and refusals of wrong ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "device/surface.h"

/* Two features, three units, two units, one result: 3 * 3 + 4 * 2 + 3 * 1 = 20 weights. */
#define WIDTHS "\"widths\": [2, 3, 2, 1]"
#define RANGES "\"low\": [-1, -2], \"high\": [1, 2.5]"
#define WEIGHTS "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19"
#define GOOD "{\"cores\": 304, \"error\": {\"mape\": 0.25}, " WIDTHS ", " RANGES ", \"weights\": [" WEIGHTS ", 20]}"
#define ONE(value) "{\"conv\": " value "}"

static cm_diag  diag;
static cm__ctx *ctx;

/* Reads a profile's "surfaces"; a refusal leaves its status. */
static cm_status read(const char *text, cm__surfaces *found)
{
    json_t *tree = json_loads(text, 0, NULL);
    assert_non_null(tree);
    ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap) == 0) *found = cm__surfaces_of(ctx, tree);
    cm_status status = ctx->status;
    json_decref(tree);
    return status;
}

static void every_number(void **state)
{
    cm__surfaces found = {0};
    (void)state;
    assert_int_equal(read(ONE(GOOD), &found), CM_OK);
    assert_int_equal(found.count, 1);
    const cm__surface *s = found.all;
    assert_true(s->cores == 304 && s->mape == 0.25 && s->times == 1);
    assert_true(s->low[0] == -1 && s->low[1] == -2 && s->high[0] == 1 && s->high[1] == 2.5);
    /* by input: the profile has 1 and 2 as the weights of the first unit, 3 and 4 of the second, 5 and 6 of the third */
    const double weights[] = {1, 3, 5, 2, 4, 6, 7, 8, 9, 10, 13, 11, 14, 12, 15, 16, 17, 18, 19, 20};
    assert_memory_equal(s->weights, weights, sizeof weights);
    const int32_t widths[] = {2, 3, 2, 1};
    assert_memory_equal(s->widths, widths, sizeof widths);
    cm__ctx_free(ctx);
}

/* A profile may set `times` alone; what its base does not fit has no weights, and is no surface. */
static void only_surfaces_with_weights(void **state)
{
    cm__surfaces found = {0};
    (void)state;
    assert_int_equal(read("{\"gemm\": {\"times\": 2}, \"conv\": " GOOD "}", &found), CM_OK);
    assert_int_equal(found.count, 1);
    cm__ctx_free(ctx);
    assert_int_equal(read("{}", &found), CM_OK);
    assert_int_equal(found.count, 0);
    cm__ctx_free(ctx);
    assert_int_equal(read(ONE("{\"times\": 2, " WIDTHS ", " RANGES ", \"weights\": [" WEIGHTS ", 20]}"), &found), CM_OK);
    assert_true(found.all[0].times == 2);
    cm__ctx_free(ctx);
}

static void refusals(void **state)
{
    static const struct {
        const char *text, *reason;
    } wrong[] = {
        {"{" WIDTHS ", " RANGES ", \"weights\": [" WEIGHTS "]}", "19 numbers in 'weights', expected 20"},
        {"{" WIDTHS ", " RANGES ", \"weights\": [" WEIGHTS ", 20, 21]}", "21 numbers in 'weights', expected 20"},
        {"{" WIDTHS ", \"low\": [1], \"high\": [1, 2], \"weights\": []}", "1 numbers in 'low', expected 2"},
        {"{" WIDTHS ", \"low\": [1, 2], \"weights\": []}", "0 numbers in 'high', expected 2"},
        {"{" RANGES ", \"weights\": []}", "'widths' must be 4 numbers from 1 to 64, the last one 1"},
        {"{\"widths\": [2, 3, 1], " RANGES ", \"weights\": []}", "'widths' must be"},
        {"{\"widths\": [2, 3, 2, 2], " RANGES ", \"weights\": []}", "'widths' must be"},
        {"{\"widths\": [2, 0, 2, 1], " RANGES ", \"weights\": []}", "'widths' must be"},
        {"{\"widths\": [2, -3, 2, 1], " RANGES ", \"weights\": []}", "'widths' must be"},
        {"{\"widths\": [65, 3, 2, 1], " RANGES ", \"weights\": []}", "'widths' must be"},
        {"{\"widths\": [1e300, 3, 2, 1], " RANGES ", \"weights\": []}", "'widths' must be"},
        {"{\"widths\": [\"a\", 3, 2, 1], " RANGES ", \"weights\": []}", "'widths' must be"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char         text[512];
        cm__surfaces found;
        snprintf(text, sizeof text, ONE("%s"), wrong[i].text);
        assert_int_equal(read(text, &found), CM_ERR_FORMAT);
        if (!strstr(diag.reason, wrong[i].reason) || !strstr(diag.reason, "surface 'conv'"))
            fail_msg("%s: %s", wrong[i].text, diag.reason);
        cm__ctx_free(ctx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_number), cmocka_unit_test(only_surfaces_with_weights),
                                       cmocka_unit_test(refusals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
