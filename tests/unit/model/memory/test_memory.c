/* SPDX-License-Identifier: Apache-2.0 */
/* test_memory.c - footprints against sums in closed form, and the polynomials against the simulation. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "graph/graph.h"

#define MIB (1024.0 * 1024)

static cm_device *h200;

static int begin(void **state)
{
    (void)state;
    return cm_device_load("nvidia-h200", &h200, NULL);
}

static int end(void **state)
{
    (void)state;
    cm_device_free(h200);
    return 0;
}

static cm_graph *step_of(const char *model, cm_precision precision, cm_optimizer optimizer)
{
    cm_graph         *forward, *step;
    cm_train_options  o = {.precision = precision, .optimizer = optimizer};
    cm_load_options   load = {.fuse = CM_FUSE_EAGER};
    assert_int_equal(cm_graph_load(model, &load, &forward, NULL), CM_OK);
    assert_int_equal(cm_graph_train(forward, &o, &step, NULL), CM_OK);
    cm_graph_free(forward);
    return step;
}

static cm_memory_use use_of(const cm_graph *step, cm_memory_options options, int64_t batch, bool exact)
{
    cm_footprint *f;
    cm_memory_use use;
    assert_int_equal(cm_footprint_new(step, h200, &options, &f, NULL), CM_OK);
    if (exact) assert_int_equal(cm_footprint_simulate(f, batch, &use, NULL), CM_OK);
    else cm_footprint_at(f, batch, &use);
    cm_footprint_free(f);
    return use;
}

static double sum(const cm_memory_use *use)
{
    double all = 0;
    for (cm_category c = 0; c < CM_CATEGORIES; c++) all += use->categories[c];
    return all;
}

static double parameter_bytes(const cm_graph *step)
{
    cm_totals t;
    cm_graph_totals(step, 1, &t);
    return 4.0 * (double)t.parameters;
}

static void near(double got, double expected, double tolerance)
{
    if (!(fabs(got - expected) <= tolerance)) fail_msg("%.0f, expected %.0f", got, expected);
}

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

/* Without a runtime's allocator, library and temporaries: the graph's own lifetimes, less the gradients added in
   place. */
static void test_native_is_lifetimes(void **state)
{
    (void)state;
    /* it has no gradients to add in place */
    cm_graph     *step = step_of("vgg16", CM_PRECISION_FP32, CM_OPTIMIZER_MOMENTUM);
    cm_memory_use use = use_of(step, (cm_memory_options){.runtime = CM_RUNTIME_NATIVE}, 16, false);
    cm_totals     t;
    cm_graph_totals(step, 16, &t);
    near(use.peak_bytes - use.categories[CM_CATEGORY_EPHEMERAL], t.peak_bytes, 1);
    cm_graph_free(step);
}

static cm_memory_options spread(cm_plan plan)
{
    return (cm_memory_options){.runtime = CM_RUNTIME_MEGATRON, .plan = plan};
}

/* ZeRO: eight devices share states, then gradients, then weights. Each device updates an eighth. */
static void test_zero(void **state)
{
    (void)state;
    cm_graph *step = step_of("uno", CM_PRECISION_FP32, CM_OPTIMIZER_ADAM);
    double    p = parameter_bytes(step);
    for (int zero = 0; zero <= 3; zero++) {
        cm_memory_use use = use_of(step, spread((cm_plan){.dp = 8, .zero = zero, .accumulate = 2}), 1, false);
        near(use.categories[CM_CATEGORY_ALGORITHM], 2 * p / (zero >= 1 ? 8 : 1), 1);
        near(use.categories[CM_CATEGORY_GRADIENTS], p / (zero >= 2 ? 8 : 1), 1);
        near(use.categories[CM_CATEGORY_WEIGHTS_BIASES], p / (zero >= 3 ? 8 : 1), 1);
    }
    cm_graph_free(step);
}

/* Gradients of earlier micro-batches exist at the peak of activations. */
static void test_accumulation(void **state)
{
    (void)state;
    cm_graph     *step = step_of("resnet50", CM_PRECISION_AMP_BF16, CM_OPTIMIZER_MOMENTUM);
    double        p = parameter_bytes(step);
    cm_memory_use once = use_of(step, (cm_memory_options){0}, 64, false);
    cm_memory_use many = use_of(step, (cm_memory_options){.plan = {.accumulate = 4}}, 64, false);
    assert_true(once.categories[CM_CATEGORY_GRADIENTS] < 0.5 * p);
    near(many.categories[CM_CATEGORY_GRADIENTS], p, 1);
    cm_graph_free(step);
}

/* Tensor and pipeline parallel devices store their part of the weights. Split activations shrink, others do not. */
static void test_tensor_and_pipeline(void **state)
{
    (void)state;
    cm_graph     *step = step_of("gpt2", CM_PRECISION_AMP_BF16, CM_OPTIMIZER_ADAMW);
    cm_memory_use one = use_of(step, spread((cm_plan){0}), 8, false);
    cm_memory_use four = use_of(step, spread((cm_plan){.tp = 4}), 8, false);
    cm_memory_use sequence = use_of(step, spread((cm_plan){.tp = 4, .sequence_parallel = true}), 8, false);
    cm_memory_use stages = use_of(step, spread((cm_plan){.pp = 4}), 8, false);
    double        io = one.categories[CM_CATEGORY_INPUT_OUTPUT];
    near(four.categories[CM_CATEGORY_WEIGHTS_BIASES], one.categories[CM_CATEGORY_WEIGHTS_BIASES] / 4,
         1024 * 8); /* position ids of 64 bits are not divided */
    /* the logits share the embedding table */
    double table = 50257 * 768, layer = 12 * 768 * 768 + 13 * 768, positions = 1024 * 768;
    near(stages.categories[CM_CATEGORY_WEIGHTS_BIASES], 4 * (table + 3 * layer), 4 * positions + 1024 * 8 + 4 * 2 * 768);
    assert_true(four.categories[CM_CATEGORY_INPUT_OUTPUT] < 0.6 * io);
    assert_true(four.categories[CM_CATEGORY_INPUT_OUTPUT] > io / 4);
    assert_true(sequence.categories[CM_CATEGORY_INPUT_OUTPUT] < four.categories[CM_CATEGORY_INPUT_OUTPUT]);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_adam_update),
        cmocka_unit_test(test_categories_are_the_peak),
        cmocka_unit_test(test_polynomials_follow_the_simulation),
        cmocka_unit_test(test_native_is_lifetimes),
        cmocka_unit_test(test_zero),
        cmocka_unit_test(test_accumulation),
        cmocka_unit_test(test_tensor_and_pipeline),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_alive),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
