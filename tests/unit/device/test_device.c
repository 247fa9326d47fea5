/* SPDX-License-Identifier: Apache-2.0 */
/* test_device.c - typed values of devices and clusters; finding them by name. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "base/ctx.h"
#include "profile_texts.h"

static cm_diag diag;

static cm_device *device(const char *name)
{
    cm_device *d = NULL;
    if (cm_device_load(name, &d, &diag) != CM_OK) fail_msg("%s: %s: %s: %s", name, diag.file, diag.place, diag.reason);
    return d;
}

/* ---- a file ----------------------------------------------------------------------------------------------------- */

static const char whole[] = DEVICE("a", ",\n\"best_16bit\": \"bf16\", \"unit\": \"card\", \"cores\": " NUMBER("108", "1")
    ",\n\"placement\": {\"weights_biases\": \"HBM\", \"gradients\": \"HBM\", \"streamed\": [\"gradients\"]}"
    ",\n\"launch\": {\"value\": 2e-6, \"unit\": \"s\", \"kind\": \"assumed\", \"source\": \"sheet\", \"date\": \"2026-01\", "
    "\"note\": \"same as the 40G\"}, \"power\": {\"tdp\": " NUMBER("400", "W") "}"
    ",\n\"host_link\": {\"name\": \"PCIe\", \"bandwidth\": " NUMBER("3.2e10", "B/s") "}"
    ",\n\"links\": [{\"name\": \"NVLink\", \"reach\": \"node\", \"devices\": 8, \"bandwidth\": " NUMBER("3e11", "B/s") "}]"
    ",\n\"prices\": [{\"provider\": \"x\", \"usd_hour\": 3, \"basis\": \"on-demand\", \"date\": \"2026\", \"source\": \"sheet\"},"
    "{\"provider\": \"y\", \"usd_hour\": 2, \"basis\": \"on-demand\", \"date\": \"2026\", \"source\": \"sheet\"},"
    "{\"provider\": \"z\", \"usd_hour\": 1, \"basis\": \"spot\", \"date\": \"2026\", \"source\": \"sheet\"}]"
    ",\n\"operators\": {\"unsupported\": [\"LSTM\"]}, \"batch_candidates\": [1, 16]"
    ",\n\"fits\": [{\"op\": \"gemm\", \"pass\": \"forward\", \"dtype\": \"bf16\", \"runtime\": \"native\", \"form\": \"tiles\", "
    "\"parameters\": {\"overhead_s\": 2.5e-6, \"table\": [1, 2, 4]}, \"n\": 12, "
    "\"error\": {\"mape\": 0.07, \"bias\": 0.01, \"p90\": 0.15}, \"kind\": \"fitted\", \"source\": \"sheet\", "
    "\"date\": \"2026-11\"}]");

static void numbers_come_with_their_origin(void **state)
{
    (void)state;
    write_file("a.json", whole);
    cm_device *d = device(file_named("a.json"));
    cm_number  launch = cm_device_number(d, CM_LAUNCH_S), cores = cm_device_number(d, CM_CORES);
    assert_true(launch.known && launch.value == 2e-6);
    assert_string_equal(launch.unit, "s");
    assert_string_equal(launch.kind, "assumed");
    assert_string_equal(launch.date, "2026-01");
    assert_string_equal(launch.note, "same as the 40G");
    assert_true(cores.value == 108);
    assert_string_equal(cores.date, "2024-05"); /* of its source */
    assert_string_equal(cm_device_source(d, cores.source)->title, "data sheet");
    assert_null(cm_device_source(d, "nothing"));
    assert_false(cm_device_number(d, CM_TYPICAL_W).known);
    assert_true(isnan(cm_device_number(d, CM_TYPICAL_W).value));
    assert_true(cm_device_peak(d, CM_ENGINE_MATRIX, CM_RATE_FP16).value == 2e14);
    assert_false(cm_device_peak(d, CM_ENGINE_VECTOR, CM_RATE_BF16).known);
    assert_true(cm_device_peak_16bit(d).value == 3e14);
    cm_device_free(d);
}

static void words_are_typed(void **state)
{
    (void)state;
    write_file("a.json", whole);
    cm_device            *d = device(file_named("a.json"));
    const cm_device_info *info = cm_device_get_info(d);
    assert_string_equal(info->vendor, "Acme");
    assert_int_equal(info->style, CM_STYLE_KERNELS);
    assert_string_equal(cm_style_name(info->style), "kernel-by-kernel");
    assert_true(info->training && !info->inference);
    assert_true(cm_device_supports(d, CM_PRECISION_BF16) && !cm_device_supports(d, CM_PRECISION_FP8));
    assert_int_equal(cm_device_best_16bit(d), CM_PRECISION_BF16);
    assert_false(cm_device_runs(d, "LSTM"));
    assert_true(cm_device_runs(d, "Conv"));
    assert_int_equal(cm_device_batches(d), 2);
    assert_int_equal(cm_device_batch(d, 1), 16);
    cm_device_free(d);
}

/* The default is autocast in the best 16-bit type if there is one, unless the profile gives another usual precision. */
static void the_usual_precision_is_autocast_or_what_the_profile_says(void **state)
{
    (void)state;
    static const struct {
        const char  *precisions;
        cm_precision usual;
    } cases[] = {
        {"\"precisions\": [\"bf16\", \"amp-bf16\"], \"best_16bit\": \"bf16\"", CM_PRECISION_AMP_BF16},
        {"\"precisions\": [\"bf16\"], \"best_16bit\": \"bf16\"", CM_PRECISION_BF16},
        {"\"precisions\": [\"bf16\", \"amp-bf16\"], \"best_16bit\": \"bf16\", \"usual_precision\": \"bf16\"",
         CM_PRECISION_BF16},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[2000];
        snprintf(text, sizeof text, "{\"schema\": 1, \"id\": \"b\", \"base\": \"nvidia-a100-40g\", %s}", cases[i].precisions);
        write_file("b.json", text);
        cm_device *d = device(file_named("b.json"));
        assert_int_equal(cm_device_usual_precision(d), cases[i].usual);
        cm_device_free(d);
    }
}

static void lists_are_typed(void **state)
{
    (void)state;
    write_file("a.json", whole);
    cm_device       *d = device(file_named("a.json"));
    const cm_memory *m = cm_device_memory(d, 0);
    assert_int_equal(cm_device_memories(d), 2); /* and an assumed cache */
    assert_null(cm_device_memory(d, 2));
    assert_true(m->place == CM_PLACE_OFF_CHIP && !m->cache && !m->per_core && m->capacity_bytes.value == 8e10);
    assert_ptr_equal(cm_device_main_memory(d), m);
    assert_int_equal(cm_device_placement(d, CM_CATEGORY_GRADIENTS).memory, 0);
    assert_true(cm_device_placement(d, CM_CATEGORY_GRADIENTS).streamed);
    assert_int_equal(cm_device_placement(d, CM_CATEGORY_EPHEMERAL).memory, -1);
    assert_int_equal(cm_device_host_link(d)->reach, CM_REACH_HOST);
    assert_true(cm_device_link(d, 0)->reach == CM_REACH_NODE && cm_device_link(d, 0)->devices == 8);
    assert_int_equal(cm_device_prices(d), 3);
    assert_string_equal(cm_device_cheapest(d, 1, CM_BASIS_ON_DEMAND, NULL)->provider, "y");
    cm_device_free(d);
}

static void fits_are_typed(void **state)
{
    (void)state;
    write_file("a.json", whole);
    cm_device    *d = device(file_named("a.json"));
    const cm_fit *f = cm_device_fit(d, 0);
    assert_int_equal(cm_device_fits(d), 1);
    assert_string_equal(f->form, "tiles");
    assert_true(f->n == 12 && f->mape == 0.07 && f->p90 == 0.15 && f->n_parameters == 2);
    assert_true(f->parameters[0].count == 1 && f->parameters[0].values[0] == 2.5e-6);
    assert_true(f->parameters[1].count == 3 && f->parameters[1].values[2] == 4);
    assert_non_null(strstr(cm_device_profile(d), "\"overhead_s\":2.5"));
    cm_device_free(d);
}

/* ---- what is built in ------------------------------------------------------------------------------------------- */

/* NVIDIA's data sheet: 312 TFLOP/s dense bf16. */
static void names_are_not_particular(void **state)
{
    (void)state;
    static const char *const spellings[] = {"nvidia-a100-80g", "NVIDIA_A100_80G", "Nvidia-A100_80g"};
    for (int i = 0; i < 3; i++) {
        cm_device *d = device(spellings[i]);
        assert_string_equal(cm_device_get_info(d)->id, "nvidia-a100-80g");
        assert_true(cm_device_peak_16bit(d).value == 312e12);
        cm_device_free(d);
    }
}

static void unknown_names_come_with_a_suggestion(void **state)
{
    (void)state;
    cm_device  *d = NULL;
    cm_cluster *c = NULL;
    assert_int_equal(cm_device_load("nvidia-a100-80gb", &d, &diag), CM_ERR_UNKNOWN);
    assert_non_null(strstr(diag.reason, "did you mean 'nvidia-a100-80g'"));
    assert_int_equal(cm_device_load("H100", &d, &diag), CM_ERR_UNKNOWN);
    assert_non_null(strstr(diag.reason, "'nvidia-h100', 'nvidia-h100-96g', 'nvidia-h100-pcie'"));
    assert_int_equal(cm_device_load("", &d, &diag), CM_ERR_UNKNOWN);
    assert_int_equal(cm_device_load("nvidia-gpu", &d, &diag), CM_ERR_ARGUMENT);
    assert_non_null(strstr(diag.reason, "family"));
    assert_int_equal(cm_device_load(NULL, &d, &diag), CM_ERR_ARGUMENT);
    assert_int_equal(cm_cluster_load("polarys", &c, &diag), CM_ERR_UNKNOWN);
    assert_non_null(strstr(diag.reason, "'polaris'"));
    assert_null(d);
    assert_null(c);
}

static void a_brief_device_says_the_same(void **state)
{
    (void)state;
    for (int32_t i = 0; i < cm_devices(); i++) {
        cm_device *brief, *d = device(cm_device_id(i));
        assert_int_equal(cm_device_load_brief(cm_device_id(i), &brief, &diag), CM_OK);
        assert_string_equal(cm_device_get_info(brief)->vendor, cm_device_get_info(d)->vendor);
        assert_int_equal(cm_device_peak_16bit(brief).known, cm_device_peak_16bit(d).known);
        assert_string_equal(cm_device_main_memory(brief)->name, cm_device_main_memory(d)->name);
        assert_int_equal(cm_device_prices(brief), cm_device_prices(d));
        assert_int_equal(cm_device_number(brief, CM_TDP_W).known, cm_device_number(d, CM_TDP_W).known);
        cm_device_free(brief);
        cm_device_free(d);
    }
    assert_null(cm_device_id(-1));
    assert_null(cm_device_id(cm_devices()));
}

/* A product of a type without an energy would draw no power, and the clock would not fall. */
static void energies_are_known_for_all_types_of_products(void **state)
{
    static const cm_rate trained[] = {CM_RATE_FP32, CM_RATE_TF32, CM_RATE_BF16, CM_RATE_FP16, CM_RATE_FP8, CM_RATE_FP4};
    (void)state;
    for (int32_t i = 0; i < cm_devices(); i++) {
        cm_device *d = device(cm_device_id(i));
        bool       any = false;
        for (size_t r = 0; r < sizeof trained / sizeof *trained; r++) any |= cm_device_flop_energy(d, trained[r]).known;
        for (size_t r = 0; any && r < sizeof trained / sizeof *trained; r++)
            if (cm_device_peak(d, CM_ENGINE_MATRIX, trained[r]).known && !cm_device_flop_energy(d, trained[r]).known)
                fail_msg("%s has no energy of type %d", cm_device_id(i), (int)trained[r]);
        cm_device_free(d);
    }
}

/* ALCF: 560 nodes of four A100. */
static void clusters_name_devices(void **state)
{
    (void)state;
    cm_cluster *c;
    assert_int_equal(cm_cluster_load("Polaris", &c, &diag), CM_OK);
    const cm_cluster_info *info = cm_cluster_get_info(c);
    assert_true(info->devices_per_node.value == 4 && info->nodes.value == 560);
    assert_true(cm_cluster_tiers(c) >= 2);
    assert_int_equal(cm_cluster_tier(c, 0)->reach, CM_REACH_NODE);
    assert_non_null(cm_cluster_source(c, info->nodes.source));
    cm_device_free(device(info->device));
    cm_cluster_free(c);
}

static void this_machine_is_discovered(void **state)
{
    (void)state;
    cm_device *d = device("this-machine");
    assert_true(cm_device_number(d, CM_CORES).value >= 1);
    assert_true(cm_device_number(d, CM_CORES).value <= (double)sysconf(_SC_NPROCESSORS_CONF));
    assert_true(cm_device_main_memory(d)->capacity_bytes.value > 1e8);
    assert_false(cm_device_peak_16bit(d).known); /* until it is benchmarked */
    write_file("machine.json", cm_device_profile(d));
    cm_device_free(d);
    cm_device_free(device(file_named("machine.json"))); /* a profile like any other */
}

static void checks_tell_what_was_found(void **state)
{
    (void)state;
    cm_profile_summary s;
    write_file("a.json", whole);
    assert_int_equal(cm_profile_check(file_named("a.json"), &s, &diag), CM_OK);
    assert_string_equal(s.id, "a");
    assert_true(!s.cluster && !s.abstract && s.sources == 1);
    assert_int_equal(s.numbers, 2 + 2 + 1 + 1 + 1 + 1 + 1); /* peaks, memory, cores, launch, tdp, host link, link */
    write_file("c.json", "{\"schema\": 1, \"id\": \"c\", \"name\": \"C\", \"device\": \"a\", \"devices_per_node\": "
                         NUMBER("4", "1") ", \"nodes\": " NUMBER("2", "1") ", \"tiers\": [], " SOURCES "}");
    assert_int_equal(cm_profile_check(file_named("c.json"), &s, &diag), CM_OK);
    assert_true(s.cluster && s.numbers == 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_come_with_their_origin),
        cmocka_unit_test(words_are_typed),
        cmocka_unit_test(the_usual_precision_is_autocast_or_what_the_profile_says),
        cmocka_unit_test(lists_are_typed),
        cmocka_unit_test(fits_are_typed),
        cmocka_unit_test(names_are_not_particular),
        cmocka_unit_test(unknown_names_come_with_a_suggestion),
        cmocka_unit_test(a_brief_device_says_the_same),
        cmocka_unit_test(energies_are_known_for_all_types_of_products),
        cmocka_unit_test(clusters_name_devices),
        cmocka_unit_test(this_machine_is_discovered),
        cmocka_unit_test(checks_tell_what_was_found),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
