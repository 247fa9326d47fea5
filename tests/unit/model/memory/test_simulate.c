/* SPDX-License-Identifier: Apache-2.0 */
/* test_simulate.c - the polynomials of a footprint follow the simulated allocator. */
#include "memory_case.h"
#include "model/memory/footprint.h"

/* The simulation adds the allocator's rounding: a little more, never noticeably less. */
static void test_polynomials_follow_the_simulation(void **state)
{
    static const char *const models[] = {"resnet50", "vgg16", "unet", "uno", "gpt2", "efficientnet-b0"};
    (void)state;
    for (int i = 0; i < 6; i++) {
        cm_graph *step = step_of(models[i], CM_PRECISION_AMP_BF16, CM_OPTIMIZER_DEFAULT);
        for (int64_t batch = 1; batch <= 64; batch *= 4) {
            cm_memory_use fast = use_of(step, (cm_memory_options){0}, batch, false);
            cm_memory_use exact = use_of(step, (cm_memory_options){0}, batch, true);
            near(exact.peak_bytes / fast.peak_bytes, 1, 0.04);
        }
        cm_graph_free(step);
    }
}

static void same_use(const cm_memory_use *a, const cm_memory_use *b)
{
    assert_true(a->peak_bytes == b->peak_bytes && a->reserved_bytes == b->reserved_bytes && a->fits == b->fits);
    assert_true(a->peak_node == b->peak_node && a->shortfall_bytes == b->shortfall_bytes);
    for (cm_category c = 0; c < CM_CATEGORIES; c++) assert_true(a->categories[c] == b->categories[c]);
}

/* Devices with other libraries and memories share simulations; each gets what it gets alone. */
static void test_shared_simulations(void **state)
{
    static const char *const devices[] = {"amd-mi300x", "nvidia-h200", "nvidia-b200", "nvidia-a100-40g", "nvidia-t4"};
    cm_graph     *step = step_of("gpt2-medium", CM_PRECISION_AMP_FP16, CM_OPTIMIZER_ADAMW);
    cm_footprint *like = NULL;
    cm_device    *first = NULL;
    (void)state;
    for (int i = 0; i < 5; i++) {
        cm_device    *device;
        cm_footprint *shared, *alone;
        cm_memory_use one, other;
        assert_int_equal(cm_device_load(devices[i], &device, NULL), CM_OK);
        assert_int_equal(cm__footprint_new_like(like, step, device, NULL, &shared, NULL), CM_OK);
        assert_int_equal(cm_footprint_new(step, device, NULL, &alone, NULL), CM_OK);
        if (!like) cm__footprint_share_simulations(shared, NULL);
        assert_true(!like || (shared->simulations == like->simulations) == cm__same_library(shared, like));
        for (int64_t batch = 1; batch <= 128; batch *= 2)
            for (int again = 0; again < 2; again++) {
                assert_int_equal(cm_footprint_simulate(shared, batch, &one, NULL), CM_OK);
                assert_int_equal(cm_footprint_simulate(alone, batch, &other, NULL), CM_OK);
                if (other.fits) same_use(&one, &other);
                else assert_false(one.fits);
            }
        cm_footprint_free(alone);
        if (like) cm_footprint_free(shared), cm_device_free(device);
        else like = shared, first = device;
    }
    cm_footprint_free(like);
    cm_device_free(first);
    cm_graph_free(step);
}

/* The temporary tensors of an update need not be in one piece. Full fine-tuning of Mistral 7B with 16 sequences of 4,096
   tokens ran on an A100 of 80 GB with a peak of 71.8 GiB (fms-acceleration, a100_80gb_liger.csv); in one piece, its
   13.5 GiB of temporaries find no room. */
static void test_temporaries_of_an_update_are_apart(void **state)
{
    (void)state;
    cm_device      *a100;
    cm_step        *step;
    cm_memory_use   use;
    cm_step_options o = {.load = {.seq = 4096},
                         .train = {.precision = CM_PRECISION_BF16, .optimizer = CM_OPTIMIZER_ADAMW,
                                   .recompute = CM_RECOMPUTE_FULL, .loss_kernel = CM_LOSS_KERNEL_CHUNKED}};
    assert_int_equal(cm_device_load("nvidia-a100-80g", &a100, NULL), CM_OK);
    assert_int_equal(cm_step_new("mistral:layers=32,hidden=4096,heads=32,kv_heads=8,ffn=14336,vocab=32000", a100, &o, &step,
                                 NULL), CM_OK);
    assert_int_equal(cm_step_memory(step, 16, &use, NULL), CM_OK);
    assert_true(use.fits);
    near(use.peak_bytes / (71.85 * 1024 * 1024 * 1024), 1, 0.02);
    cm_step_free(step);
    cm_device_free(a100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_polynomials_follow_the_simulation),
        cmocka_unit_test(test_shared_simulations),
        cmocka_unit_test(test_temporaries_of_an_update_are_apart),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
