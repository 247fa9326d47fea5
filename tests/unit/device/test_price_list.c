/* SPDX-License-Identifier: Apache-2.0 */
/* test_price_list.c - prices come from one table; a profile of a user may state its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "device/embedded.h"
#include "device/price_list.h"
#include "profile_texts.h"

static cm_diag diag;

static cm_device *loaded(const char *name)
{
    cm_device *d;
    if (cm_device_load(name, &d, &diag)) fail_msg("%s: %s", name, diag.reason);
    return d;
}

static bool same_text(const char *a, const char *b) { return a && b ? strcmp(a, b) == 0 : a == b; }

static bool same(const cm_price *a, const cm_price *b)
{
    return a->usd_hour == b->usd_hour && a->devices == b->devices && same_text(a->provider, b->provider) &&
           same_text(a->instance, b->instance) && same_text(a->basis, b->basis) && same_text(a->cluster, b->cluster) &&
           same_text(a->region, b->region) && same_text(a->date, b->date) && same_text(a->source, b->source);
}

/* A price in a built-in profile would be a second place of the same fact. */
static void profiles_have_no_prices(void **state)
{
    (void)state;
    for (int32_t i = 0; i < cm__n_embedded_devices; i++)
        if (strstr(cm__embedded_devices[i].text, "\"prices\"") || strstr(cm__embedded_devices[i].text, "usd_hour"))
            fail_msg("%s has prices: they belong in data/offers.tsv", cm__embedded_devices[i].id);
}

/* The compiled devices have exactly the rows of the table, in its order. */
static void devices_have_the_rows(void **state)
{
    (void)state;
    cm_offers *all;
    int32_t    found = 0;
    assert_int_equal(cm_offers_load(NULL, &all, &diag), CM_OK);
    for (int32_t i = 0; i < cm_devices(); i++) {
        cm_device *d = loaded(cm_device_id(i));
        int32_t    next = 0;
        for (int32_t k = 0; k < all->count; k++) {
            if (strcmp(all->list[k].device, cm_device_id(i)) != 0) continue;
            const cm_price *p = cm_device_price(d, next++);
            if (!p || !same(p, &all->list[k])) fail_msg("%s: price %d is not the table's", cm_device_id(i), (int)next);
        }
        assert_int_equal(cm_device_prices(d), next);
        found += next;
        cm_device_free(d);
    }
    assert_int_equal(found, all->count); /* every row names a built-in device */
    cm_offers_free(all);
}

static bool same_offer(const cm_offer *a, const cm_offer *b)
{
    return same_text(a->provider, b->provider) && same_text(a->instance, b->instance) &&
           same_text(a->device, b->device) && same_text(a->basis, b->basis) && same_text(a->region, b->region);
}

static void no_offer_twice(void **state)
{
    (void)state;
    cm_offers *all;
    assert_int_equal(cm_offers_load(NULL, &all, &diag), CM_OK);
    assert_true(all->count > 200);
    for (int32_t i = 0; i < all->count; i++) {
        const cm_offer *a = &all->list[i];
        assert_true(strlen(a->date) >= 4 && strlen(a->source) > 8);
        for (int32_t k = 0; k < i; k++)
            if (same_offer(a, &all->list[k])) fail_msg("%s %s %s: twice", a->provider, a->instance, a->basis);
    }
    cm_offers_free(all);
}

#define BASED "{\"schema\": 1, \"id\": \"mine\", \"base\": \"nvidia-h100\", \"name\": \"Mine\""
#define MINE                                                                                                           \
    ", \"prices\": [{\"provider\": \"ours\", \"usd_hour\": 1.5, \"basis\": \"on-demand\", \"date\": \"2026\", "        \
    "\"source\": \"s\"}], \"sources\": {\"s\": {\"title\": \"t\", \"where\": \"w\", \"date\": \"2026\"}}"

static const char table[] = "P\tI\tnvidia-h100\t8\tnode=8\ton-demand\t0.25\t-\t2026\tS\n";

/* Own prices stay whatever the table says; without own prices the base's offers apply; null: nobody sells it. */
static void profiles_of_users(void **state)
{
    (void)state;
    cm__ctx *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s", diag.reason);
    cm_offers other = cm__offers_read(ctx, table, "t");
    write_file("own.json", BASED MINE "}");
    write_file("based.json", BASED "}");
    write_file("unsold.json", BASED ", \"prices\": null}");
    cm_device *own = loaded(file_named("own.json")), *h100 = loaded("nvidia-h100");
    cm_device *based = loaded(file_named("based.json")), *unsold = loaded(file_named("unsold.json"));
    assert_int_equal(cm_device_prices(own), 1);
    assert_int_equal(cm_device_prices(unsold), 0);
    assert_int_equal(cm_device_prices(based), cm_device_prices(h100));
    for (int32_t i = 0; i < cm_device_prices(based); i++)
        assert_true(same(cm_device_price(based, i), cm_device_price(h100, i)));
    cm_device *const all[] = {own, based, unsold, h100};
    const double     expected[] = {1.5, 0.25, -1, 0.25};
    for (int i = 0; i < 4; i++) {
        cm_device_use_offers(all[i], &other);
        const cm_price *p = cm_device_cheapest(all[i], 1, CM_BASIS_ON_DEMAND, NULL);
        assert_true((p ? p->usd_hour : -1) == expected[i]);
        cm_device_free(all[i]);
    }
    cm__ctx_free(ctx);
}

static double usd_of(const cm_device *d, int32_t n)
{
    return cm_device_cheapest(d, n, CM_BASIS_ON_DEMAND, NULL)->usd_hour;
}

/* One device is not rented at the price of an instance of 8, unless there are only such instances. */
static void by_instance(void **state)
{
    (void)state;
    cm__ctx *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s", diag.reason);
    cm_offers both = cm__offers_read(ctx, "P\tJ\tnvidia-h100\t1\tnode=1\ton-demand\t3\t-\t2026\tS\n"
                                          "P\tI\tnvidia-h100\t8\tnode=8\ton-demand\t0.25\t-\t2026\tS\n", "t");
    cm_offers large = cm__offers_read(ctx, table, "t");
    cm_device *d = loaded("nvidia-h100");
    cm_device_use_offers(d, &both);
    assert_true(usd_of(d, 1) == 3 && usd_of(d, 7) == 3 && usd_of(d, 8) == 0.25);
    cm_device_use_offers(d, &large);
    assert_true(usd_of(d, 1) == 0.25);
    cm_device_free(d);
    cm__ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(profiles_have_no_prices),
                                       cmocka_unit_test(devices_have_the_rows), cmocka_unit_test(no_offer_twice),
                                       cmocka_unit_test(profiles_of_users), cmocka_unit_test(by_instance)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
