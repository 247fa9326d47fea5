/* SPDX-License-Identifier: Apache-2.0 */
/* test_memory.c - footprints: categories, lifetimes, the Adam update and refusals. */
#include "memory_case.h"

/* With one sample of a wide network the update is the peak: weights, gradients, two states and the square roots of
   one. */
static void test_adam_update(void **state)
{
    (void)state;
    cm_graph     *step = step_of("uno", CM_PRECISION_FP32, CM_OPTIMIZER_ADAM);
    double        p = parameter_bytes(step);
    cm_memory_use use = use_of(step, (cm_memory_options){.runtime = CM_RUNTIME_TORCH_EAGER}, 1, false);
    assert_int_equal(cm_graph_node(step, use.peak_node)->phase, CM_UPDATE);
    assert_true(use.categories[CM_CATEGORY_WEIGHTS_BIASES] == p);
    assert_true(use.categories[CM_CATEGORY_GRADIENTS] == p);
    assert_true(use.categories[CM_CATEGORY_ALGORITHM] == 2 * p);
    near(use.categories[CM_CATEGORY_EPHEMERAL], p + 64 * MIB, 16 * MIB); /* plus the allocator's rounding */
    cm_graph_free(step);
}

static void test_categories_are_the_peak(void **state)
{
    static const char *const models[] = {"resnet18", "unet", "gpt2", "braggnn"};
    (void)state;
    for (int i = 0; i < 4; i++)
        for (int exact = 0; exact < 2; exact++) {
            cm_graph     *step = step_of(models[i], CM_PRECISION_AMP_BF16, CM_OPTIMIZER_DEFAULT);
            cm_memory_use use = use_of(step, (cm_memory_options){0}, 8, exact);
            near(sum(&use), use.peak_bytes, 1);
            assert_true(use.reserved_bytes >= use.peak_bytes);
            assert_true(use.fits);
            cm_graph_free(step);
        }
}

/* Without a runtime's allocator, library and temporaries: the graph's own lifetimes, less the results of ReLU that the
   vendor's compiler keeps inside kernels. */
static void test_native_fuses(void **state)
{
    (void)state;
    /* it has no gradients to add in place */
    cm_graph     *step = step_of("vgg16", CM_PRECISION_FP32, CM_OPTIMIZER_MOMENTUM);
    cm_memory_use use = use_of(step, (cm_memory_options){.runtime = CM_RUNTIME_NATIVE}, 16, false);
    cm_totals     t;
    cm_graph_totals(step, 16, &t);
    double peak = use.peak_bytes - use.categories[CM_CATEGORY_EPHEMERAL], widest = 4.0 * 16 * 64 * 224 * 224;
    assert_true(peak < t.peak_bytes && peak > t.peak_bytes - widest);
    cm_graph_free(step);
}

static void test_refusals(void **state)
{
    (void)state;
    cm_graph         *step = step_of("uno", CM_PRECISION_FP32, CM_OPTIMIZER_ADAM);
    cm_footprint     *f = NULL;
    cm_diag           diag = {0};
    cm_memory_options odd = {.plan = {.devices = 6, .tp = 4}}, negative = {.plan = {.zero = 4}};
    assert_int_equal(cm_footprint_new(step, h200, &odd, &f, &diag), CM_ERR_ARGUMENT);
    assert_int_equal(cm_footprint_new(step, h200, &negative, &f, &diag), CM_ERR_ARGUMENT);
    assert_int_equal(cm_footprint_new(NULL, h200, NULL, &f, &diag), CM_ERR_ARGUMENT);
    assert_null(f);
    cm_footprint_free(NULL);
    cm_graph_free(step);
}

/* The largest live tensors, in order; at the loss these are the logits and their gradients. */
static void test_alive(void **state)
{
    (void)state;
    cm_graph     *step = step_of("gpt2", CM_PRECISION_FP32, CM_OPTIMIZER_ADAMW);
    cm_footprint *f;
    cm_memory_use use;
    cm_alive      alive[5];
    assert_int_equal(cm_footprint_new(step, h200, NULL, &f, NULL), CM_OK);
    cm_footprint_at(f, 4, &use);
    assert_int_equal(cm_footprint_alive(f, 4, use.peak_node, alive, 5), 5);
    assert_true(alive[0].bytes == 4.0 * 1024 * 50257 * 4);
    for (int i = 1; i < 5; i++) assert_true(alive[i].bytes <= alive[i - 1].bytes);
    assert_int_equal(cm_footprint_alive(f, 4, use.peak_node, alive, 0), 0);
    cm_footprint_free(f);
    cm_graph_free(step);
}

/* The library that convolutions load counts only for a model that has some, and not in the peak. GPUMemNet's runs on
   an A100 take 1,443 to 1,451 MiB without and 1,693 to 1,733 MiB with convolutions. */
static void test_context_of_convolutions(void **state)
{
    (void)state;
    cm_device *a100;
    assert_int_equal(cm_device_load("nvidia-a100-40g", &a100, NULL), CM_OK);
    static const char *const models[] = {"uno", "resnet18"};
    static const double      least[] = {1430, 1693}, most[] = {1451, 1733};
    for (int i = 0; i < 2; i++) {
        cm_graph     *step = step_of(models[i], CM_PRECISION_FP32, CM_OPTIMIZER_ADAM);
        cm_footprint *f;
        cm_memory_use use;
        assert_int_equal(cm_footprint_new(step, a100, NULL, &f, NULL), CM_OK);
        cm_footprint_at(f, 8, &use);
        assert_true(use.context_bytes >= least[i] * MIB && use.context_bytes <= most[i] * MIB);
        near(sum(&use), use.peak_bytes, 1);
        cm_footprint_free(f);
        cm_graph_free(step);
    }
    cm_device_free(a100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_adam_update),
        cmocka_unit_test(test_categories_are_the_peak),
        cmocka_unit_test(test_native_fuses),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_alive),
        cmocka_unit_test(test_context_of_convolutions),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
