/* SPDX-License-Identifier: Apache-2.0 */
/* test_question.c - defaults of a step, and that its memory, time and batch size are consistent. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "centimani.h"

static cm_device *load(const char *id)
{
    cm_device *device;
    assert_int_equal(cm_device_load(id, &device, NULL), CM_OK);
    return device;
}

static cm_step_options settled(const char *id, cm_step_options o)
{
    cm_device *device = load(id);
    assert_int_equal(cm_step_settle(NULL, device, &o, NULL), CM_OK);
    cm_device_free(device);
    return o;
}

/* ---- defaults
   ----------------------------------------------------------------------------------------------------- */

static void test_open_choices(void **state)
{
    (void)state;
    cm_step_options gpu = settled("nvidia-h200", (cm_step_options){.layout = CM_LAYOUT_AUTO});
    assert_int_equal(gpu.runtime, CM_RUNTIME_TORCH_EAGER);
    assert_int_equal(gpu.train.precision, CM_PRECISION_AMP_BF16);
    assert_int_equal(gpu.load.fuse, CM_FUSE_EAGER);
    cm_step_options ipu = settled("graphcore-bow", (cm_step_options){.layout = CM_LAYOUT_AUTO});
    assert_int_equal(ipu.runtime, CM_RUNTIME_NATIVE);
    assert_int_equal(ipu.load.fuse, CM_FUSE_ALL);
    cm_step_options compiled = settled("nvidia-h200", (cm_step_options){.runtime = CM_RUNTIME_TORCH_COMPILE});
    assert_int_equal(compiled.load.fuse, CM_FUSE_ALL);
}

/* Megatron-LM stores 16-bit weights and fp32 master weights and has no autocast. */
static void test_megatron(void **state)
{
    (void)state;
    cm_step_options o = settled("nvidia-a100-80g", (cm_step_options){.runtime = CM_RUNTIME_MEGATRON});
    assert_int_equal(o.train.precision, CM_PRECISION_BF16);
    assert_true(o.train.master);
}

static void test_recompute_is_one_setting(void **state)
{
    (void)state;
    cm_step_options a = settled("nvidia-h200", (cm_step_options){.plan = {.recompute = CM_RECOMPUTE_FULL}});
    cm_step_options b = settled("nvidia-h200", (cm_step_options){.train = {.recompute = CM_RECOMPUTE_FULL}});
    assert_int_equal(a.train.recompute, CM_RECOMPUTE_FULL);
    assert_int_equal(b.plan.recompute, CM_RECOMPUTE_FULL);
}

static void test_refusals(void **state)
{
    (void)state;
    cm_device      *device = load("nvidia-a100-40g");
    cm_diag         diag;
    cm_step        *step;
    cm_step_options fp8 = {.train = {.precision = CM_PRECISION_FP8}};
    assert_int_equal(cm_step_settle(NULL, device, &fp8, &diag), CM_ERR_UNSUPPORTED);
    assert_non_null(strstr(diag.reason, "amp-bf16"));
    assert_int_equal(cm_step_settle(NULL, NULL, &fp8, &diag), CM_ERR_ARGUMENT);
    assert_int_equal(cm_step_new("no-such-model", device, NULL, &step, &diag), CM_ERR_UNKNOWN);
    assert_int_equal(cm_step_new(NULL, device, NULL, &step, &diag), CM_ERR_ARGUMENT);
    cm_device_free(device);
    device = load("graphcore-bow");
    assert_int_equal(cm_step_new("resnet18", device, &(cm_step_options){.plan = {.devices = 2, .zero = 1}}, &step, &diag),
                     CM_ERR_UNSUPPORTED);
    assert_non_null(strstr(diag.reason, "--zero"));
    cm_device_free(device);
}

/* ---- one step ----------------------------------------------------------------------------------------------------- */

typedef struct subject {
    cm_device *device;
    cm_step   *step;
} subject;

static subject make(const char *model, const char *device, cm_step_options o)
{
    subject s = {.device = load(device)};
    assert_int_equal(cm_step_new(model, s.device, &o, &s.step, NULL), CM_OK);
    return s;
}

static void drop(subject *s)
{
    cm_step_free(s->step);
    cm_device_free(s->device);
}

static cm_memory_use memory(subject *s, int64_t batch)
{
    cm_memory_use use;
    assert_int_equal(cm_step_memory(s->step, batch, &use, NULL), CM_OK);
    return use;
}

/* Includes batch sizes that are not powers of two, which a predictor of many sizes interpolates. */
static void test_time_is_the_prediction(void **state)
{
    static const int64_t batches[] = {1, 24, 100, 128};
    (void)state;
    subject s = make("resnet18", "nvidia-a100-40g", (cm_step_options){.layout = CM_LAYOUT_AUTO});
    for (int i = 0; i < 4; i++) {
        cm_prediction_info quick;
        cm_prediction     *exact;
        assert_int_equal(cm_step_time(s.step, batches[i], &quick, NULL), CM_OK);
        assert_int_equal(cm_step_predict(s.step, batches[i], false, &exact, NULL), CM_OK);
        const cm_prediction_info *info = cm_prediction_get_info(exact);
        assert_true(quick.step_time_s == info->step_time_s);
        assert_true(quick.device_time_s == info->device_time_s);
        assert_true(quick.interval_s[1] == info->interval_s[1]);
        cm_prediction_free(exact);
    }
    drop(&s);
}

static void test_memory_is_the_allocators(void **state)
{
    (void)state;
    subject       s = make("resnet18", "nvidia-a100-40g", (cm_step_options){.layout = CM_LAYOUT_AUTO});
    cm_memory_use use = memory(&s, 48), simulated;
    assert_int_equal(cm_footprint_simulate(cm_step_footprint(s.step), 48, &simulated, NULL), CM_OK);
    assert_true(use.peak_bytes == simulated.peak_bytes);
    assert_int_equal(use.micro_batch, 48);
    assert_int_equal(use.devices, 1);
    assert_false(use.recomputes);
    drop(&s);
}

/* The step is timed with the same micro-batches and recomputation that make it fit, and that memory is available. */
static void fits_as_it_runs(const char *model, const char *device, int64_t batch, bool recomputes)
{
    subject            s = make(model, device, (cm_step_options){.layout = CM_LAYOUT_AUTO});
    cm_memory_use      use = memory(&s, batch);
    cm_prediction_info info;
    assert_true(use.fits);
    assert_int_equal(cm_step_time(s.step, batch, &info, NULL), CM_OK);
    assert_int_equal(use.micro_batch, info.micro_batch);
    assert_int_equal(use.devices, info.devices);
    assert_int_equal(use.recomputes, info.recomputes);
    assert_int_equal(use.recomputes, recomputes);
    for (int32_t i = 0; i < use.n_levels; i++) assert_true(use.levels[i].used_bytes <= use.levels[i].capacity_bytes);
    double sum = 0;
    for (cm_category c = 0; c < CM_CATEGORIES; c++) sum += use.categories[c];
    assert_true(fabs(sum / use.peak_bytes - 1) < 1e-9);
    drop(&s);
}

static void test_devices_that_divide_batches(void **state)
{
    (void)state;
    fits_as_it_runs("resnet50", "graphcore-bow", 64, false);   /* micro-batches on one chip */
    fits_as_it_runs("bert-large", "graphcore-bow", 64, true);  /* a pipeline of chips */
    fits_as_it_runs("resnet50", "cerebras-cs3", 2048, true);   /* the activations of the whole batch do not fit */
    fits_as_it_runs("resnet50", "cerebras-cs3", 64, false);
    /* the logits exceed the chip: they are laid out in tiles */
    fits_as_it_runs("gpt2-xl", "sambanova-sn30", 64, false);
}

static void test_nothing_fits(void **state)
{
    (void)state;
    subject            s = make("gpt3-175b", "graphcore-bow", (cm_step_options){.layout = CM_LAYOUT_AUTO});
    cm_prediction_info info;
    int64_t            batch = -1;
    assert_false(memory(&s, 1).fits);
    assert_int_equal(cm_step_usual_batch(s.step, &batch, NULL), CM_OK);
    assert_int_equal(batch, 0);
    assert_int_equal(cm_step_time(s.step, 1, &info, NULL), CM_ERR_FIT);
    drop(&s);
}

/* ---- which batch size --------------------------------------------------------------------------------------------- */

/* The smallest batch within 2 % of the highest throughput; both calls return the same. */
static void check_usual_batch(const char *model, const char *device)
{
    subject         s = make(model, device, (cm_step_options){.layout = CM_LAYOUT_AUTO});
    cm_batch_choice choice;
    int64_t         batch;
    double          most = 0, chosen = 0, below = 0;
    assert_int_equal(cm_step_usual_batch(s.step, &batch, NULL), CM_OK);
    assert_int_equal(cm_step_choose_batch(s.step, NULL, &choice, NULL), CM_OK);
    assert_int_equal(choice.batch, batch);
    for (int32_t i = 0; i < choice.n_candidates; i++) {
        const cm_batch_candidate *c = &choice.candidates[i];
        if (!c->fits) continue;
        most = fmax(most, c->throughput_samples_s);
        if (c->batch == batch) chosen = c->throughput_samples_s;
        if (c->batch * 2 == batch) below = c->throughput_samples_s;
    }
    assert_true(chosen >= 0.98 * most);
    assert_true(below < 0.98 * most);
    drop(&s);
}

static void test_usual_batch(void **state)
{
    (void)state;
    check_usual_batch("resnet18", "nvidia-h200");
    check_usual_batch("bert-base", "graphcore-bow");
    check_usual_batch("gpt2", "sambanova-sn30");
}

/* A single operator of fixed sizes does the same work at any batch size. */
static void test_batch_of_an_operator(void **state)
{
    static const char *const devices[] = {"nvidia-h200", "sambanova-sn30", "graphcore-bow"};
    (void)state;
    for (int i = 0; i < 3; i++) {
        subject s = make("gemm_k1", devices[i], (cm_step_options){.layout = CM_LAYOUT_AUTO});
        int64_t batch;
        assert_int_equal(cm_step_usual_batch(s.step, &batch, NULL), CM_OK);
        assert_int_equal(batch, 1);
        drop(&s);
    }
}

/* A caller that was compiled with fewer members at the end: what lies behind its struct is not read. */
static void test_a_shorter_struct(void **state)
{
    cm_device *device = load("nvidia-h200");
    struct {
        cm_step_options options;
    } caller = {{.runtime = CM_RUNTIME_TORCH_COMPILE, .layout = CM_LAYOUT_NHWC}};
    cm_step *whole, *shorter;
    (void)state;
    assert_int_equal(cm_step_new("resnet50", device, &caller.options, &whole, NULL), CM_OK);
    memset(&caller.options.sparsity, 0x5a, sizeof caller - offsetof(cm_step_options, sparsity));
    caller.options.size = offsetof(cm_step_options, sparsity);
    assert_int_equal(cm_step_new("resnet50", device, &caller.options, &shorter, NULL), CM_OK);
    const cm_step_options *a = cm_step_get_options(whole), *b = cm_step_get_options(shorter);
    assert_true(a->runtime == b->runtime && a->layout == b->layout && b->sparsity.pruned == 0 && !b->fabric);
    assert_int_equal(a->plan.dp, b->plan.dp);
    cm_step_free(whole);
    cm_step_free(shorter);
    cm_device_free(device);
}

static void test_version(void **state)
{
    int major, minor, patch;
    (void)state;
    assert_int_equal(sscanf(CM_VERSION, "%d.%d.%d", &major, &minor, &patch), 3);
    assert_int_equal(CM_VERSION_NUMBER, 10000 * major + 100 * minor + patch);
    assert_int_equal(cm_version_number(), CM_VERSION_NUMBER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_shorter_struct), cmocka_unit_test(test_version),
        cmocka_unit_test(test_open_choices),
        cmocka_unit_test(test_megatron),
        cmocka_unit_test(test_recompute_is_one_setting),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_time_is_the_prediction),
        cmocka_unit_test(test_memory_is_the_allocators),
        cmocka_unit_test(test_devices_that_divide_batches),
        cmocka_unit_test(test_nothing_fits),
        cmocka_unit_test(test_usual_batch),
        cmocka_unit_test(test_batch_of_an_operator),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
