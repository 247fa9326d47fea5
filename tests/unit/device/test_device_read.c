/* SPDX-License-Identifier: Apache-2.0 */
/* test_device_read.c - every member of a profile arrives in its own typed value; what is absent has none. */
#include <math.h>
#include "time_device.h"

/* Numbers are all different, so that a swapped member is seen. */
#define QUANTITIES                                                                                                     \
    ",\n\"clock_hz\": " NUMBER("11e8", "Hz") ", \"onchip_weight\": " NUMBER("12", "1") ", \"compile\": "               \
    NUMBER("13", "s") ", \"gpus\": " NUMBER("3", "1") ", \"exponentials\": " NUMBER("22", "1") ", \"power\": {\"tdp\": " NUMBER("14", "W")                     \
    ", \"typical\": " NUMBER("15", "W")                                                                                \
    ", \"idle\": " NUMBER("16", "W") ", \"active\": " NUMBER("19", "W") ", \"exponent\": " NUMBER("2.5", "1")          \
    ", \"floor\": " NUMBER("0.75", "1") ", \"held\": " NUMBER("0.95", "1") ", \"burst\": " NUMBER("21", "W") ", \"per_byte\": "  \
    NUMBER("17e-12", "J/B") ", \"per_flop\": {\"bf16\": " NUMBER("18e-12", "J/FLOP") "}}"

static void every_quantity(void **state)
{
    cm_device *d = device_of(TIME_DEVICE(QUANTITIES));
    const struct {
        cm_quantity what;
        double      value;
    } all[] = {{CM_CORES, 100},      {CM_CLOCK_HZ, 11e8}, {CM_ONCHIP_WEIGHT, 12},     {CM_LAUNCH_S, 1e-6},
               {CM_COMPILE_S, 13},   {CM_TDP_W, 14},      {CM_TYPICAL_W, 15},         {CM_IDLE_W, 16},
               {CM_BYTE_J, 17e-12},  {CM_ACTIVE_W, 19},   {CM_POWER_EXPONENT, 2.5},   {CM_POWER_FLOOR, 0.75},
               {CM_POWER_HELD, 0.95}, {CM_BURST_W, 21},   {CM_GPUS, 3},               {CM_EXPONENTIALS, 22}};
    (void)state;
    assert_int_equal(sizeof all / sizeof *all, CM_QUANTITIES);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        assert_true(d->numbers[all[i].what].known);
        assert_true(d->numbers[all[i].what].value == all[i].value);
    }
    assert_true(d->flop_energy[CM_RATE_BF16].value == 18e-12);
    assert_false(d->flop_energy[CM_RATE_FP32].known);
    assert_true(d->peaks[CM_ENGINE_MATRIX][CM_RATE_TF32].value == 5e13);
    assert_true(d->peaks[CM_ENGINE_VECTOR][CM_RATE_FP32].value == 1e13);
    assert_false(d->peaks[CM_ENGINE_VECTOR][CM_RATE_BF16].known);
    cm_device_free(d);
}

static void nothing_is_invented(void **state)
{
    cm_device *d = device_of(DEVICE("bare", ""));
    (void)state;
    for (int q = 0; q < CM_QUANTITIES; q++)
        assert_true(!d->numbers[q].known || strcmp(d->numbers[q].kind, "assumed") == 0);
    assert_true(d->n_assumed > 0); /* test_assumed.c */
    for (int k = 0; k < CM__CORRECTIONS; k++) assert_false(d->corrections[k].known);
    for (int k = 0; k < CM__EFFORTS; k++) assert_false(d->execution.efficiency[k].known);
    for (int c = 0; c < CM_CATEGORIES; c++) assert_int_equal(d->placement[c].memory, -1);
    assert_false(d->execution.known || d->execution.operator_known || d->calibration.matrix.known);
    assert_false(d->sparse_skipped.known || d->sparse_structured.known);
    assert_null(d->host_link);
    assert_null(d->chip);
    assert_int_equal(d->links.count + d->n_host + d->n_reserve + d->n_fits + d->n_prices + d->n_batches, 0);
    assert_int_equal(d->kernels.count + d->built_in_kernels.count + d->surfaces.count + d->n_runtimes, 0);
    assert_int_equal(d->layout, CM_LAYOUT_AUTO);
    cm_device_free(d);
}

/* ---- what the class decides -------------------------------------------------------------------------------------- */

static void a_class_decides_what_is_absent(void **state)
{
    cm_device *gpu = device_of(DEVICE("g", "")), *changed = device_of(DEVICE("c", ",\n\"tile\": " NUMBER("64", "1")
        ", \"reference\": \"none\", \"runtimes\": [\"megatron\", \"torch-eager\"], \"layout\": \"nhwc\""));
    (void)state;
    assert_true(gpu->tile == 128);
    assert_string_equal(gpu->reference, "nvidia-h200");
    assert_int_equal(gpu->usual_runtime, CM_RUNTIME_TORCH_EAGER);
    assert_true(changed->tile == 64);
    assert_null(changed->reference);
    assert_int_equal(changed->n_runtimes, 2);
    assert_int_equal(changed->runtimes[0], CM_RUNTIME_MEGATRON);
    assert_int_equal(changed->runtimes[1], CM_RUNTIME_TORCH_EAGER);
    assert_int_equal(changed->layout, CM_LAYOUT_NHWC);
    cm_device_free(changed);
    cm_device_free(gpu);
}

/* ---- memories ---------------------------------------------------------------------------------------------------- */

static void categories_are_placed_by_name(void **state)
{
    cm_device *d = device_of(TIME_DEVICE(",\n\"placement\": {\"input_output\": \"L2\", \"weights_biases\": \"HBM\", "
                                         "\"replicated\": [\"weights_biases\"], \"streamed\": [\"ephemeral\"]}"));
    (void)state;
    assert_int_equal(d->n_memories, 2);
    assert_true(d->memories[0].cache && d->memories[0].place == CM_PLACE_ON_CHIP && !d->memories[0].per_core);
    assert_true(!d->memories[1].cache && d->memories[1].place == CM_PLACE_OFF_CHIP);
    assert_true(d->memories[0].bw_bytes_s.value == 4e12 && d->memories[1].capacity_bytes.value == 8e10);
    assert_int_equal(d->placement[CM_CATEGORY_INPUT_OUTPUT].memory, 0);
    assert_int_equal(d->placement[CM_CATEGORY_WEIGHTS_BIASES].memory, 1);
    assert_int_equal(d->placement[CM_CATEGORY_GRADIENTS].memory, -1);
    for (int c = 0; c < CM_CATEGORIES; c++) {
        assert_int_equal(d->placement[c].replicated, c == CM_CATEGORY_WEIGHTS_BIASES);
        assert_int_equal(d->placement[c].streamed, c == CM_CATEGORY_EPHEMERAL);
    }
    cm_device_free(d);
}

/* ---- runtimes and execution -------------------------------------------------------------------------------------- */

#define SHARE(name, value) "\"" name "\": " NUMBER(value, "1")
#define SECONDS(name, value) "\"" name "\": " NUMBER(value, "s")

static void parameters_of_execution(void **state)
{
    cm_device *d = device_of(TIME_DEVICE(
        ",\n\"execution\": {\"efficiency\": {" SHARE("gemm", "0.1") ", " SHARE("conv", "0.2") ", "
        SHARE("attention", "0.3") ", " SHARE("memory", "0.4") "}, " SECONDS("step_overhead", "1e-3") ", "
        SECONDS("section_overhead", "2e-3") ", " SECONDS("layer_latency", "3e-3") ", "
        SECONDS("score_latency", "5e-7") ", "
        SHARE("fill", "6") ", " SHARE("error", "0.5") "}"));
    const cm__execution *e = &d->execution;
    (void)state;
    assert_true(e->known && !e->operator_known);
    assert_true(e->efficiency[CM__EFFORT_GEMM].value == 0.1 && e->efficiency[CM__EFFORT_CONV].value == 0.2);
    assert_true(e->efficiency[CM__EFFORT_ATTENTION].value == 0.3 && e->efficiency[CM__EFFORT_MEMORY].value == 0.4);
    assert_true(e->step_s.value == 1e-3 && e->section_s.value == 2e-3 && e->layer_s.value == 3e-3);
    assert_true(e->score_s.value == 5e-7);
    assert_true(e->fill.value == 6 && e->error.value == 0.5);
    assert_false(e->superstep.known || e->engines.known || e->lanes.known || e->conv_error.known);
    cm_device_free(d);
}

static void costs_of_runtimes(void **state)
{
    cm_device *d = device_of(TIME_DEVICE(
        ",\n\"host\": [" HOST("step", "1e-4") ", " HOST("forward-op:conv", "2e-5") "],\n\"reserve\": [{\"runtime\": "
        "\"torch-eager\", \"what\": \"context\", \"size\": " NUMBER("5e8", "B") "}],\n\"calibration\": {"
        SHARE("matrix", "1.1") ", " SHARE("vector", "1.2") ", " SHARE("host", "1.3") "},\n\"sparsity\": {"
        SHARE("skipped", "0.5") ", " SHARE("structured", "2") "}"));
    (void)state;
    assert_int_equal(d->n_host, 2);
    assert_string_equal(d->host[1].what, "forward-op:conv");
    assert_string_equal(d->host[1].runtime, "torch-eager");
    assert_true(d->host[0].time_s.value == 1e-4 && d->host[1].time_s.value == 2e-5);
    assert_int_equal(d->n_reserve, 1);
    assert_true(d->reserve[0].size_bytes.value == 5e8);
    assert_true(d->calibration.matrix.value == 1.1 && d->calibration.vector.value == 1.2 && d->calibration.host.value == 1.3);
    assert_true(d->sparse_skipped.value == 0.5 && d->sparse_structured.value == 2);
    cm_device_free(d);
}

/* ---- kernel tables ----------------------------------------------------------------------------------------------- */

/* A profile based on the H200 has its tables, with the H200 as the measured device, whatever it changes. */
static void tables_belong_to_who_was_measured(void **state)
{
    cm_device *h200, *d = device_of("{\"schema\": 1, \"id\": \"mine\", \"base\": \"nvidia-h200\", \"name\": \"mine\", "
                                    SOURCES ", \"cores\": " NUMBER("66", "1") "}");
    (void)state;
    assert_int_equal(cm_device_load("nvidia-h200", &h200, NULL), CM_OK);
    assert_true(d->built_in_kernels.count > 0 && d->built_in_kernels.count == h200->built_in_kernels.count);
    assert_non_null(d->built_in_kernels_of);
    assert_true(d->numbers[CM_CORES].value == 66);
    assert_true(d->built_in_kernels_of->numbers[CM_CORES].value == h200->numbers[CM_CORES].value);
    assert_true(h200->numbers[CM_CORES].value != 66);
    assert_null(h200->built_in_kernels_of);
    cm_device_free(h200);
    cm_device_free(d);
}

#define ROW_TABLE TABLE("gemm", "forward", "nn", "bf16", GEMM_DIMS, "[[1, 64, 64, 64, 5e-6, 1]]")

static void tables_of_a_file_and_of_its_base(void **state)
{
    cm_device *own = device_of(TIME_DEVICE(KERNELS(ROW_TABLE)));
    (void)state;
    write_file("measured.json", TIME_DEVICE(KERNELS(ROW_TABLE)));
    cm_device *derived = device_of("{\"schema\": 1, \"id\": \"mine\", \"base\": \"measured.json\", " SOURCES
                                   ", \"cores\": " NUMBER("50", "1") "}");
    assert_int_equal(own->kernels.count, 1);
    assert_null(own->kernels_of);
    assert_int_equal(derived->kernels.count, 1);
    assert_non_null(derived->kernels_of);
    assert_true(derived->kernels_of->numbers[CM_CORES].value == 100);
    cm_device_free(derived);
    cm_device_free(own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_quantity),
        cmocka_unit_test(nothing_is_invented),
        cmocka_unit_test(a_class_decides_what_is_absent),
        cmocka_unit_test(categories_are_placed_by_name),
        cmocka_unit_test(parameters_of_execution),
        cmocka_unit_test(costs_of_runtimes),
        cmocka_unit_test(tables_belong_to_who_was_measured),
        cmocka_unit_test(tables_of_a_file_and_of_its_base),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
