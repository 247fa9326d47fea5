/* SPDX-License-Identifier: Apache-2.0 */
/* test_unused.c - options without effect are refused with the reason; those with one, and defaults by name, are not. */
#include <string.h>
#include "graph/releases.h"
#include "model/unused.h"
#include "time_device.h"

#define GPT "gpt:layers=2,hidden=128,heads=2,seq=64,vocab=1000"

/* The reason of a refusal; "": the step is answered. */
static const char *reason_of(const char *model, const char *device_id, cm_step_options o)
{
    static cm_diag diag;
    cm_device     *device;
    cm_step       *step = NULL;
    diag = (cm_diag){0};
    assert_int_equal(cm_device_load(device_id, &device, NULL), CM_OK);
    cm_status status = cm_step_new(model, device, &o, &step, &diag);
    assert_true(status == CM_OK || status == CM_ERR_UNSUPPORTED);
    cm_step_free(step);
    cm_device_free(device);
    return status ? diag.reason : "";
}

static bool refused(const char *model, const char *device, cm_step_options o, const char *because)
{
    const char *reason = reason_of(model, device, o);
    return reason[0] && strstr(reason, because);
}

static bool answered(const char *model, const char *device, cm_step_options o)
{
    return !reason_of(model, device, o)[0];
}

/* Whether the step is answered with a warning that has this text. */
static bool warned(const char *model, const char *device_id, cm_step_options o, const char *text)
{
    cm_device *device;
    cm_step   *step;
    bool       found = false;
    assert_int_equal(cm_device_load(device_id, &device, NULL), CM_OK);
    assert_int_equal(cm_step_new(model, device, &o, &step, NULL), CM_OK);
    for (int32_t i = 0; i < cm_graph_warnings(cm_step_graph(step)); i++)
        found |= strstr(cm_graph_warning(cm_step_graph(step), i), text) != NULL;
    cm_step_free(step);
    cm_device_free(device);
    return found;
}

static const cm_step_options nhwc = {.layout = CM_LAYOUT_NHWC}, flash = {.train.attention = CM_ATTENTION_FLASH},
                             efficient = {.train.attention = CM_ATTENTION_EFFICIENT},
                             cudnn = {.train.attention = CM_ATTENTION_CUDNN},
                             math = {.train.attention = CM_ATTENTION_MATH}, old = {.train.software = {.given = true, .lacks = UINT32_MAX}},
                             nf4 = {.train.tuning.quantize = CM_QUANTIZE_NF4}, host = {.loading.host = "dgx-a100"},
                             together = {.steps_per_call = 8}, stable = {.train.ipu.stable_norms = true},
                             tensorflow = {.train.ipu.tensorflow = true}, selective = {.train.recompute = CM_RECOMPUTE_SELECTIVE};

static void the_model_has_no_such_thing(void **unused)
{
    (void)unused;
    assert_true(warned(GPT, "nvidia-h200", nhwc, "no images"));
    assert_true(warned("lstm", "amd-mi300x", nhwc, "no images"));
    assert_true(answered("resnet18", "nvidia-h200", nhwc));
    assert_true(refused("resnet18", "nvidia-h200", flash, "no attention"));
    assert_true(refused("resnet18", "google-tpu-v4", math, "no attention"));
    assert_true(answered(GPT, "nvidia-h200", flash));
    assert_true(answered("vit-b-16", "nvidia-h200", nhwc)); /* it has both */
    assert_true(answered("vit-b-16", "nvidia-h200", math));
}

/* Eager PyTorch runs the operators of GPT-2's activation (gelu_new) one by one, so that there is nothing to leave unfused;
   a compiler fuses them. ResNet has no such group at all. */
static void fusion_that_changes_nothing(void **unused)
{
    const cm_step_options plain = {.load.fuse = CM_FUSE_NONE}, eager = {.load.fuse = CM_FUSE_EAGER};
    cm_step_options       compiled = {.load.fuse = CM_FUSE_NONE, .runtime = CM_RUNTIME_TORCH_COMPILE};
    (void)unused;
    assert_true(warned("resnet18", "nvidia-h200", plain, "--fuse has no effect"));
    assert_true(warned("gpt2", "nvidia-h200", plain, "--fuse has no effect"));
    assert_false(warned("gpt2", "nvidia-h200", compiled, "--fuse"));
    assert_true(warned("resnet18", "nvidia-h200", compiled, "--fuse has no effect"));
    assert_false(warned("gpt2", "nvidia-h200", eager, "--fuse")); /* it names the default */
}

/* The layout of an answer is one that the model can have. */
static void the_layout_named_is_in_use(void **unused)
{
    static const struct {
        const char *model;
        cm_layout   layout;
    } cases[] = {{GPT, CM_LAYOUT_NCHW}, {"resnet18", CM_LAYOUT_NHWC}};
    (void)unused;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cm_device         *device;
        cm_step           *step;
        cm_prediction_info info;
        assert_int_equal(cm_device_load("nvidia-h200", &device, NULL), CM_OK);
        assert_int_equal(cm_step_new(cases[i].model, device, &nhwc, &step, NULL), CM_OK);
        assert_int_equal(cm_step_time(step, 1, &info, NULL), CM_OK);
        assert_int_equal(info.layout, cases[i].layout);
        cm_step_free(step);
        cm_device_free(device);
    }
}

static void the_device_has_no_such_choice(void **unused)
{
    static const char *const native[] = {"google-tpu-v4", "habana-gaudi2", "sambanova-sn30",
                                         "graphcore-bow", "cerebras-cs3",  "aws-trainium1"};
    (void)unused;
    for (size_t i = 0; i < sizeof native / sizeof *native; i++) {
        assert_true(warned("resnet18", native[i], nhwc, "--layout"));
        assert_true(refused(GPT, native[i], efficient, "--attention"));
        assert_true(refused(GPT, native[i], cudnn, "--attention"));
        assert_true(refused(GPT, native[i], old, "--software"));
        assert_true(refused("resnet18", native[i], host, "--host"));
        assert_true(refused("resnet18", native[i], selective, "--recompute full"));
        assert_true(answered(GPT, native[i], flash));
        assert_true(answered(GPT, native[i], math));
        cm_step_options loads = host;
        loads.loading.dataset = "imagenet";
        assert_true(answered("resnet18", native[i], loads));
    }
    assert_true(answered("resnet18", "nvidia-h200", host));
    assert_true(answered("resnet18", "nvidia-h200", selective));
    assert_true(answered(GPT, "nvidia-h200", old));
    assert_true(refused("resnet18", "nvidia-h200", old, "--software"));
    cm_step_options again = old;
    again.train.recompute = CM_RECOMPUTE_FULL;
    assert_true(answered("resnet18", "nvidia-h200", again));
    assert_true(answered(GPT, "nvidia-h200", efficient));
}

static void formats_and_calls(void **unused)
{
    (void)unused;
    assert_true(refused("resnet18", "sambanova-sn30", nf4, "--quantize"));
    assert_true(refused(GPT, "graphcore-bow", nf4, "--quantize"));
    assert_true(answered(GPT, "nvidia-h200", nf4));
    assert_true(refused(GPT, "sambanova-sn30", together, "--steps-per-call"));
    assert_true(answered(GPT, "graphcore-bow", together));
}

static void programs_of_ipus(void **unused)
{
    (void)unused;
    assert_true(refused("resnet18", "sambanova-sn30", stable, "--stable-norms"));
    assert_true(refused("resnet18", "nvidia-h200", tensorflow, "--tensorflow"));
    assert_true(answered("resnet18", "graphcore-bow", stable));
    assert_true(answered("resnet18", "graphcore-bow", tensorflow));
}

/* --layout is for the devices that have the choice: the others are ranked, too. */
static void a_ranking_refuses_the_same(void **unused)
{
    cm_rank_options o = {.devices = "nvidia-h200,google-tpu-v4", .layout = CM_LAYOUT_NHWC};
    cm_ranking     *r;
    cm_diag         diag = {0};
    (void)unused;
    o.train.attention = CM_ATTENTION_MATH;
    assert_int_equal(cm_rank("resnet18", &o, &r, &diag), CM_ERR_UNSUPPORTED);
    assert_non_null(strstr(diag.reason, "no attention"));
    o.train.attention = CM_ATTENTION_AUTO;
    assert_int_equal(cm_rank("resnet18", &o, &r, &diag), CM_OK);
    assert_int_equal(cm_ranking_placed(r), 1); /* the other is too uncertain */
    cm_ranking_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_model_has_no_such_thing),
        cmocka_unit_test(fusion_that_changes_nothing),
        cmocka_unit_test(the_layout_named_is_in_use),
        cmocka_unit_test(the_device_has_no_such_choice),
        cmocka_unit_test(formats_and_calls),
        cmocka_unit_test(programs_of_ipus),
        cmocka_unit_test(a_ranking_refuses_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
