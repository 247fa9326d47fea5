/* SPDX-License-Identifier: Apache-2.0 */
/* test_attention.c - when attention is fused, and the scores that it stores otherwise. */
#include "plan_case.h"
#include "model/dispatch/attention.h"

/* Scores of unfused attention: 5 bytes per pair of tokens, head and layer, unless recomputed. */
static void scores(void **state)
{
    (void)state;
    cm_device *d;
    double     peak[2][2];
    if (cm_device_load("nvidia-a100-80g", &d, &diag)) fail_msg("%s", diag.reason);
    cm_graph *forward = loaded("gpt:layers=4,hidden=256,heads=8,seq=512,vocab=128");
    for (int fused = 0; fused < 2; fused++)
        for (int again = 0; again < 2; again++) {
            cm_train_options  train = {.precision = CM_PRECISION_FP16, .master = true,
                                       .recompute = again ? CM_RECOMPUTE_SELECTIVE : CM_RECOMPUTE_NONE,
                                       .attention = fused ? CM_ATTENTION_FLASH : CM_ATTENTION_AUTO};
            cm_memory_options o = {.runtime = CM_RUNTIME_MEGATRON};
            cm_graph         *step;
            cm_footprint     *f;
            cm_memory_use     use;
            if (cm_graph_train(forward, &train, &step, &diag)) fail_msg("%s", diag.reason);
            if (cm_footprint_new(step, d, &o, &f, &diag)) fail_msg("%s", diag.reason);
            cm_footprint_at(f, 16, &use);
            peak[fused][again] = use.peak_bytes;
            cm_footprint_free(f);
            cm_graph_free(step);
        }
    cm_graph_free(forward);
    double layer = 5.0 * 16 * 8 * 512 * 512;
    assert_true(fabs(peak[0][0] - peak[1][0] - 4 * layer) < 0.02 * layer);
    /* at most the scores of the current layer */
    assert_true(peak[0][1] >= peak[1][1] && peak[0][1] - peak[1][1] < 1.02 * layer);
    cm_device_free(d);
}

/* PyTorch fuses attention unless it is told not to. Megatron-LM fuses it with fp8 units, or with bf16 units for more
   than 4,096 keys, and never in 32 bits. */
static void choice(void **state)
{
    (void)state;
    cm_device *a100_ = a100(), *h100, *v100;
    if (cm_device_load("nvidia-h100", &h100, &diag) || cm_device_load("nvidia-v100-32g", &v100, &diag))
        fail_msg("%s", diag.reason);
    cm_graph *near = step_of("gpt:layers=1,hidden=64,heads=2,seq=4096,vocab=64", CM_RECOMPUTE_NONE);
    cm_graph *far = step_of("gpt:layers=1,hidden=64,heads=2,seq=8192,vocab=64", CM_RECOMPUTE_NONE);
    assert_false(cm__attention_math(near, v100, CM_RUNTIME_TORCH_EAGER));
    assert_true(cm__attention_math(near, a100_, CM_RUNTIME_MEGATRON));
    assert_false(cm__attention_math(far, a100_, CM_RUNTIME_MEGATRON));
    assert_true(cm__attention_math(far, v100, CM_RUNTIME_MEGATRON)); /* fp16 units only */
    assert_true(cm__attention_math(far, NULL, CM_RUNTIME_MEGATRON));
    assert_false(cm__attention_math(near, h100, CM_RUNTIME_MEGATRON));
    far->precision = CM_PRECISION_FP32;
    assert_true(cm__attention_math(far, h100, CM_RUNTIME_MEGATRON));
    far->attention = CM_ATTENTION_FLASH; /* the user's choice counts before all */
    assert_false(cm__attention_math(far, v100, CM_RUNTIME_MEGATRON));
    near->attention = CM_ATTENTION_MATH;
    assert_true(cm__attention_math(near, h100, CM_RUNTIME_TORCH_EAGER));
    cm_graph_free(near);
    cm_graph_free(far);
    cm_device_free(a100_);
    cm_device_free(h100);
    cm_device_free(v100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scores),
        cmocka_unit_test(choice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
