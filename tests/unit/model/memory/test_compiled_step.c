/* SPDX-License-Identifier: Apache-2.0 */
/* test_compiled_step.c - the answer of a chip's compiler replaces the model's memory for the step that was compiled alone. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "graph/graph.h"

#define SAID 7e9

typedef struct asked {
    cm_device   *device;
    cm_graph    *forward;
    cm_step     *step;
} asked;

static asked ask(const char *id, cm__compiled_step *said, cm_optimizer optimizer)
{
    asked           a;
    cm_step_options o = {.train = {.precision = CM_PRECISION_AMP_BF16, .optimizer = optimizer}};
    assert_int_equal(cm_device_load(id, &a.device, NULL), CM_OK);
    assert_int_equal(cm_graph_load("mlp:in=64,hidden=256,out=10", NULL, &a.forward, NULL), CM_OK);
    a.forward->compiled = said;
    a.forward->precision = CM_PRECISION_AMP_BF16;
    assert_int_equal(cm_step_new_from(a.forward, a.device, &o, &a.step, NULL), CM_OK);
    return a;
}

static cm_memory_use use_of(const asked *a, int64_t batch)
{
    cm_memory_use use;
    assert_int_equal(cm_step_memory(a->step, batch, &use, NULL), CM_OK);
    return use;
}

static void release(asked *a)
{
    cm_step_free(a->step);
    cm_graph_free(a->forward);
    cm_device_free(a->device);
}

static cm__compiled_step answer(bool fits)
{
    return (cm__compiled_step){.device = "google-tpu-v5e", .plan = {.devices = 1, .tp = 1, .pp = 1, .cp = 1, .dp = 1, .ep = 1},
                               .batch = 8, .fits = fits, .peak_bytes = SAID, .capacity_bytes = fits ? 0 : SAID / 2};
}

static void test_same_and_scaled(void **state)
{
    (void)state;
    cm__compiled_step said = answer(true);
    asked             plain = ask("google-tpu-v5e", NULL, CM_OPTIMIZER_DEFAULT), a = ask("google-tpu-v5e", &said, CM_OPTIMIZER_DEFAULT);
    cm_memory_use     same = use_of(&a, 8), twice = use_of(&a, 16), before = use_of(&plain, 8), after = use_of(&plain, 16);
    cm_chance         chance = cm_memory_chance(&same);
    double            sum = 0;
    assert_int_equal(same.compiled, CM_COMPILED_SAME);
    assert_int_equal(before.compiled, CM_COMPILED_NOT);
    assert_true(same.peak_bytes == SAID && chance.verdict == CM_FITS && chance.probability == 1);
    for (int c = 0; c < CM_CATEGORIES; c++) sum += same.categories[c];
    assert_true(fabs(sum - SAID) <= 1);
    assert_int_equal(twice.compiled, CM_COMPILED_SCALED);
    assert_true(fabs(twice.peak_bytes / SAID - after.peak_bytes / before.peak_bytes) <= 1e-9);
    release(&plain);
    release(&a);
}

static void test_refused(void **state)
{
    (void)state;
    cm__compiled_step said = answer(false);
    asked             a = ask("google-tpu-v5e", &said, CM_OPTIMIZER_DEFAULT);
    cm_memory_use     same = use_of(&a, 8), half = use_of(&a, 4);
    assert_int_equal(cm_memory_chance(&same).verdict, CM_DOES_NOT_FIT);
    assert_true(fabs(same.shortfall_bytes - SAID / 2) <= 1);
    assert_int_equal(half.compiled, CM_COMPILED_NOT);
    release(&a);
}

static void test_other_steps(void **state)
{
    (void)state;
    cm__compiled_step said = answer(true);
    asked             chip = ask("google-tpu-v6e", &said, CM_OPTIMIZER_DEFAULT), update = ask("google-tpu-v5e", &said, CM_OPTIMIZER_SGD);
    assert_int_equal(use_of(&chip, 8).compiled, CM_COMPILED_NOT);
    assert_int_equal(use_of(&update, 8).compiled, CM_COMPILED_NOT);
    release(&chip);
    release(&update);
    said.plan.dp = said.plan.devices = 2;
    asked plan = ask("google-tpu-v5e", &said, CM_OPTIMIZER_DEFAULT);
    assert_int_equal(use_of(&plan, 8).compiled, CM_COMPILED_NOT);
    release(&plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_same_and_scaled), cmocka_unit_test(test_refused),
                                       cmocka_unit_test(test_other_steps)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
