/* SPDX-License-Identifier: Apache-2.0 */
/* test_open_script.c - a step that fits only as other scripts run it is neither refused nor called sure. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "centimani.h"

#define LAYERS "llama:layers=2,hidden=1024,heads=16,ffn=2816,vocab=128256,seq=4096"

static cm_device *device;

static int begin(void **state)
{
    (void)state;
    return cm_device_load("nvidia-rtx3090", &device, NULL); /* 24 GiB */
}

static int end(void **state)
{
    (void)state;
    cm_device_free(device);
    return 0;
}

static cm_step *step_of(const char *model, cm_loss_kernel kernel, cm_runtime runtime)
{
    cm_step_options o = {.train = {.precision = CM_PRECISION_AMP_BF16, .loss_kernel = kernel}, .runtime = runtime};
    cm_step        *step;
    assert_int_equal(cm_step_new(model, device, &o, &step, NULL), CM_OK);
    return step;
}

static cm_memory_use use_of(const char *model, cm_loss_kernel kernel, int64_t batch)
{
    cm_step      *step = step_of(model, kernel, CM_RUNTIME_TORCH_EAGER);
    cm_memory_use use;
    assert_int_equal(cm_step_memory(step, batch, &use, NULL), CM_OK);
    cm_step_free(step);
    return use;
}

/* 12,288 tokens have fp32 logits of 6.3 GB: 3.5 times that do not fit, once that does. */
static void test_verdict(void **state)
{
    (void)state;
    cm_memory_use one = use_of(LAYERS, CM_LOSS_KERNEL_AUTO, 1), open = use_of(LAYERS, CM_LOSS_KERNEL_AUTO, 3);
    cm_memory_use plain = use_of(LAYERS, CM_LOSS_KERNEL_PLAIN, 3), fused = use_of(LAYERS, CM_LOSS_KERNEL_FUSED, 3);
    cm_memory_use many = use_of(LAYERS, CM_LOSS_KERNEL_AUTO, 64);
    assert_true(one.fits && one.sure && one.n_alternatives == 0);
    assert_true(open.fits && !open.sure && open.shortfall_bytes == 0);
    assert_true(!plain.fits && plain.sure && fused.fits && fused.sure);
    assert_true(open.peak_bytes == plain.peak_bytes && open.alternatives[1].peak_bytes == fused.peak_bytes);
    assert_true(cm_alternative_chance(&open, 0).probability == cm_memory_chance(&plain).probability);
    assert_true(cm_alternative_chance(&open, 1).probability == cm_memory_chance(&fused).probability);
    assert_true(!many.fits && many.sure && many.shortfall_bytes > 0);
}

/* Nothing is open if there are no logits or if the runtime has its own loss. */
static void test_nothing_open(void **state)
{
    (void)state;
    cm_memory_use use = use_of("resnet50", CM_LOSS_KERNEL_AUTO, 1024);
    assert_true(!use.fits && use.sure);
    cm_step *step = step_of(LAYERS, CM_LOSS_KERNEL_AUTO, CM_RUNTIME_MEGATRON);
    assert_int_equal(cm_step_memory(step, 64, &use, NULL), CM_OK);
    assert_true(!use.fits && use.sure);
    cm_step_free(step);
}

static cm_memory_use tuned(cm_step_options o, int64_t batch)
{
    cm_step      *step;
    cm_memory_use use;
    o.train.precision = CM_PRECISION_BF16;
    o.train.tuning.rank = 8;
    assert_int_equal(cm_step_new(LAYERS, device, &o, &step, NULL), CM_OK);
    assert_int_equal(cm_step_memory(step, batch, &use, NULL), CM_OK);
    cm_step_free(step);
    return use;
}

/* The trainer of adapters has a chunked loss and, without quantised weights, fp32 adapters: 16,384 tokens fit with such a
   loss only. A named loss decides. */
static void test_adapters(void **state)
{
    (void)state;
    cm_step_options o = {.train = {.loss_kernel = CM_LOSS_KERNEL_PLAIN}};
    cm_step_options narrow = {.train = {.tuning = {.narrow = true}}};
    assert_true(!tuned(o, 4).fits);
    o.train.loss_kernel = narrow.train.loss_kernel = CM_LOSS_KERNEL_CHUNKED;
    cm_memory_use narrow_use = tuned(narrow, 4), wide_use = tuned(o, 4);
    assert_true(wide_use.fits && wide_use.peak_bytes > narrow_use.peak_bytes);
    o.train.loss_kernel = CM_LOSS_KERNEL_AUTO;
    cm_memory_use open = tuned(o, 4);
    assert_true(open.fits && !open.sure && open.alternatives[1].peak_bytes == wide_use.peak_bytes);
    o.train.tuning.quantize = CM_QUANTIZE_NF4; /* adapters of 16 bits */
    cm_memory_use quantized = tuned(o, 4);
    o.train.loss_kernel = CM_LOSS_KERNEL_CHUNKED;
    assert_true(quantized.fits && !quantized.sure && quantized.alternatives[1].peak_bytes == tuned(o, 4).peak_bytes);
}

/* Scripts for graph compilers recompute where memory is short, which a question that says so leaves no longer open. The
   time is that of the step as asked, so that such a step does not fit. */
static void test_recomputed_by_graphs(void **state)
{
    (void)state;
    cm_device      *gaudi;
    cm_step        *step;
    cm_memory_use   asked, recomputed;
    cm_step_options o = {.train = {.precision = CM_PRECISION_AMP_BF16}};
    assert_int_equal(cm_device_load("habana-gaudi2", &gaudi, NULL), CM_OK);
    assert_int_equal(cm_step_new("gpt2-xl", gaudi, &o, &step, NULL), CM_OK);
    assert_int_equal(cm_step_memory(step, 32, &asked, NULL), CM_OK);
    cm_step_free(step);
    o.train.recompute = CM_RECOMPUTE_FULL;
    assert_int_equal(cm_step_new("gpt2-xl", gaudi, &o, &step, NULL), CM_OK);
    assert_int_equal(cm_step_memory(step, 32, &recomputed, NULL), CM_OK);
    cm_step_free(step);
    cm_device_free(gaudi);
    assert_true(!asked.fits && asked.shortfall_bytes > 0 && asked.n_alternatives == 2);
    assert_int_equal(asked.alternatives[1].open, CM_OPEN_MEMORY);
    assert_int_equal(cm_memory_chance(&asked).verdict, CM_UNSURE);
    assert_true(recomputed.fits && recomputed.n_alternatives == 0);
    assert_true(recomputed.peak_bytes == asked.alternatives[1].peak_bytes);
}

/* The chosen batch size surely fits, although larger ones may. */
static void test_choice(void **state)
{
    (void)state;
    cm_step         *step = step_of(LAYERS, CM_LOSS_KERNEL_AUTO, CM_RUNTIME_TORCH_EAGER);
    cm_batch_options o = {.objective = CM_OBJECTIVE_MEMORY, .any = true};
    cm_batch_choice  choice;
    int32_t          unsure = 0;
    assert_int_equal(cm_step_choose_batch(step, &o, &choice, NULL), CM_OK);
    for (int32_t i = 0; i < choice.n_candidates; i++) {
        const cm_batch_candidate *c = &choice.candidates[i];
        unsure += c->fits && !c->sure;
        if (c->batch == choice.batch) assert_true(c->fits && c->sure);
        if (c->fits && !c->sure) assert_true(c->batch > choice.batch);
    }
    assert_int_equal(unsure, 1); /* the largest of them is listed */
    assert_false(choice.candidates[choice.n_candidates - 1].fits);
    cm_step_free(step);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_verdict), cmocka_unit_test(test_nothing_open), cmocka_unit_test(test_adapters),
                                       cmocka_unit_test(test_recomputed_by_graphs), cmocka_unit_test(test_choice)};
    return cmocka_run_group_tests(tests, begin, end);
}
