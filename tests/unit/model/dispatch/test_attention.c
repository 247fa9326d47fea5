/* SPDX-License-Identifier: Apache-2.0 */
/* test_attention.c - when attention is fused, and the scores that it stores otherwise. */
#include "graph/releases.h"
#include "plan_case.h"
#include "model/dispatch/attention.h"
#include "model/dispatch/dispatch.h"

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

/* PyTorch fuses attention by default. Megatron-LM fuses it with fp8 units, or with bf16 units for more
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
    far->asked.attention = CM_ATTENTION_FLASH; /* the user's choice counts before all */
    assert_false(cm__attention_math(far, v100, CM_RUNTIME_MEGATRON));
    near->asked.attention = CM_ATTENTION_MATH;
    assert_true(cm__attention_math(near, h100, CM_RUNTIME_TORCH_EAGER));
    cm_graph_free(near);
    cm_graph_free(far);
    cm_device_free(a100_);
    cm_device_free(h100);
    cm_device_free(v100);
}

/* PyTorch has no fused attention before 2023 and FlashAttention 2 from 2024 on; Megatron-LM fuses from 2023 on. */
static void age(void **state)
{
    static const struct {
        int32_t     software;
        cm_runtime  runtime;
        bool        math;
        cm__variant_form kernel;
    } cases[] = {{0, CM_RUNTIME_TORCH_EAGER, false, CM__FORM_NONE},       {2022, CM_RUNTIME_TORCH_EAGER, true, CM__FORM_FLASH1},
                 {2023, CM_RUNTIME_TORCH_EAGER, false, CM__FORM_FLASH1}, {2024, CM_RUNTIME_TORCH_COMPILE, false, CM__FORM_NONE},
                 {2022, CM_RUNTIME_MEGATRON, true, CM__FORM_FLASH1},  {2023, CM_RUNTIME_MEGATRON, false, CM__FORM_FLASH1},
                 {2023, CM_RUNTIME_NATIVE, false, CM__FORM_NONE}};
    cm_device *a100_ = a100();
    cm_graph  *g = step_of("gpt:layers=1,hidden=64,heads=2,seq=2048,vocab=64", CM_RECOMPUTE_NONE);
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        g->asked.software = cm__software_of_year(cases[i].software);
        if (cm__attention_math(g, a100_, cases[i].runtime) != cases[i].math) fail_msg("case %zu: math", i);
        assert_int_equal(cm__attention_kernel(g, cases[i].runtime), cases[i].kernel);
    }
    g->asked.software = cm__software_of_year(2023);
    g->asked.attention = CM_ATTENTION_EFFICIENT;
    assert_int_equal(cm__attention_kernel(g, CM_RUNTIME_TORCH_EAGER), CM__FORM_EFFICIENT);
    g->asked.attention = CM_ATTENTION_FLASH;
    assert_int_equal(cm__attention_kernel(g, CM_RUNTIME_TORCH_EAGER), CM__FORM_FLASH1);
    g->asked.software = cm__software_of_year(0);
    assert_int_equal(cm__attention_kernel(g, CM_RUNTIME_TORCH_EAGER), CM__FORM_FLASH);
    assert_false(cm__attention_math(g, a100_, CM_RUNTIME_TORCH_EAGER));
    cm_graph_free(g);
    cm_device_free(a100_);
}

/* No fused kernel of PyTorch takes fp32 operands with fewer heads of keys than of queries, or with heads whose width is no
   multiple of 4. */
static void groups_in_fp32(void **state)
{
    (void)state;
    static const struct {
        const char  *heads;
        cm_precision precision;
        bool         math;
    } cases[] = {{"kv_heads=2", CM_PRECISION_FP32, true},
                 {"kv_heads=2", CM_PRECISION_TF32, true},
                 {"kv_heads=2", CM_PRECISION_BF16, false},
                 {"kv_heads=2", CM_PRECISION_AMP_BF16, false},
                 {"kv_heads=4", CM_PRECISION_FP32, false},
                 {"kv_heads=4,head_dim=26", CM_PRECISION_FP32, true},
                 {"kv_heads=4,head_dim=28", CM_PRECISION_FP32, false},
                 {"kv_heads=4,head_dim=26", CM_PRECISION_BF16, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[96];
        snprintf(text, sizeof text, "llama:layers=1,hidden=64,heads=4,%s,seq=32,vocab=64,ffn=64", cases[i].heads);
        cm_graph *forward = loaded(text), *step;
        if (cm_graph_train(forward, &(cm_train_options){.precision = cases[i].precision}, &step, &diag))
            fail_msg("%s", diag.reason);
        for (int32_t n = 0; n < step->n_nodes; n++)
            if (step->nodes[n].op == CM_OP_ATTENTION)
                assert_int_equal(cm__attention_unfused(step, &step->nodes[n], CM_RUNTIME_TORCH_EAGER, false), cases[i].math);
        cm_graph_free(step);
        cm_graph_free(forward);
    }
}

/* Peak of a step whose loss needs more memory than its attention, in fp32. */
static double peak_of(const char *text, cm_attention attention)
{
    cm_device       *d;
    cm_graph        *forward = loaded(text), *step;
    cm_footprint    *f;
    cm_memory_use    use;
    cm_train_options train = {.precision = CM_PRECISION_FP32, .optimizer = CM_OPTIMIZER_SGD, .attention = attention};
    if (cm_device_load("nvidia-h200", &d, &diag)) fail_msg("%s", diag.reason);
    if (cm_graph_train(forward, &train, &step, &diag)) fail_msg("%s", diag.reason);
    if (cm_footprint_new(step, d, NULL, &f, &diag)) fail_msg("%s", diag.reason);
    cm_footprint_at(f, 64, &use);
    cm_footprint_free(f);
    cm_graph_free(step);
    cm_graph_free(forward);
    cm_device_free(d);
    return use.peak_bytes;
}

/* PyTorch repeats the keys and values of a group for each of its queries, and saves the copies. */
static void repeated_groups(void **state)
{
    (void)state;
    const char *text = "llama:layers=4,hidden=1024,heads=8,kv_heads=2,ffn=256,seq=64,vocab=16384";
    double      scores = 4.0 * 64 * 8 * 64 * 64, repeated = 2 * 4.0 * 64 * (8 - 2) * 64 * 128;
    double      difference = peak_of(text, CM_ATTENTION_MATH) - peak_of(text, CM_ATTENTION_FLASH);
    assert_true(fabs(difference - 4 * (scores + repeated)) < 0.02 * difference);
}

/* Heads of 26 numbers in fp32: the product saves scaled queries and keys, and the three parts of the projection stay, since
   they are views of one tensor. With dropout a score has 9 bytes: its probability, a mask, and what is not dropped. */
static void scaled_copies(void **state)
{
    (void)state;
    const char *text = "gpt:layers=4,hidden=208,heads=8,ffn=64,seq=64,vocab=16384";
    double      scores = 9.0 * 64 * 8 * 64 * 64, copies = 2 * 4.0 * 64 * 64 * 208;
    double      difference = peak_of(text, CM_ATTENTION_AUTO) - peak_of(text, CM_ATTENTION_FLASH);
    assert_true(fabs(difference - 4 * (scores + copies)) < 0.01 * difference);
}

/* A model that omits masks makes them when a compiler traces it: a causal one becomes an ordinary mask, an open one keeps
   the attention from being fused. Other runtimes and an explicit choice are not affected. */
static void omitted_masks(void **state)
{
    (void)state;
    cm_graph      *step = step_of("gpt:layers=1,hidden=64,heads=2,seq=128,vocab=64", CM_RECOMPUTE_NONE);
    const cm_node *causal = NULL;
    for (int32_t i = 0; i < step->n_nodes && !causal; i++)
        if (step->nodes[i].op == CM_OP_ATTENTION) causal = &step->nodes[i];
    assert_non_null(causal);
    assert_false(cm__attention_masked(step, causal, CM_RUNTIME_TORCH_COMPILE));
    step->omits_causal = step->omits_open = true;
    assert_true(cm__attention_masked(step, causal, CM_RUNTIME_TORCH_COMPILE));
    assert_true(cm__attention_masked(step, causal, CM_RUNTIME_COMPILE_GRAPHS));
    assert_false(cm__attention_masked(step, causal, CM_RUNTIME_TORCH_EAGER));
    assert_false(cm__attention_unfused(step, causal, CM_RUNTIME_TORCH_COMPILE, false));
    cm_node open = *causal;
    open.attrs = (const cm__attr[]){{.key = CM_ATTRS}};
    assert_true(cm__attention_unfused(step, &open, CM_RUNTIME_TORCH_COMPILE, false));
    assert_false(cm__attention_masked(step, &open, CM_RUNTIME_TORCH_COMPILE));
    assert_false(cm__attention_unfused(step, &open, CM_RUNTIME_TORCH_EAGER, false));
    step->asked.attention = CM_ATTENTION_FLASH;
    assert_false(cm__attention_unfused(step, &open, CM_RUNTIME_TORCH_COMPILE, false));
    cm_graph_free(step);
}

/* Bytes that torch.compile and eager PyTorch store for each score of an attention layer whose operands have a type. */
static void compiled_scores(void **state)
{
    (void)state;
    static const struct {
        cm_precision precision;
        double       eager, compiled, eager_dropout, compiled_dropout;
    } cases[] = {{CM_PRECISION_BF16, 2, 4, 2 + 1 + 2, 4 + 1}, {CM_PRECISION_FP32, 4, 4, 4 + 1 + 4, 4 + 1 + 4}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int drops = 0; drops < 2; drops++) {
            cm_graph *forward = loaded("gpt:layers=1,hidden=64,heads=2,seq=32,vocab=64"), *step;
            if (cm_graph_train(forward, &(cm_train_options){.precision = cases[i].precision}, &step, &diag))
                fail_msg("%s", diag.reason);
            int32_t at = 0;
            while (step->nodes[at].op != CM_OP_ATTENTION) at++;
            cm_node  node = step->nodes[at];
            cm__attr attrs[] = {{.key = CM_ATTRS}, {.key = CM_ATTRS}};
            if (drops) attrs[0] = CM__REAL(CM_ATTR_DROPOUT, 0.1);
            node.attrs = attrs;
            double eager = cm__score_bytes(step, &node, CM_RUNTIME_TORCH_EAGER);
            double compiled = cm__score_bytes(step, &node, CM_RUNTIME_COMPILE_GRAPHS);
            assert_true(eager == (drops ? cases[i].eager_dropout : cases[i].eager));
            assert_true(compiled == (drops ? cases[i].compiled_dropout : cases[i].compiled));
            cm_graph_free(step);
            cm_graph_free(forward);
        }
}

/* Under autocast, attention that a model writes stores its probabilities in fp32 and in 16 bits, and a mask of one byte. */
static void written_scores(void **state)
{
    (void)state;
    static const cm_precision precisions[] = {CM_PRECISION_AMP_FP16, CM_PRECISION_FP16};
    for (int old = 0; old < 2; old++)
        for (int pure = 0; pure < 2; pure++) {
            cm_graph *step = step_of("gpt:layers=1,hidden=64,heads=2,seq=32,vocab=64", CM_RECOMPUTE_NONE);
            int32_t   at = 0;
            while (step->nodes[at].op != CM_OP_ATTENTION) at++;
            cm_node node = step->nodes[at];
            step->precision = precisions[pure];
            step->asked.software = cm__software_of_year(old ? 2022 : 0);
            double operand = (double)cm_dtype_size(cm__t(step, node.inputs[0])->dtype);
            node.attrs = (const cm__attr[]){{.key = CM_ATTRS}};
            assert_true(cm__score_bytes(step, &node, CM_RUNTIME_TORCH_EAGER) == (old && !pure ? 4 + operand : operand));
            node.attrs = (const cm__attr[]){CM__REAL(CM_ATTR_DROPOUT, 0.1), {.key = CM_ATTRS}};
            assert_true(cm__score_bytes(step, &node, CM_RUNTIME_TORCH_EAGER) == (old && !pure ? 4 + operand + 1 : 2 * operand + 1));
            cm_graph_free(step);
        }
}

#define WINDOWED "mistral:layers=1,hidden=64,heads=4,kv_heads=2,ffn=64,vocab=64,window=256,seq="

/* The text of a step's call for forward attention, with two samples. */
static void forward_call(const cm_graph *step, cm_runtime runtime, char *text, size_t room)
{
    cm__ctx *ctx = cm__ctx_new(&diag);
    cm_plan  plan = {.tp = 1, .ep = 1, .cp = 1};
    if (setjmp(ctx->trap)) fail_msg("%s", diag.reason);
    cm__dispatch *d = cm__dispatch_shard(ctx, step, CM_LAYOUT_AUTO, runtime, &plan, false);
    *text = '\0';
    for (int32_t i = 0; i < d->n_calls; i++)
        if (d->calls[i].op == CM__CALL_ATTENTION && d->calls[i].pass == CM__PASS_FORWARD) {
            cm__call call;
            cm__call_at(&d->calls[i], 2, &call);
            cm__call_text(&call, text, room);
        }
    cm__ctx_free(ctx);
}

/* 1,024 tokens, each of which attends to the 256 before it. PyTorch computes all 1,024 x 1,024 scores of a head and masks
   most of them. Kernels that know the window take 128 queries at a time and, for these eight blocks, 1, 2, 3, 3, 3, 3, 3
   and 3 blocks of 128 keys: 21 x 128 / 8 = 336 keys per query in the mean. The call for that is three samples of 342
   tokens (1,024 / 3, rounded up). A sequence of 256 tokens needs no mask: it is as long as the window. */
static void sliding_windows(void **state)
{
    static const struct {
        const char  *seq, *call;
        cm_runtime   runtime;
        cm_attention attention;
    } cases[] = {
        {"1024", "attention forward mask bf16 2,1024,1024,4,4,16,0", CM_RUNTIME_TORCH_EAGER, CM_ATTENTION_AUTO},
        {"1024", "attention forward mask bf16 2,1024,1024,4,4,16,0", CM_RUNTIME_TORCH_COMPILE, CM_ATTENTION_AUTO},
        {"1024", "attention forward flash bf16 6,342,336,4,2,16,0", CM_RUNTIME_TORCH_EAGER, CM_ATTENTION_FLASH},
        {"1024", "attention forward - bf16 6,342,336,4,2,16,0", CM_RUNTIME_MEGATRON, CM_ATTENTION_AUTO},
        {"384", "attention forward - bf16 2,384,384,4,2,16,1", CM_RUNTIME_MEGATRON, CM_ATTENTION_AUTO},
        {"256", "attention forward - bf16 2,256,256,4,2,16,1", CM_RUNTIME_TORCH_EAGER, CM_ATTENTION_AUTO},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char model[160], text[128];
        snprintf(model, sizeof model, "%s%s", WINDOWED, cases[i].seq);
        cm_graph        *forward = loaded(model), *step;
        cm_train_options train = {.precision = CM_PRECISION_BF16, .attention = cases[i].attention};
        if (cm_graph_train(forward, &train, &step, &diag)) fail_msg("%s", diag.reason);
        forward_call(step, cases[i].runtime, text, sizeof text);
        assert_string_equal(text, cases[i].call);
        cm_graph_free(step);
        cm_graph_free(forward);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scores),
        cmocka_unit_test(choice),
        cmocka_unit_test(age),
        cmocka_unit_test(groups_in_fp32),
        cmocka_unit_test(repeated_groups), cmocka_unit_test(scaled_copies), cmocka_unit_test(omitted_masks),
        cmocka_unit_test(compiled_scores), cmocka_unit_test(written_scores),
        cmocka_unit_test(sliding_windows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
