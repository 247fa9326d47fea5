/* SPDX-License-Identifier: Apache-2.0 */
/* test_settle.c - open options get a value, settled options stay, and settling twice changes nothing. */
#include "graph/releases.h"
#include "time_device.h"

static cm_step_options settled(const cm_device *d, cm_step_options o)
{
    cm_diag diag = {0};
    if (cm_step_settle(NULL, d, &o, &diag)) fail_msg("%s", diag.reason);
    return o;
}

static void test_twice(void **state)
{
    static const char *const ids[] = {"nvidia-h200", "graphcore-bow", "cerebras-cs2", "sambanova-sn30",
                                      "habana-gaudi2"};
    (void)state;
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        cm_device *d;
        assert_int_equal(cm_device_load(ids[i], &d, NULL), CM_OK);
        for (int r = CM_RUNTIME_DEFAULT; r < CM_RUNTIMES; r++) {
            if (r && !cm_device_supports_runtime(d, (cm_runtime)r)) continue;
            cm_step_options once = settled(d, (cm_step_options){.runtime = (cm_runtime)r}), twice = settled(d, once);
            assert_memory_equal(&once, &twice, sizeof once);
            assert_true(once.runtime && once.train.precision);
            assert_true(cm_device_supports(d, once.train.precision));
            assert_true(!r || once.runtime == (cm_runtime)r);
        }
        cm_device_free(d);
    }
}

/* The user's own choices are kept, except that Megatron-LM has no autocast. */
static void test_kept(void **state)
{
    (void)state;
    cm_device      *d = device_of(TIME_DEVICE(""));
    cm_step_options o = settled(d, (cm_step_options){.load = {.fuse = CM_FUSE_NONE, .seq = 77},
                                                     .train = {.precision = CM_PRECISION_FP32,
                                                               .optimizer = CM_OPTIMIZER_SGD}});
    assert_true(o.load.fuse == CM_FUSE_NONE && o.load.seq == 77 && o.train.precision == CM_PRECISION_FP32);
    assert_int_equal(o.train.optimizer, CM_OPTIMIZER_SGD);
    assert_false(o.train.master);
    o = settled(d, (cm_step_options){.runtime = CM_RUNTIME_MEGATRON, .train = {.precision = CM_PRECISION_FP32}});
    assert_true(o.train.master && o.train.precision == CM_PRECISION_FP32 && o.load.fuse == CM_FUSE_ALL);
    /* the stronger of the two recompute options applies */
    o = settled(d, (cm_step_options){.plan = {.recompute = CM_RECOMPUTE_SELECTIVE},
                                     .train = {.recompute = CM_RECOMPUTE_FULL}});
    assert_true(o.plan.recompute == CM_RECOMPUTE_FULL && o.train.recompute == CM_RECOMPUTE_FULL);
    cm_device_free(d);
}

/* FSDP's mixed precision has 16-bit weights beside fp32 shards. DDP and ZeRO 1 have autocast, and a pure 16-bit model
   has no master weights. */
static void test_sharding(void **state)
{
    (void)state;
    cm_device *d;
    assert_int_equal(cm_device_load("nvidia-h200", &d, NULL), CM_OK);
    for (int zero = 0; zero <= 3; zero++) {
        cm_step_options mixed = settled(d, (cm_step_options){.plan = {.dp = 8, .zero = zero}});
        cm_step_options pure = settled(d, (cm_step_options){.plan = {.dp = 8, .zero = zero},
                                                            .train = {.precision = CM_PRECISION_BF16}});
        assert_int_equal(mixed.train.master, zero >= 2);
        assert_int_equal(mixed.train.precision, CM_PRECISION_AMP_BF16);
        assert_false(pure.train.master);
        assert_true(mixed.train.settled.keep_products);
    }
    cm_step_options megatron = settled(d, (cm_step_options){.runtime = CM_RUNTIME_MEGATRON});
    assert_false(megatron.train.settled.keep_products);
    assert_true(megatron.train.whole_layers);
    assert_false(megatron.train.settled.traced_backward);
    assert_true(settled(d, (cm_step_options){.runtime = CM_RUNTIME_COMPILE_GRAPHS}).train.settled.traced_backward);
    assert_false(settled(d, (cm_step_options){.runtime = CM_RUNTIME_TORCH_EAGER}).train.settled.traced_backward);
    assert_false(settled(d, (cm_step_options){.train = {.software = cm__software_of_year(2024)}}).train.whole_layers);
    assert_true(settled(d, (cm_step_options){.train = {.software = cm__software_of_year(2023)}}).train.whole_layers);
    assert_true(settled(d, (cm_step_options){.train = {.whole_layers = true}}).train.whole_layers);
    megatron.train.loss_kernel = CM_LOSS_KERNEL_FUSED;
    assert_int_equal(cm_step_settle(NULL, d, &megatron, NULL), CM_ERR_UNSUPPORTED);
    cm_device_free(d);
}

/* PEFT makes adapters beside 16-bit weights fp32, unless it is older, the user sets otherwise, or the weights are
   quantised. */
static void test_adapters(void **state)
{
    static const struct {
        cm_precision precision;
        cm_tuning    tuning;
        int32_t      software;
        bool         wide;
    } cases[] = {
        {CM_PRECISION_BF16, {.rank = 8}, 0, true},
        {CM_PRECISION_FP16, {.rank = 8}, 0, true},
        {CM_PRECISION_BF16, {.rank = 8}, 2023, false},
        {CM_PRECISION_BF16, {.rank = 8, .narrow = true}, 0, false},
        {CM_PRECISION_BF16, {.rank = 8, .quantize = CM_QUANTIZE_NF4}, 0, false},
        {CM_PRECISION_BF16, {.rank = 8, .quantize = CM_QUANTIZE_NF4, .wide = true}, 0, true},
        {CM_PRECISION_AMP_BF16, {.rank = 8}, 0, false}, /* fp32 by autocast, without casts around them */
        {CM_PRECISION_BF16, {.rank = 0}, 0, false},
    };
    (void)state;
    cm_device *d;
    assert_int_equal(cm_device_load("nvidia-h200", &d, NULL), CM_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cm_train_options train = {.precision = cases[i].precision, .tuning = cases[i].tuning,
                                  .software = cm__software_of_year(cases[i].software)};
        cm_step_options  o = settled(d, (cm_step_options){.train = train, .runtime = CM_RUNTIME_TORCH_EAGER});
        assert_int_equal(o.train.tuning.wide, cases[i].wide);
    }
    cm_device_free(d);
}

/* Habana's autocast has its own lists; GPUs have PyTorch's. */
static void test_autocast_lists(void **state)
{
    (void)state;
    cm_device *gaudi, *gpu;
    assert_int_equal(cm_device_load("habana-gaudi2", &gaudi, NULL), CM_OK);
    assert_int_equal(cm_device_load("nvidia-h200", &gpu, NULL), CM_OK);
    assert_true(settled(gaudi, (cm_step_options){.runtime = CM_RUNTIME_USUAL}).train.settled.habana_lists);
    assert_false(settled(gpu, (cm_step_options){.runtime = CM_RUNTIME_USUAL}).train.settled.habana_lists);
    cm_device_free(gaudi);
    cm_device_free(gpu);
}

static void test_refusals(void **state)
{
    (void)state;
    cm_device      *d = device_of(TIME_DEVICE(",\n\"runtimes\": [\"native\"]"));
    cm_step_options o = {.train = {.precision = CM_PRECISION_FP8}}, r = {.runtime = CM_RUNTIME_MEGATRON};
    cm_diag         diag = {0};
    assert_int_equal(cm_step_settle(NULL, d, &o, &diag), CM_ERR_UNSUPPORTED);
    assert_int_equal(cm_step_settle(NULL, d, &r, &diag), CM_ERR_UNSUPPORTED);
    assert_int_equal(cm_step_settle(NULL, NULL, &o, &diag), CM_ERR_ARGUMENT);
    assert_int_equal(cm_step_settle(NULL, d, NULL, &diag), CM_ERR_ARGUMENT);
    cm_device_free(d);
}

static cm_status status_of(const cm_device *d, cm_step_options o) { return cm_step_settle(NULL, d, &o, NULL); }

/* Options that another runtime would ignore are refused; PyTorch's runtimes take them. */
static void test_refused(void **state)
{
    (void)state;
    cm_device *gpu, *wafer;
    assert_int_equal(cm_device_load("nvidia-h200", &gpu, NULL), CM_OK);
    assert_int_equal(cm_device_load("cerebras-cs3", &wafer, NULL), CM_OK);
    cm_step_options eight = {.train.tuning.quantize = CM_QUANTIZE_FP8}, narrow = {.train.megatron.narrow_gradients = true},
                    moments = {.train.megatron.moments = CM_MOMENTS_BF16};
    assert_int_equal(status_of(gpu, eight), CM_ERR_UNSUPPORTED); /* products are in 16 bits */
    eight.train.precision = CM_PRECISION_FP8;
    assert_int_equal(status_of(gpu, eight), CM_OK);
    assert_int_equal(status_of(gpu, narrow), CM_ERR_UNSUPPORTED); /* a buffer of Megatron-LM */
    narrow.runtime = CM_RUNTIME_MEGATRON;
    assert_int_equal(status_of(gpu, narrow), CM_OK);
    assert_int_equal(status_of(gpu, moments), CM_ERR_UNSUPPORTED); /* an optimizer of Megatron-LM */
    moments.runtime = CM_RUNTIME_MEGATRON;
    assert_int_equal(status_of(gpu, moments), CM_OK);
    cm_step_options weights = {.train.megatron.narrow_weights = true, .runtime = CM_RUNTIME_MEGATRON};
    assert_int_equal(status_of(gpu, weights), CM_ERR_UNSUPPORTED); /* they have 16 bits */
    weights.train.precision = CM_PRECISION_FP8;
    assert_int_equal(status_of(gpu, weights), CM_OK);
    weights.runtime = CM_RUNTIME_TORCH_EAGER;
    assert_int_equal(status_of(gpu, weights), CM_ERR_UNSUPPORTED);
    cm_step_options modules = {.train = {.recompute = CM_RECOMPUTE_SELECTIVE, .recompute_modules = CM_MODULE_LAYERNORM}};
    assert_int_equal(status_of(gpu, modules), CM_ERR_UNSUPPORTED); /* single modules are recomputed by Megatron-LM */
    modules.runtime = CM_RUNTIME_MEGATRON;
    assert_int_equal(status_of(gpu, modules), CM_OK);
    cm_step_options pages = {.train.script.expandable_segments = true, .runtime = CM_RUNTIME_MEGATRON};
    assert_int_equal(status_of(gpu, pages), CM_OK);
    pages.runtime = CM_RUNTIME_NATIVE;
    assert_int_equal(status_of(gpu, pages), CM_ERR_UNSUPPORTED); /* an option of PyTorch's allocator */
    cm_step_options fused = {.train.script.fused_kernels = true}, whole = {.train.whole_layers = true};
    assert_int_equal(status_of(gpu, fused), CM_OK);
    assert_int_equal(status_of(gpu, whole), CM_OK);
    assert_int_equal(status_of(wafer, fused), CM_ERR_UNSUPPORTED);
    assert_int_equal(status_of(wafer, whole), CM_ERR_UNSUPPORTED);
    fused.runtime = whole.runtime = CM_RUNTIME_TORCH_COMPILE;
    assert_int_equal(status_of(gpu, fused), CM_ERR_UNSUPPORTED); /* it fuses by itself */
    assert_int_equal(status_of(gpu, whole), CM_OK);
    cm_step_options clips = {.train.script.clip_gradients = true}, busy = {.train.script.busy_thread = true};
    assert_int_equal(status_of(gpu, clips), CM_OK);
    assert_int_equal(status_of(gpu, busy), CM_OK);
    assert_int_equal(status_of(wafer, clips), CM_ERR_UNSUPPORTED);
    clips.runtime = busy.runtime = CM_RUNTIME_MEGATRON;
    assert_int_equal(status_of(gpu, clips), CM_ERR_UNSUPPORTED); /* it always clips */
    assert_int_equal(status_of(gpu, busy), CM_ERR_UNSUPPORTED);
    cm_step_options many = {.steps_per_call = 8}; /* calls of whole graphs */
    assert_int_equal(status_of(gpu, many), CM_ERR_UNSUPPORTED);
    assert_int_equal(status_of(wafer, many), CM_OK);
    cm_step_options old = {.train.software = cm__software_of_year(2022)}; /* says what PyTorch did, and nothing about a wafer */
    assert_int_equal(status_of(wafer, old), CM_OK);
    cm_device_free(gpu);
    cm_device_free(wafer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_refused), cmocka_unit_test(test_twice), cmocka_unit_test(test_kept),
                                       cmocka_unit_test(test_sharding),
                                       cmocka_unit_test(test_adapters), cmocka_unit_test(test_autocast_lists),
                                       cmocka_unit_test(test_refusals)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
