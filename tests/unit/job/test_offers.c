/* SPDX-License-Identifier: Apache-2.0 */
/* test_offers.c - offers of providers: the built-in table is valid, and bad rows are refused. */
#include "job_case.h"

#define ROW(devices, basis, price) "P\tI\tnvidia-h100\t" devices "\tnode=8\t" basis "\t" price "\t-\t2026\tS\n"

/* Every built-in offer names a known device; spot prices are below on-demand prices of the same instance. */
static void built_in(void **state)
{
    (void)state;
    cm__ctx *ctx = context();
    if (setjmp(ctx->trap)) fail_msg("%s", diag.reason);
    cm_offers all = cm__offers_load(ctx, NULL);
    assert_true(all.count > 100);
    for (int32_t i = 0; i < all.count; i++) {
        const cm_offer *a = &all.list[i];
        cm_device       *device;
        if (cm_device_load(a->device, &device, &diag)) fail_msg("%s", diag.reason);
        cm_device_free(device);
        for (int32_t k = 0; a->instance && k < all.count; k++) {
            const cm_offer *b = &all.list[k];
            bool same = b->instance && !strcmp(a->provider, b->provider) && !strcmp(a->instance, b->instance);
            if (same && !strcmp(a->basis, "spot") && !strcmp(b->basis, "on-demand")) assert_true(a->usd_hour < b->usd_hour);
        }
    }
    cm__ctx_free(ctx);
}

static void add_price(void *sum, const cm_offer *offer) { *(double *)sum += offer->usd_hour; }

static void listed(void **state)
{
    (void)state;
    cm__ctx *ctx = context();
    if (setjmp(ctx->trap)) fail_msg("%s", diag.reason);
    cm_offers all = cm__offers_load(ctx, NULL);
    double     sum = 0, left = 0;
    for (int32_t i = 0; i < all.count; i++) left += all.list[i].usd_hour;
    assert_int_equal(cm_offers_list(NULL, add_price, &sum, &diag), CM_OK);
    assert_true(sum > 0 && sum == left);
    assert_int_equal(cm_offers_list("/nonexistent", add_price, &sum, &diag), CM_ERR_IO);
    assert_int_equal(cm_offers_list(NULL, NULL, NULL, &diag), CM_ERR_ARGUMENT);
    cm__ctx_free(ctx);
}

static void refused(void **state)
{
    (void)state;
    cm__ctx *ctx = context();
    REFUSES_IN(ctx, FORMAT, "is not a basis", cm__offers_read(ctx, ROW("8", "any", "2"), "t"));
    REFUSES_IN(ctx, FORMAT, "is not a number of devices", cm__offers_read(ctx, ROW("1.5", "spot", "2"), "t"));
    REFUSES_IN(ctx, FORMAT, "'0' is not a number above 0", cm__offers_read(ctx, ROW("8", "spot", "0"), "t"));
    int32_t count;
    assert_int_equal(cm_offers_check("/nonexistent", &count, &diag), CM_ERR_IO);
    assert_non_null(strstr(cm_offers_text(), "p5.48xlarge"));
    cm__ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(built_in), cmocka_unit_test(listed),
                                       cmocka_unit_test(refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
