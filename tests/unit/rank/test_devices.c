/* SPDX-License-Identifier: Apache-2.0 */
/* test_devices.c - the devices of a ranking: those named, those left out, and their prices. */
#include "rank_case.h"

/* ---- lists ------------------------------------------------------------------------------------------------------- */

static void listed(const char *devices, const char *baseline)
{
    r->options.devices = devices;
    r->options.baseline = baseline;
    r->n_devices = 0;
    cm__rank_list_devices(r);
}

TEST(each_name_once)
{
    listed("nvidia-t4,,nvidia-h200,NVIDIA-T4,", NULL);
    assert_int_equal(r->n_devices, 2);
    assert_string_equal(r->devices[0].name, "nvidia-t4");
    assert_string_equal(r->devices[1].name, "nvidia-h200");
    listed(NULL, NULL);
    assert_int_equal(r->n_devices, cm_devices());
    listed("all", NULL);
    assert_int_equal(r->n_devices, cm_devices());
    listed("", NULL);
    assert_int_equal(r->n_devices, 0);
}

/* A baseline that the user did not ask to rank is loaded, and marked. */
TEST(the_baseline_is_added)
{
    listed("nvidia-t4", "nvidia-h200");
    assert_int_equal(r->n_devices, 2);
    assert_true(!r->devices[0].unlisted && r->devices[1].unlisted);
    listed("nvidia-t4,nvidia-h200", "nvidia-h200");
    assert_int_equal(r->n_devices, 2);
    assert_false(r->devices[1].unlisted);
}

TEST(a_list_has_an_end)
{
    static char many[513 * 8];
    for (int i = 0; i < 513; i++) snprintf(many + strlen(many), 8, "d%d,", i);
    REFUSES(LIMIT, "more than 512 devices", listed(many, NULL));
}

TEST(an_unknown_name_is_refused)
{
    REFUSES(UNKNOWN, "nvidia-t5", list_devices("nvidia-t4,nvidia-t5"));
}

/* ---- who takes part ---------------------------------------------------------------------------------------------- */

/* A chip for inference only takes no part in training unless it is named. */
TEST(built_in_devices_that_train)
{
    list_devices(NULL);
    assert_null(device_named("groq-groqchip"));
    assert_non_null(device_named("nvidia-h200"));
    assert_int_equal(r->info.left_out, 0);
    for (int32_t i = 0; i < r->n_devices; i++) assert_true(cm_device_get_info(r->devices[i].device)->training);
}

TEST(a_named_device_takes_part)
{
    list_devices("groq-groqchip");
    assert_int_equal(r->n_devices, 1);
}

TEST(inference_has_its_own_devices)
{
    r->options.train.inference = true;
    list_devices("all");
    assert_non_null(device_named("groq-groqchip"));
}

/* Devices that the user's conditions leave out are counted. */
TEST(of_one_vendor)
{
    r->options.vendor = "nvid";
    list_devices("nvidia-t4,nvidia-h200,graphcore-bow");
    assert_int_equal(r->n_devices, 2);
    assert_int_equal(r->info.left_out, 1);
    assert_null(device_named("graphcore-bow"));
}

/* The baseline stays, but is not ranked. */
TEST(a_baseline_of_another_vendor)
{
    r->options.vendor = "graphcore";
    r->options.baseline = "nvidia-t4";
    list_devices("nvidia-t4,graphcore-bow");
    assert_int_equal(r->n_devices, 2);
    assert_true(device_named("nvidia-t4")->unlisted);
    assert_false(device_named("graphcore-bow")->unlisted);
}

TEST(an_unknown_vendor)
{
    r->options.vendor = "nobody";
    REFUSES(UNKNOWN, "no vendor 'nobody'; there are NVIDIA, Graphcore", list_devices("nvidia-t4,nvidia-h200,graphcore-bow"));
}

TEST(conditions_on_known_numbers)
{
    r->where = cm__where_parse(r->ctx, "memory>100GB");
    list_devices("nvidia-t4,nvidia-h200"); /* 16 and 141 GB */
    assert_int_equal(r->n_devices, 1);
    assert_non_null(device_named("nvidia-h200"));
}

/* The host of a ranking is that of all devices whose kernels it launches. */
TEST(a_measured_host)
{
    write_file("host.json", TIME_DEVICE(",\n\"host\": [{\"runtime\": \"torch-eager\", \"what\": \"probe\", "
                                        "\"time\": {\"value\": 2e-5, \"unit\": \"s\", \"kind\": \"measured\", "
                                        "\"source\": \"sheet\"}}]"));
    r->options.host_file = file_named("host.json");
    list_devices("nvidia-h200,graphcore-bow");
    const cm_device *launched = device_named("nvidia-h200")->device, *whole = device_named("graphcore-bow")->device;
    assert_string_equal(launched->host[0].what, "probe");
    assert_true(launched->host[0].time_s.value == 2e-5);
    for (int32_t i = 0; i < whole->n_host; i++) assert_true(strcmp(whole->host[i].what, "probe") != 0);
}

/* Loaded devices know each other; a profile file is no peer under its id. */
TEST(devices_are_introduced)
{
    write_file("mine.json", TIME_DEVICE(""));
    char names[600];
    snprintf(names, sizeof names, "nvidia-t4,%s", file_named("mine.json"));
    list_devices(names);
    assert_int_equal(r->peers.count, 1);
    assert_ptr_equal(r->peers.devices[0], r->devices[0].device);
    assert_ptr_equal(cm__device_peer(r->devices[1].device, "nvidia-t4"), r->devices[0].device);
    assert_true(isnan(r->devices[0].entry.peak_bytes) && isnan(r->devices[0].entry.value));
}

/* ---- prices ------------------------------------------------------------------------------------------------------ */

#define PRICE(provider, usd, basis)                                                                                    \
    "{\"provider\": \"" provider "\", \"usd_hour\": " usd ", \"basis\": \"" basis "\", \"date\": \"2026\", "           \
    "\"source\": \"sheet\"}"

static const char *priced(void)
{
    static char path[512];
    write_file("priced.json", TIME_DEVICE(",\n\"prices\": [" PRICE("x", "3", "on-demand") ", " PRICE("y", "2", "on-demand")
                                          ", " PRICE("z", "1", "spot") "]"));
    snprintf(path, sizeof path, "%s", file_named("priced.json"));
    return path;
}

TEST(the_cheapest_of_a_basis)
{
    r->options.price_basis = CM_BASIS_ON_DEMAND;
    list_devices(priced());
    assert_true(r->devices[0].entry.price_hour == 2);
    assert_string_equal(r->devices[0].entry.price->provider, "y");
}

TEST(of_one_provider)
{
    r->options.price_basis = CM_BASIS_ON_DEMAND;
    r->options.provider = "x";
    list_devices(priced());
    assert_true(r->devices[0].entry.price_hour == 3);
}

/* A provider of spot prices only has no on-demand price: the device is left out. */
TEST(a_provider_without_such_a_price)
{
    r->options.price_basis = CM_BASIS_ON_DEMAND;
    r->options.provider = "z";
    list_devices(priced());
    assert_int_equal(r->n_devices, 0);
    assert_int_equal(r->info.left_out, 1);
}

TEST(an_unknown_provider)
{
    r->options.provider = "w";
    REFUSES(UNKNOWN, "no provider of prices 'w'; there are x, y, z", list_devices(priced()));
}

TEST(a_users_own_price)
{
    r->options.prices = &(cm_rank_price){"TIMED", 0.5};
    r->options.n_prices = 1;
    list_devices(priced());
    assert_true(r->devices[0].entry.price_hour == 0.5);
    assert_null(r->devices[0].entry.price);
}

TEST(why_there_is_no_price)
{
    list_devices(priced());
    r->options.price_basis = CM_BASIS_MARKETPLACE;
    cm__rank_explain_price(r, &r->devices[0]);
    assert_string_equal(r->devices[0].reason, "no marketplace price is known; 2 USD/h with --price-basis on-demand (y), "
                                              "1 USD/h with --price-basis spot (z), or yours with --price timed=USD");
    r->options.provider = "nobody";
    r->options.price_basis = CM_BASIS_ANY;
    cm__rank_explain_price(r, &r->devices[0]);
    assert_string_equal(r->devices[0].reason, "no price is known; --price timed=USD");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_name_once),
        cmocka_unit_test(the_baseline_is_added),
        cmocka_unit_test(a_list_has_an_end),
        cmocka_unit_test(an_unknown_name_is_refused),
        cmocka_unit_test(built_in_devices_that_train),
        cmocka_unit_test(a_named_device_takes_part),
        cmocka_unit_test(inference_has_its_own_devices),
        cmocka_unit_test(of_one_vendor),
        cmocka_unit_test(a_baseline_of_another_vendor),
        cmocka_unit_test(an_unknown_vendor),
        cmocka_unit_test(conditions_on_known_numbers),
        cmocka_unit_test(devices_are_introduced),
        cmocka_unit_test(a_measured_host),
        cmocka_unit_test(the_cheapest_of_a_basis),
        cmocka_unit_test(of_one_provider),
        cmocka_unit_test(a_provider_without_such_a_price),
        cmocka_unit_test(an_unknown_provider),
        cmocka_unit_test(a_users_own_price),
        cmocka_unit_test(why_there_is_no_price),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
