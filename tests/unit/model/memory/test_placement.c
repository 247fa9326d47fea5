/* SPDX-License-Identifier: Apache-2.0 */
/* test_placement.c - which memory stores what: by the profile, streamed in two buffers, and in sections. */
#include "chip_device.h"
#include "graph/graph.h"

#define MLP "mlp:in=1000,hidden=2000,out=10"
#define WEIGHTS (1000.0 * 2000 + 2000 + 2000 * 10 + 10)

static cm_diag diag;

static cm_memory_use used(const char *profile, const char *model, int64_t batch)
{
    cm_graph         *forward, *step;
    cm_device        *device;
    cm_footprint     *f;
    cm_memory_use     use;
    cm_train_options  o = {.precision = CM_PRECISION_BF16, .optimizer = CM_OPTIMIZER_MOMENTUM};
    cm_memory_options m = {.runtime = CM_RUNTIME_NATIVE};
    write_file("chip.json", profile);
    if (cm_device_load(file_named("chip.json"), &device, &diag)) fail_msg("%s", diag.reason);
    assert_int_equal(cm_graph_load(model, NULL, &forward, NULL), CM_OK);
    assert_int_equal(cm_graph_train(forward, &o, &step, NULL), CM_OK);
    if (cm_footprint_new(step, device, &m, &f, &diag)) fail_msg("%s", diag.reason);
    cm_footprint_at(f, batch, &use);
    cm_footprint_free(f);
    cm_graph_free(step);
    cm_graph_free(forward);
    cm_device_free(device);
    return use;
}

/* Optimizer states (one momentum of two bytes per weight) are in DRAM, everything else in SRAM. */
static void test_by_profile(void **state)
{
    (void)state;
    cm_memory_use u = used(CHIP("bsp-pipeline", "1e9", "1e12", EFFICIENCY("1"), PLACED("SRAM")), MLP, 4);
    assert_int_equal(u.n_levels, 2);
    assert_near(u.levels[0].capacity_bytes, 1e9, 1e-12);
    assert_near(u.levels[1].used_bytes, 2 * WEIGHTS, 1e-9);
    assert_true(u.fits && u.levels[0].used_bytes >= 2 * 2 * WEIGHTS); /* weights and gradients */
    cm_memory_use small = used(CHIP("bsp-pipeline", "1e6", "1e12", EFFICIENCY("1"), PLACED("SRAM")), MLP, 4);
    assert_false(small.fits);
    assert_near(small.shortfall_bytes, small.levels[0].used_bytes - 1e6, 1e-9);
    assert_near(small.levels[0].used_bytes, u.levels[0].used_bytes, 1e-12); /* use does not depend on capacity */
}

/* Activations stay on the chip and grow with the batch; weights, gradients and states are off it. */
static void test_off_chip(void **state)
{
    (void)state;
    const char   *chip = CHIP("weight-streaming", "1e9", "1e12", EFFICIENCY("1"), PLACED("DRAM"));
    cm_memory_use one = used(chip, MLP, 1), many = used(chip, MLP, 101);
    assert_near(one.levels[1].used_bytes, 3 * 2 * WEIGHTS, 1e-6);
    assert_near(many.levels[1].used_bytes, one.levels[1].used_bytes, 1e-12);
    double per_sample = (many.levels[0].used_bytes - one.levels[0].used_bytes) / 100;
    /* at least the input and the hidden layer in two bytes, at most four copies of the hidden layer besides them */
    assert_true(per_sample >= 2 * (1000 + 2000) && per_sample <= 2 * (1000 + 5 * 2000));
}

/* If the graph runs in sections, the chip stores what one sample needs, so its use does not grow with the batch. */
static void test_sections(void **state)
{
    (void)state;
    const char   *chip = CHIP("dataflow-sections", "1e9", "1e12", EFFICIENCY("1"), PLACED("DRAM"));
    cm_memory_use one = used(chip, MLP, 1), many = used(chip, MLP, 1000);
    assert_near(many.levels[0].used_bytes, one.levels[0].used_bytes, 1e-12);
    assert_true(many.levels[1].used_bytes > one.levels[1].used_bytes);
    cm_memory_use tiny = used(CHIP("dataflow-sections", "1e3", "1e12", EFFICIENCY("1"), PLACED("DRAM")), MLP, 1000);
    assert_true(tiny.fits); /* larger operators are laid out in tiles */
}

#define STREAMED                                                                                                       \
    ", \"placement\": {\"input_output\": \"SRAM\", \"weights_biases\": \"DRAM\", \"gradients\": \"DRAM\", "           \
    "\"algorithm\": \"DRAM\", \"ephemeral\": \"SRAM\", \"streamed\": [\"weights_biases\", \"gradients\", \"algorithm\"]}"

/* Two buffers for the largest weight, 1,000 x 2,000 x 2 bytes, are larger than the chip: the update passes in slices. */
static void test_update_in_slices(void **state)
{
    (void)state;
    cm_memory_use large = used(CHIP("dataflow-sections", "1e9", "1e12", EFFICIENCY("1"), STREAMED), MLP, 4);
    assert_true(large.levels[0].used_bytes > 2 * 2 * 1000 * 2000);
    cm_memory_use small = used(CHIP("dataflow-sections", "1e6", "1e12", EFFICIENCY("1"), STREAMED), MLP, 4);
    assert_true(small.fits);
    assert_near(small.levels[0].used_bytes, 1e6, 1e-12); /* it fills the chip */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_by_profile), cmocka_unit_test(test_off_chip),
                                       cmocka_unit_test(test_sections), cmocka_unit_test(test_update_in_slices)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
