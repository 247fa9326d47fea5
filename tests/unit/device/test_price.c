/* SPDX-License-Identifier: Apache-2.0 */
/* test_price.c - prices of different bases are not mixed, and every built-in price states its basis. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "centimani.h"
#include "profile_texts.h"

#define PRICE(provider, usd, basis)                                                                                    \
    "{\"provider\": \"" provider "\", \"usd_hour\": " usd ", \"basis\": \"" basis                                      \
    "\", \"date\": \"2026\", \"source\": \"sheet\"}"

static const char text[] = DEVICE("a", ",\n\"prices\": [" PRICE("List", "4", "on-demand") ", " PRICE("Cheap", "3", "on-demand")
    ", " PRICE("List", "2", "spot") ", " PRICE("Market", "1", "marketplace") ", " PRICE("Paper", "0.5", "paper") "]");
static const char only_paper[] = DEVICE("b", ",\n\"prices\": [" PRICE("Paper", "0.5", "paper") "]");

static cm_device *device(const char *name, const char *json)
{
    cm_device *d;
    cm_diag    diag = {0};
    write_file(name, json);
    if (cm_device_load(file_named(name), &d, &diag)) fail_msg("%s", diag.reason);
    return d;
}

static double usd(const cm_device *d, cm_basis basis, const char *provider)
{
    const cm_price *p = cm_device_cheapest(d, 1, basis, provider);
    return p ? p->usd_hour : -1;
}

static void bases_are_not_mixed(void **state)
{
    (void)state;
    cm_device *d = device("a.json", text);
    assert_true(usd(d, CM_BASIS_ON_DEMAND, NULL) == 3);
    assert_true(usd(d, CM_BASIS_ON_DEMAND, "list") == 4);
    assert_true(usd(d, CM_BASIS_ON_DEMAND, "market") == -1);
    assert_true(usd(d, CM_BASIS_SPOT, NULL) == 2);
    assert_true(usd(d, CM_BASIS_MARKETPLACE, NULL) == 1);
    assert_true(usd(d, CM_BASIS_SUBSCRIPTION, NULL) == -1);
    assert_true(usd(d, CM_BASIS_PAPER, NULL) == 0.5);
    assert_true(usd(d, CM_BASIS_ANY, NULL) == 1); /* a figure of a paper is not an offer */
    assert_true(usd(d, CM_BASIS_ANY, "list") == 2);
    cm_device_free(d);
    d = device("b.json", only_paper);
    assert_true(usd(d, CM_BASIS_ANY, NULL) == 0.5);
    assert_true(usd(d, CM_BASIS_ON_DEMAND, NULL) == -1);
    cm_device_free(d);
}

static void names_are_read(void **state)
{
    (void)state;
    cm_diag  diag = {0};
    cm_basis basis;
    for (cm_basis b = 0; b < CM_BASES; b++) {
        assert_int_equal(cm_basis_parse(cm_basis_name(b), &basis, &diag), CM_OK);
        assert_int_equal(basis, b);
    }
    assert_int_equal(cm_basis_parse("on-demant", &basis, &diag), CM_ERR_UNKNOWN);
    assert_non_null(strstr(diag.reason, "'on-demand'"));
}

/* Marketplaces rent out machines of third parties; a figure of a paper is not an offer. */
static const struct {
    const char *provider, *basis;
} known[] = {{"Vast.ai", "marketplace"}, {"Shadeform", "marketplace"}, {"Xie et al. 2024", "paper"}};

static void built_in_prices_say_what_they_are(void **state)
{
    (void)state;
    int prices = 0, checked = 0;
    for (int32_t i = 0; i < cm_devices(); i++) {
        cm_device *d;
        assert_int_equal(cm_device_load(cm_device_id(i), &d, NULL), CM_OK);
        for (int32_t k = 0; k < cm_device_prices(d); k++) {
            const cm_price *p = cm_device_price(d, k);
            assert_true(p->date && *p->date && p->source && *p->source);
            prices++;
            for (size_t n = 0; n < sizeof known / sizeof *known; n++) {
                if (strcmp(p->provider, known[n].provider) != 0) continue;
                assert_string_equal(p->basis, known[n].basis);
                checked++;
            }
        }
        cm_device_free(d);
    }
    assert_true(prices >= 100 && checked >= 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(bases_are_not_mixed), cmocka_unit_test(names_are_read),
                                       cmocka_unit_test(built_in_prices_say_what_they_are)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
